//@ fails E0451 of struct `ConsumedApproval` are private
//! Only the commit builds it.

use executor::store::{ConsumedApproval, StoredProposal};

/// Never.
pub fn build(proposal: StoredProposal) -> ConsumedApproval {
    ConsumedApproval { proposal, principal: String::new() }
}
