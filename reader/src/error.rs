//! Why a read gave nothing. The words are fixed: nothing that the server sent is in them.

use crate::json::JsonFault;
use crate::parse::ShapeError;
use protocol::refusal::{Refusal, RefusalCode};
use std::fmt;

/// A read that gave nothing usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// The answer is missing or not understood.
    Failed {
        /// The tool.
        tool: String,
        /// Why, in fixed words.
        why: Why,
    },
    /// The server does not know this sign-in, or no longer.
    NotSignedIn {
        /// The tool.
        tool: String,
    },
    /// The guard or the argument check said no; nothing was sent.
    NotPermitted(Refusal),
}

impl ReadError {
    pub(crate) fn failed(tool: &str, why: Why) -> Self {
        Self::Failed { tool: tool.to_owned(), why }
    }

    pub(crate) fn of(tool: &str, fault: Fault) -> Self {
        match fault {
            Fault::NotSignedIn | Fault::SaysNotSignedIn => Self::NotSignedIn { tool: tool.to_owned() },
            Fault::Failed(why) => Self::failed(tool, why),
        }
    }

    /// The refusal that a proposal or a run ends with: `read_failed` or `sign_in_dead` with the tool's name.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Failed { tool, why } => Refusal::new(RefusalCode::ReadFailed, &format!("{tool}: {why}")),
            Self::NotSignedIn { tool } => Refusal::new(RefusalCode::SignInDead, tool),
            Self::NotPermitted(refusal) => refusal.clone(),
        }
    }

    /// The error's class, which is all that the model and the log get to see.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::Failed { .. } => RefusalCode::ReadFailed.as_str(),
            Self::NotSignedIn { .. } => RefusalCode::SignInDead.as_str(),
            Self::NotPermitted(refusal) => refusal.code.as_str(),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { tool, why } => write!(f, "{tool} failed: {why}"),
            Self::NotSignedIn { tool } => {
                write!(f, "{tool} failed: the server does not accept this sign-in; sign in to this account again")
            }
            Self::NotPermitted(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// Why a read failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The session ended before the answer came.
    Closed,
    /// The structured part and the text part say different things.
    Differs,
    /// Two members of one object have the same name.
    DuplicateKey,
    /// No answer at all in the result.
    Empty,
    /// The tool answered with an error.
    ErrorAnswer,
    /// The account may not do that.
    Forbidden,
    /// The server asked for more input, which a read never gives.
    InputRequired,
    /// No device any more, though there were some before.
    NoDevices,
    /// The answer is not the protocol's.
    NotProtocol,
    /// The sign-in has run out and could not be renewed now.
    NotRenewed,
    /// A picture, a sound or a link where data should be.
    OtherContent,
    /// Plain text where data should be.
    PlainText,
    /// The server sent the request elsewhere.
    Redirected,
    /// A shape that is not known.
    Shape(ShapeError),
    /// An HTTP status that is no success.
    Status(u16),
    /// No answer in time.
    Timeout,
    /// Nested too deep.
    TooDeep,
    /// Larger than 8 MiB.
    TooLarge,
    /// No connection.
    Unreachable,
}

impl From<ShapeError> for Why {
    fn from(error: ShapeError) -> Self {
        Self::Shape(error)
    }
}

impl From<JsonFault> for Why {
    fn from(fault: JsonFault) -> Self {
        match fault {
            JsonFault::DuplicateKey => Self::DuplicateKey,
            JsonFault::NotJson => Self::PlainText,
            JsonFault::TooDeep => Self::TooDeep,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the session ended before the answer came",
            Self::Differs => "the two parts of the answer differ",
            Self::DuplicateKey => "the answer names a member twice",
            Self::Empty => "the answer is empty",
            Self::ErrorAnswer => "the tool answered with an error",
            Self::Forbidden => "the account may not read this",
            Self::InputRequired => "the server asked for more input",
            Self::NoDevices => "no device is listed any more",
            Self::NotProtocol => "the answer is not the protocol's",
            Self::NotRenewed => "the sign-in has run out and could not be renewed now",
            Self::OtherContent => "the answer is no data",
            Self::PlainText => "the answer is text where data should be",
            Self::Redirected => "the server sent the request elsewhere",
            Self::Shape(error) => return write!(f, "the answer is not understood ({error})"),
            Self::Status(status) => return write!(f, "the server answered with HTTP status {status}"),
            Self::Timeout => "no answer in time",
            Self::TooDeep => "the answer is nested too deep",
            Self::TooLarge => "the answer is too large",
            Self::Unreachable => "the server can't be reached",
        })
    }
}

/// What went wrong in one call, before the tool's name is put to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Failed(Why),
    /// HTTP 401, or nothing to show the server.
    NotSignedIn,
    /// The device list or the greeting says that the sign-in is not taken, in words that speak of nothing else. They are
    /// words all the same: nothing is ended for good by them.
    SaysNotSignedIn,
}

impl Fault {
    /// Whether a new session may help: the old one is gone, or the connection was.
    pub(crate) fn is_dead_session(self) -> bool {
        match self {
            Self::Failed(Why::Closed | Why::Unreachable) => true,
            Self::Failed(Why::Status(status)) => matches!(status, 400 | 404 | 410),
            Self::Failed(_) | Self::NotSignedIn | Self::SaysNotSignedIn => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_carry_the_tool_and_the_right_code() {
        let failed = ReadError::failed("get_devices_in_my_team", Why::Timeout).refusal();
        assert_eq!(failed.code, RefusalCode::ReadFailed);
        assert!(failed.detail.starts_with("get_devices_in_my_team: "));
        let dead = ReadError::of("get_devices_in_my_team", Fault::NotSignedIn);
        assert_eq!(dead.refusal().code, RefusalCode::SignInDead);
        assert_eq!(dead.class(), "sign_in_dead");
        assert_eq!(ReadError::of("get_devices_in_my_team", Fault::SaysNotSignedIn), dead);
    }
}
