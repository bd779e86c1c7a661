//! Expiry is an event like any other, and a row that cannot be expired holds nothing up for ever (`seed 000, Flow 4`).

use super::*;
use policy::limits;

fn expiries(world: &World) -> Vec<(i64, String)> {
    let sql = "SELECT proposal, detail FROM audit WHERE kind = 'expiry' ORDER BY sequence";
    let mut statement = world.store.connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let detail: String = row.get(1)?;
        let detail: serde_json::Value = serde_json::from_str(&detail).unwrap();
        Ok((row.get(0)?, format!("{} {}", detail["from"].as_str().unwrap(), detail["state"].as_str().unwrap())))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_expiry_is_audited_once_with_the_state_it_led_to() {
    let mut world = World::new();
    let (seen, _unseen, approved) = (world.pending(), world.pending(), world.approved());
    world.store.mark_seen(seen, "page", "ana").unwrap();
    world.time.advance(limits::APPROVAL_LIFE);
    assert_eq!(world.state(approved), ProposalState::Expired);
    world.time.advance(limits::PENDING_LIFE);
    for _ in 0..3 {
        world.store.expire_due().unwrap();
    }
    let found = expiries(&world);
    let found: Vec<_> = found.iter().map(|(number, step)| (*number, step.as_str())).collect();
    assert_eq!(found, [(3, "approved expired"), (1, "pending expired_seen"), (2, "pending expired_unseen")]);
    assert_eq!(world.store.verify_audit().unwrap().broken, None);
}

#[test]
fn a_row_that_cannot_be_expired_ends_each_sweep_and_is_approved_by_nobody() {
    for refusal in ["ABORT, 'stuck'", "IGNORE"] {
        let mut world = World::new();
        let (stuck, other) = (world.pending(), world.pending());
        world.sql(&format!(
            "CREATE TRIGGER stuck BEFORE UPDATE ON proposals WHEN OLD.number = 1 BEGIN SELECT RAISE({refusal}); END"
        ));
        world.time.advance(limits::PENDING_LIFE);
        for _ in 0..3 {
            // It comes back each time; whether as an error or not is the row's affair.
            let _ = world.store.expire_due();
            world.approve(stuck).unwrap_err();
            world.approve(other).unwrap_err();
        }
        assert!(expiries(&world).iter().all(|(number, _)| *number == 2), "{refusal}");
        world.sql("DROP TRIGGER stuck");
        world.store.expire_due().unwrap();
        assert_eq!(world.state(stuck), ProposalState::ExpiredUnseen, "{refusal}");
        assert_eq!(world.state(other), ProposalState::ExpiredUnseen, "{refusal}");
        assert_eq!(expiries(&world).len(), 2, "{refusal}: each once");
        assert_eq!(world.store.verify_audit().unwrap().broken, None);
    }
}

// `seed 000, Binding`; `issue line 2.24`.
#[test]
fn a_wall_clock_that_is_moved_by_an_hour_or_a_day_lengthens_no_life() {
    for step in [-86_400, -3_600, 3_600, 86_400] {
        let mut world = World::new();
        let (pending, approved) = (world.pending(), world.approved());
        world.time.step_wall(step);
        // Forward ends it at once; backward changes nothing, and the boot clock still counts.
        let ends_at_once = step > limits::PENDING_LIFE;
        assert_eq!(world.state(approved) == ProposalState::Expired, ends_at_once, "{step}");
        assert_eq!(world.state(pending) == ProposalState::ExpiredUnseen, ends_at_once, "{step}");
        world.time.advance(limits::APPROVAL_LIFE);
        world.time.step_wall(-limits::APPROVAL_LIFE);
        assert_eq!(world.state(approved), ProposalState::Expired, "{step}");
        world.store.consume(approved).unwrap_err();
        assert_eq!(world.state(pending) == ProposalState::ExpiredUnseen, ends_at_once, "{step}");
        world.time.advance(limits::PENDING_LIFE - limits::APPROVAL_LIFE);
        world.time.step_wall(limits::APPROVAL_LIFE - limits::PENDING_LIFE);
        assert_eq!(world.state(pending), ProposalState::ExpiredUnseen, "{step}");
        world.approve(pending).unwrap_err();
    }
}
