//! Between the yes and the write, reached with the executor that stops itself at a barrier.

use super::{propose_all, read_all};
use control::card::Card;
use fleetwatch_tests::world::{ControlClient, World, must, recording, until};
use protocol::propose::{News, ProposalState};
use protocol::refusal::{Refusal, RefusalCode as Code};
use serde_json::json;
use std::thread::sleep;
use std::time::Duration;

const RECORD: &str = "batch_recording";
const SOON: Duration = Duration::from_secs(20);

// Says yes, waits until the executor stands at its barrier, does something, and lets it go on.
#[track_caller]
fn with_a_stop(
    world: &mut World,
    operator: &mut ControlClient,
    card: &Card,
    meanwhile: impl FnOnce(&World),
) -> Result<News, Refusal> {
    let yes = operator.yes_to(card);
    std::thread::scope(|scope| {
        let running = scope.spawn(move || operator.decide(yes));
        until(SOON, "the barrier", || world.executor().is_stopped().then_some(()));
        meanwhile(world);
        world.executor().signal("CONT");
        must(running.join().map_err(|_| "it panicked"), "the yes")
    })
}

#[track_caller]
fn sql(world: &World, text: &str, number: u64) {
    let number = must(i64::try_from(number), "a number");
    assert_eq!(must(world.database().execute(text, [number]), text), 1, "{text}");
}

const ROOMS: [&str; 9] = [
    "Hall A",
    "Chapel",
    "Courtroom 1",
    "Courtroom 4",
    "Lecture Theatre 1",
    "Lecture Theatre 2",
    "Seminar Room 3",
    "Medical Theatre",
    "City Council Chamber",
];

#[test]
fn an_approval_that_is_not_what_was_given_is_not_consumed() {
    let mut world = World::builder().without_assistant().barrier("after_approve").start();
    let elsewhere = recording("start", &world.room("Paraninfo"), 1).to_string();
    let rows: [(String, Code); 7] = [
        ("UPDATE approvals SET used = 1 WHERE proposal = ?".into(), Code::ApprovalUsed),
        ("UPDATE approvals SET principal = 'somebody' WHERE proposal = ?".into(), Code::BindingMismatch),
        ("UPDATE approvals SET expires_at = expires_at + 900 WHERE proposal = ?".into(), Code::BindingMismatch),
        ("UPDATE approvals SET mac = '00' WHERE proposal = ?".into(), Code::BindingMismatch),
        (format!("UPDATE proposals SET arguments = '{elsewhere}' WHERE number = ?"), Code::BindingMismatch),
        ("UPDATE proposals SET state = 'revoked' WHERE number = ?".into(), Code::NotWaiting),
        ("DELETE FROM approvals WHERE proposal = ?".into(), Code::NotWaiting),
    ];
    let mut operator = world.control();
    for (batch, names) in rows.chunks(3).zip(ROOMS.chunks(3)) {
        let units = names.iter().take(batch.len()).map(|name| world.room(name));
        let changes: Vec<_> = units.map(|unit| (RECORD, recording("start", &unit, 1))).collect();
        let numbers = propose_all(&world, &changes);
        let cards = read_all(&mut operator, &numbers);
        for ((text, code), card) in batch.iter().zip(&cards) {
            let number = card.facts.number.get();
            let ended = with_a_stop(&mut world, &mut operator, card, |world| sql(world, text, number));
            assert_eq!(ended.as_ref().map_err(|refusal| refusal.code), Err(*code), "{text}: {ended:?}");
        }
    }
    assert_eq!(world.audit("consumed").len(), 0);
    assert_eq!(world.writes(), []);
}

#[test]
fn a_room_that_changes_after_the_yes_is_seen_by_the_last_read() {
    let mut world = World::builder().without_assistant().barrier("after_approve").start();
    let units = ["Hall A", "Chapel", "Courtroom 1"].map(|name| world.room(name));
    let changes = units.each_ref().map(|unit| (RECORD, recording("start", unit, 1)));
    let numbers = propose_all(&world, &changes);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    let meanwhile = [
        json!({ "device": units[0], "event": { "start_in": 60, "end_in": 600 } }),
        json!({ "device": units[1], "recording": { "channel": "2", "state": "recording" } }),
        json!({ "read_fault": { "tool": "get_recorder_status_for_devices", "kind": "error" } }),
    ];
    let codes = [Code::FingerprintChanged, Code::FingerprintChanged, Code::ReadFailed];
    for ((card, wish), code) in cards.iter().zip(&meanwhile).zip(codes) {
        let ended = with_a_stop(&mut world, &mut operator, card, |world| world.sim_set(wish));
        let news = must(ended, &wish.to_string());
        let found = (news.state, news.refusal.as_ref().map(|refusal| refusal.code));
        assert_eq!(found, (ProposalState::Refused, Some(code)), "{wish}: {news:?}");
        // The approval is spent all the same.
        assert_eq!(operator.decide(operator.yes_to(card)).map_err(|r| r.code), Err(Code::NotWaiting));
    }
    assert_eq!(world.audit("consumed").len(), 3);
    assert_eq!(world.writes(), []);
}

#[test]
fn more_than_fifteen_seconds_from_first_read_to_write_is_too_long() {
    let mut world = World::builder().without_assistant().barrier("after_approve").start();
    let numbers = propose_all(&world, &[(RECORD, recording("start", &world.room("Hall A"), 1))]);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    let ended = with_a_stop(&mut world, &mut operator, &cards[0], |_| sleep(Duration::from_millis(15_200)));
    let news = must(ended, "the yes");
    let found = (news.state, news.refusal.as_ref().map(|refusal| refusal.code));
    assert_eq!(found, (ProposalState::Refused, Some(Code::Stale)), "{news:?}");
    assert_eq!(world.writes(), []);
}
