//! `fleetwatchctl` at a person's terminal, and its verbs for everybody (issue lines 1.22 and 1.27): what they print, and
//! what their exit codes say.

use fleetwatch_tests::world::{World, must, recording, units};
use protocol::propose::ProposalState;
use serde_json::{Value, json};

const RECORD: &str = "batch_recording";
/// A card must have been on screen for two seconds; a question must have settled.
const READ: f64 = 2.2;
const SETTLED: f64 = 0.2;

#[track_caller]
fn json_of(world: &World, arguments: &[&str], exit: i32) -> Value {
    let output = world.ctl(&[arguments, &["--json"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {text}");
    must(serde_json::from_str(&text), &text)
}

#[test]
fn a_person_reads_the_card_types_the_pin_and_the_change_runs_once() {
    let world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    must(world.propose("a", RECORD, &recording("start", &hall, 1)), "number 1");
    must(world.propose("a", "batch_reboot", &units(&chapel)), "number 2");
    let approve =
        |number: &str, steps: &[(&str, f64, &str)]| world.ctl_at_terminal(&["approvals", "approve", number], steps);

    let (exit, text) = approve("1", &[("PIN", READ, "not-the-pin")]);
    assert!(exit == 1 && text.contains("wrong_pin"), "{exit}: {text}");
    let (exit, text) = approve("1", &[("PIN", SETTLED, world.pin())]);
    assert!(exit == 1 && text.contains("too_soon"), "{exit}: {text}");
    let (exit, text) = approve("2", &[("name exactly", READ, "chapel")]);
    assert!(exit == 1 && text.contains("room_not_confirmed"), "{exit}: {text}");
    assert_eq!(world.writes(), []);

    let (exit, text) = approve("1", &[("PIN", READ, world.pin())]);
    assert!(exit == 0 && text.contains("channel 1 is recording"), "{exit}: {text}");
    for words in ["Start recording in Hall A", "Written by the assistant, not checked", &hall] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (exit, text) = approve("2", &[("name exactly", READ, "Chapel"), ("PIN", SETTLED, world.pin())]);
    assert!(exit == 0 && text.contains("the unit is offline"), "{exit}: {text}");
    assert!(!text.contains(world.pin()), "a PIN does not appear: {text}");
    let (exit, text) = approve("1", &[]);
    assert!(exit == 1 && text.contains("not_waiting"), "{exit}: {text}");
    let tools: Vec<_> = world.writes().into_iter().map(|call| call.tool).collect();
    assert_eq!(tools, [RECORD, "batch_reboot"]);
}

#[test]
fn an_outcome_that_nobody_knows_has_its_own_exit_code() {
    let world = World::builder().without_assistant().fault("executes-then-closes").start();
    must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "number 1");
    let (exit, text) = world.ctl_at_terminal(&["approvals", "approve", "1"], &[("PIN", READ, world.pin())]);
    assert!(exit == 3 && text.contains("unknown"), "{exit}: {text}");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn text_from_a_pipe_approves_nothing_and_sets_no_pin() {
    let world = World::builder().without_assistant().start();
    let number = must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "number 1");
    let refused = json_of(&world, &["approvals", "approve", "1"], 1);
    assert_eq!(refused["refused"], "no_terminal");
    assert_eq!(world.ctl(&["pin", "set"]).status.code(), Some(1));
    assert_eq!((world.state_of(number), world.writes().len()), (ProposalState::Pending, 0));
}

#[test]
fn a_pin_is_set_and_changed_at_the_terminal() {
    let world = World::builder().without_assistant().without_pin().start();
    let set = |old: &str, new: &str, again: &str| {
        let steps = [("Present PIN", SETTLED, old), ("New PIN", SETTLED, new), ("again", SETTLED, again)];
        world.ctl_at_terminal(&["pin", "set"], &steps)
    };
    let (exit, text) = set("", "first-pin", "first-pim");
    assert!(exit == 1 && text.contains("differ"), "{exit}: {text}");
    let (exit, text) = set("", "first-pin", "first-pin");
    assert!(exit == 0 && !text.contains("first-pin"), "{exit}: {text}");
    let (exit, text) = set("another-pin", "second-pin", "second-pin");
    assert!(exit == 1 && text.contains("wrong_pin"), "{exit}: {text}");
    let (exit, _) = set("first-pin", "second-pin", "second-pin");
    assert_eq!(exit, 0);
    must(world.control().set_pin(Some("second-pin"), "third-pin"), "the second is in force");
    let file = must(std::fs::read_to_string(world.folder().join("policy/principals.yaml")), "principals.yaml");
    assert!(file.contains("$argon2id$") && !file.contains("pin\n") && !file.contains("third"), "{file}");
    assert_eq!(world.audit("pin_set").len(), 3);
}

#[test]
fn what_waits_is_listed_shown_and_denied_from_any_script() {
    let world = World::builder().without_assistant().start();
    let rooms = ["Hall A", "Chapel", "Courtroom 1"].map(|name| world.room(name));
    for unit in &rooms {
        must(world.propose("a", RECORD, &recording("start", unit, 1)), "a proposal");
    }
    let list = json_of(&world, &["approvals", "list"], 0);
    let numbers: Vec<_> = list.as_array().into_iter().flatten().map(|row| row["number"].clone()).collect();
    assert_eq!(numbers, [json!(1), json!(2), json!(3)]);
    let card = json_of(&world, &["approvals", "show", "1"], 0);
    assert!(card.to_string().contains("Start recording in Hall A"), "{card}");
    let spanish = world.ctl(&["--lang", "es", "approvals", "show", "1"]);
    assert!(String::from_utf8_lossy(&spanish.stdout).contains("Escrito por el asistente"), "{spanish:?}");
    json_of(&world, &["approvals", "deny", "1"], 0);
    let late = json_of(&world, &["approvals", "deny", "1"], 1);
    assert!(late.to_string().contains("not_waiting"), "{late}");
    json_of(&world, &["approvals", "deny-all"], 0);
    assert!(world.control().history().iter().all(|row| row.state == ProposalState::Denied));
    let history = json_of(&world, &["approvals", "history"], 0);
    assert_eq!(history.as_array().map(Vec::len), Some(3), "{history}");
    assert_eq!(world.ctl(&["approvals", "show", "0"]).status.code(), Some(2));
    assert_eq!(world.writes(), []);
}

#[test]
fn an_audit_that_somebody_edited_is_found_at_the_row() {
    let world = World::builder().without_assistant().start();
    let number = must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
    must(world.control().deny(number), "no");
    json_of(&world, &["audit", "verify"], 0);
    let database = world.database();
    let row: i64 = must(
        database.query_row("SELECT sequence FROM audit WHERE kind = 'denial'", [], |row| row.get(0)),
        "the denial",
    );
    must(database.execute("UPDATE audit SET principal = 'somebody' WHERE sequence = ?", [row]), "an edit");
    let report = json_of(&world, &["audit", "verify"], 1);
    assert!(report.to_string().contains(&row.to_string()), "{report}");
    must(database.execute("DELETE FROM audit WHERE sequence = ?", [row - 1]), "a deletion");
    json_of(&world, &["audit", "verify"], 1);
}
