use super::*;
use crate::store::start::WitnessVerdict;

#[test]
fn every_table_has_a_retention_class() {
    let world = World::new();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = world.store.connection.prepare(sql).unwrap();
        statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables =
        names("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name");
    assert_eq!(tables, names("SELECT name FROM retention ORDER BY name"));
}

#[test]
fn old_rows_go_and_what_was_approved_or_lives_stays() {
    let mut world = World::new();
    let (denied, approved) = (world.pending(), world.approved());
    world.store.mark_seen(denied, "page", "ana").unwrap();
    world.deny(denied).unwrap();
    let approval = world.store.consume(approved).unwrap();
    finish(&mut world, approval, Outcome::Ok(String::new()));
    world.time.advance(31 * 86_400);
    assert_eq!(world.store.prune().unwrap().rows, 1);
    world.time.advance(400 * 86_400);
    let waiting = world.pending();
    assert_eq!(world.store.prune().unwrap().rows, 1);
    assert_eq!(code(world.store.row(denied)), RefusalCode::UnknownProposal);
    assert_eq!(world.state(approved), ProposalState::Ok);
    assert_eq!(world.state(waiting), ProposalState::Pending);
    assert_eq!(world.store.prune().unwrap().rows, 0);
    assert_eq!(world.store.verify_audit().unwrap().broken, None);
}

#[test]
fn a_restored_backup_is_the_old_story_with_every_live_row_expired() {
    let mut world = World::new();
    let (first, waiting) = (world.pending(), world.pending());
    world.deny(first).unwrap();
    let backup = world.store.backup().unwrap();
    let spent = world.approved();
    drop(world.store.consume(spent).unwrap());
    world.store.stage_restore(&backup, "ana", "command").unwrap();
    let (mut world, started) = world.restart();
    assert_eq!(started, Started { expired: 1, restored: 1, backup: true, ..Started::default() });
    assert_eq!(world.state(first), ProposalState::Denied);
    assert_eq!(world.state(waiting), ProposalState::ExpiredUnseen);
    assert_eq!(code(world.store.row(spent)), RefusalCode::UnknownProposal);
    // Told once, not at every start.
    let (world, started) = world.restart();
    assert_eq!(started, Started::default());
    assert_eq!(world.store.verify_audit().unwrap().broken, None);
    assert!(!world.store.has_lost());
}

#[test]
fn a_restore_that_was_ordered_excuses_one_newer_witness_and_no_more() {
    let mut world = World::new();
    let backup = world.store.backup().unwrap();
    for _ in 0..3 {
        let number = world.pending();
        world.deny(number).unwrap();
    }
    world.store.stage_restore(&backup, "ana", "command").unwrap();
    let newer = world.store.audit_head().unwrap();
    let (mut world, _) = world.restart();
    assert_eq!(world.store.judge_witness(&newer).unwrap(), WitnessVerdict::Newer);
    assert_eq!((world.store.verify_audit().unwrap().broken, world.store.has_lost()), (None, false));
    assert_eq!(world.store.judge_witness(&newer).unwrap(), WitnessVerdict::Newer);
    let (_, lost) = world.store.verify_audit().unwrap().broken.unwrap();
    assert!(lost.contains("the assistant held row") && world.store.has_lost(), "{lost}");
}

#[test]
fn a_database_that_was_put_back_by_hand_is_a_loss_also_at_the_next_start() {
    let mut world = World::new();
    let state = world.folder.path().join("state");
    world.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::copy(state.join("store.db"), state.join("old.db")).unwrap();
    let spent = world.approved();
    drop(world.store.consume(spent).unwrap());
    let World { folder, clock, time, store, ana, drafts } = world;
    drop(store);
    for name in ["store.db-wal", "store.db-shm"] {
        let _gone = std::fs::remove_file(state.join(name));
    }
    std::fs::rename(state.join("old.db"), state.join("store.db")).unwrap();
    let (store, started) = Store::open(&state, &clock).unwrap();
    assert_eq!(started.restored, 1);
    let world = World { folder, clock, time, store, ana, drafts };
    let (world, _) = world.restart();
    let (_, lost) = world.store.verify_audit().unwrap().broken.unwrap();
    assert!(lost.contains("spent approvals") && world.store.has_lost(), "{lost}");
}

