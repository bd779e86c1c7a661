//! The words of `propose.sock`: an assistant asks, the executor answers. There is no word here that decides.
//!
//! Questions travel as [`crate::hello::Request`] of [`AssistantSays`], answers as [`crate::hello::Reply`] of [`ExecutorSays`].

use crate::hello::{AuditHead, Hello, Isolation};
use crate::ids::{Label, ProposalNumber};
use crate::refusal::{Refusal, RefusalCode};
use serde::{Deserialize, Serialize};

/// Longest reason, in characters (`seed 000, Model tools`).
pub const MAX_REASON: usize = 300;

/// How long a list of changeable units is told again without being read again, in milliseconds.
pub const CHANGEABLE_LIFE: i64 = 10_000;

/// What a connection is for. One turn, one connection; polling has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkKind {
    /// Asks for news of earlier proposals.
    Poll,
    /// Carries one turn; closing it before `TurnEnd` withdraws the turn's waiting proposals.
    Turn,
}

/// Who drafted a proposal, as the card names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// A person typed it with `fleetwatchctl propose`.
    Command,
    /// Another agent through a front.
    Front,
    /// The model, in a turn.
    Model,
    /// The executor, when an operator asked for the undo of a change that ran. No peer can say this.
    Undo,
}

impl Origin {
    /// The stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Front => "front",
            Self::Model => "model",
            Self::Undo => "undo",
        }
    }

    /// The origin with this word.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::Command, Self::Front, Self::Model, Self::Undo].into_iter().find(|origin| origin.as_str() == text)
    }
}

/// A drafted change: names, nothing of which is trusted (`seed 000, Model tools`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Propose {
    /// Chosen by the assistant, new for every draft; the same id with the same content gives the recorded answer.
    pub request: Label,
    /// Who drafted it.
    pub origin: Origin,
    /// The tool's name.
    pub tool: String,
    /// The arguments as JSON text.
    pub arguments: Vec<u8>,
    /// Why, in the drafter's words.
    pub reason: String,
}

/// One word of the assistant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AssistantSays {
    /// First on every connection.
    Hello {
        /// Version and build.
        hello: Hello,
        /// What the connection is for.
        kind: LinkKind,
        /// A name for the agent whose turn it is. It can only narrow what is allowed.
        agent: Label,
        /// The newest audit head that this assistant holds.
        witness: Option<AuditHead>,
    },
    /// These news have arrived; do not send them again.
    Ack {
        /// Their numbers.
        numbers: Vec<ProposalNumber>,
    },
    /// Which units could a change be proposed for now? Only on a [`LinkKind::Poll`]; it reads, and admits nothing.
    Changeable,
    /// Which of this agent's proposals wait or run?
    Live,
    /// What happened to my agents' proposals?
    Poll,
    /// A change to propose.
    Propose(Propose),
    /// Where does one of this agent's proposals stand?
    Standing {
        /// Which proposal.
        number: ProposalNumber,
    },
    /// The turn is complete; what it proposed may wait.
    TurnEnd,
}

/// Whether a proposal can be admitted at all now; the model is offered the tool only when it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proposing {
    /// No, for this reason.
    Off(RefusalCode),
    /// Yes.
    On,
}

/// Where a proposal stands. Every arrow between these is one durable transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ProposalState {
    /// A person said yes; not started.
    Approved,
    /// Started; the outcome is not recorded yet.
    Consumed,
    /// A person said no.
    Denied,
    /// The device said no.
    Error,
    /// Approved, but not started in time.
    Expired,
    /// Nobody decided, though somebody saw the card.
    ExpiredSeen,
    /// Nobody decided and nobody saw the card.
    ExpiredUnseen,
    /// Ran, and the device said yes.
    Ok,
    /// Waits for a person.
    Pending,
    /// A check said no; nothing was sent.
    Refused,
    /// Denied after approval, before it began.
    Revoked,
    /// Started, and what happened is not known. Final; never retried.
    Unknown,
    /// Taken back by its proposer.
    Withdrawn,
}

impl ProposalState {
    /// Every state.
    pub const ALL: [Self; 13] = [
        Self::Approved,
        Self::Consumed,
        Self::Denied,
        Self::Error,
        Self::Expired,
        Self::ExpiredSeen,
        Self::ExpiredUnseen,
        Self::Ok,
        Self::Pending,
        Self::Refused,
        Self::Revoked,
        Self::Unknown,
        Self::Withdrawn,
    ];

    /// The stable word: store, audit, terminal and wire use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Consumed => "consumed",
            Self::Denied => "denied",
            Self::Error => "error",
            Self::Expired => "expired",
            Self::ExpiredSeen => "expired_seen",
            Self::ExpiredUnseen => "expired_unseen",
            Self::Ok => "ok",
            Self::Pending => "pending",
            Self::Refused => "refused",
            Self::Revoked => "revoked",
            Self::Unknown => "unknown",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// The state with this word.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether nothing can change any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::Approved | Self::Consumed)
    }
}

/// What became of one proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct News {
    /// Which proposal.
    pub number: ProposalNumber,
    /// Where it stands.
    pub state: ProposalState,
    /// Why, when it was refused.
    pub refusal: Option<Refusal>,
    /// The device's own words or the read-back, made safe to show; may be empty.
    pub detail: String,
}

/// A proposal that has not ended: what its proposer may know of it. No code, no ticket, no name of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live {
    /// Which proposal.
    pub number: ProposalNumber,
    /// The tool's name.
    pub tool: String,
    /// Where it stands.
    pub state: ProposalState,
    /// Seconds until it expires, while it waits for a person; 0 otherwise.
    pub expires_in: u64,
}

/// One word of the executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExecutorSays {
    /// Answer to the hello.
    Hello {
        /// Version and build.
        hello: Hello,
        /// The newest audit row.
        head: AuditHead,
        /// Whether the system keeps the daemons apart.
        isolation: Isolation,
        /// Whether proposing is possible.
        proposing: Proposing,
    },
    /// The news will not be sent again.
    Acked,
    /// The proposal waits for a person under this number.
    Admitted {
        /// What people call it.
        number: ProposalNumber,
    },
    /// The units inside the fence that the writing sign-in reaches, from a reading that ended at most
    /// [`CHANGEABLE_LIFE`] ago.
    Changeable {
        /// Canonical JSON: `read_at`, `units` (how many there are), `shown` (how many stand here), `devices`, `streams`, and
        /// `left_out` in words when something is.
        json: Vec<u8>,
    },
    /// What waits or runs, oldest first, at most 25.
    Live(Vec<Live>),
    /// Everything that ended or moved since the last ack.
    News {
        /// The newest audit row, to be kept as a witness.
        head: AuditHead,
        /// At most 25 items; more come at the next poll.
        items: Vec<News>,
    },
    /// Not admitted.
    Refused(Refusal),
    /// Where the proposal stands.
    Standing(News),
    /// The turn is closed; its proposals wait.
    TurnEnded,
}
