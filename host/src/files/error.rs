//! What can be wrong with a file or a folder, with what was found and what to do.

use crate::secret::RandomError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file or folder was refused or could not be used. Never holds any of a file's content.
#[derive(Debug)]
#[expect(missing_docs, reason = "the fields say the same in every variant: which path, what was found, what is wanted")]
pub enum FileError {
    /// A secret file with nothing in it.
    Empty { path: PathBuf },
    /// A file that was to be made new is there already.
    Exists { path: PathBuf },
    /// A secret file that has other names too.
    HardLinked { path: PathBuf, links: u64 },
    /// The operating system said no.
    Io { path: PathBuf, doing: &'static str, source: io::Error },
    /// No random bytes for the name of a temporary file.
    NoRandom { path: PathBuf, source: RandomError },
    /// The path names no file or folder of its own, like `/` or `..`.
    NoName { path: PathBuf },
    /// A folder was wanted.
    NotADirectory { path: PathBuf },
    /// Nothing is there, or its folder is not.
    NotFound { path: PathBuf },
    /// A folder, pipe, socket or device where a regular file was wanted.
    NotRegular { path: PathBuf },
    /// The content is not UTF-8.
    NotText { path: PathBuf },
    /// The last part of the path is a symbolic link.
    Symlink { path: PathBuf },
    /// More bytes than the limit.
    TooLarge { path: PathBuf, limit: u64 },
    /// Others can write the folder that holds the file, so they can replace it.
    WritableParent { path: PathBuf, parent: PathBuf, found: u32 },
    /// Permissions other than the ones wanted.
    WrongMode { path: PathBuf, found: u32, want: u32 },
    /// It belongs to somebody else.
    WrongOwner { path: PathBuf, found: u32, want: String },
}

impl FileError {
    pub(super) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.into(), doing, source }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { path } => write!(f, "{} is empty; put the secret in it", path.display()),
            Self::Exists { path } => {
                write!(f, "{0} is there already; remove it first if it is no longer needed", path.display())
            }
            Self::HardLinked { path, links } => write!(
                f,
                "{0} has {links} names (hard links), want 1; make a copy of its own: cp {0} {0}.new && chmod 600 {0}.new && mv {0}.new {0}",
                path.display()
            ),
            Self::Io { path, doing, source } => write!(f, "cannot {doing} {}: {source}", path.display()),
            Self::NoRandom { path, source } => {
                write!(f, "cannot write {}: {source}", path.display())
            }
            Self::NoName { path } => write!(f, "{} does not name a file or folder; give its name", path.display()),
            Self::NotADirectory { path } => {
                write!(f, "{} is not a folder; give a folder", path.display())
            }
            Self::NotFound { path } => {
                write!(f, "{} is not there; create it, and its folder if that is missing too", path.display())
            }
            Self::NotRegular { path } => {
                write!(f, "{} is not a regular file; put a regular file there", path.display())
            }
            Self::NotText { path } => {
                write!(f, "{} is not UTF-8 text; save it as UTF-8", path.display())
            }
            Self::Symlink { path } => {
                write!(f, "{} is a symbolic link; put the real file or folder there", path.display())
            }
            Self::TooLarge { path, limit } => {
                write!(f, "{} is larger than {limit} bytes; is it the right file?", path.display())
            }
            Self::WritableParent { path, parent, found } => write!(
                f,
                "{} lies in {}, which has mode {found:04o}, so others can replace it: chmod go-w {1}",
                path.display(),
                parent.display()
            ),
            Self::WrongMode { path, found, want } => {
                write!(f, "{0} has mode {found:04o}, want {want:04o}: chmod {want:o} {0}", path.display())
            }
            Self::WrongOwner { path, found, want } => write!(
                f,
                "{} belongs to uid {found}, want {want}; give it to the right user with chown",
                path.display()
            ),
        }
    }
}

impl std::error::Error for FileError {}
