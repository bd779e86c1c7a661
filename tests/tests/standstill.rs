//! What stops everything and what lets it go on, by command and on the real binaries (issue lines 2.9 and 2.18): no needs
//! nothing, going on needs a PIN that a person types.

use fleetwatch_tests::world::{World, code_of, must, recording};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::{Refusal, RefusalCode as Code};
use serde_json::{Value, json};

const RECORD: &str = "batch_recording";
const SETTLED: f64 = 0.2;

#[track_caller]
fn json_of(world: &World, arguments: &[&str], exit: i32) -> Value {
    let output = world.ctl(&[arguments, &["--json"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {text}");
    must(serde_json::from_str(&text), &text)
}

// Neither a piped PIN nor a wrong one does anything; then the right one is typed.
#[track_caller]
fn only_a_typed_pin_does_it(world: &World, verb: &[&str], still: impl Fn() -> bool, done: &str) {
    let piped = world.ctl_piped(verb, &format!("{}\n", world.pin()));
    let said = String::from_utf8_lossy(&piped.stderr);
    assert!(piped.status.code() == Some(1) && said.contains("terminal"), "{:?}: {said}", piped.status);
    assert!(still(), "{verb:?}: a piped PIN");
    let (exit, text) = world.ctl_at_terminal(verb, &[("PIN", SETTLED, "not-the-pin")]);
    assert!(exit == 1 && text.contains("wrong_pin"), "{exit}: {text}");
    assert!(still(), "{verb:?}: a wrong PIN");
    let (exit, text) = world.ctl_at_terminal(verb, &[("PIN", SETTLED, world.pin())]);
    assert!(exit == 0 && text.contains(done), "{exit}: {text}");
    assert!(!text.contains(world.pin()), "a PIN does not appear: {text}");
    assert!(!still(), "{verb:?}: the right PIN");
}

fn proposed(world: &World, agent: &str, room: &str) -> Result<ProposalNumber, Refusal> {
    world.propose(agent, RECORD, &recording("start", &world.room(room), 1))
}

#[test]
fn a_freeze_outlives_a_restart_and_only_a_typed_pin_ends_it() {
    let mut world = World::builder().without_assistant().start();
    let number = must(proposed(&world, "a", "Hall A"), "a proposal");
    assert_eq!(json_of(&world, &["freeze"], 0), json!({ "frozen": true, "denied": [number] }));
    assert_eq!(world.state_of(number), ProposalState::Denied);
    assert_eq!(code_of(proposed(&world, "a", "Chapel")), Code::Frozen);
    world.stop_executor();
    world.start_executor();
    assert_eq!(code_of(proposed(&world, "a", "Chapel")), Code::Frozen, "after a restart");
    let (exit, status) = world.status();
    assert_eq!((exit, &status["executor"]["frozen"]), (1, &json!(true)), "{status}");

    only_a_typed_pin_does_it(&world, &["thaw"], || world.control().status().frozen, "The freeze is over");
    must(proposed(&world, "a", "Chapel"), "after the thaw");
    let (exit, status) = world.status();
    assert_eq!(status["executor"]["frozen"], json!(false), "{exit}: {status}");
    assert_eq!((world.audit("frozen").len(), world.audit("thawed").len(), world.audit("pin_wrong").len()), (1, 1, 1));
    assert_eq!(world.writes(), []);
}

#[test]
fn six_denials_pause_an_agent_and_only_a_typed_pin_lets_it_go_on() {
    let world = World::builder().without_assistant().start();
    let mut operator = world.control();
    // Different rooms: three denials of one change would pause that change first.
    for room in ["Hall A", "Chapel", "Courtroom 1", "Courtroom 4", "Seminar Room 3", "Medical Theatre"] {
        let number = must(proposed(&world, "eager", room), room);
        must(operator.deny(number), "no");
    }
    assert_eq!(code_of(proposed(&world, "eager", "Paraninfo")), Code::AgentPaused);
    let other = must(proposed(&world, "calm", "Paraninfo"), "another agent");
    must(operator.deny(other), "no");
    let (exit, status) = world.status();
    assert_eq!((exit, &status["executor"]["paused_agents"]), (1, &json!(["eager"])), "{status}");
    assert!(status.to_string().contains("approvals agents resume"), "{status}");

    let resume = ["approvals", "agents", "resume", "eager"];
    let paused = || world.control().status().paused_agents == ["eager"];
    only_a_typed_pin_does_it(&world, &resume, paused, "may propose again");
    must(proposed(&world, "eager", "Paraninfo"), "after the pause was lifted");
    let rows = world.audit("agent_resumed");
    assert_eq!((rows.len(), rows[0].0.as_str(), &rows[0].2["agent"]), (1, "operator", &json!("eager")));
    let (exit, text) = world.ctl_at_terminal(&resume, &[("PIN", SETTLED, world.pin())]);
    assert!(exit == 1 && text.contains("not_waiting"), "nothing to lift: {exit}: {text}");
    // The spelling of before is gone.
    assert_eq!(world.ctl(&["approvals", "resume-agent", "eager"]).status.code(), Some(2));
    assert_eq!(world.writes(), []);
}
