//! Words of signing in, the same on both sockets. No token is among them: each daemon keeps its own.

use crate::shown::Worded;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most ids of units that travel at once.
pub const MAX_IDS: usize = 5_000;
/// Longest address that is pasted, in bytes.
pub const MAX_PASTED: usize = 4_096;

/// Where a person signs in. The link is for that person's eyes: it is never printed by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginLink {
    /// For the browser.
    pub url: String,
    /// The host that it must lead to, by the configured server's metadata.
    pub host: String,
    /// How long the daemon waits.
    pub seconds: u32,
}

impl fmt::Debug for LoginLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginLink").field("host", &self.host).finish_non_exhaustive()
    }
}

/// An address that a person copied from the browser. It holds a code, good once and for the waiting daemon alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pasted(String);

impl Pasted {
    /// Takes what was pasted.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The address, for the one comparison.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Pasted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pasted(..)")
    }
}

/// A sign-in that was made and kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedIn {
    /// What the server granted, made safe to show.
    pub scope: Option<String>,
    /// Seconds until what it holds now runs out.
    pub expires_in: Option<u64>,
    /// Whether the daemon renews it by itself.
    pub renewed: bool,
    /// How many units it reaches, where they were read.
    pub devices: Option<u32>,
    /// What a person should know.
    pub notes: Vec<Worded>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_link_nor_pasted_address_is_printed() {
        let link =
            LoginLink { url: "https://a.example/?state=never-show".into(), host: "a.example".into(), seconds: 300 };
        let pasted = Pasted::new(" http://127.0.0.1:8765/callback?code=never-show\n");
        assert!(!format!("{link:?} {pasted:?}").contains("never-show"));
        assert!(pasted.expose().ends_with("never-show"));
    }
}
