//! Why a demo ends early.

use super::http::HttpError;
use crate::client::ClientError;
use crate::render::safe;
use host::files::FileError;
use host::secret::RandomError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Lines of a log that an error shows.
const TAIL: usize = 12;

/// Why a demo ends early.
#[derive(Debug)]
pub(crate) enum DemoError {
    /// A daemon said no, or nothing.
    Client(ClientError),
    /// A child ended by itself.
    Ended {
        /// The program.
        name: &'static str,
        /// Where it wrote why.
        log: PathBuf,
    },
    /// A file of the demo's folder.
    File(FileError),
    /// The simulator's own channel.
    Http(HttpError),
    /// The operating system.
    Io(&'static str, io::Error),
    /// A program is not where this one is.
    Missing(PathBuf),
    /// No random bytes.
    Random(RandomError),
    /// A child does not get ready.
    Slow {
        /// The program.
        name: &'static str,
        /// Where it wrote what it does.
        log: PathBuf,
    },
    /// The simulator answered something else than it should.
    Strange(&'static str),
}

impl fmt::Display for DemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Ended { name, log } => write!(f, "{name} ended by itself:\n{}", tail(log)),
            Self::File(error) => error.fmt(f),
            Self::Http(error) => write!(f, "the simulator does not answer: {error}"),
            Self::Io(doing, error) => write!(f, "cannot {doing}: {error}"),
            Self::Missing(path) => {
                write!(f, "{} is not there; build the whole workspace: cargo build --release", path.display())
            }
            Self::Random(error) => error.fmt(f),
            Self::Slow { name, log } => write!(f, "{name} is not ready in time:\n{}", tail(log)),
            Self::Strange(what) => write!(f, "the simulator is of another version: {what}; build the whole workspace"),
        }
    }
}

impl std::error::Error for DemoError {}

impl From<ClientError> for DemoError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<FileError> for DemoError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<HttpError> for DemoError {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

impl From<RandomError> for DemoError {
    fn from(error: RandomError) -> Self {
        Self::Random(error)
    }
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().collect();
    let from = lines.len().saturating_sub(TAIL);
    let last: Vec<_> = lines[from..].iter().map(|line| format!("  {}", safe(line))).collect();
    if last.is_empty() { "  (its log is empty)".to_owned() } else { last.join("\n") }
}
