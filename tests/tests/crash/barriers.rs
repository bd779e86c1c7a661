//! Stopped at every step of a run: killed there, or sent on after the world has moved.

use super::support::{
    A_LITTLE, audit_holds, ended, fate, is_over, kill_and_start, say_yes, spent_lines, start_report,
    wait_for_the_barrier,
};
use control::message::ExecutorSays;
use control::status::StartReport;
use fleetwatch_tests::world::{World, recording, units};
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode;
use serde_json::{Value, json};
use std::thread::{self, sleep};
use std::time::Duration;

/// What a kill at one barrier must leave.
struct Row {
    barrier: &'static str,
    state: ProposalState,
    writes: usize,
    spent: usize,
}

const fn row(barrier: &'static str, state: ProposalState, writes: usize, spent: usize) -> Row {
    Row { barrier, state, writes, spent }
}

const ROWS: [Row; 6] = [
    row("after_approve", ProposalState::Expired, 0, 0),
    row("before_spent", ProposalState::Expired, 0, 0),
    row("after_spent", ProposalState::Unknown, 0, 1),
    row("after_consume", ProposalState::Unknown, 0, 1),
    row("before_send", ProposalState::Unknown, 0, 1),
    row("after_send", ProposalState::Unknown, 1, 1),
];

// Side by side, each on a thread of its name: they mostly wait.
fn side_by_side<T: Sync>(rows: &[T], name: impl Fn(&T) -> &str, run: impl Fn(&T) + Sync) {
    thread::scope(|scope| {
        for row in rows {
            let name = name(row).to_owned();
            let run = &run;
            thread::Builder::new().name(name).spawn_scoped(scope, move || run(row)).unwrap();
        }
    });
}

#[test]
fn killed_at_any_step_it_wrote_at_most_once_runs_nothing_again_and_says_what_became_of_it() {
    side_by_side(&ROWS, |row| row.barrier, killed_at);
}

fn killed_at(row: &Row) {
    let mut world = World::builder().without_assistant().barrier(row.barrier).start();
    let hall = world.room("Hall A");
    let number = world.propose("model", "batch_recording", &recording("start", &hall, 1)).unwrap();
    let other = world.propose("model", "batch_reboot", &units(&world.room("Courtroom 4"))).unwrap();
    let yes = say_yes(&world, number);
    wait_for_the_barrier(&mut world, row.barrier);
    assert_eq!(world.writes().len(), row.writes, "before the kill");
    kill_and_start(&mut world);
    assert_eq!(yes.join().unwrap(), None, "nobody can have heard an outcome");

    let settled = |report: StartReport| {
        assert_eq!(fate(&world, number), (row.state, None));
        assert_eq!(fate(&world, other), (ProposalState::ExpiredUnseen, None));
        assert_eq!(spent_lines(&world), row.spent);
        assert_eq!(start_report(&world), (report, Vec::new()));
        is_over(&world, number);
        sleep(A_LITTLE);
        assert_eq!(world.writes().len(), row.writes, "something ran after the start");
        audit_holds(&world);
    };
    let unknown = u64::from(row.state == ProposalState::Unknown);
    settled(StartReport { expired: 2 - unknown, unknown, restored: 0, backup: false });

    // The kill is over: the next change goes its way.
    let next = world.propose("model", "batch_recording", &recording("start", &world.room("Chapel"), 1)).unwrap();
    assert_eq!(world.approve(next).unwrap().state, ProposalState::Ok);
    assert_eq!(world.writes().len(), row.writes + 1);

    kill_and_start(&mut world);
    assert_eq!(fate(&world, number), (row.state, None), "a second kill changed it");
    assert_eq!(fate(&world, next), (ProposalState::Ok, None));
    assert_eq!(start_report(&world), (StartReport { expired: 0, unknown: 0, restored: 0, backup: false }, Vec::new()));
    assert_eq!(world.writes().len(), row.writes + 1);
    audit_holds(&world);
}

