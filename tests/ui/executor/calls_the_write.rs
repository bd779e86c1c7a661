//@ fails E0603 module `backends` is private
//! The one write is nobody else's.

use executor::backends::epiphan::write::write;

/// Never.
pub fn now() {
    let _ = write;
}
