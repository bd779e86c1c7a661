//@ fails lint unused `Result` that must be used
//! No right without the store's yes.

use executor::store::Store;
use protocol::ids::ProposalNumber;

/// Never.
pub fn ignore(store: &mut Store, number: ProposalNumber) {
    store.consume(number);
}
