//! Why something was not done: a stable code and one bounded detail. The plain sentence for each code is
//! `policy::words::refusal`, in both languages.

use crate::canonical::{JsonError, JsonRefusal};
use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest detail, in characters.
pub const MAX_DETAIL: usize = 300;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// The stable codes. Peers, audit rows, tests and documentation use the text form.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum RefusalCode { $($(#[$doc])* $name,)+ }

        impl RefusalCode {
            /// Every code, in alphabetical order.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The stable text.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

// The one macro of the workspace: name, text and list cannot drift apart.
codes! {
    /// Six denials within an hour paused this agent.
    AgentPaused = "agent_paused",
    /// The approval was not consumed within its life.
    ApprovalExpired = "approval_expired",
    /// The approval was consumed before.
    ApprovalUsed = "approval_used",
    /// Arguments that the tool's schema refuses.
    BadArguments = "bad_arguments",
    /// The ticket does not belong to this card and session.
    BadTicket = "bad_ticket",
    /// The stored record is not the one that was bound.
    BindingMismatch = "binding_mismatch",
    /// The machine restarted since.
    BootChanged = "boot_changed",
    /// The facts changed since the card was shown.
    CardChanged = "card_changed",
    /// The channel is not on that device.
    ChannelUnknown = "channel_unknown",
    /// The write's connection was closed before a byte was written.
    ConnectionLost = "connection_lost",
    /// `dry_run: true`.
    DryRun = "dry_run",
    /// Two members of one JSON object have the same name.
    DuplicateKey = "duplicate_key",
    /// An event is on in the room now.
    EventLive = "event_live",
    /// The event is not the one the device reports.
    EventMismatch = "event_mismatch",
    /// An event starts inside the window.
    EventSoon = "event_soon",
    /// The room's state is not the one that was bound.
    FingerprintChanged = "fingerprint_changed",
    /// Everything is frozen.
    Frozen = "frozen",
    /// Ten proposals in the last hour.
    HourlyLimit = "hourly_limit",
    /// The same request id with other content.
    IdConflict = "id_conflict",
    /// An integer outside ±(2^53−1).
    IntegerOutOfRange = "integer_out_of_range",
    /// A member name that is not ASCII.
    KeyNotAscii = "key_not_ascii",
    /// The card has Deny only.
    NotApprovable = "not_approvable",
    /// This kind of device cannot do that.
    NotCapable = "not_capable",
    /// Not JSON.
    NotJson = "not_json",
    /// The peer may not ask this.
    NotPermitted = "not_permitted",
    /// The proposal is not waiting any more.
    NotWaiting = "not_waiting",
    /// No fence is configured.
    NoFence = "no_fence",
    /// The approver has no PIN yet.
    NoPin = "no_pin",
    /// No sign-in for writing.
    NoSignIn = "no_sign_in",
    /// A number that is not an integer.
    NumberNotInteger = "number_not_integer",
    /// `autonomy: observe`.
    ObserveMode = "observe_mode",
    /// The target is outside the fence.
    OutsideFence = "outside_fence",
    /// Three denials of the same change paused it.
    PausedAfterDenials = "paused_after_denials",
    /// Too many wrong PINs.
    PinLocked = "pin_locked",
    /// The policy that was evaluated is not the one in force.
    PolicyChanged = "policy_changed",
    /// Three proposals are waiting.
    QueueFull = "queue_full",
    /// A fresh read failed or could not be understood.
    ReadFailed = "read_failed",
    /// The reason is longer than 300 characters.
    ReasonTooLong = "reason_too_long",
    /// Something the card names (stream host, event times, channel name) changed.
    ReferentChanged = "referent_changed",
    /// The typed room name is not the card's.
    RoomNotConfirmed = "room_not_confirmed",
    /// The room is recording.
    RoomRecording = "room_recording",
    /// The room is streaming.
    RoomStreaming = "room_streaming",
    /// Another approved change is running, or the executor is stopping.
    RunBusy = "run_busy",
    /// Another sign-in is under way.
    SignInBusy = "sign_in_busy",
    /// The sign-in for writing is dead.
    SignInDead = "sign_in_dead",
    /// Signing in or out did not work.
    SignInFailed = "sign_in_failed",
    /// First read to write took more than 15 s.
    Stale = "stale",
    /// The store or the spent log could not be written.
    StoreFailed = "store_failed",
    /// The destination is in use by another device.
    StreamLocked = "stream_locked",
    /// The destination is not on the team's list.
    StreamUnknown = "stream_unknown",
    /// The target is offline.
    TargetOffline = "target_offline",
    /// The target is not on the sign-in's own device list.
    TargetUnknown = "target_unknown",
    /// The team is not the configured one.
    TeamMismatch = "team_mismatch",
    /// JSON nested too deep.
    TooDeep = "too_deep",
    /// A text or list longer than allowed.
    TooLarge = "too_large",
    /// Too many requests from this agent.
    TooManyRequests = "too_many_requests",
    /// The card was on screen for less than two seconds.
    TooSoon = "too_soon",
    /// A write tool that may not be proposed.
    ToolNotProposable = "tool_not_proposable",
    /// Not a tool we know.
    ToolUnknown = "tool_unknown",
    /// No proposal has that number.
    UnknownProposal = "unknown_proposal",
    /// The peer speaks another wire version.
    WireVersion = "wire_version",
    /// The PIN is wrong.
    WrongPin = "wrong_pin",
}

impl RefusalCode {
    /// The code with this text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal as any peer may see it: the code, and what was wrong where, made safe to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The stable code.
    pub code: RefusalCode,
    /// At most [`MAX_DETAIL`] characters, hidden characters visible; may be empty.
    pub detail: String,
}

impl Refusal {
    /// A refusal with a detail that names the place. The detail is escaped and cut.
    #[must_use]
    pub fn new(code: RefusalCode, detail: &str) -> Self {
        Self { code, detail: Shown::capped(detail, MAX_DETAIL).into_string() }
    }

    /// A refusal whose code says it all.
    #[must_use]
    pub fn bare(code: RefusalCode) -> Self {
        Self { code, detail: String::new() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() {
            f.write_str(self.code.as_str())
        } else {
            write!(f, "{}: {}", self.code, self.detail)
        }
    }
}

impl std::error::Error for Refusal {}

impl From<JsonError> for Refusal {
    fn from(error: JsonError) -> Self {
        let code = match error.why {
            JsonRefusal::DuplicateKey => RefusalCode::DuplicateKey,
            JsonRefusal::IntegerOutOfRange => RefusalCode::IntegerOutOfRange,
            JsonRefusal::KeyNotAscii => RefusalCode::KeyNotAscii,
            JsonRefusal::NotJson => RefusalCode::NotJson,
            JsonRefusal::NumberNotInteger => RefusalCode::NumberNotInteger,
            JsonRefusal::TooDeep => RefusalCode::TooDeep,
            JsonRefusal::TooLarge => RefusalCode::TooLarge,
        };
        Self::new(code, &format!("line {} column {}", error.line, error.column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_text_and_comes_back_from_it() {
        let mut texts: Vec<_> = RefusalCode::ALL.iter().map(|c| c.as_str()).collect();
        for code in RefusalCode::ALL {
            assert_eq!(RefusalCode::from_text(code.as_str()), Some(*code));
        }
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), RefusalCode::ALL.len());
        assert_eq!(RefusalCode::from_text("ok"), None);
    }

    #[test]
    fn a_detail_is_escaped_and_cut() {
        let refusal = Refusal::new(RefusalCode::BadArguments, &format!("\u{1b}[2J{}", "x".repeat(400)));
        assert!(refusal.detail.starts_with("\\u{1b}[2J"));
        assert!(refusal.detail.chars().count() <= MAX_DETAIL);
    }
}
