//@ fails E0433 unlinked crate `control`
//! The word "approve" is not in any crate that the assistant is built with.

use control::message::Approve;

/// Never.
pub fn approve(yes: Approve) -> Approve {
    yes
}
