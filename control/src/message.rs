//! Questions and answers of `control.sock`. They travel as [`protocol::hello::Request`] of [`OperatorSays`] and
//! [`protocol::hello::Reply`] of [`ExecutorSays`].

use crate::card::{Card, HistoryRow, Waiting};
use crate::pin::PinEntry;
use crate::status::{ExecutorDoctor, ExecutorStatus};
use protocol::hello::Hello;
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::News;
use protocol::refusal::Refusal;
use protocol::signin::{LoginLink, Pasted, SignedIn};
use serde::{Deserialize, Serialize};

/// A person's yes to one card that they saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Which proposal.
    pub number: ProposalNumber,
    /// The ticket of the card that was shown.
    pub ticket: String,
    /// The digest of the card that was shown.
    pub digest: [u8; 32],
    /// The approver's PIN, typed on the terminal.
    pub pin: PinEntry,
    /// The rooms' names as typed, for a disruptive change.
    pub confirm: Option<String>,
}

/// One word of the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperatorSays {
    /// First on every connection.
    Hello(Hello),
    /// Lifts the pause of an agent that was denied too often.
    AgentResume {
        /// Its label, as `status` shows it.
        agent: Label,
        /// The operator's PIN.
        pin: PinEntry,
    },
    /// Yes to one card.
    Approve(Approve),
    /// The audit's rows behind this sequence, oldest first, as many as fit.
    AuditRows {
        /// The newest sequence that the asker has; 0 for all.
        after: u64,
    },
    /// Walk the audit chain and say whether it holds.
    AuditVerify,
    /// The next part of a backup. A part at offset 0 makes a new one.
    Backup {
        /// Where the part begins, in bytes.
        offset: u64,
    },
    /// No to one proposal, waiting or approved but not started. Needs no PIN: no is always safe.
    Deny {
        /// Which proposal.
        number: ProposalNumber,
    },
    /// No to everything that waits.
    DenyAll,
    /// Look at yourself: no sign-in, no tool call.
    Doctor,
    /// No to everything, and nothing is taken in or run until it is thawed, not even after a restart. Needs no PIN.
    Freeze,
    /// The newest proposals that ended or still live, newest first.
    History {
        /// At most this many, at most 200.
        most: u16,
        /// Only rows in which this text stands, without regard to case.
        search: Option<String>,
    },
    /// What waits.
    List,
    /// Begin the sign-in that writes. It ends with the connection.
    Login {
        /// The ids that the normal sign-in reaches, as far as the asker could learn them.
        known: Option<Vec<String>>,
        /// The operator's PIN.
        pin: PinEntry,
    },
    /// What the browser was sent to, pasted.
    LoginCallback {
        /// The whole address.
        address: Pasted,
    },
    /// How far is the sign-in? Answered within a second or two, when it ends after the unit list was read.
    LoginWait,
    /// Forget the sign-in that writes, here and at the server.
    Logout {
        /// The operator's PIN.
        pin: PinEntry,
    },
    /// A code that opens one page session for the caller, once, within two minutes.
    PageCode {
        /// The operator's PIN.
        pin: PinEntry,
    },
    /// Sets the caller's own PIN.
    PinSet {
        /// The present PIN, when there is one.
        old: Option<PinEntry>,
        /// The new one, at least 8 characters.
        new: PinEntry,
    },
    /// Proposes the undo of a change that ran; somebody still has to approve it.
    ProposeUndo {
        /// The change to undo.
        number: ProposalNumber,
    },
    /// The next part of a backup to restore, in order. The first part carries the PIN; the last stages the restore.
    Restore {
        /// The operator's PIN, with the first part.
        pin: Option<PinEntry>,
        /// Size of the whole, in bytes.
        total: u64,
        /// The part.
        bytes: Vec<u8>,
    },
    /// A fresh card with a ticket.
    Show {
        /// Which proposal.
        number: ProposalNumber,
    },
    /// How is the executor?
    Status,
    /// Ends a freeze.
    Thaw {
        /// The operator's PIN.
        pin: PinEntry,
    },
}

/// What the audit looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditReport {
    /// Rows that fit.
    pub rows: u64,
    /// The first row that does not fit, with what is wrong; nothing when the chain holds.
    pub broken: Option<(u64, String)>,
    /// SHA-256 of the newest row, in hex.
    pub head: String,
}

/// One row of the audit, with everything that its hash is made of: anybody can walk the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRow {
    /// Its place, from 1.
    pub sequence: u64,
    /// Unix seconds.
    pub at: i64,
    /// Boot clock in milliseconds.
    pub boot_ms: i64,
    /// What happened.
    pub kind: String,
    /// Of which proposal.
    pub proposal: Option<u64>,
    /// Who did it.
    pub principal: String,
    /// Where.
    pub surface: String,
    /// Canonical JSON.
    pub detail: String,
    /// SHA-256 in hex over the canonical JSON of the other members and `previous`, the hash of the row before (64 zeros
    /// for the first).
    pub hash: String,
    /// HMAC-SHA256 in hex under the executor's audit key.
    pub mac: String,
}

/// One word of the executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorSays {
    /// Answer to the hello.
    Hello(Hello),
    /// The undo waits for a person under this number.
    Admitted {
        /// Its number.
        number: ProposalNumber,
    },
    /// The agent may propose again.
    AgentResumed,
    /// The audit.
    Audit(AuditReport),
    /// Rows of the audit; none when there are no newer ones.
    AuditRows(Vec<AuditRow>),
    /// A part of a backup.
    BackupPart {
        /// Size of the whole, in bytes.
        total: u64,
        /// The part; empty behind the end.
        bytes: Vec<u8>,
    },
    /// The card.
    Card(Box<Card>),
    /// How many were denied.
    DeniedAll {
        /// Their numbers.
        numbers: Vec<ProposalNumber>,
    },
    /// What it found when it looked at itself.
    Doctor(Box<ExecutorDoctor>),
    /// What became of the decided proposal. After an approval this is sent when the run has ended.
    Ended(News),
    /// Everything is frozen.
    Frozen {
        /// What was denied or revoked by it.
        numbers: Vec<ProposalNumber>,
    },
    /// The history.
    History(Vec<HistoryRow>),
    /// Where to sign in.
    LoginLink(LoginLink),
    /// The person is not done yet, or the pasted address was taken.
    LoginWaiting,
    /// The page code.
    PageCode {
        /// What to type on the page.
        code: String,
        /// How long it is good for.
        seconds: u64,
    },
    /// The PIN is stored.
    PinSaved,
    /// Not done.
    Refused(Refusal),
    /// The part is taken; go on with the next.
    RestorePart,
    /// The backup is checked and takes the store's place when the executor starts again, which it does now if a service
    /// manager runs it.
    RestoreStaged,
    /// The sign-in is made and kept.
    SignedIn(SignedIn),
    /// The sign-in is forgotten.
    SignedOut {
        /// Whether the server confirmed it.
        revoked: bool,
    },
    /// How the executor is.
    Status(Box<ExecutorStatus>),
    /// The freeze is over.
    Thawed,
    /// The queue, oldest first.
    Waiting(Vec<Waiting>),
}
