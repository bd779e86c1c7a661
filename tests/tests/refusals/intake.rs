//! At the door: what the executor refuses to put before a person.

use fleetwatch_tests::world::{World, code_of, draft, must, recording, units};
use protocol::propose::LinkKind;
use protocol::refusal::RefusalCode as Code;
use serde_json::{Value, json};

const RECORD: &str = "batch_recording";
const REBOOT: &str = "batch_reboot";
const START_STREAM: &str = "start_stream_endpoint";

// One draft by an agent of its own; nothing of it may stay.
#[track_caller]
fn refused(world: &World, agent: &str, (tool, arguments): (&str, &[u8])) -> (Code, String) {
    let mut turn = world.turn(agent);
    match turn.draft(draft(tool, arguments, "A test asked for it.")) {
        Err(refusal) => (refusal.code, refusal.detail),
        Ok(number) => must(Err(format!("it is proposal {number}")), tool),
    }
}

// Rows of (arguments, code, a part of the detail) for one unit.
fn bad_recordings(unit: &str) -> Vec<(String, Code, &'static str)> {
    let bad = |text: String| (text, Code::BadArguments, "");
    let device = |id: &str| bad(json!({ "action": "start", "device_ids": [id] }).to_string());
    vec![
        bad("[]".to_owned()),
        bad("null".to_owned()),
        bad("\"start\"".to_owned()),
        bad("{}".to_owned()),
        bad(r#"{"action":"start"}"#.to_owned()),
        bad(format!(r#"{{"device_ids":["{unit}-1"]}}"#)),
        bad(format!(r#"{{"action":"pause","device_ids":["{unit}-1"]}}"#)),
        bad(format!(r#"{{"action":"Start","device_ids":["{unit}-1"]}}"#)),
        bad(format!(r#"{{"action":1,"device_ids":["{unit}-1"]}}"#)),
        bad(format!(r#"{{"action":["start"],"device_ids":["{unit}-1"]}}"#)),
        bad(format!(r#"{{"action":"start","device_ids":"{unit}-1"}}"#)),
        bad(format!(r#"{{"action":"start","device_ids":[{unit}]}}"#)),
        bad(r#"{"action":"start","device_ids":[]}"#.to_owned()),
        bad(r#"{"action":"start","device_ids":[null]}"#.to_owned()),
        bad(format!(r#"{{"action":"start","device_ids":["{unit}-1","{unit}-2"]}}"#)),
        bad(format!(r#"{{"action":"start","device_ids":["{unit}-1"],"force":true}}"#)),
        device(unit),
        device("Hall A"),
        device(""),
        device(&format!("{unit}-1\n")),
        device(&format!(" {unit}-1")),
        device(&format!("{unit}-0")),
        device(&format!("{unit}-01")),
        device(&format!("{unit}-1a")),
        device(&format!("{unit}--1")),
        device(&format!("{unit}-1000")),
        device(&format!("{unit}-1-1")),
        device("../20301000003-1"),
        device("ABCDEF0123-1"),
        (
            format!(r#"{{"action":"start","action":"stop","device_ids":["{unit}-1"]}}"#),
            Code::DuplicateKey,
            "line 1 column",
        ),
        (
            format!("{{\"action\":\"start\",\n\"device_ids\":[1.5,\"{unit}\"]}}"),
            Code::NumberNotInteger,
            "line 2 column",
        ),
        (r#"{"action":"start","device_ids":[1e2]}"#.to_owned(), Code::NumberNotInteger, "line 1 column"),
        (r#"{"action":"start","device_ids":[9007199254740992]}"#.to_owned(), Code::IntegerOutOfRange, "line 1 column"),
        (r#"{"action":"start","acción":"stop"}"#.to_owned(), Code::KeyNotAscii, "line 1 column"),
        ("{\"action\":\"start\"".to_owned(), Code::NotJson, ""),
        (format!(r#"{{"action":"start","device_ids":["{unit}-1"]}} {{}}"#), Code::NotJson, ""),
        (String::new(), Code::NotJson, ""),
        ("[".repeat(64), Code::TooDeep, ""),
        (format!(r#"{{"action":"{}"}}"#, "x".repeat(5_000)), Code::TooLarge, ""),
    ]
}

#[test]
fn arguments_that_are_not_exactly_right_are_refused_with_their_code() {
    let world = World::builder().without_assistant().start();
    let unit = world.room("Hall A");
    for (place, (text, code, detail)) in bad_recordings(&unit).into_iter().enumerate() {
        let found = refused(&world, &format!("agent-{place}"), (RECORD, text.as_bytes()));
        assert!(found.0 == code && found.1.contains(detail), "{text:?}: {found:?}, not {code}");
    }
    assert!(world.control().history().is_empty());
    assert_eq!(world.writes(), []);
    assert!(world.audit("proposal_refused").len() > 30, "each refusal is audited");
}

#[test]
fn tools_and_reasons_that_are_not_right_are_refused_with_their_code() {
    let world = World::builder().without_assistant().start();
    let unit = world.room("Hall A");
    let stream = json!({ "stream_id": "main", "device_id": unit, "channel_id": "1" });
    let odd_channel =
        json!({ "stream_id": "7d1f0c9e-2b34-4c56-8d78-000000a00000", "device_id": unit, "channel_id": 1 });
    let rows = [
        (REBOOT, recording("start", &unit, 1), Code::BadArguments),
        (REBOOT, units(&format!("{unit}-1")), Code::BadArguments),
        (REBOOT, json!({ "device_ids": [unit, unit] }), Code::BadArguments),
        (START_STREAM, stream, Code::BadArguments),
        (START_STREAM, odd_channel, Code::BadArguments),
        ("batch_recordings", recording("start", &unit, 1), Code::ToolUnknown),
        ("", json!({}), Code::ToolUnknown),
        ("delete_cms_event", json!({}), Code::ToolNotProposable),
        ("apply_team_preset", json!({}), Code::ToolNotProposable),
        ("get_devices_in_my_team", json!({}), Code::ToolNotProposable),
    ];
    for (tool, arguments, code) in rows {
        let found = refused(&world, "others", (tool, arguments.to_string().as_bytes()));
        assert_eq!(found.0, code, "{tool} {arguments}: {found:?}");
    }
    let mut turn = world.turn("reasons");
    let arguments = recording("start", &unit, 1).to_string();
    let long = draft(RECORD, arguments.as_bytes(), &"é".repeat(301));
    assert_eq!(code_of(turn.draft(long)), Code::ReasonTooLong);
    must(turn.draft(draft(RECORD, arguments.as_bytes(), &"é".repeat(300))), "300 characters are allowed");
    assert_eq!(world.control().history().len(), 1, "nothing but the last one was stored");
    assert_eq!(world.writes(), []);
}

#[test]
fn targets_that_cannot_take_the_change_are_refused() {
    // The last room is inside the fence and not on the sandbox sign-in's own list.
    let world = World::builder().without_assistant().sandbox_rooms(29).fence_all_but(&["Paraninfo"]).start();
    let room = |name: &str| world.room(name);
    let streams = world.sim.state();
    let stream = |place: usize| streams["streams"][place]["StreamID"].as_str().unwrap_or_default().to_owned();
    let to_stream = |id: &str, unit: &str| json!({ "stream_id": id, "device_id": unit, "channel_id": "1" });
    let confirm = |unit: &str, event: &str| json!({ "device_id": unit, "event_id": event });
    let rows: Vec<(&str, Value, Code)> = vec![
        (REBOOT, units("ffffffffff"), Code::OutsideFence),
        (RECORD, recording("start", &room("Paraninfo"), 1), Code::OutsideFence),
        (REBOOT, units(&room("Paraninfo")), Code::OutsideFence),
        (REBOOT, units(&room("Overflow Room")), Code::TargetUnknown),
        (RECORD, recording("start", &room("Overflow Room"), 1), Code::TargetUnknown),
        (RECORD, recording("start", &room("Hall A"), 9), Code::ChannelUnknown),
        (
            START_STREAM,
            json!({ "stream_id": stream(2), "device_id": room("Hall A"), "channel_id": "9" }),
            Code::ChannelUnknown,
        ),
        (RECORD, recording("start", &room("Sala de Juntas"), 1), Code::NotCapable),
        (RECORD, recording("stop", &room("Sala de Juntas"), 1), Code::NotCapable),
        (START_STREAM, to_stream(&stream(2), &room("Sala de Juntas")), Code::NotCapable),
        (RECORD, recording("start", &room("Aula 102"), 1), Code::TargetOffline),
        (REBOOT, units(&room("Auditorio Sur")), Code::TargetOffline),
        (START_STREAM, to_stream("00000000-0000-4000-8000-000000000000", &room("Hall A")), Code::StreamUnknown),
        (
            "stop_stream_endpoint",
            to_stream("00000000-0000-4000-8000-000000000000", &room("Hall A")),
            Code::StreamUnknown,
        ),
        (START_STREAM, to_stream(&stream(0), &room("Hall A")), Code::StreamLocked),
        ("stop_stream_endpoint", to_stream(&stream(0), &room("Hall A")), Code::StreamLocked),
        ("confirm_cms_event_on_device", confirm(&room("Hall C"), "abcdefghij0123456789:1"), Code::EventMismatch),
        ("confirm_cms_event_on_device", confirm(&room("Courtroom 1"), "abcdefghij0123456789:1"), Code::EventMismatch),
    ];
    for (place, (tool, arguments, code)) in rows.into_iter().enumerate() {
        let found = refused(&world, &format!("agent-{place}"), (tool, arguments.to_string().as_bytes()));
        assert_eq!(found.0, code, "{tool} {arguments}: {found:?}");
    }
    // A unit that has left the list since the last read, though the fence still names it.
    world.sim_set(&json!({ "device": room("Chapel"), "listed": false }));
    let gone = units("20322000066");
    assert_eq!(refused(&world, "gone", (REBOOT, gone.to_string().as_bytes())).0, Code::TargetUnknown);
    assert!(world.control().history().is_empty());
    assert_eq!(world.writes(), []);
}

#[test]
fn a_read_that_fails_or_is_not_understood_refuses_the_change() {
    let world = World::builder().without_assistant().start();
    let unit = world.room("Hall A");
    let record = recording("start", &unit, 1);
    let state = world.sim.state();
    let stream = json!({ "stream_id": state["streams"][2]["StreamID"], "device_id": unit, "channel_id": "1" });
    let (team, recorders) = ("get_devices_in_my_team", "get_recorder_status_for_devices");
    let (events, names) = ("get_current_or_next_cms_events_for_devices", "get_cms_names_for_devices");
    let mut agent = 0;
    for (spoilt, tool, arguments) in [
        (team, RECORD, &record),
        (recorders, RECORD, &record),
        (events, RECORD, &record),
        ("get_stream_endpoints", START_STREAM, &stream),
    ] {
        for (kind, code) in [
            ("error", Code::ReadFailed),
            ("text", Code::ReadFailed),
            ("mismatch", Code::ReadFailed),
            ("empty", Code::ReadFailed),
            // Only the device list is believed when it speaks of the sign-in: other tools' errors may echo anything.
            ("unauthorized", if spoilt == team { Code::SignInDead } else { Code::ReadFailed }),
        ] {
            agent += 1;
            world.sim_set(&json!({ "read_fault": { "tool": spoilt, "kind": kind } }));
            let found = refused(&world, &format!("agent-{agent}"), (tool, arguments.to_string().as_bytes()));
            assert_eq!(found.0, code, "{spoilt} {kind}: {found:?}");
            world.sim_set(&json!({ "read_fault": null }));
        }
    }
    // A room that the events leave out has none only if the CMS names leave it out too, and those cannot be read.
    let court = recording("start", &world.room("Courtroom 1"), 1).to_string();
    world.sim_set(&json!({ "read_fault": { "tool": names, "kind": "error" } }));
    assert_eq!(refused(&world, "names", (RECORD, court.as_bytes())).0, Code::ReadFailed);
    world.sim_set(&json!({ "read_fault": null }));
    assert!(world.control().history().is_empty());
    // The same change is fine once it can be read.
    must(world.propose("healed", RECORD, &record), "a good read");
    assert_eq!(world.writes(), []);
}

#[test]
fn the_team_of_the_sign_in_must_be_the_fences() {
    let world = World::builder().without_assistant().fence_team("team-a").start();
    let record = recording("start", &world.room("Hall A"), 1);
    let text = record.to_string();
    assert_eq!(refused(&world, "a", (RECORD, text.as_bytes())).0, Code::TeamMismatch);
    world.sim_set(&json!({ "team_id": "team-b" }));
    assert_eq!(refused(&world, "b", (RECORD, text.as_bytes())).0, Code::TeamMismatch);
    world.sim_set(&json!({ "team_id": "team-a" }));
    let number = must(world.propose("c", RECORD, &record), "the fence's own team");
    // It changes while the proposal waits: the card has Deny only.
    world.sim_set(&json!({ "team_id": "team-b" }));
    assert_eq!(code_of(world.approve(number)), Code::NotApprovable);
    assert_eq!(world.writes(), []);
    world.sim_set(&json!({ "team_id": "team-a" }));
    must(world.approve(number), "the fence's own team again");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn words_that_do_not_belong_to_a_link_are_not_permitted() {
    use protocol::propose::AssistantSays;
    let world = World::builder().without_assistant().start();
    let record = recording("start", &world.room("Hall A"), 1).to_string();
    let mut poll = world.propose_link("a", LinkKind::Poll);
    let drafted = AssistantSays::Propose(draft(RECORD, record.as_bytes(), "why"));
    for say in [drafted, AssistantSays::TurnEnd] {
        assert_eq!(code_of(poll.ask(say)), Code::NotPermitted);
    }
    let mut turn = world.turn("a");
    for say in [AssistantSays::Poll, AssistantSays::Ack { numbers: Vec::new() }] {
        assert_eq!(code_of(turn.ask(say)), Code::NotPermitted);
    }
    assert!(world.control().history().is_empty());
    assert_eq!(world.writes(), []);
}
