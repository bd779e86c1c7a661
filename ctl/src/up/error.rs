//! Why `up` or `down` did not do it.

use crate::client::ClientError;
use crate::demo::tail;
use host::files::FileError;
use policy::yaml::PolicyError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why `up` or `down` did not do it.
#[derive(Debug)]
pub(crate) enum UpError {
    /// Another `up` or `down` works, and does not end.
    Busy(PathBuf),
    /// A daemon said no, or nothing.
    Client(ClientError),
    /// A daemon ended by itself.
    Ended(&'static str, PathBuf),
    /// A file or folder.
    File(FileError),
    /// Fleetwatch's services run on this machine.
    Installed(PathBuf),
    /// Somebody ended the command first.
    Interrupted,
    /// The operating system.
    Io(&'static str, io::Error),
    /// A program is not where this one is.
    Missing(PathBuf),
    /// There is no folder of this user's own.
    NoHome,
    /// The principals' file names no operator with this uid.
    NoOperator(PathBuf, u32),
    /// There is no new PIN: a word for `--json`, and why.
    NoPin(&'static str, String),
    /// The principals' file is not understood.
    Policy(PolicyError),
    /// Called by root.
    Root,
    /// A line of a settings file.
    Setting {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong and what to do.
        what: &'static str,
    },
    /// A daemon does not get ready, or does not end.
    Slow {
        /// The program.
        name: &'static str,
        /// What it does not do in time.
        does_not: &'static str,
        /// Where it wrote what it does.
        log: PathBuf,
    },
    /// A socket's path would be longer than the system takes.
    TooLong(PathBuf),
}

impl UpError {
    /// For `--json`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Busy(_) => "busy",
            Self::Client(_) => "no_answer",
            Self::Ended(..) => "ended",
            Self::File(_) | Self::Io(..) => "file",
            Self::Installed(_) => "installed",
            Self::Interrupted => "interrupted",
            Self::Missing(_) => "missing_program",
            Self::NoHome => "no_home",
            Self::NoOperator(..) | Self::Policy(_) => "principals",
            Self::NoPin(code, _) => code,
            Self::Root => "root",
            Self::Setting { .. } => "setting",
            Self::Slow { .. } => "slow",
            Self::TooLong(_) => "path_too_long",
        }
    }
}

impl fmt::Display for UpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(lock) => write!(
                f,
                "another `fleetwatchctl up` or `down` of this user is at work ({} is held); wait for it, or end it",
                lock.display()
            ),
            Self::Client(error) => error.fmt(f),
            Self::Ended(name, log) => write!(f, "{name} ended by itself:\n{}", tail(log)),
            Self::File(error) => error.fmt(f),
            Self::Installed(path) => write!(
                f,
                "Fleetwatch's services run on this machine, or may ({} answers or is closed to you); use those, or stop them first: \
                 systemctl stop fleetwatch.target",
                path.display()
            ),
            Self::Interrupted => f.write_str("ended before it was done; what it had started was stopped"),
            Self::Io(doing, error) => write!(f, "cannot {doing}: {error}"),
            Self::Missing(path) => write!(
                f,
                "{} is not there; install the whole of Fleetwatch, or build the whole workspace: cargo build --release",
                path.display()
            ),
            Self::NoHome => f.write_str("this user has no home; set HOME to a folder of yours, as a path from /"),
            Self::NoOperator(path, uid) => write!(
                f,
                "{} names nobody with uid {uid} who is an operator, and you are that uid; add yourself with operator: true",
                path.display()
            ),
            Self::NoPin(_, why) => f.write_str(why),
            Self::Policy(error) => error.fmt(f),
            Self::Root => f.write_str(
                "this is for an ordinary user, and you are root; call it as the person who will approve, or install the package, \
                 which gives each daemon a user of its own",
            ),
            Self::Setting { path, line, what } => write!(f, "{}:{line}: {what}", path.display()),
            Self::Slow { name, does_not, log } => {
                write!(f, "{name} does not {does_not} in time; try again, or look at its log:\n{}", tail(log))
            }
            Self::TooLong(path) => write!(
                f,
                "{} is a longer path than a socket may have; set XDG_STATE_HOME to a shorter one",
                path.display()
            ),
        }
    }
}

impl std::error::Error for UpError {}

impl From<ClientError> for UpError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<FileError> for UpError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<PolicyError> for UpError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}