#[test]
fn what_a_kill_left_is_explained_by_the_status_command_and_the_history() {
    let mut world = World::builder().barrier("after_consume").start();
    let number = world.propose("model", "batch_recording", &recording("start", &world.room("Hall A"), 1)).unwrap();
    let _yes = say_yes(&world, number);
    wait_for_the_barrier(&mut world, "after_consume");
    kill_and_start(&mut world);
    let text = |words: &[&str]| {
        let output = world.ctl(words);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (_, status) = text(&["status"]);
    assert!(status.contains("0 expired, 1 unknown, 0 restored"), "{status}");
    let (code, history) = text(&["approvals", "history"]);
    assert_eq!(code, Some(0));
    assert!(history.contains("It may or may not have run. Check the unit first."), "{history}");
    let (code, audit) = text(&["audit", "verify"]);
    assert_eq!(code, Some(0), "{audit}");
}

/// What happens while the executor stands at a barrier, and how the run must end.
struct Moved {
    name: &'static str,
    barrier: &'static str,
    tool: &'static str,
    wish: fn(&str) -> Value,
    code: RefusalCode,
}

const MOVED: [Moved; 5] = [
    Moved {
        name: "a recording began after the yes",
        barrier: "after_approve",
        tool: "batch_recording",
        wish: |unit| json!({ "device": unit, "recording": { "channel": "1", "state": "recording" } }),
        code: RefusalCode::FingerprintChanged,
    },
    Moved {
        name: "a recording began after the approval was spent",
        barrier: "after_consume",
        tool: "batch_recording",
        wish: |unit| json!({ "device": unit, "recording": { "channel": "1", "state": "recording" } }),
        code: RefusalCode::FingerprintChanged,
    },
    Moved {
        name: "the room about to restart began to record",
        barrier: "after_approve",
        tool: "batch_reboot",
        wish: |unit| json!({ "device": unit, "recording": { "channel": "2", "state": "starting" } }),
        code: RefusalCode::FingerprintChanged,
    },
    Moved {
        name: "an event was put before the restart",
        barrier: "after_approve",
        tool: "batch_reboot",
        wish: |unit| json!({ "device": unit, "event": { "start_in": 300, "end_in": 3600 } }),
        code: RefusalCode::FingerprintChanged,
    },
    Moved {
        name: "the recorder answers with a word that nobody knows",
        barrier: "after_consume",
        tool: "batch_recording",
        wish: |unit| json!({ "device": unit, "recording": { "channel": "1", "state": "levitating" } }),
        code: RefusalCode::FingerprintChanged,
    },
];

#[test]
fn a_world_that_moves_between_the_yes_and_the_write_is_a_refusal_and_no_write() {
    side_by_side(
        &MOVED,
        |moved| moved.name,
        |moved| {
            let mut world = World::builder().without_assistant().barrier(moved.barrier).start();
            let unit = world.room("Courtroom 4");
            let arguments = if moved.tool == "batch_reboot" { units(&unit) } else { recording("start", &unit, 1) };
            let number = world.propose("model", moved.tool, &arguments).unwrap();
            let yes = say_yes(&world, number);
            wait_for_the_barrier(&mut world, moved.barrier);
            world.sim_set(&(moved.wish)(&unit));
            world.executor().signal("CONT");
            let news = ended(yes);
            let code = news.refusal.map(|refusal| refusal.code);
            assert_eq!((news.state, code), (ProposalState::Refused, Some(moved.code)), "{}", news.detail);
            assert_eq!(world.writes(), []);
            assert_eq!(spent_lines(&world), 1, "the approval stays spent");
            is_over(&world, number);
            audit_holds(&world);
        },
    );
}

#[test]
fn an_event_that_comes_into_the_window_while_the_run_is_held_up_refuses_the_restart() {
    let mut world = World::builder().without_assistant().barrier("after_approve").start();
    let unit = world.room("Courtroom 4");
    // Half an hour is the window; it begins in 11 s.
    world.sim_set(&json!({ "device": unit, "event": { "start_in": 1_811, "end_in": 5_400 } }));
    let number = world.propose("model", "batch_reboot", &units(&unit)).unwrap();
    let yes = say_yes(&world, number);
    wait_for_the_barrier(&mut world, "after_approve");
    sleep(Duration::from_secs(10));
    world.executor().signal("CONT");
    let news = ended(yes);
    let code = news.refusal.map(|refusal| refusal.code);
    assert_eq!((news.state, code), (ProposalState::Refused, Some(RefusalCode::EventSoon)), "{}", news.detail);
    assert_eq!(world.writes(), []);
}

#[test]
fn a_run_that_is_held_up_for_more_than_fifteen_seconds_is_stale() {
    side_by_side(
        &["after_approve", "after_consume"],
        |name| name,
        |barrier| {
            let mut world = World::builder().without_assistant().barrier(barrier).start();
            let number =
                world.propose("model", "batch_recording", &recording("start", &world.room("Hall A"), 1)).unwrap();
            let yes = say_yes(&world, number);
            wait_for_the_barrier(&mut world, barrier);
            sleep(Duration::from_millis(15_200));
            world.executor().signal("CONT");
            let news = ended(yes);
            let code = news.refusal.map(|refusal| refusal.code);
            assert_eq!((news.state, code), (ProposalState::Refused, Some(RefusalCode::Stale)), "{}", news.detail);
            assert_eq!(world.writes(), []);
            audit_holds(&world);
        },
    );
}

#[test]
fn held_up_for_a_moment_it_goes_on_and_writes_exactly_once() {
    let barriers = ROWS.map(|row| row.barrier);
    side_by_side(
        &barriers,
        |name| name,
        |barrier| {
            let mut world = World::builder().without_assistant().barrier(barrier).start();
            let arguments = recording("start", &world.room("Hall A"), 1);
            let number = world.propose("model", "batch_recording", &arguments).unwrap();
            let yes = say_yes(&world, number);
            wait_for_the_barrier(&mut world, barrier);
            world.executor().signal("CONT");
            assert_eq!(ended(yes).state, ProposalState::Ok);
            let written: Vec<_> = world.writes().into_iter().map(|call| (call.tool, call.arguments)).collect();
            assert_eq!(written, [("batch_recording".to_owned(), arguments)]);
            is_over(&world, number);
            audit_holds(&world);
        },
    );
}

#[test]
fn a_no_that_comes_while_the_yes_is_being_written_down_wins_or_is_told_that_it_lost() {
    let mut world = World::builder().without_assistant().barrier("after_approve").start();
    let number = world.propose("model", "batch_recording", &recording("start", &world.room("Hall A"), 1)).unwrap();
    let mut second = world.control();
    let yes = say_yes(&world, number);
    wait_for_the_barrier(&mut world, "after_approve");
    let no = thread::spawn(move || second.deny(number));
    sleep(Duration::from_millis(300));
    world.executor().signal("CONT");
    let (yes, no) = (yes.join().unwrap(), no.join().unwrap());
    let writes = world.writes().len();
    match (fate(&world, number).0, no) {
        (ProposalState::Revoked, Ok(news)) => {
            assert_eq!((news.state, writes), (ProposalState::Revoked, 0));
            assert!(matches!(yes, Some(ExecutorSays::Refused(_))), "{yes:?}");
        }
        (ProposalState::Ok, Err(refusal)) => {
            assert_eq!((refusal.code, writes), (RefusalCode::NotWaiting, 1));
            assert!(matches!(yes, Some(ExecutorSays::Ended(_))), "{yes:?}");
        }
        other => panic!("{other:?} with {writes} writes; yes: {yes:?}"),
    }
    audit_holds(&world);
}

#[test]
fn the_executor_that_people_run_goes_on_where_it_is_asked_to_stop() {
    let world = World::builder().without_assistant().executor_setting("FLEETWATCH_BARRIER", "after_approve").start();
    let number = world.propose("model", "batch_recording", &recording("start", &world.room("Hall A"), 1)).unwrap();
    assert_eq!(world.approve(number).unwrap().state, ProposalState::Ok);
}
