//! Files that a crash, a full disk or a person left in pieces.

use super::support::{
    A_LITTLE, SOON, audit_holds, fate, is_over, kill_and_start, say_yes, spent_lines, start_plain, start_report,
    wait_for_the_barrier,
};
use control::message::{ExecutorSays, OperatorSays};
use fleetwatch_tests::world::{ControlClient, Daemon, World, recording, until};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;

fn file(world: &World, name: &str) -> PathBuf {
    world.folder().join("executor").join(name)
}

// A world in which one change ran.
fn after_one_run() -> (World, ProposalNumber) {
    let world = World::builder().without_assistant().start();
    let number = world.propose("model", "batch_recording", &recording("start", &world.room("Hall A"), 1)).unwrap();
    assert_eq!(world.approve(number).unwrap().state, ProposalState::Ok);
    (world, number)
}

// A world that was killed where the line is on disk and the database does not know yet.
fn killed_after_the_line() -> (World, ProposalNumber) {
    let mut world = World::builder().without_assistant().barrier("after_spent").start();
    let number = world.propose("model", "batch_recording", &recording("start", &world.room("Hall A"), 1)).unwrap();
    let _yes = say_yes(&world, number);
    wait_for_the_barrier(&mut world, "after_spent");
    world.kill_executor();
    (world, number)
}

fn flip_a_byte(bytes: &mut [u8], at: usize) {
    bytes[at] ^= 0x01;
}

#[test]
fn a_torn_spent_log_never_lets_an_outcome_be_had_twice_and_the_audit_says_so() {
    let (mut world, number) = after_one_run();
    let path = file(&world, "spent.log");
    let whole = fs::read(&path).unwrap();
    let cut = |most: usize| whole[..most].to_vec();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        flip_a_byte(&mut bytes, at);
        bytes
    };
    let last = whole.len() - 1;
    for (how, bytes) in [
        ("half a line", cut(last / 2)),
        ("one byte of the check is missing", cut(last - 1)),
        ("the last byte is another", flipped(last)),
        ("the check is another", flipped(last - 1)),
        ("the approval is another", flipped(last / 2)),
    ] {
        world.kill_executor();
        fs::write(&path, bytes).unwrap();
        start_plain(&mut world);
        assert_eq!(fate(&world, number), (ProposalState::Ok, None), "{how}");
        is_over(&world, number);
        let starts = world.audit("start");
        assert_eq!(starts.last().map(|(_, _, detail)| &detail["torn_spent_line"]), Some(&true.into()), "{how}");
        sleep(A_LITTLE);
        assert_eq!(world.writes().len(), 1, "{how}");
        audit_holds(&world);
    }
}

#[test]
fn status_says_that_the_spent_log_is_torn() {
    let (mut world, _) = after_one_run();
    let path = file(&world, "spent.log");
    let whole = fs::read(&path).unwrap();
    world.kill_executor();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    start_plain(&mut world);
    let (_, problems) = start_report(&world);
    assert!(!problems.is_empty(), "status says nothing");
}

#[test]
fn a_line_that_was_torn_while_an_approval_was_being_spent_counts_as_spent() {
    let (mut world, number) = killed_after_the_line();
    let path = file(&world, "spent.log");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    start_plain(&mut world);
    let (state, _) = fate(&world, number);
    assert_eq!(state, ProposalState::Unknown, "a torn line counts as spent");
    sleep(A_LITTLE);
    assert_eq!(world.writes(), []);
    is_over(&world, number);
    // The torn line is ended, so the next one is whole.
    let next = world.propose("model", "batch_recording", &recording("start", &world.room("Chapel"), 1)).unwrap();
    assert_eq!(world.approve(next).unwrap().state, ProposalState::Ok);
    kill_and_start(&mut world);
    assert_eq!((fate(&world, next).0, world.writes().len()), (ProposalState::Ok, 1));
    audit_holds(&world);
}

