//! What can be wrong with a socket, with what was found and what to do.

use crate::files::FileError;
use crate::secret::RandomError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a socket was not bound or a peer was not accepted.
#[derive(Debug)]
#[expect(missing_docs, reason = "the fields say the same in every variant: which path, what was found, what is wanted")]
pub enum SocketError {
    /// Another process answers there.
    AlreadyRunning { path: PathBuf },
    /// A mode other than 0600 and 0660 was asked for.
    BadMode { mode: u32 },
    /// The folder is not safe, or not there.
    Folder(FileError),
    /// What the service manager handed over is not the socket of this place.
    Handed { path: PathBuf, what: String },
    /// The operating system said no.
    Io { path: PathBuf, doing: &'static str, source: io::Error },
    /// No random bytes for a temporary name.
    NoRandom(RandomError),
    /// Nobody listens there.
    NoServer { path: PathBuf },
    /// Something other than a socket has the name.
    NotASocket { path: PathBuf },
    /// A socket of another user has the name.
    NotMine { path: PathBuf, found: u32 },
    /// The system's addresses do not hold so long a path.
    PathTooLong { path: PathBuf, found: usize, most: usize },
    /// The system does not say who the peer is.
    PeerUnknown { source: io::Error },
    /// No connection within the deadline.
    Timeout { path: PathBuf },
    /// The server runs as another user than the expected one.
    WrongPeer { path: PathBuf, found: u32, want: u32 },
}

impl SocketError {
    /// Whether only a person can put it right: starting again cannot.
    #[must_use]
    pub fn needs_a_person(&self) -> bool {
        match self {
            Self::BadMode { .. }
            | Self::Folder(_)
            | Self::Handed { .. }
            | Self::NotASocket { .. }
            | Self::NotMine { .. }
            | Self::PathTooLong { .. } => true,
            Self::AlreadyRunning { .. }
            | Self::Io { .. }
            | Self::NoRandom(_)
            | Self::NoServer { .. }
            | Self::PeerUnknown { .. }
            | Self::Timeout { .. }
            | Self::WrongPeer { .. } => false,
        }
    }

    pub(super) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.into(), doing, source }
    }
}

impl From<FileError> for SocketError {
    fn from(error: FileError) -> Self {
        Self::Folder(error)
    }
}

impl fmt::Display for SocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyRunning { path } => {
                write!(f, "another process already listens on {}; stop it first", path.display())
            }
            Self::BadMode { mode } => {
                write!(f, "a socket with mode {mode:04o} was asked for; only 0600 and 0660 exist")
            }
            Self::Folder(error) => write!(f, "{error}"),
            Self::Handed { path, what } => {
                write!(f, "the socket that was handed over for {} {what}; put its socket unit right", path.display())
            }
            Self::Io { path, doing, source } => write!(f, "cannot {doing} {}: {source}", path.display()),
            Self::NoRandom(error) => write!(f, "cannot bind a socket: {error}"),
            Self::NoServer { path } => {
                write!(f, "nobody listens on {}; start the daemon it belongs to", path.display())
            }
            Self::NotASocket { path } => write!(f, "{} is there and is not a socket; move it away", path.display()),
            Self::NotMine { path, found } => {
                write!(f, "{} is a socket of uid {found}; remove it as that user", path.display())
            }
            Self::PathTooLong { path, found, most } => write!(
                f,
                "the socket path {} needs {found} bytes and the system takes at most {most}; use a shorter folder",
                path.display()
            ),
            Self::PeerUnknown { source } => write!(f, "the system does not say who is at the other end: {source}"),
            Self::Timeout { path } => {
                write!(f, "no connection to {} in time; is its daemon busy or stuck?", path.display())
            }
            Self::WrongPeer { path, found, want } => {
                write!(f, "the server on {} runs as uid {found}, want uid {want}; nothing was sent", path.display())
            }
        }
    }
}

impl std::error::Error for SocketError {}
