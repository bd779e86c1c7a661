use super::*;
use crate::store::spent::{SpentLine, SpentLog};

#[test]
fn a_start_expires_what_waits_and_what_was_approved() {
    let mut world = World::new();
    let (waiting, seen, approved) = (world.pending(), world.pending(), world.approved());
    world.store.mark_seen(seen, "page", "ana").unwrap();
    let (mut world, started) = world.restart();
    assert_eq!(started, Started { expired: 3, ..Started::default() });
    assert_eq!(world.state(waiting), ProposalState::ExpiredUnseen);
    assert_eq!(world.state(seen), ProposalState::ExpiredSeen);
    assert_eq!(world.state(approved), ProposalState::Expired);
    assert_eq!(code(world.store.consume(approved)), RefusalCode::BindingMismatch);
}

#[test]
fn consumed_without_an_outcome_is_unknown_and_stays_so() {
    let mut world = World::new();
    let number = world.approved();
    drop(world.store.consume(number).unwrap());
    let (mut world, started) = world.restart();
    assert_eq!(started.unknown, 1);
    assert_eq!(world.state(number), ProposalState::Unknown);
    let (mut world, started) = world.restart();
    assert_eq!(started, Started::default());
    assert_eq!(world.state(number), ProposalState::Unknown);
}

#[test]
fn a_spent_line_without_a_consumed_row_is_unknown_and_never_run() {
    let mut world = World::new();
    let number = world.approved();
    let id: String = world.store.connection.query_row("SELECT id FROM approvals", [], |r| r.get(0)).unwrap();
    let line = SpentLine { store_id: world.store.keys.store_id.clone(), number, approval: id };
    world.store.spent.append(&line, 1).unwrap();
    assert_eq!(code(world.store.consume(number)), RefusalCode::ApprovalUsed);
    let (mut world, started) = world.restart();
    assert_eq!(started.unknown, 1);
    assert_eq!(world.state(number), ProposalState::Unknown);
}

#[test]
fn a_spent_line_that_nobody_knows_means_a_restored_database() {
    let world = World::new();
    let path = world.folder.path().join("state").join("spent.log");
    let (mut log, _) = SpentLog::open(&path).unwrap();
    let line = SpentLine { store_id: "another".into(), number: ProposalNumber::new(5).unwrap(), approval: "x".into() };
    log.append(&line, 1).unwrap();
    let (_, started) = world.restart();
    assert_eq!(started.restored, 1);
}

#[test]
fn a_spent_log_that_cannot_be_written_refuses_and_rolls_back() {
    let mut world = World::new();
    let number = world.approved();
    // A file opened for reading only: every append fails.
    let path = world.folder.path().join("state").join("spent.log");
    world.store.spent.dangerous_break(std::fs::File::open(path).unwrap());
    assert!(matches!(world.store.consume(number), Err(StoreError::File(_))));
    assert_eq!(world.state(number), ProposalState::Approved);
    assert_eq!(code(world.store.consume(number)), RefusalCode::ApprovalUsed);
}

#[test]
fn another_boot_makes_no_approval_whole() {
    let mut world = World::new();
    let number = world.approved();
    world.sql("UPDATE approvals SET boot_id = 'boot-0'");
    assert_eq!(code(world.store.consume(number)), RefusalCode::BindingMismatch);
}

#[test]
fn an_approval_of_another_boot_is_not_consumed_under_the_same_keys_either() {
    let mut world = World::new();
    let number = world.approved();
    // A machine that was copied while it ran: the keys are still in memory, and the time is not over.
    (world.store.clock, _) = Clock::dangerous_manual(1_900_000_000, 5_000_000, "boot-2");
    assert_eq!(code(world.store.consume(number)), RefusalCode::BootChanged);
}

#[test]
fn a_missing_audit_key_beside_a_store_stops_the_start() {
    let world = World::new();
    let state = world.folder.path().join("state");
    std::fs::remove_file(state.join("audit.key")).unwrap();
    let clock = world.clock.clone();
    drop(world.store);
    let error = Store::open(&state, &clock).unwrap_err().to_string();
    assert!(error.contains("audit.key is missing"), "{error}");
}

#[test]
fn a_second_executor_on_the_same_folder_touches_nothing() {
    let mut world = World::new();
    let waiting = world.pending();
    let error = Store::open(&world.folder.path().join("state"), &world.clock).unwrap_err().to_string();
    assert!(error.contains("another executor"), "{error}");
    assert_eq!(world.state(waiting), ProposalState::Pending);
}

#[test]
fn a_newer_schema_stops_the_start() {
    let world = World::new();
    world.sql("PRAGMA user_version = 9");
    let state = world.folder.path().join("state");
    drop(world.store);
    let error = Store::open(&state, &world.clock).unwrap_err().to_string();
    assert!(error.contains("schema 9"), "{error}");
}

#[test]
fn every_file_of_the_store_is_0600() {
    use std::os::unix::fs::PermissionsExt;
    let mut world = World::new();
    world.pending();
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(world.folder.path().join("state")).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["audit.key", "spent.log", "store.db", "store.db-shm", "store.db-wal", "store.lock"]);
}

#[test]
fn a_full_sync_is_on() {
    let world = World::new();
    let pragma = |name: &str| -> String {
        let sql = format!("SELECT CAST(v AS TEXT) FROM (SELECT {name} AS v FROM pragma_{name})");
        world.store.connection.query_row(&sql, [], |r| r.get(0)).unwrap()
    };
    assert_eq!((pragma("synchronous").as_str(), pragma("journal_mode").as_str()), ("2", "wal"));
}

#[test]
fn a_torn_spent_line_counts_for_whatever_was_approved() {
    let mut world = World::new();
    let (approved, waiting) = (world.approved(), world.pending());
    let path = world.folder.path().join("state").join("spent.log");
    std::io::Write::write_all(&mut host::files::append_open(&path).unwrap(), b"spent 1 ab").unwrap();
    let (mut world, started) = world.restart();
    assert_eq!(started, Started { expired: 1, unknown: 1, torn: true, ..Started::default() });
    assert_eq!(world.state(approved), ProposalState::Unknown);
    assert_eq!(world.state(waiting), ProposalState::ExpiredUnseen);
}
