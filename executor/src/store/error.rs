//! What can go wrong in the store, for the log. Peers only see `store_failed`.

use protocol::refusal::{Refusal, RefusalCode};
use std::fmt;
use std::path::Path;

const FREE_THE_DISK: &str = "free space on its disk and make it writable, then start again; leave the file where it is";
const RESTORE: &str = "move it away and restore a backup with fleetwatchctl restore";

/// Why a store operation did not happen.
#[derive(Debug)]
pub enum StoreError {
    /// A row or file holds what this program never writes.
    Corrupt(String),
    /// SQLite's own check found the database file damaged.
    Damaged(String),
    /// The folder, key or spent log could not be used.
    File(String),
    /// A newer program has made the database; no start of this one can mend that. In words, with what to do.
    Newer(String),
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
            Self::Corrupt(_) | Self::Damaged(_) | Self::File(_) | Self::Newer(_) | Self::Sqlite(_) | Self::Stopped => {
                tracing::error!(error = %self, "store");
                Refusal::bare(RefusalCode::StoreFailed)
            }
        }
    }

    /// The same, as it stops a start: which file cannot be used, and what to do.
    pub(crate) fn at_start(self, folder: &Path) -> Self {
        use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
        let advice = match &self {
            Self::Damaged(_) => RESTORE,
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(CannotOpen | DiskFull | ReadOnly | SystemIoFailure) => FREE_THE_DISK,
                _ => RESTORE,
            },
            Self::Corrupt(_) | Self::File(_) | Self::Newer(_) | Self::Refused(_) | Self::Stopped => return self,
        };
        Self::File(format!("{} cannot be used ({self}); {advice}", folder.join(super::DATABASE).display()))
    }

    pub(crate) fn refused(code: RefusalCode) -> Self {
        Self::Refused(Refusal::bare(code))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt(what) => write!(f, "the store holds what Fleetwatch never writes: {what}"),
            Self::Damaged(what) => write!(f, "the database is damaged: {what}"),
            Self::File(what) | Self::Newer(what) => write!(f, "{what}"),
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