#[test]
fn a_restore_ends_no_freeze_and_no_pause_and_says_who() {
    let mut world = World::new();
    let backup = world.store.backup().unwrap();
    let ana = world.ana.clone();
    for room in 0..6 {
        let number = world.admit(&format!("1901234{room:04}")).unwrap();
        world.deny(number).unwrap();
    }
    world.store.freeze(&ana, Surface::Page).unwrap();
    world.store.stage_restore(&backup, "ana", "command").unwrap();
    let (world, started) = world.restart();
    assert!(started.backup && world.store.is_frozen().unwrap());
    assert_eq!(world.store.paused_agents().unwrap(), ["assistant"]);
    let sql = "SELECT principal FROM audit WHERE kind = 'restored'";
    let by: String = world.store.connection.query_row(sql, [], |r| r.get(0)).unwrap();
    assert_eq!(by, "ana");
}

#[test]
fn a_restore_that_was_not_staged_by_this_program_stops_the_start() {
    let mut world = World::new();
    let backup = world.store.backup().unwrap();
    let state = world.folder.path().join("state");
    host::files::create_private(&state.join("restore.db"), &backup).unwrap();
    drop(world.store);
    let error = Store::open(&state, &world.clock).unwrap_err().to_string();
    assert!(error.contains("was not staged"), "{error}");
}

#[test]
fn a_backup_holds_no_key() {
    let mut world = World::new();
    world.approved();
    let backup = world.store.backup().unwrap();
    for key in [&world.store.keys.audit, &world.store.keys.binding, &world.store.keys.tickets] {
        let text = host::secret::hex(key.expose());
        for needle in [&key.expose()[..], text.as_bytes()] {
            assert!(!backup.windows(needle.len()).any(|window| window == needle));
        }
    }
}

#[test]
fn what_is_no_backup_of_ours_is_refused_and_changes_nothing() {
    let mut world = World::new();
    world.pending();
    let backup = world.store.backup().unwrap();
    let mut damaged = backup.clone();
    let middle = damaged.len() / 2;
    damaged.truncate(middle);
    let mut stranger = World::new();
    let foreign = stranger.store.backup().unwrap();
    for (bytes, word) in [(b"hello".to_vec(), "database"), (damaged, ""), (foreign, "audit row")] {
        let error = world.store.stage_restore(&bytes, "ana", "command").unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    let (_, started) = world.restart();
    assert_eq!(started.restored, 0);
}

#[test]
fn a_damaged_database_stops_the_start_with_what_to_do() {
    let mut world = World::new();
    for room in 0..3 {
        world.admit(&format!("1901234{room:04}")).unwrap();
    }
    world.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let state = world.folder.path().join("state");
    let clock = world.clock.clone();
    drop(world.store);
    let path = state.join("store.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let from = bytes.len() / 2;
    bytes[from..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let error = Store::open(&state, &clock).unwrap_err().to_string();
    assert!(error.contains("store.db") && error.contains("restore a backup"), "{error}");
}

/// Whichever statement of the start meets the full disk, and whatever SQLite calls it.
#[test]
fn a_disk_that_fails_at_the_start_is_told_from_a_damaged_file() {
    use rusqlite::ffi;
    let folder = std::path::Path::new("/state");
    for (code, advice) in [
        (ffi::SQLITE_FULL, "free space on its disk"),
        (ffi::SQLITE_IOERR, "free space on its disk"),
        (ffi::SQLITE_READONLY, "free space on its disk"),
        (ffi::SQLITE_CANTOPEN, "free space on its disk"),
        (ffi::SQLITE_CORRUPT, "restore a backup"),
        (ffi::SQLITE_NOTADB, "restore a backup"),
    ] {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let told = StoreError::Sqlite(error).at_start(folder).to_string();
        assert!(told.contains("/state/store.db cannot be used (") && told.contains(advice), "{told}");
    }
}
