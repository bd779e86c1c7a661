//! Killed at moments that nobody chose.

use super::support::{A_LITTLE, audit_holds, kill_and_start, say_yes_to, start_report};
use fleetwatch_tests::world::{Call, READING, World, recording};
use protocol::ask::{AskerSays, AssistantSays};
use protocol::propose::ProposalState;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const WORLDS: u64 = 5;
const ROUNDS: usize = 6;

/// Rooms that are online, do not record and can; each round has its own, so that a write tells whose it is.
const ROOMS: [&str; ROUNDS + 1] =
    ["Hall A", "Aula 101", "Courtroom 1", "Courtroom 4", "Studio 2", "Chapel", "Sala de Conferencias"];

/// Between which delays a kill still finds something to break off. Every kill narrows it, so most of them fall into the
/// few milliseconds between the decision and its outcome.
struct Window {
    too_early: Duration,
    too_late: Duration,
}

impl Window {
    fn pick(&self, dice: &mut Dice) -> Duration {
        let from = self.too_early.min(self.too_late) * 95 / 100;
        let to = self.too_early.max(self.too_late) * 105 / 100;
        from + dice.up_to(to - from)
    }

    fn learn(&mut self, delay: Duration, state: ProposalState) {
        if state == ProposalState::ExpiredSeen {
            self.too_early = self.too_early.max(delay);
        } else if state == ProposalState::Ok {
            self.too_late = self.too_late.min(delay);
        }
    }
}

// Small, and the same numbers at every run.
struct Dice(u64);

impl Dice {
    fn up_to(&mut self, most: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = u32::try_from(self.0 >> 44).unwrap();
        most * part / (1 << 20)
    }
}

fn writes_of(world: &World, arguments: &Value) -> usize {
    world.writes().iter().filter(|Call { arguments: written, .. }| written == arguments).count()
}

// How long a run takes here and now.
#[expect(clippy::disallowed_methods, reason = "a stop watch of a test")]
fn measured(world: &World) -> Duration {
    let number = world.propose("model", "batch_recording", &recording("start", &world.room(ROOMS[ROUNDS]), 1)).unwrap();
    let mut control = world.control();
    let card = control.show(number).unwrap();
    sleep(READING);
    let began = Instant::now();
    assert_eq!(control.decide(control.yes_to(&card)).unwrap().state, ProposalState::Ok);
    began.elapsed()
}

// One kill, and what it left: the state and the writes.
fn killed(world: &mut World, room: &str, after: Duration) -> (ProposalState, usize) {
    let arguments = recording("start", &world.room(room), 1);
    let number = world.propose("model", "batch_recording", &arguments).unwrap();
    let mut control = world.control();
    let card = control.show(number).unwrap();
    sleep(READING);
    let yes = say_yes_to(control, &card);
    sleep(after);
    kill_and_start(world);
    let heard = yes.join().unwrap();
    let found = (world.state_of(number), writes_of(world, &arguments));
    let (start, problems) = start_report(world);
    let counted = (start.expired, start.unknown, start.restored);
    let want = match found {
        (ProposalState::ExpiredSeen | ProposalState::Expired, 0) => (1, 0, 0),
        (ProposalState::Unknown, 0 | 1) => (0, 1, 0),
        (ProposalState::Ok, 1) => (0, 0, 0),
        other => panic!("a kill {after:?} after the yes left {other:?} in {room}"),
    };
    assert_eq!((counted, problems), (want, Vec::new()), "the start's report after {found:?}");
    assert!(heard.is_none() || found.0 == ProposalState::Ok, "an outcome was told and then lost: {heard:?}, {found:?}");
    sleep(A_LITTLE);
    assert_eq!((world.state_of(number), writes_of(world, &arguments)), found, "the start ran something");
    audit_holds(world);
    found
}

#[test]
fn thirty_kills_at_any_moment_of_a_run_leave_only_what_is_allowed() {
    let window = Arc::new(Mutex::new(Window { too_early: Duration::ZERO, too_late: Duration::from_secs(2) }));
    let sweeps: Vec<_> = (0..WORLDS)
        .map(|seed| {
            let window = window.clone();
            thread::spawn(move || {
                let mut world = World::builder().without_assistant().start();
                let whole = measured(&world);
                window.lock().unwrap().learn(whole * 11 / 10, ProposalState::Ok);
                let mut dice = Dice(seed + 1);
                let mut sweep = |room: &&str| {
                    let delay = window.lock().unwrap().pick(&mut dice);
                    let found = killed(&mut world, room, delay);
                    window.lock().unwrap().learn(delay, found.0);
                    found
                };
                ROOMS[..ROUNDS].iter().map(&mut sweep).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut found: Vec<_> = sweeps.into_iter().flat_map(|sweep| sweep.join().unwrap()).collect();
    assert_eq!(found.len(), 30);
    found.sort_by_key(|(state, writes)| (state.as_str(), *writes));
    for (state, writes) in &found {
        println!("{state:?} with {writes} writes");
    }
}

// Asks on a thread of its own, and tells whether the answer was complete.
fn asked(world: &World, question: String) -> JoinHandle<bool> {
    let mut asker = world.asker();
    thread::spawn(move || {
        asker.say(AskerSays::Ask { question });
        loop {
            match asker.hear() {
                Some(AssistantSays::Done) => return true,
                Some(_) => {}
                None => return false,
            }
        }
    })
}

#[test]
fn an_assistant_that_is_killed_at_any_moment_of_a_turn_leaves_nothing_half_done() {
    let mut world = World::builder().start();
    let mut dice = Dice(77);
    for room in &ROOMS[..5] {
        let answer = asked(&world, format!("Start recording in {room}"));
        sleep(dice.up_to(Duration::from_millis(400)));
        world.kill_assistant();
        let complete = answer.join().unwrap();
        sleep(A_LITTLE);
        let rows = world.control().history();
        let heading = format!("Start recording in {room}");
        let mine: Vec<_> =
            rows.iter().filter(|row| row.heading.en.starts_with(&heading)).map(|row| row.state).collect();
        match (complete, mine.as_slice()) {
            // The turn may have ended just before the last word was said.
            (true, [ProposalState::Pending]) | (false, [] | [ProposalState::Withdrawn | ProposalState::Pending]) => {}
            other => panic!("{room}: {other:?}"),
        }
        world.start_assistant();
        let (code, status) = world.status();
        assert_eq!(code, 0, "{room}: {status}");
        assert_eq!(world.control().status().problems, []);
        let _denied = world.control().deny_all();
    }
    assert_eq!(world.writes(), []);
    audit_holds(&world);
}
