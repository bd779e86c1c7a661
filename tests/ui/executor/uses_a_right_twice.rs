//@ fails E0382 use of moved value: `right`
//! One approval, one write.

use executor::store::ConsumedApproval;

fn act(right: ConsumedApproval) -> String {
    right.principal().to_owned()
}

/// Never.
pub fn twice(right: ConsumedApproval) -> (String, String) {
    (act(right), act(right))
}
