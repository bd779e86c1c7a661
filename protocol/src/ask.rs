//! The words of `ask.sock`: a person or another agent asks, the assistant answers. A right to ask is not a right to approve.
//!
//! Questions travel as [`crate::hello::Request`] of [`AskerSays`]. Several [`crate::hello::Reply`]s of [`AssistantSays`] may answer one
//! question; the last is `Done`.

use crate::doctor::{Report, Tried};
use crate::hello::Hello;
use crate::ids::ProposalNumber;
use crate::propose::{Live, News};
use crate::refusal::Refusal;
use crate::shown::Language;
use crate::signin::{LoginLink, Pasted, SignedIn};
use serde::{Deserialize, Serialize};

/// Longest question, in characters.
pub const MAX_QUESTION: usize = 1_000;

/// The device list.
pub const DEVICES: &str = "get_devices_in_my_team";
/// The current or next event of every unit.
pub const EVENTS: &str = "get_current_or_next_cms_events_for_devices";
/// The recorders of the online units.
pub const RECORDERS: &str = "get_recorder_status_for_devices";
/// Load, temperature and start of the online units.
pub const SYSTEM: &str = "get_system_status_for_devices";
/// The readings of one look at the fleet; a capture holds one file of each.
pub const READINGS: [&str; 4] = [DEVICES, EVENTS, RECORDERS, SYSTEM];
/// Most bytes of a reading in one word.
pub const PART: usize = 128 * 1024;
/// Most days of a history.
pub const MAX_DAYS: u16 = 90;

/// One word of the asker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AskerSays {
    /// First on every connection.
    Hello(Hello),
    /// A question in plain words. Hanging up before `Done` drops the turn.
    Ask {
        /// At most [`MAX_QUESTION`] characters.
        question: String,
    },
    /// The readings of one look now, redacted; each comes in [`AssistantSays::CapturePart`]s.
    Capture,
    /// The ids of the units that the normal sign-in reaches or has listed before. For the same people as `Login`.
    DeviceIds,
    /// What the last look at the fleet knows.
    Digest {
        /// Language of the report.
        language: Language,
    },
    /// Look at yourself, and try to open what must be closed to you (`issue line 3.20`).
    Doctor {
        /// Full paths, at most [`crate::doctor::MOST_PATHS`]. They are opened for reading, closed at once, and never read.
        closed: Vec<String>,
    },
    /// A change that another agent drafted, sent on to the executor as such.
    Draft {
        /// The tool's name.
        tool: String,
        /// The arguments as JSON text.
        arguments: Vec<u8>,
        /// Why.
        reason: String,
    },
    /// The days that were watched, newest first.
    History {
        /// At most so many, 1 to [`MAX_DAYS`].
        days: u16,
        /// Language of the report.
        language: Language,
    },
    /// What waits of the changes that other agents drafted?
    Live,
    /// Begin the normal sign-in. Only for the assistant's own user, root and operators; it ends with the connection.
    Login,
    /// What the browser was sent to, pasted.
    LoginCallback {
        /// The whole address.
        address: Pasted,
    },
    /// How far is the sign-in? Answered within a second or two.
    LoginWait,
    /// Forget the normal sign-in, here and at the server.
    Logout,
    /// Which tools are there for other agents?
    Offered,
    /// A change that a person typed, sent on to the executor as such.
    Propose {
        /// The tool's name.
        tool: String,
        /// The arguments as JSON text.
        arguments: Vec<u8>,
        /// Why.
        reason: String,
    },
    /// A reading by name, for another agent.
    Read {
        /// The read tool's name.
        tool: String,
        /// Its arguments as JSON text.
        arguments: Vec<u8>,
    },
    /// The digest of the readings that this connection's [`Self::ReplayPart`]s brought; then they are forgotten.
    Replay {
        /// Language of the report.
        language: Language,
    },
    /// A part of one reading from a file.
    ReplayPart {
        /// One of [`READINGS`].
        tool: String,
        /// At most [`PART`] bytes.
        bytes: Vec<u8>,
    },
    /// What became of a change that another agent drafted?
    Standing {
        /// Which proposal.
        number: ProposalNumber,
    },
    /// How is the assistant?
    Status,
}

