//@ compiles
//! What may be done with the right: get it from the store, look at it, give it up once.

use executor::store::{ConsumedApproval, Store, StoreError};
use protocol::ids::ProposalNumber;

/// Gives up the right.
pub fn act(right: ConsumedApproval) -> String {
    right.principal().to_owned()
}

/// Once.
pub fn once(store: &mut Store, number: ProposalNumber) -> Result<String, StoreError> {
    let right = store.consume(number)?;
    Ok(act(right))
}
