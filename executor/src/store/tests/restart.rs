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
    let error = Store::open(&state, &world.clock).unwrap_err();
    assert!(error.to_string().contains("schema 9"), "{error}");
    assert_eq!(crate::serve::ServeError::Store(error).exit_code(), 78, "starting again is no use");
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
fn every_table_is_strict_and_the_schema_is_counted_once() {
    let world = World::new();
    let one = |world: &World, sql: &str| -> i64 { world.store.connection.query_row(sql, [], |r| r.get(0)).unwrap() };
    let tables = "SELECT count(*) FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND substr(name, 1, 7) <> 'sqlite_'";
    assert!(one(&world, tables) >= 9);
    assert_eq!(one(&world, &format!("{tables} AND strict = 0")), 0);
    let steps = i64::try_from(crate::store::upgrade::STEPS.len()).unwrap();
    assert_eq!(one(&world, "PRAGMA user_version"), steps);
    let changes = one(&world, "PRAGMA schema_version");
    let (world, _) = world.restart();
    assert_eq!(one(&world, "PRAGMA user_version"), steps);
    assert_eq!(one(&world, "PRAGMA schema_version"), changes, "a second start makes no table anew");
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

#[test]
fn a_sqlite_that_is_too_old_stops_the_start() {
    for (version, words) in
        [(3_051_002, "3.51.2 is too old"), (3_050_099, "3.50.99 is too old"), (2_099_999, "2.99.999")]
    {
        let error = crate::store::check_sqlite(version).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("3.51.3 or newer"), "{error}");
    }
    for version in [3_051_003, 3_052_000, 4_000_000, rusqlite::version_number()] {
        crate::store::check_sqlite(version).unwrap();
    }
}

#[test]
fn a_file_of_the_state_folder_that_others_can_reach_or_own_stops_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let is_root = nix::unistd::Uid::effective().is_root();
    for name in ["store.db", "spent.log", "audit.key", "store.lock", ""] {
        let mut world = World::new();
        world.pending();
        let state = world.folder.path().join("state");
        let path = if name.is_empty() { state.clone() } else { state.join(name) };
        let (right, wrong) = if name.is_empty() { (0o700, 0o750) } else { (0o600, 0o640) };
        let World { folder, clock, store, .. } = world;
        drop(store);
        let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        set(wrong);
        let error = Store::open(&state, &clock).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{name}: {error}");
        assert!(error.contains("chmod"), "{name}: what to do: {error}");
        set(right);
        // Only root can give a file away; the same look finds it.
        if is_root {
            let give = |uid| std::os::unix::fs::chown(&path, Some(uid), None).unwrap();
            give(65_534);
            let error = Store::open(&state, &clock).unwrap_err().to_string();
            assert!(error.contains(path.to_str().unwrap()) && error.contains("65534"), "{name}: {error}");
            give(0);
        }
        drop(Store::open(&state, &clock).unwrap());
        drop(folder);
    }
}
