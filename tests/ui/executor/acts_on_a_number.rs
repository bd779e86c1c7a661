//@ fails E0308 mismatched types
//! Knowing which proposal it is gives no right to it.

use executor::store::ConsumedApproval;
use protocol::ids::ProposalNumber;

fn act(right: ConsumedApproval) -> String {
    right.principal().to_owned()
}

/// Never.
pub fn by_number(number: ProposalNumber) -> String {
    act(number)
}
