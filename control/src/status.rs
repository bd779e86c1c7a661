//! How the executor is.

use protocol::doctor::Report;
use protocol::hello::{Hello, Isolation};
use protocol::refusal::RefusalCode;
use protocol::shown::Worded;
use serde::{Deserialize, Serialize};

/// What the executor knows of restored databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Witness {
    /// The assistant's newest head is newer than the store's: an old database came back.
    Newer,
    /// No assistant has shown a head since start.
    Unwitnessed,
    /// The assistant's head fits the store.
    Agrees,
    /// The head's MAC is wrong; it was ignored and audited.
    BadMac,
}

impl Witness {
    /// The word that status shows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Newer => "newer: an old database came back",
            Self::Unwitnessed => "unwitnessed",
            Self::Agrees => "agrees",
            Self::BadMac => "bad MAC, ignored",
        }
    }
}

/// Something that is wrong, with what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// The refusal that it causes.
    pub code: RefusalCode,
    /// What to do.
    pub advice: Worded,
}

/// The queue and its limits. A limit of 0 means none allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueStatus {
    /// Proposals that wait.
    pub pending: u64,
    /// At most this many may wait.
    pub pending_limit: u64,
    /// Proposals of the last hour that count.
    pub hour: u64,
    /// At most this many may count.
    pub hour_limit: u64,
}

/// What the last start found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartReport {
    /// Waiting or approved proposals that expired because the executor started.
    pub expired: u64,
    /// Started proposals whose outcome was never recorded, now `unknown`.
    pub unknown: u64,
    /// Spent lines for proposals that this store does not know.
    pub restored: u64,
    /// Whether a staged backup took the store's place.
    pub backup: bool,
}

/// What the executor found when it looked at itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutorDoctor {
    /// Its checks.
    pub report: Report,
    /// Whether the system keeps the daemons apart.
    pub isolation: Isolation,
    /// Full paths of what the assistant must not be able to open (`issue line 3.20`).
    pub closed: Vec<String>,
}

/// How the executor is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutorStatus {
    /// Version and build.
    pub hello: Hello,
    /// Seconds since start.
    pub uptime_seconds: u64,
    /// Whether the system keeps the daemons apart.
    pub isolation: Isolation,
    /// Restored-database watch.
    pub witness: Witness,
    /// Sign-in slot that writes use: `sandbox` or `sim`.
    pub slot: String,
    /// Whether that slot holds a token.
    pub sign_in: bool,
    /// The fence in words.
    pub fence: String,
    /// `observe` or `propose`.
    pub autonomy: String,
    /// Whether runs end as dry runs.
    pub dry_run: bool,
    /// Whether everything is frozen.
    pub frozen: bool,
    /// Agents that too many denials paused.
    pub paused_agents: Vec<String>,
    /// The queue.
    pub queue: QueueStatus,
    /// Seconds since the last good read through the writing sign-in.
    pub last_read_seconds: Option<u64>,
    /// Where the page listens, or nothing when it is down.
    pub page: Option<String>,
    /// The newest audit sequence.
    pub audit_sequence: u64,
    /// What the last start found.
    pub start: StartReport,
    /// Seconds since old rows were last pruned, and how many went then.
    pub pruned: Option<(u64, u64)>,
    /// Pieces of its in-process sandbox that do not hold; empty when it is whole.
    pub sandbox_missing: Vec<String>,
    /// What is wrong; empty when all is well.
    pub problems: Vec<Problem>,
}
