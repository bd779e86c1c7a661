//! A PIN on its way from the terminal to the executor.

use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::Zeroizing;

/// What a person typed. Wiped when dropped; never printed. It is serialized for `control.sock` alone, which stays on
/// this machine and between two processes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinEntry(String);

impl PinEntry {
    /// Takes what was typed.
    #[must_use]
    pub fn new(mut typed: Zeroizing<String>) -> Self {
        Self(std::mem::take(&mut *typed))
    }

    /// The typed text, for the one comparison.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for PinEntry {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

impl fmt::Debug for PinEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PinEntry(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_never_printed() {
        let pin = PinEntry::new(Zeroizing::new("12345678".to_owned()));
        assert_eq!(format!("{pin:?}"), "PinEntry(..)");
        assert_eq!(pin.expose(), "12345678");
    }
}
