//@ fails E0599 no method named `clone` found for struct `ConsumedApproval`
//! A right is moved, never copied.

use executor::store::ConsumedApproval;

/// Never.
pub fn two(right: ConsumedApproval) -> (ConsumedApproval, ConsumedApproval) {
    (right.clone(), right)
}
