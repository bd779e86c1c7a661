use super::*;
use crate::store::start::WitnessVerdict;

fn story() -> World {
    let mut world = World::new();
    let number = world.approved();
    let approval = world.store.consume(number).unwrap();
    finish(&mut world, approval, Outcome::Ok(String::new()));
    let denied = world.pending();
    world.deny(denied).unwrap();
    world
}

#[test]
fn every_step_is_in_the_audit_and_the_chain_holds() {
    let world = story();
    let mut statement = world.store.connection.prepare("SELECT kind FROM audit ORDER BY sequence").unwrap();
    let kinds: Vec<String> = statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(kinds, ["start", "proposal", "approval", "consumed", "outcome", "proposal", "denial"]);
    let report = world.store.verify_audit().unwrap();
    assert_eq!((report.rows, report.broken), (7, None));
}

#[test]
fn an_edited_deleted_or_inserted_row_is_found_where_it_is() {
    for (sql, at) in [
        ("UPDATE audit SET principal = 'bob' WHERE sequence = 3", 3),
        ("UPDATE audit SET detail = '{}' WHERE sequence = 5", 5),
        ("UPDATE audit SET at = at + 1 WHERE sequence = 2", 2),
        ("DELETE FROM audit WHERE sequence = 4", 5),
        ("UPDATE audit SET mac = hash WHERE sequence = 6", 6),
        ("DELETE FROM audit WHERE sequence = 1", 2),
        (
            "INSERT INTO audit SELECT 8, at, boot_ms, kind, proposal, 'bob', surface, detail, hash, mac FROM audit WHERE sequence = 7",
            8,
        ),
    ] {
        let world = story();
        world.sql(sql);
        let report = world.store.verify_audit().unwrap();
        assert_eq!(report.broken.map(|(row, _)| row), Some(at), "{sql}");
    }
}

#[test]
fn an_empty_audit_and_one_that_is_gone_are_told_apart() {
    let world = story();
    world.sql("DROP TABLE audit");
    let report = world.store.verify_audit().unwrap();
    assert_eq!(report.broken, Some((1, "the audit table is gone".to_owned())));
}

#[test]
fn a_cut_tail_is_found_by_the_head_that_the_assistant_keeps() {
    let mut world = story();
    let head = world.store.audit_head().unwrap();
    let waiting = world.pending();
    assert_eq!(world.store.judge_witness(&head).unwrap(), WitnessVerdict::Fits);
    world.sql("DELETE FROM audit WHERE sequence > 5");
    assert_eq!(world.store.judge_witness(&head).unwrap(), WitnessVerdict::Newer);
    assert_eq!(world.state(waiting), ProposalState::ExpiredUnseen);
    // Said once, it stays said, although the chain fits and the next witness is this database's own.
    let head = world.store.audit_head().unwrap();
    let (mut world, _) = world.restart();
    assert_eq!(world.store.judge_witness(&head).unwrap(), WitnessVerdict::Fits);
    let (row, lost) = world.store.verify_audit().unwrap().broken.unwrap();
    assert!(row > 5 && lost.contains("the assistant held row 7"), "{row}: {lost}");
}

/// A chain that somebody computed anew without the key fits as a chain, and no row carries our MAC.
#[test]
fn a_chain_that_was_computed_anew_without_the_key_is_found_at_its_first_row() {
    let world = story();
    let keys = super::super::Keys {
        store_id: world.store.keys.store_id.clone(),
        audit: host::secret::Key32::random().unwrap(),
        binding: host::secret::Key32::random().unwrap(),
        tickets: host::secret::Key32::random().unwrap(),
    };
    let report = crate::store::audit::verify(&world.store.connection, &keys).unwrap();
    assert_eq!(report.broken, Some((1, "its MAC is not this executor's".to_owned())));
}

#[test]
fn a_witness_that_we_did_not_sign_changes_nothing() {
    let mut world = story();
    let waiting = world.pending();
    let mut head = world.store.audit_head().unwrap();
    head.sequence += 1;
    assert_eq!(world.store.judge_witness(&head).unwrap(), WitnessVerdict::BadMac);
    assert_eq!(world.state(waiting), ProposalState::Pending);
}

#[test]
fn a_restored_database_expires_what_lives_and_rotates_the_keys() {
    let mut world = story();
    let waiting = world.pending();
    let mut newer = World::new();
    newer.store.keys.store_id.clone_from(&world.store.keys.store_id);
    newer.store.keys.audit = host::secret::Key32::from_bytes((*world.store.keys.audit.expose()).into());
    for _ in 0..2 {
        let number = newer.pending();
        newer.deny(number).unwrap();
    }
    let head = newer.store.audit_head().unwrap();
    let before = *world.store.keys.binding.expose();
    assert_eq!(world.store.judge_witness(&head).unwrap(), WitnessVerdict::Newer);
    assert_eq!(world.state(waiting), ProposalState::ExpiredUnseen);
    assert_ne!(&before, world.store.keys.binding.expose());
}
