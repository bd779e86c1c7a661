//@ fails E0433 unlinked crate `executor`
//! Nor is the one door through which a proposal is decided.

use executor::decide::Decision;

/// Never.
pub fn decide(decision: &Decision<'_>) -> bool {
    matches!(decision, Decision::Approve { .. })
}
