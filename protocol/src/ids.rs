//! Identifiers that cross a socket. Private fields: each is checked once, where it enters.

use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The number of a proposal: what people say, what the card shows, what the bound record holds. Starts at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ProposalNumber(u64);

impl ProposalNumber {
    /// A number from 1 to 2^53−1, or nothing.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        (1..=crate::canonical::MAX_INTEGER.unsigned_abs()).contains(&number).then_some(Self(number))
    }

    /// The number itself.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for ProposalNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        Self::new(number).ok_or_else(|| serde::de::Error::custom("a proposal number is 1 or more"))
    }
}

impl fmt::Display for ProposalNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A short identifier that another party chose: 1 to 64 characters of `A-Za-z0-9_.:-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Label(String);

impl Label {
    /// The text as a label, or nothing when it is empty, longer than 64 characters, or holds any other character.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let fits = (1..=64).contains(&text.len());
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:-".contains(&b));
        (fits && plain).then(|| Self(text.to_owned()))
    }

    /// The label's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| serde::de::Error::custom("a label is 1 to 64 characters of A-Za-z0-9_.:-"))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposal_number_zero_does_not_exist() {
        assert_eq!(ProposalNumber::new(0), None);
        crate::frame::decode::<ProposalNumber>(&[0]).unwrap_err();
    }

    #[test]
    fn labels_hold_plain_characters_only() {
        assert!(Label::new("model").is_some());
        for bad in ["", "a b", "a\n", "é", &"x".repeat(65)] {
            assert_eq!(Label::new(bad), None, "{bad:?}");
        }
    }
}