#[test]
fn a_database_without_its_newest_commits_is_seen_by_its_spent_log() {
    let (mut world, number) = after_one_run();
    let lines = spent_lines(&world);
    world.kill_executor();
    // As a copy of the file alone would be, or a disk that lied about a sync.
    fs::remove_file(file(&world, "store.db-wal")).unwrap();
    let _gone = fs::remove_file(file(&world, "store.db-shm"));
    start_plain(&mut world);
    let (start, problems) = start_report(&world);
    assert_eq!((start.restored, lines), (1, 1));
    assert!(!problems.is_empty(), "status says nothing");
    assert!(world.control().list().is_empty(), "something waits");
    let known = world.control().history().into_iter().find(|row| row.number == number);
    assert!(known.is_none_or(|row| row.state.is_final()), "it may still be decided");
    sleep(A_LITTLE);
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_spent_log_that_is_gone_makes_nothing_whole_again() {
    let (mut world, number) = killed_after_the_line();
    fs::remove_file(file(&world, "spent.log")).unwrap();
    start_plain(&mut world);
    assert!(fate(&world, number).0.is_final());
    sleep(A_LITTLE);
    assert_eq!(world.writes(), []);
    is_over(&world, number);
}

// A stopped world in which one change ran, with its whole database in one file.
fn one_file() -> (World, ProposalNumber, Vec<u8>) {
    let (mut world, number) = after_one_run();
    assert_eq!(world.stop_executor(), Some(0));
    // Whoever closes it last brings everything into the one file.
    let database = world.database();
    let rows: i64 = database.query_row("SELECT count(*) FROM audit", [], |row| row.get(0)).unwrap();
    drop(database);
    assert!(rows > 0 && !file(&world, "store.db-wal").exists());
    let whole = fs::read(file(&world, "store.db")).unwrap();
    (world, number, whole)
}

fn put(world: &World, database: &[u8]) {
    fs::write(file(world, "store.db"), database).unwrap();
    for name in ["store.db-wal", "store.db-shm"] {
        let _gone = fs::remove_file(file(world, name));
    }
}

#[test]
fn a_database_in_pieces_stops_the_start_and_writes_nothing() {
    let (mut world, _, whole) = one_file();
    let mut scrambled = whole.clone();
    for at in (whole.len() / 3..whole.len()).step_by(7) {
        flip_a_byte(&mut scrambled, at);
    }
    let mut no_head = whole.clone();
    flip_a_byte(&mut no_head, 3);
    for (how, bytes) in [("cut", whole[..whole.len() / 2].to_vec()), ("scrambled", scrambled), ("no head", no_head)] {
        put(&world, &bytes);
        let (code, log) = world.executor_that_ends();
        assert_ne!(code, 0, "{how}: {log}");
        assert!(!log.contains("panicked"), "{how}: {log}");
        assert_eq!(world.writes().len(), 1, "{how}");
    }
    put(&world, &whole);
    start_plain(&mut world);
    audit_holds(&world);
}

#[test]
fn one_wrong_byte_anywhere_in_the_database_lets_nothing_run_twice() {
    let (world, number, whole) = one_file();
    // A step that shares no factor with a page's size, so that every part of a page has its turn.
    let places: Vec<usize> = (0..whole.len()).step_by(whole.len() / 16 + 37).collect();
    let (mut refused, mut started) = (0, 0);
    for place in &places {
        let mut bytes = whole.clone();
        flip_a_byte(&mut bytes, *place);
        put(&world, &bytes);
        match start_somehow(&world) {
            None => refused += 1,
            Some(_executor) => {
                started += 1;
                let Ok(mut control) = ControlClient::open(&world.socket("control"), world.pin()) else { continue };
                assert!(control.show(number).is_err(), "byte {place}: it can be decided again");
                let waits = control.ask(OperatorSays::List);
                let some = matches!(&waits, Ok(ExecutorSays::Waiting(rows)) if !rows.is_empty());
                assert!(!some, "byte {place}: {waits:?}");
            }
        }
        assert_eq!(world.writes().len(), 1, "byte {place}");
        assert!(!world.executor_log().contains("panicked"), "byte {place}: {}", world.executor_log());
    }
    println!("{refused} starts were refused, {started} were not");
    assert_eq!(refused + started, places.len());
}

// The executor if it comes up, nothing if it ends by itself.
fn start_somehow(world: &World) -> Option<Daemon> {
    let log = world.folder().join("logs/fleetwatch-executor.log");
    let stop = ["--stop-with-stdin".into()];
    let mut executor = Daemon::start("fleetwatch-executor", &stop, &world.executor_settings, &log);
    let up = until(SOON, "a start or an end", || {
        let ended = executor.ended().map(|_| false);
        ended.or_else(|| ControlClient::open(&world.socket("control"), world.pin()).ok().map(|_| true))
    });
    up.then_some(executor)
}

#[test]
fn a_kill_while_the_database_is_made_leaves_nothing_that_hinders_the_next_start() {
    let mut world = World::builder().without_assistant().start();
    assert_eq!(world.stop_executor(), Some(0));
    let names = ["store.db", "store.db-wal", "store.db-shm", "spent.log", "audit.key"];
    for name in names {
        let _not_there = fs::remove_file(file(&world, name));
    }
    world.start_executor_stopped_at("in_upgrade");
    wait_for_the_barrier(&mut world, "in_upgrade");
    assert!(!file(&world, "audit.key").exists(), "a key that signs a database that may not come");
    kill_and_start(&mut world);
    let number = world.propose("model", "batch_recording", &recording("start", &world.room("Hall A"), 1)).unwrap();
    assert_eq!(world.approve(number).unwrap().state, ProposalState::Ok);
    assert_eq!(world.writes().len(), 1);
    audit_holds(&world);
}
