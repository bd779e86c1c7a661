//! A change that can hurt a room in use is refused while the room is in use, even with a yes (`seed 000, Disruptive tools`).

use super::{Change, run_all};
use fleetwatch_tests::world::{World, must, recording, units};
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode as Code;
use serde_json::json;

const RECORD: &str = "batch_recording";
const REBOOT: &str = "batch_reboot";

// Runs them together; each ends as its row says: refused with this code, or done.
#[track_caller]
fn end_as(world: &World, rows: Vec<(Change, Option<Code>)>) {
    let (changes, wanted): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let ended = run_all(world, &changes);
    for ((ended, wanted), change) in ended.into_iter().zip(wanted).zip(&changes) {
        let news = must(ended, &format!("{change:?}"));
        let state = if wanted.is_some() { ProposalState::Refused } else { ProposalState::Ok };
        let found = news.refusal.as_ref().map(|refusal| refusal.code);
        assert_eq!((news.state, found), (state, wanted), "{change:?}: {news:?}");
    }
}

#[test]
fn a_restart_waits_until_the_room_is_free() {
    let world = World::builder().without_assistant().start();
    let room = |name: &str| world.room(name);
    end_as(
        &world,
        vec![
            ((REBOOT, units(&room("Courtroom 2"))), Some(Code::RoomRecording)),
            ((REBOOT, units(&room("Auditorio Norte"))), Some(Code::RoomStreaming)),
            ((REBOOT, units(&room("Hall C"))), Some(Code::EventSoon)),
        ],
    );
    let (court, stage, theatre) = (room("Courtroom 1"), room("Main Stage"), room("Lecture Theatre 2"));
    world.sim_set(&json!({ "device": court, "event": { "start_in": -600, "end_in": 600 } }));
    // A word that is not plainly stopped counts as recording, and on any channel.
    world.sim_set(&json!({ "device": stage, "recording": { "channel": "2", "state": "paused" } }));
    world.sim_set(&json!({ "device": theatre, "event": { "start_in": 3_600, "end_in": 7_200 } }));
    end_as(
        &world,
        vec![
            ((REBOOT, units(&court)), Some(Code::EventLive)),
            ((REBOOT, units(&stage)), Some(Code::RoomRecording)),
            // An hour away is far enough for a restart.
            ((REBOOT, units(&theatre)), None),
        ],
    );
    world.sim_set(&json!({ "device": stage, "recording": { "channel": "2", "state": "warming-up" } }));
    end_as(&world, vec![((REBOOT, units(&stage)), Some(Code::RoomRecording))]);
    let writes: Vec<_> = world.writes().into_iter().map(|call| call.arguments).collect();
    assert_eq!(writes, [units(&theatre)]);
}

#[test]
fn a_recording_may_start_before_an_event_and_stop_only_without_one() {
    let world = World::builder().without_assistant().start();
    let room = |name: &str| world.room(name);
    let (court, soon, other) = (room("Courtroom 2"), room("Hall C"), room("Courtroom 4"));
    // Recordings that a person started by hand, on both channels of the second room.
    world.sim_set(&json!({ "device": other, "recording": { "channel": "1", "state": "recording" } }));
    world.sim_set(&json!({ "device": other, "recording": { "channel": "2", "state": "recording" } }));
    end_as(
        &world,
        vec![
            ((RECORD, recording("start", &soon, 1)), None),
            ((RECORD, recording("stop", &room("Hall B"), 1)), Some(Code::EventLive)),
            // It ends its own channel, not the other's.
            ((RECORD, recording("stop", &other, 1)), Some(Code::RoomRecording)),
        ],
    );
    world.sim_set(&json!({ "device": other, "recording": { "channel": "2", "state": "stopped" } }));
    world.sim_set(&json!({ "device": other, "event": { "start_in": 1_200, "end_in": 3_000 } }));
    end_as(
        &world,
        vec![
            ((RECORD, recording("stop", &other, 1)), Some(Code::EventSoon)),
            ((RECORD, recording("stop", &room("Aula Magna"), 1)), Some(Code::RoomStreaming)),
            ((RECORD, recording("stop", &court, 1)), None),
        ],
    );
    let writes: Vec<_> = world.writes().into_iter().map(|call| call.arguments).collect();
    assert_eq!(writes, [recording("start", &soon, 1), recording("stop", &court, 1)]);
}

#[test]
fn the_card_says_beforehand_what_would_be_refused_for_the_room() {
    let world = World::builder().without_assistant().start();
    let number = must(world.propose("a", REBOOT, &units(&world.room("Hall C"))), "a proposal");
    let card = must(world.control().show(number), "the card");
    assert!(card.facts.deny_only.is_empty(), "it is information, not a gate");
    assert!(card.notes.iter().any(|note| note.en.contains("starts in")), "{:?}", card.notes);
    assert!(card.notes.iter().any(|note| note.es.contains("empieza en")), "{:?}", card.notes);
    assert_eq!(world.writes(), []);
}
