//! Settings under which nothing is proposed, or nothing runs.

use super::run_all;
use fleetwatch_tests::world::{World, code_of, must, recording};
use protocol::propose::{LinkKind, ProposalState, Proposing};
use protocol::refusal::RefusalCode as Code;

const RECORD: &str = "batch_recording";

// The executor says so in its hello, refuses the draft, reads and writes nothing, and shows it in its status.
#[track_caller]
fn proposes_nothing(world: &World, code: Code, in_status: bool) {
    let mut turn = world.turn("a");
    assert_eq!(turn.proposing, Proposing::Off(code));
    let unit = "20301000003";
    assert_eq!(code_of(turn.propose(RECORD, &recording("start", unit, 1))), code);
    assert_eq!(code_of(world.propose_link("a", LinkKind::Poll).changeable()), code);
    assert!(world.control().history().is_empty());
    let of_sandbox = world.sim_log().iter().filter(|call| call["token"] != "normal").count();
    assert_eq!(of_sandbox, 0, "no call at all through the writing sign-in");
    let (exit, status) = world.status();
    let problems = status["executor"]["problems"].as_array().cloned().unwrap_or_default();
    let named = problems.iter().any(|problem| problem["code"] == code.as_str());
    assert_eq!(named, in_status, "{status}");
    // Without an assistant the command has something to say anyway; a problem of the executor is one more reason.
    assert_eq!(exit, 1, "{status}");
}

#[test]
fn without_a_fence_nothing_is_proposed() {
    let world = World::builder().without_assistant().no_fence().start();
    proposes_nothing(&world, Code::NoFence, true);
    assert_eq!(world.status().1["executor"]["fence"], "none");
}

#[test]
fn without_a_sandbox_sign_in_nothing_is_proposed() {
    let world = World::builder().without_assistant().without_sandbox_token().start();
    proposes_nothing(&world, Code::NoSignIn, true);
    assert_eq!(world.status().1["executor"]["sign_in"], false);
}

#[test]
fn in_observe_mode_nothing_is_proposed() {
    let world = World::builder().without_assistant().observe().start();
    // It is a choice, not a fault.
    proposes_nothing(&world, Code::ObserveMode, false);
    assert_eq!(world.status().1["executor"]["autonomy"], "observe");
}

#[test]
fn a_dry_run_ends_before_anything_is_sent_and_says_so_on_the_card() {
    let world = World::builder().without_assistant().dry_run().start();
    let hall = world.room("Hall A");
    let number = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let card = must(world.control().show(number), "the card");
    assert!(card.facts.dry_run && card.facts.deny_only.is_empty(), "{card:?}");
    assert!(world.page().get(&format!("/card/{number}")).body.contains("Dry run"));
    let news = must(world.approve(number), "the yes");
    assert_eq!((news.state, news.refusal.map(|refusal| refusal.code)), (ProposalState::Refused, Some(Code::DryRun)));
    assert_eq!(world.writes(), []);
    assert_eq!(code_of(world.approve(number)), Code::NotWaiting);
}

#[test]
fn a_token_that_the_fleet_does_not_know_reads_nothing() {
    let mut world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    assert_eq!(world.stop_executor(), Some(0));
    must(std::fs::write(&world.sim.sandbox, "nobody-gave-this-out\n"), "another token");
    world.start_executor();
    assert_eq!(code_of(world.propose("a", RECORD, &recording("start", &hall, 1))), Code::SignInDead);
    assert!(world.control().history().is_empty());
    assert_eq!(world.writes(), []);
}

#[test]
fn bad_settings_stop_the_start_with_what_to_do() {
    let mut world = World::builder().without_assistant().start();
    assert_eq!(world.stop_executor(), Some(0));
    let before = world.executor_settings.clone();
    for (name, value, words) in [
        ("FLEETWATCH_SLOT", "production", "FLEETWATCH_SLOT"),
        ("FLEETWATCH_SLOT", "sandbox", "https"),
        ("FLEETWATCH_WRITE_DEVICE_IDS", "Hall A", "FLEETWATCH_WRITE_DEVICE_IDS"),
        ("FLEETWATCH_WRITE_DEVICE_IDS", ",", "FLEETWATCH_WRITE_DEVICE_IDS"),
        ("FLEETWATCH_EPIPHAN_MCP_URL", "http://fleet.example/mcp", "127.0.0.1"),
        ("FLEETWATCH_ASSISTANT_USER", "", "FLEETWATCH_ASSISTANT_USER"),
    ] {
        world.executor_settings = before.clone();
        world.executor_settings.insert(name.to_owned(), value.into());
        let (code, log) = world.executor_that_ends();
        assert!(code == 78 && log.contains(words), "{name}={value}: exit {code}\n{log}");
    }
}

#[test]
fn an_operator_without_a_pin_approves_nothing() {
    let world = World::builder().without_assistant().without_pin().start();
    let hall = world.room("Hall A");
    let refused = run_all(&world, &[(RECORD, recording("start", &hall, 1))]);
    let codes: Vec<_> = refused.into_iter().map(code_of).collect();
    assert_eq!(codes, [Code::NoPin]);
    assert_eq!(world.status().1["executor"]["problems"][0]["code"], "no_pin");
    let mut operator = world.control();
    assert_eq!(code_of(operator.set_pin(None, "1234567")), Code::BadArguments);
    must(operator.set_pin(None, "12345678"), "eight characters");
    assert_eq!(code_of(operator.set_pin(None, "87654321")), Code::WrongPin);
    assert_eq!(code_of(operator.set_pin(Some("00000000"), "87654321")), Code::WrongPin);
    assert_eq!(world.writes(), []);
}
