use super::*;

/// Every bound column of a proposal with a value that differs from the drafted one.
const PROPOSAL: [(&str, &str); 15] = [
    ("tool", "'batch_reboot'"),
    ("arguments", "'{\"action\":\"stop\",\"device_ids\":[\"19012341234-1\"]}'"),
    ("targets", "'[\"19012345678\"]'"),
    ("fingerprint", "'{\"a\":1}'"),
    ("referents", "'{\"a\":1}'"),
    ("schema_version", "2"),
    ("policy_version", "2"),
    ("slot", "'sandbox'"),
    ("reason", "'another'"),
    ("gates", "'[{}]'"),
    ("origin", "'command'"),
    ("agent", "'other'"),
    ("boot_id", "'boot-2'"),
    ("expires_at", "expires_at + 1"),
    ("expires_boot_ms", "expires_boot_ms + 1"),
];

const APPROVAL: [(&str, &str); 9] = [
    ("id", "'other'"),
    ("principal", "'bob'"),
    ("surface", "'command'"),
    ("session", "'00'"),
    ("digest", "'00'"),
    ("boot_id", "'boot-2'"),
    ("expires_at", "expires_at + 1000"),
    ("expires_boot_ms", "expires_boot_ms + 1000"),
    ("mac", "'00'"),
];

#[test]
fn a_proposal_changed_in_any_bound_field_is_not_approved() {
    for (column, value) in PROPOSAL {
        let mut world = World::new();
        let number = world.pending();
        world.sql(&format!("UPDATE proposals SET {column} = {value}"));
        let refused = code(world.approve(number));
        // A changed boot id expires the row before anything else is asked; either way nobody can approve it.
        assert!(matches!(refused, RefusalCode::BindingMismatch | RefusalCode::NotWaiting), "{column}: {refused}");
    }
}

#[test]
fn a_proposal_changed_after_approval_is_not_consumed() {
    for (column, value) in PROPOSAL {
        let mut world = World::new();
        let number = world.approved();
        world.sql(&format!("UPDATE proposals SET {column} = {value}"));
        assert_eq!(code(world.store.consume(number)), RefusalCode::BindingMismatch, "{column}");
    }
}

#[test]
fn a_proposal_under_another_number_is_neither_approved_nor_consumed() {
    let mut world = World::new();
    let number = world.pending();
    world.sql("UPDATE proposals SET number = 99");
    let moved = ProposalNumber::new(99).unwrap();
    assert_eq!(code(world.approve(number)), RefusalCode::UnknownProposal);
    assert_eq!(code(world.approve(moved)), RefusalCode::BindingMismatch);
    let mut world = World::new();
    let number = world.approved();
    world.sql("PRAGMA foreign_keys = OFF; UPDATE proposals SET number = 99; UPDATE approvals SET proposal = 99");
    world.store.consume(number).unwrap_err();
    assert_eq!(code(world.store.consume(moved)), RefusalCode::BindingMismatch);
    assert_eq!(std::fs::read_to_string(world.folder.path().join("state/spent.log")).unwrap(), "");
}

#[test]
fn an_approval_changed_in_any_bound_field_is_not_consumed() {
    for (column, value) in APPROVAL {
        let mut world = World::new();
        let number = world.approved();
        world.sql(&format!("UPDATE approvals SET {column} = {value}"));
        assert_eq!(code(world.store.consume(number)), RefusalCode::BindingMismatch, "{column}");
    }
}

#[test]
fn an_approval_cannot_be_unused_or_moved_to_another_proposal() {
    let mut world = World::new();
    let (number, other) = (world.approved(), world.pending());
    drop(world.store.consume(number).unwrap());
    world.sql("UPDATE approvals SET used = 0; UPDATE proposals SET state = 'approved' WHERE number = 1");
    assert_eq!(code(world.store.consume(number)), RefusalCode::ApprovalUsed);
    world.sql(&format!(
        "UPDATE approvals SET proposal = {other}, id = 'copy'; UPDATE proposals SET state = 'approved' WHERE number = {other}"
    ));
    assert_eq!(code(world.store.consume(other)), RefusalCode::BindingMismatch);
}
