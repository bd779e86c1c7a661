//! Databases of every schema that was ever released, opened by this program (issue line 4.13). `upgrade/vN.sql` holds what
//! a program of schema N wrote, row by row, with its audit key and spent log.

use super::*;
use crate::store::upgrade::{STEPS, take};
use host::files::{create_private, ensure_private_dir};
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One for each step, in order. With `FLEETWATCH_BLESS=1` the test of the newest one fills it when it is empty.
const FIXTURES: [&str; STEPS.len()] = [include_str!("upgrade/v1.sql")];

/// SHA-256 of each step: what was released never changes.
const DIGESTS: [&str; STEPS.len()] = ["5db30b9f04a5e270d9c3c7a78cea8d7d2f22bdb2d7060e69ad667f48e4ef449a"];

/// A step that nobody released: it changes a full table, makes one, and touches every row.
const NEXT: &str = "ALTER TABLE proposals ADD COLUMN made_up TEXT NOT NULL DEFAULT 'old';
    UPDATE proposals SET made_up = 'new';
    CREATE TABLE made_up (a INTEGER PRIMARY KEY) STRICT;
    INSERT INTO retention (name, class, days) VALUES ('made_up', 'forever', NULL);";

const WIDE: Limits = Limits { pending: 100, per_hour: 100, denials: 100 };

fn one(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |r| r.get(0)).unwrap()
}

fn pairs(connection: &Connection, sql: &str) -> BTreeMap<i64, String> {
    let mut statement = connection.prepare(sql).unwrap();
    let found = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap();
    found.map(Result::unwrap).collect()
}

fn states(connection: &Connection) -> BTreeMap<i64, String> {
    pairs(connection, "SELECT number, state FROM proposals")
}

fn tables(connection: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
}

fn counts(connection: &Connection) -> BTreeMap<String, i64> {
    let count = |name: String| (name.clone(), one(connection, &format!("SELECT count(*) FROM {name}")));
    tables(connection).into_iter().map(count).collect()
}

// A state folder as a program of this schema left it, and its database.
fn lay(version: usize, folder: &Path) -> Connection {
    ensure_private_dir(folder).unwrap();
    let fixture = FIXTURES[version - 1];
    let header = |name: &str| {
        let lines = fixture.lines().filter_map(|line| line.strip_prefix(&format!("-- {name} ")).map(str::to_owned));
        lines.collect::<Vec<_>>()
    };
    create_private(&folder.join("audit.key"), header("audit.key")[0].as_bytes()).unwrap();
    let spent: String = header("spent.log").iter().map(|line| format!("{line}\n")).collect();
    create_private(&folder.join("spent.log"), spent.as_bytes()).unwrap();
    let path = folder.join("store.db");
    create_private(&path, b"").unwrap();
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = wal; PRAGMA foreign_keys = off; BEGIN").unwrap();
    for step in &STEPS[..version] {
        connection.execute_batch(step).unwrap();
    }
    connection.execute_batch(fixture).unwrap();
    connection.execute_batch(&format!("PRAGMA user_version = {version}; COMMIT")).unwrap();
    connection
}

// What a start makes of a row that an earlier process left.
fn settled(state: &str) -> &str {
    match state {
        "approved" => "expired",
        "consumed" => "unknown",
        "pending" => "expired_unseen",
        other => other,
    }
}

