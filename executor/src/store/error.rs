//! What can go wrong in the store, for the log. Peers only see `store_failed`.

use protocol::refusal::{Refusal, RefusalCode};
use std::fmt;

/// Why a store operation did not happen.
#[derive(Debug)]
pub enum StoreError {
    /// A row or file holds what this program never writes.
    Corrupt(String),
    /// The folder, key or spent log could not be used.
    File(String),
    /// A rule said no; nothing was changed.
    Refused(Refusal),
    /// SQLite said no; the transaction was rolled back.
    Sqlite(rusqlite::Error),
    /// The store's thread is gone.
    Stopped,
}

impl StoreError {
    /// What a peer may know.
    #[must_use]
    pub fn into_refusal(self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            Self::Corrupt(_) | Self::File(_) | Self::Sqlite(_) | Self::Stopped => {
                tracing::error!(error = %self, "store");
                Refusal::bare(RefusalCode::StoreFailed)
            }
        }
    }

    pub(crate) fn refused(code: RefusalCode) -> Self {
        Self::Refused(Refusal::bare(code))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt(what) => write!(f, "the store holds what Fleetwatch never writes: {what}"),
            Self::File(what) => write!(f, "{what}"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
            Self::Sqlite(error) => write!(f, "database: {error}"),
            Self::Stopped => f.write_str("the store has stopped"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
