//! Why a sign-in, a renewal or a revocation did not work, in fixed words: nothing that a server sent is in them.

use protocol::refusal::{Refusal, RefusalCode};
use std::fmt;

/// Why it did not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OauthError {
    /// Another sign-in of this slot is under way.
    Busy,
    /// The person, or the server for them, said no in the browser.
    Denied,
    /// The callback names another server than the one that was asked.
    OtherIssuer,
    /// The callback's port can't be opened.
    Port(u16),
    /// This machine gives no random bytes or no TLS client.
    Machine,
    /// The server's answer is not one: in fixed words, what is wrong.
    Misbehaved(&'static str),
    /// What was pasted is not the callback of this sign-in.
    NotThisCallback,
    /// The token endpoint does not know this sign-in, or no longer (HTTP 400 or 401).
    Refused(u16),
    /// The sign-in can't be stored.
    Store,
    /// An HTTP status that says nothing about the sign-in.
    Status(u16),
    /// Nobody signed in within the time.
    TimedOut,
    /// No answer.
    Unreachable,
}

impl fmt::Display for OauthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => {
                f.write_str("another sign-in is under way; finish it, or wait until its five minutes are over")
            }
            Self::Denied => f.write_str("the sign-in was refused in the browser"),
            Self::OtherIssuer => f.write_str(
                "the answer comes from another server than the one that was asked; nothing was accepted, sign in again",
            ),
            Self::Port(port) => write!(
                f,
                "port {port} on 127.0.0.1 can't be opened for the browser's answer; end the other sign-in that uses it, or set FLEETWATCH_OAUTH_CALLBACK_PORT"
            ),
            Self::Machine => f.write_str("this machine gives no random bytes or no HTTPS client"),
            Self::Misbehaved(what) => write!(f, "the server can't be signed in to: {what}"),
            Self::NotThisCallback => f.write_str(
                "that is not the address that this sign-in waits for; copy the whole address from the browser",
            ),
            Self::Refused(status) => write!(f, "the server refused the sign-in (HTTP {status})"),
            Self::Store => f.write_str("the sign-in can't be stored; the daemon's log says why"),
            Self::Status(status) => write!(f, "the server answered with HTTP status {status}; try again later"),
            Self::TimedOut => f.write_str("nobody signed in within five minutes"),
            Self::Unreachable => f.write_str("the server can't be reached or took too long"),
        }
    }
}

impl std::error::Error for OauthError {}

impl OauthError {
    /// The same as a peer hears it: `sign_in_busy` or `sign_in_failed`.
    #[must_use]
    pub fn refusal(self) -> Refusal {
        match self {
            Self::Busy => Refusal::bare(RefusalCode::SignInBusy),
            Self::Denied
            | Self::Machine
            | Self::Misbehaved(_)
            | Self::NotThisCallback
            | Self::OtherIssuer
            | Self::Port(_)
            | Self::Refused(_)
            | Self::Status(_)
            | Self::Store
            | Self::TimedOut
            | Self::Unreachable => Refusal::new(RefusalCode::SignInFailed, &self.to_string()),
        }
    }
}