#[test]
fn a_database_of_every_schema_opens_with_nothing_lost_and_nothing_alive() {
    for version in 1..=STEPS.len() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let old = lay(version, &state);
        let (before, was) = (counts(&old), states(&old));
        let alive = |state: &str| was.values().filter(|word| *word == state).count();
        let (expired, unknown) = (alive("pending") + alive("approved"), alive("consumed"));
        assert!(ProposalState::ALL.iter().all(|state| alive(state.as_str()) > 0), "{version}: {was:?}");
        drop(old);

        let (clock, _) = Clock::dangerous_manual(1_900_100_000, 7_000, "boot-2");
        let (mut store, started) = Store::open(&state, &clock).unwrap();
        let want = [expired, unknown].map(|count| u64::try_from(count).unwrap());
        assert_eq!(started, Started { expired: want[0], unknown: want[1], ..Started::default() }, "{version}");
        let after = counts(&store.connection);
        let steps = i64::try_from(expired + unknown + 1).unwrap();
        for (name, count) in &before {
            let more = if name == "audit" { steps } else { 0 };
            assert_eq!(after.get(name), Some(&(count + more)), "{version}: {name}");
        }
        for (number, state) in &was {
            let number = ProposalNumber::new(u64::try_from(*number).unwrap()).unwrap();
            assert_eq!(store.row(number).unwrap().state.as_str(), settled(state), "{version}: {number}");
            code(store.consume(number));
        }
        assert_eq!(store.history().unwrap().len(), was.len());
        assert!(store.waiting().unwrap().is_empty());
        let report = store.verify_audit().unwrap();
        assert_eq!((report.broken, i64::try_from(report.rows).unwrap()), (None, after["audit"]), "{version}");
        assert_eq!(store.paused_agents().unwrap(), ["insistent"]);
        assert_eq!(store.slice_version("epiphan/batch_recording", "the slice's text").unwrap(), 2);
        store.claim("sim").unwrap();
        assert!(store.claim("sandbox").is_err(), "{version}: the folder belongs to the simulator");
        assert_eq!(one(&store.connection, "PRAGMA user_version"), i64::try_from(STEPS.len()).unwrap());
        assert_eq!(one(&store.connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
        assert_eq!(state.join(format!("store.schema-{version}.db")).exists(), version < STEPS.len());

        // It goes on with the next number.
        let ana = Person::dangerous_made_up("ana", 1001);
        let mut world =
            World { folder, time: Clock::dangerous_manual(0, 0, "unused").1, clock, store, ana, drafts: 500 };
        let next = world.pending().get();
        assert_eq!(i64::try_from(next).unwrap(), was.keys().max().unwrap() + 1);
    }
}

#[test]
fn what_was_released_never_changes_and_no_step_ends_its_own_transaction() {
    for (step, digest) in STEPS.iter().zip(DIGESTS) {
        assert_eq!(host::secret::hex(&Sha256::digest(step.as_bytes())), digest, "add a step instead");
        for word in ["BEGIN", "COMMIT", "ROLLBACK", "PRAGMA", "VACUUM"] {
            assert!(!step.to_uppercase().split_whitespace().any(|found| found.trim_end_matches(';') == word), "{word}");
        }
    }
}

#[test]
fn a_step_that_fails_changes_nothing_and_one_that_holds_leaves_a_copy_of_the_old() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut database = lay(STEPS.len(), &state);
    let (before, was) = (counts(&database), states(&database));
    let copy = state.join(format!("store.schema-{}.db", STEPS.len()));
    let bad = format!("{NEXT} INSERT INTO nowhere VALUES (1);");
    take(&mut database, &state, &[&STEPS[..], &[bad.as_str()]].concat()).unwrap_err();
    assert_eq!(one(&database, "PRAGMA user_version"), i64::try_from(STEPS.len()).unwrap());
    assert_eq!((counts(&database), states(&database)), (before.clone(), was.clone()));
    assert!(copy.exists(), "taken before anything else, and replaced by the next try");
    let next = [&STEPS[..], &[NEXT]].concat();
    take(&mut database, &state, &next).unwrap();
    take(&mut database, &state, &next).unwrap();
    assert_eq!(one(&database, "PRAGMA user_version"), i64::try_from(next.len()).unwrap());
    assert_eq!(states(&database), was);
    host::files::check_file(&copy, host::files::Owner::Me, 0o600).unwrap();
    let old = Connection::open(&copy).unwrap();
    assert_eq!((counts(&old), states(&old)), (before, was));
    assert_eq!(one(&old, "PRAGMA user_version"), i64::try_from(STEPS.len()).unwrap());
    // This program knows nothing of that step.
    let (clock, _) = Clock::dangerous_manual(1_900_100_000, 7_000, "boot-2");
    drop(database);
    let error = Store::open(&state, &clock).unwrap_err().to_string();
    assert!(error.contains(&format!("has schema {}", next.len())) && error.contains("install the newer"), "{error}");
}

#[test]
fn a_kill_within_a_step_leaves_the_old_database_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let database = lay(STEPS.len(), &state);
    let was = states(&database);
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    // Pages go to the log before the commit, as in a step larger than the memory for it.
    database.execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 1; BEGIN IMMEDIATE").unwrap();
    database.execute_batch(NEXT).unwrap();
    let next = STEPS.len() + 1;
    database.execute_batch(&format!("PRAGMA user_version = {next}")).unwrap();
    let read = |name: &str| fs::read(state.join(name)).unwrap();
    let (main, within) = (read("store.db"), read("store.db-wal"));
    database.execute_batch("COMMIT").unwrap();
    let whole = read("store.db-wal");
    assert_eq!(main, read("store.db"));
    assert!(within.len() > 32 && within.len() < whole.len(), "{} of {}", within.len(), whole.len());

    let page = usize::try_from(one(&database, "PRAGMA page_size")).unwrap();
    let mut cuts: Vec<_> = (0..whole.len()).step_by((page + 24) / 3).map(|cut| &whole[..cut]).collect();
    cuts.extend([&within[..], &whole[..]]);
    let (mut old, mut new) = (0, 0);
    for wal in cuts {
        let at = tempfile::tempdir().unwrap();
        fs::write(at.path().join("store.db"), &main).unwrap();
        fs::write(at.path().join("store.db-wal"), wal).unwrap();
        let left = Connection::open(at.path().join("store.db")).unwrap();
        let made_up = tables(&left).contains(&"made_up".to_owned());
        let version = usize::try_from(one(&left, "PRAGMA user_version")).unwrap();
        assert_eq!(version, if made_up { next } else { STEPS.len() }, "{} bytes", wal.len());
        assert_eq!(states(&left), was);
        if made_up {
            new += 1;
            assert_eq!(one(&left, "SELECT count(*) FROM proposals WHERE made_up <> 'new'"), 0);
        } else {
            old += 1;
            left.prepare("SELECT made_up FROM proposals").unwrap_err();
        }
        let fine: String = left.query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
        assert_eq!(fine, "ok");
    }
    assert!(old > 10 && new >= 1, "{old} {new}");
}

