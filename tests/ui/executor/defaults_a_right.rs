//@ fails E0277 the trait bound `ConsumedApproval: Default` is not satisfied
//! There is none out of nothing.

use executor::store::ConsumedApproval;

fn nothing<T: Default>() -> T {
    T::default()
}

/// Never.
pub fn right() -> ConsumedApproval {
    nothing()
}
