//! Questions and answers of `control.sock`. They travel as [`protocol::hello::Request`] of [`OperatorSays`] and
//! [`protocol::hello::Reply`] of [`ExecutorSays`].

use crate::card::{Card, HistoryRow, Waiting};
use crate::pin::PinEntry;
use crate::status::ExecutorStatus;
use protocol::hello::Hello;
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::News;
use protocol::refusal::Refusal;
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
    /// Lifts the pause of an agent that was denied too often.
    AgentResume {
        /// Its label, as `status` shows it.
        agent: Label,
        /// The operator's PIN.
        pin: PinEntry,
    },
    /// Yes to one card.
    Approve(Approve),
    /// Walk the audit chain and say whether it holds.
    AuditVerify,
    /// No to one proposal, waiting or approved but not started. Needs no PIN: no is always safe.
    Deny {
        /// Which proposal.
        number: ProposalNumber,
    },
    /// No to everything that waits.
    DenyAll,
    /// No to everything, and nothing is taken in or run until it is thawed, not even after a restart. Needs no PIN.
    Freeze,
    /// First on every connection.
    Hello(Hello),
    /// The newest proposals that ended or still live, newest first.
    History {
        /// At most this many, at most 200.
        most: u16,
    },
    /// What waits.
    List,
    /// Sets the caller's own PIN.
    PinSet {
        /// The present PIN, when there is one.
        old: Option<PinEntry>,
        /// The new one, at least 8 characters.
        new: PinEntry,
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

/// One word of the executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorSays {
    /// The agent may propose again.
    AgentResumed,
    /// The audit.
    Audit(AuditReport),
    /// The card.
    Card(Box<Card>),
    /// How many were denied.
    DeniedAll {
        /// Their numbers.
        numbers: Vec<ProposalNumber>,
    },
    /// What became of the decided proposal. After an approval this is sent when the run has ended.
    Ended(News),
    /// Everything is frozen.
    Frozen {
        /// What was denied or revoked by it.
        numbers: Vec<ProposalNumber>,
    },
    /// Answer to the hello.
    Hello(Hello),
    /// The history.
    History(Vec<HistoryRow>),
    /// The PIN is stored.
    PinSaved,
    /// Not done.
    Refused(Refusal),
    /// How the executor is.
    Status(Box<ExecutorStatus>),
    /// The freeze is over.
    Thawed,
    /// The queue, oldest first.
    Waiting(Vec<Waiting>),
}
