//! What the card finds wrong: then Deny is the only way, on every surface.

use super::{propose_all, read_all};
use fleetwatch_tests::world::{READING, World, code_of, must, recording, some, units, until};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode as Code;
use rusqlite::types::Value as Sql;
use serde_json::json;
use std::thread::sleep;
use std::time::Duration;

const RECORD: &str = "batch_recording";

// Sets one column of a proposal's row beside the running executor, and gives what stood there.
#[track_caller]
fn edit(world: &World, number: ProposalNumber, column: &str, value: &Sql) -> Sql {
    let database = world.database();
    let number = must(i64::try_from(number.get()), "a number");
    let select = format!("SELECT {column} FROM proposals WHERE number = ?");
    let before: Sql = must(database.query_row(&select, [number], |row| row.get(0)), column);
    let update = format!("UPDATE proposals SET {column} = ?1 WHERE number = ?2");
    let changed = must(database.execute(&update, rusqlite::params![value, number]), column);
    assert_eq!(changed, 1);
    before
}

// One other value for every column that is bound.
fn tampered(hall: &str, chapel: &str) -> Vec<(&'static str, Sql)> {
    let text = |text: &str| Sql::Text(text.to_owned());
    vec![
        ("tool", text("batch_reboot")),
        ("arguments", text(&recording("start", chapel, 1).to_string())),
        ("arguments", text(&recording("stop", hall, 1).to_string())),
        ("arguments", text("{\"action\":")),
        ("targets", text(&json!([chapel]).to_string())),
        ("fingerprint", text("{}")),
        ("referents", text("{}")),
        ("schema_version", Sql::Integer(2)),
        ("policy_version", Sql::Integer(7)),
        ("slot", text("sandbox")),
        ("reason", text("Approve this at once.")),
        ("gates", text(r#"[{"blocked_reason":null,"evidence":{},"gate_id":"policy","passed":true}]"#)),
        ("origin", text("command")),
        ("agent", text("somebody")),
        ("expires_at", Sql::Integer(4_000_000_000)),
        ("expires_boot_ms", Sql::Integer(4_000_000_000_000)),
        ("mac", text("00")),
    ]
}

#[test]
fn a_row_that_is_not_what_was_bound_can_only_be_denied() {
    let world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let number = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let mut operator = world.control();
    let good = must(operator.show(number), "the card");
    assert!(good.facts.deny_only.is_empty() && good.gates.len() == 7);
    let mut cards = Vec::new();
    for (column, value) in tampered(&hall, &chapel) {
        let before = edit(&world, number, column, &value);
        let card = must(operator.show(number), column);
        assert!(!card.facts.deny_only.is_empty(), "{column}: {card:?}");
        assert!(card.gates.is_empty(), "{column}: a trace beside a record that is not what was bound");
        let page = world.page().get(&format!("/card/{number}"));
        assert!(page.form("/approve").is_none() && page.form("/deny").is_some(), "{column}: {}", page.body);
        edit(&world, number, column, &before);
        cards.push((column, value, card));
    }
    sleep(READING);
    for (column, value, card) in cards {
        let before = edit(&world, number, column, &value);
        // With the card that shows the damage, and with the one from before it.
        let code = code_of(operator.decide(operator.yes_to(&card)));
        assert_eq!(code, Code::NotApprovable, "{column}");
        let code = code_of(operator.decide(operator.yes_to(&good)));
        assert!(matches!(code, Code::CardChanged | Code::NotApprovable), "{column}: {code}");
        edit(&world, number, column, &before);
        assert_eq!(world.state_of(number), ProposalState::Pending, "{column}");
    }
    assert_eq!(world.writes(), []);
    // Nothing but the damage stood against it.
    must(operator.decide(operator.yes_to(&good)), "the row as it was bound");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_row_under_another_number_or_of_another_boot_runs_nothing() {
    let world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let changes = [(RECORD, recording("start", &hall, 1)), (RECORD, recording("start", &chapel, 1))];
    let numbers = propose_all(&world, &changes);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    must(
        world.database().execute_batch("PRAGMA foreign_keys = OFF; UPDATE proposals SET number = 99 WHERE number = 1"),
        "99",
    );
    edit(&world, numbers[1], "boot_id", &Sql::Text("another boot".to_owned()));
    let moved = must(operator.show(some(ProposalNumber::new(99), "99")), "its card");
    assert!(!moved.facts.deny_only.is_empty() && moved.gates.is_empty(), "{moved:?}");
    sleep(READING);
    assert_eq!(code_of(operator.decide(operator.yes_to(&moved))), Code::NotApprovable);
    assert_eq!(code_of(operator.decide(operator.yes_to(&cards[0]))), Code::UnknownProposal);
    let mut posing = operator.yes_to(&cards[0]);
    posing.number = moved.facts.number;
    assert_eq!(code_of(operator.decide(posing)), Code::BadTicket);
    assert_eq!(code_of(operator.decide(operator.yes_to(&cards[1]))), Code::NotWaiting);
    assert_eq!(world.state_of(numbers[1]), ProposalState::ExpiredSeen);
    assert_eq!(world.writes(), []);
}

#[test]
fn a_state_that_was_set_by_hand_runs_nothing() {
    let world = World::builder().without_assistant().start();
    let rooms = ["Hall A", "Chapel", "Courtroom 1"].map(|name| world.room(name));
    let changes = rooms.each_ref().map(|unit| (RECORD, recording("start", unit, 1)));
    let numbers = propose_all(&world, &changes);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    let states = ["approved", "consumed", "ok"];
    for (number, state) in numbers.iter().zip(states) {
        edit(&world, *number, "state", &Sql::Text(state.to_owned()));
    }
    for (card, state) in cards.iter().zip(states) {
        let refusal = operator.decide(operator.yes_to(card)).unwrap_err();
        assert_eq!(refusal.code, Code::NotWaiting, "{state}");
        assert!(refusal.detail.contains(state), "{refusal}");
    }
    // Longer than the executor's own rounds take.
    sleep(Duration::from_millis(1_500));
    assert_eq!(world.writes(), []);
    assert_eq!(world.audit("consumed").len(), 0);
}

#[test]
fn a_proposal_whose_time_is_over_cannot_be_approved() {
    let world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let changes = [(RECORD, recording("start", &hall, 1)), (RECORD, recording("start", &chapel, 1))];
    let numbers = propose_all(&world, &changes);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers[..1]);
    for (number, clock) in numbers.iter().zip(["expires_at", "expires_boot_ms"]) {
        edit(&world, *number, clock, &Sql::Integer(1));
    }
    for (number, state) in numbers.iter().zip([ProposalState::ExpiredSeen, ProposalState::ExpiredUnseen]) {
        until(Duration::from_secs(5), "the expiry", || (world.state_of(*number) == state).then_some(()));
    }
    assert_eq!(code_of(operator.decide(operator.yes_to(&cards[0]))), Code::NotWaiting);
    assert_eq!(code_of(operator.show(numbers[1])), Code::NotWaiting);
    assert_eq!(world.audit("expiry").len(), 2);
    assert_eq!(world.writes(), []);
}

#[test]
fn what_changed_since_the_card_is_shown_again_and_not_approved() {
    let world = World::builder().without_assistant().start();
    let rooms = ["Hall A", "Chapel", "Courtroom 1"].map(|name| world.room(name));
    let changes = rooms.each_ref().map(|unit| (RECORD, recording("start", unit, 1)));
    let numbers = propose_all(&world, &changes);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    world.sim_set(&json!({ "device": rooms[0], "recording": { "channel": "2", "state": "recording" } }));
    world.sim_set(&json!({ "device": rooms[1], "name": "Chapel of rest" }));
    world.sim_set(&json!({ "device": rooms[2], "channel_name": { "channel": "1", "name": "Jury room" } }));
    for card in &cards {
        assert_eq!(code_of(operator.decide(operator.yes_to(card))), Code::CardChanged);
    }
    // A new card shows the new facts. A name is no part of what was bound; the state and the channel's name are.
    let fresh = read_all(&mut operator, &numbers);
    assert_eq!(fresh[1].facts.targets[0].name, "Chapel of rest");
    for place in [0, 2] {
        assert!(!fresh[place].facts.deny_only.is_empty(), "{:?}", fresh[place]);
        assert_eq!(code_of(operator.decide(operator.yes_to(&fresh[place]))), Code::NotApprovable);
    }
    assert_eq!(world.writes(), []);
    must(operator.decide(operator.yes_to(&fresh[1])), "the renamed room");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_room_that_went_away_or_cannot_be_read_leaves_deny_only() {
    let world = World::builder().without_assistant().start();
    let rooms = ["Hall A", "Chapel", "Courtroom 1"].map(|name| world.room(name));
    let changes = rooms.each_ref().map(|unit| (RECORD, recording("start", unit, 1)));
    let numbers = propose_all(&world, &changes);
    world.sim_set(&json!({ "device": rooms[0], "online": false }));
    world.sim_set(&json!({ "device": rooms[1], "listed": false }));
    let mut operator = world.control();
    let mut cards = vec![must(operator.show(numbers[0]), "offline"), must(operator.show(numbers[1]), "not listed")];
    let faults = ["error", "text", "mismatch", "empty"];
    let spoil =
        |kind: &str| world.sim_set(&json!({ "read_fault": { "tool": "get_devices_in_my_team", "kind": kind } }));
    for kind in faults {
        spoil(kind);
        let card = must(operator.show(numbers[2]), kind);
        assert!(card.facts.targets.is_empty(), "{kind}: nothing that was not read is shown");
        cards.push(card);
    }
    sleep(READING);
    for (place, card) in cards.iter().enumerate() {
        if let Some(kind) = place.checked_sub(2).and_then(|place| faults.get(place)) {
            spoil(kind);
        } else {
            world.sim_set(&json!({ "read_fault": null }));
        }
        assert!(!card.facts.deny_only.is_empty(), "{card:?}");
        assert_eq!(code_of(operator.decide(operator.yes_to(card))), Code::NotApprovable, "{place}");
    }
    assert_eq!(world.writes(), []);
    world.sim_set(&json!({ "read_fault": null }));
    must(operator.approve(numbers[2]), "once it can be read again");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn every_tool_has_a_card_in_plain_words_and_runs_once_when_it_is_approved() {
    let world = World::builder().without_assistant().start();
    let (hall, norte, studio) = (world.room("Hall A"), world.room("Auditorio Norte"), world.room("Studio 2"));
    let state = world.sim.state();
    let events = state["events"].as_array().cloned().unwrap_or_default();
    let event = events.iter().find(|event| event["device_id"] == hall.as_str()).cloned().unwrap_or_default();
    let stream = |place: usize, unit: &str| json!({ "stream_id": state["streams"][place]["StreamID"], "device_id": unit, "channel_id": "1" });
    let changes = [
        ("batch_firmware_update", units(&studio), "Update the firmware of the unit in Studio 2"),
        ("start_stream_endpoint", stream(2, &hall), "Start streaming in Hall A, channel \""),
        ("stop_stream_endpoint", stream(1, &norte), "Stop streaming in Auditorio Norte, channel \""),
        (
            "confirm_cms_event_on_device",
            json!({ "device_id": hall, "event_id": event["event"]["id"] }),
            "Confirm the event \"",
        ),
    ];
    let mut operator = world.control();
    for (place, (tool, arguments, heading)) in changes.iter().enumerate() {
        let numbers = propose_all(&world, &[(*tool, arguments.clone())]);
        let card = read_all(&mut operator, &numbers).remove(0);
        assert!(card.facts.deny_only.is_empty(), "{tool}: {:?}", card.facts.deny_only);
        assert!(card.facts.heading.en.starts_with(heading), "{tool}: {}", card.facts.heading.en);
        assert!(!card.facts.effect.en.is_empty() && !card.facts.undo.es.is_empty(), "{tool}");
        let page = world.page().get(&format!("/card/{}", card.facts.number));
        assert!(page.form("/approve").is_some() && page.form("/deny").is_some(), "{tool}");
        // A stream key never gets this far.
        let text = format!("{card:?}");
        assert!(!text.contains("never-show") && !text.contains("rtmp://"), "{text}");
        let news = must(operator.decide(operator.yes_to(&card)), tool);
        assert_eq!(news.state, ProposalState::Ok, "{tool}: {news:?}");
        assert_eq!(code_of(operator.decide(operator.yes_to(&card))), Code::NotWaiting, "{tool}");
        let writes = world.writes();
        assert_eq!(writes.len(), place + 1, "{tool}");
        assert_eq!((writes[place].tool.as_str(), &writes[place].arguments), (*tool, arguments));
    }
}

#[test]
fn what_people_call_a_room_stands_beside_its_name_and_confirms_nothing() {
    let called = "autonomy: propose\ndry_run: false\nrooms:\n  \"20301000003\":\n    aliases: [the big hall]\n    note: Keys at the desk\n";
    let world = World::builder().without_assistant().behaviour(called).start();
    let hall = world.room("Hall A");
    assert_eq!(hall, "20301000003");
    let numbers = propose_all(&world, &[("batch_reboot", units(&hall))]);
    let mut operator = world.control();
    let card = read_all(&mut operator, &numbers).remove(0);
    let target = &card.facts.targets[0];
    assert_eq!((target.name.as_str(), target.note.as_str()), ("Hall A", "Keys at the desk"));
    assert_eq!(target.known_as, ["the big hall"]);
    let page = world.page().get(&format!("/card/{}", card.facts.number));
    assert!(page.body.contains("Also called") && page.body.contains("the big hall"), "{}", page.body);
    let mut yes = operator.yes_to(&card);
    yes.confirm = Some("the big hall".to_owned());
    assert_eq!(code_of(operator.decide(yes)), Code::RoomNotConfirmed);
    assert_eq!(world.writes(), []);
}
