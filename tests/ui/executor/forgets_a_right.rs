//@ fails lint must be used
//! Whoever consumes an approval has an outcome to record.

use executor::store::{Store, StoreError};
use protocol::ids::ProposalNumber;

/// Never.
pub fn forget(store: &mut Store, number: ProposalNumber) -> Result<(), StoreError> {
    store.consume(number)?;
    Ok(())
}
