//! Why what is kept of a sign-in cannot be used.

pub use crate::keychain::KeychainError;
use host::files::FileError;
use std::fmt;
use std::path::PathBuf;

/// Why there is no usable sign-in.
#[derive(Debug)]
pub enum SignInError {
    /// The file is refused or can't be read or written.
    File(FileError),
    /// The keychain is to keep it, and a file lies there too.
    FileToo {
        /// The file.
        path: PathBuf,
    },
    /// The new sign-in is gone.
    Gone,
    /// The keychain does not give or take it.
    Keychain(KeychainError),
    /// Another process holds the lock.
    Locked {
        /// The lock's file.
        path: PathBuf,
    },
    /// The file holds neither a bearer nor a sign-in.
    NotASignIn {
        /// The file.
        path: PathBuf,
    },
    /// The file is the other slot's.
    OtherSlot {
        /// The file.
        path: PathBuf,
    },
    /// The service manager's; it can't be changed from here.
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for SignInError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::FileToo { path } => write!(
                f,
                "FLEETWATCH_TOKEN_STORE is keychain, and a sign-in may lie in {} still; take the setting away, run fleetwatchctl logout, and set it again",
                path.display()
            ),
            Self::Keychain(error) => error.fmt(f),
            Self::Gone => f.write_str("the new sign-in is gone; sign in again"),
            Self::Locked { path } => {
                write!(f, "another process has held {} for 25 s; look which one, and try again", path.display())
            }
            Self::NotASignIn { path } => write!(
                f,
                "{} holds neither a bearer (one line without blanks and without the word Bearer) nor a sign-in; run fleetwatchctl login anew",
                path.display()
            ),
            Self::OtherSlot { path } => write!(
                f,
                "{} is the other slot's sign-in; give FLEETWATCH_TOKEN_FILE and FLEETWATCH_SANDBOX_TOKEN_FILE two different files",
                path.display()
            ),
            Self::ReadOnly { path } => write!(
                f,
                "{} is a credential of the service manager; take it away there, or let the setting name a file in the state folder",
                path.display()
            ),
        }
    }
}

impl std::error::Error for SignInError {}