// A store in which every table has rows, and every state of a proposal is there.
fn filled() -> World {
    let mut world = World::new();
    let room = |world: &mut World, agent: &str| {
        let mut draft = world.draft(&format!("2030100{:04}", world.drafts));
        draft.agent = Label::new(agent).unwrap();
        world.store.admit(&draft, WIDE).unwrap()
    };
    let approved = |world: &mut World| {
        let number = room(world, "assistant");
        world.approve(number).unwrap();
        number
    };
    world.store.claim("sim").unwrap();
    world.store.slice_version("epiphan/batch_recording", "an older text").unwrap();
    world.store.slice_version("epiphan/batch_recording", "the slice's text").unwrap();
    world.sql("INSERT INTO lost_approvals VALUES ('0123456789abcdef', 900, 1899999999)");
    let seen = room(&mut world, "assistant");
    world.store.mark_seen(seen, "page", "ana").unwrap();
    room(&mut world, "assistant");
    approved(&mut world);
    world.time.advance(1_000);
    world.store.expire_due().unwrap();
    for _ in 0..6 {
        let number = room(&mut world, "insistent");
        world.deny(number).unwrap();
    }
    let number = approved(&mut world);
    world.deny(number).unwrap();
    let number = room(&mut world, "assistant");
    assert!(world.store.withdraw_row(number, "turn-1").unwrap());
    let refusal = protocol::refusal::Refusal::new(RefusalCode::Stale, "a reading of 20 s");
    for outcome in [
        Outcome::Ok("read back: channel 1 is recording".to_owned()),
        Outcome::Error("the device said no".to_owned()),
        Outcome::Unknown("closed".to_owned()),
        Outcome::Refused(refusal),
    ] {
        let number = approved(&mut world);
        let approval = world.store.consume(number).unwrap();
        finish(&mut world, approval, outcome);
    }
    let number = approved(&mut world);
    drop(world.store.consume(number).unwrap());
    approved(&mut world);
    room(&mut world, "assistant");
    world
}

fn dumped(world: &World) -> String {
    let state = world.folder.path().join("state");
    let read = |name: &str| fs::read_to_string(state.join(name)).unwrap();
    let mut text =
        format!("-- What a program of schema {} wrote. Made once by its own test, and never changed.\n", STEPS.len());
    text.push_str(&format!("-- audit.key {}\n", read("audit.key").trim()));
    for line in read("spent.log").lines() {
        text.push_str(&format!("-- spent.log {line}\n"));
    }
    let connection = &world.store.connection;
    // Its rows are the schema's own.
    for table in tables(connection).into_iter().filter(|name| name != "retention") {
        let mut statement = connection.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
        let columns: Vec<String> = statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
        let quoted: Vec<_> = columns.iter().map(|name| format!("quote({name})")).collect();
        let sql = format!("SELECT {} FROM {table} ORDER BY rowid", quoted.join(" || ', ' || "));
        let mut statement = connection.prepare(&sql).unwrap();
        for row in statement.query_map([], |r| r.get::<_, String>(0)).unwrap() {
            text.push_str(&format!("INSERT INTO {table} ({}) VALUES ({});\n", columns.join(", "), row.unwrap()));
        }
    }
    text
}

#[test]
fn the_newest_fixture_is_as_full_as_this_program_can_make_it() {
    let world = filled();
    let folder = tempfile::tempdir().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/store/tests/upgrade/v{}.sql", STEPS.len()));
    if std::env::var_os("FLEETWATCH_BLESS").is_some() && fs::read(&path).is_ok_and(|text| text.is_empty()) {
        fs::write(&path, dumped(&world)).unwrap();
    }
    let laid = lay(STEPS.len(), &folder.path().join("state"));
    assert_eq!(counts(&laid), counts(&world.store.connection));
    assert_eq!(states(&laid), states(&world.store.connection));
    assert!(counts(&laid).values().all(|count| *count > 0), "{:?}", counts(&laid));
}
