//! The first message in each direction on every socket. It is the first word of each enum and stays there, so that two builds
//! of different versions still understand who the other is.

use crate::guard::stands;
use crate::refusal::RefusalCode;
use serde::{Deserialize, Serialize};

/// The version of every word in `protocol` and `control`. A changed golden file needs a new number here.
pub const WIRE_VERSION: u16 = 1;

/// This build, as `status` shows it.
pub const BUILD: &str = concat!("fleetwatch ", env!("CARGO_PKG_VERSION"));

/// Who speaks which version. A peer with another wire version is answered with its own hello and then closed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The sender's [`WIRE_VERSION`].
    pub wire: u16,
    /// The sender's [`BUILD`].
    pub build: String,
}

impl Hello {
    /// This build's hello.
    #[must_use]
    pub fn ours() -> Self {
        Self { wire: WIRE_VERSION, build: BUILD.to_owned() }
    }

    /// Whether the two can talk.
    #[must_use]
    pub fn speaks_ours(&self) -> bool {
        self.wire == WIRE_VERSION || !stands(RefusalCode::WireVersion)
    }
}

/// The newest row of the executor's audit, kept by the assistant as a witness against a restored database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditHead {
    /// The row's sequence number; 0 when the audit is empty.
    pub sequence: u64,
    /// SHA-256 of the chain up to that row.
    pub hash: [u8; 32],
    /// HMAC-SHA256 of store id, sequence and hash under the executor's audit key.
    pub mac: [u8; 32],
}

/// A numbered question. The reply carries the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request<T> {
    /// Chosen by the asker, echoed by the answerer.
    pub id: u32,
    /// What is asked.
    pub say: T,
}

/// A numbered answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply<T> {
    /// The number of the question.
    pub id: u32,
    /// What is answered.
    pub say: T,
}

/// Whether the operating system keeps the two daemons apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    /// One user runs everything; the approver's PIN is the boundary.
    None,
    /// Separate users.
    Users,
}

impl Isolation {
    /// The word that status, audit and card footer use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Users => "users",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_wire_version_is_not_ours_whatever_the_build() {
        assert!(Hello { build: "somebody's".to_owned(), ..Hello::ours() }.speaks_ours());
        for wire in [0, WIRE_VERSION - 1, WIRE_VERSION + 1, u16::MAX] {
            assert!(!Hello { wire, ..Hello::ours() }.speaks_ours(), "{wire}");
        }
    }
}