/// One tool as other agents are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Vec<u8>,
}

/// Who wrote an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnsweredBy {
    /// Fixed rules over the last read; no model was asked, or it failed.
    Keywords {
        /// Why no model answered, in a few plain words.
        why: String,
    },
    /// A model.
    Model {
        /// The name that the model's API gave.
        name: String,
    },
}

/// What the assistant found when it looked at itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssistantDoctor {
    /// Its checks.
    pub report: Report,
    /// How each path that must be closed to it was found.
    pub tried: Vec<Tried>,
}

/// How the assistant is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssistantStatus {
    /// Version and build.
    pub hello: Hello,
    /// Seconds since start.
    pub uptime_seconds: u64,
    /// The configured model, or nothing when questions are answered by keywords.
    pub model: Option<String>,
    /// Host that questions and redacted readings are sent to, when there is a model.
    pub model_host: Option<String>,
    /// Whether the normal sign-in is present.
    pub sign_in: bool,
    /// Seconds since the last good read of the fleet.
    pub last_read_seconds: Option<u64>,
    /// Whether the executor answered the last poll.
    pub executor_reached: bool,
    /// Pieces of its in-process sandbox that do not hold; empty when it is whole.
    pub sandbox_missing: Vec<String>,
    /// Sequence of the newest audit head held as a witness.
    pub witness: Option<u64>,
    /// What is wrong, each with what to do; empty when all is well.
    pub problems: Vec<String>,
}

/// One word of the assistant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AssistantSays {
    /// Answer to the hello.
    Hello(Hello),
    /// The answer's text, made safe to show except for line breaks.
    Answer {
        /// Whole answer.
        text: String,
        /// Who wrote it.
        by: AnsweredBy,
    },
    /// A part of one reading, redacted, as JSON text.
    CapturePart {
        /// One of [`READINGS`].
        tool: String,
        /// At most [`PART`] bytes.
        bytes: Vec<u8>,
        /// Whether this is the last part of this reading.
        last: bool,
    },
    /// A reading: redacted and cut to size.
    Data {
        /// JSON text.
        json: String,
        /// Whether something was left out because it was too long.
        cut: bool,
    },
    /// The ids of the units that the normal sign-in reaches now, and of those that it has listed before.
    DeviceIds {
        /// At most [`crate::signin::MAX_IDS`].
        ids: Vec<String>,
        /// Why they could not be read now, so that these are the earlier ones alone.
        unread: Option<Refusal>,
    },
    /// What it found when it looked at itself.
    Doctor(Box<AssistantDoctor>),
    /// Nothing more comes for this request.
    Done,
    /// What waits or runs, oldest first.
    Live(Vec<Live>),
    /// Where to sign in.
    LoginLink(LoginLink),
    /// The person is not done yet, or the pasted address was taken.
    LoginWaiting,
    /// A draft was not admitted.
    NotProposed(Refusal),
    /// The tools for other agents: every reading, and the one that proposes.
    Offered(Vec<OfferedTool>),
    /// Words of the answer while it is written, made safe to show except for line breaks. Pieces that no other word
    /// parts belong together; the answer itself comes whole at the end and alone counts.
    Piece {
        /// Whole sentences or lines; a space or line break between two pieces begins the later one.
        text: String,
    },
    /// The pieces so far are no answer, nor a part of one.
    PiecesVoid,
    /// A proposal waits for a person.
    Proposed {
        /// Its number; its facts come from the executor.
        number: ProposalNumber,
    },
    /// A read tool is being asked.
    Reading {
        /// The tool's name.
        tool: String,
    },
    /// The request could not be taken.
    Refused(Refusal),
    /// A digest or a history, made safe to show except for line breaks.
    Report {
        /// Whole text.
        text: String,
        /// Whether the newest look at the fleet worked.
        good: bool,
    },
    /// The sign-in is made and kept.
    SignedIn(SignedIn),
    /// The sign-in is forgotten.
    SignedOut {
        /// Whether the server confirmed it.
        revoked: bool,
    },
    /// Where a proposal stands.
    Standing(News),
    /// How the assistant is.
    Status(Box<AssistantStatus>),
}
