//! The card: every fact a person decides on, built by code and already worded in both languages.

use protocol::gate::GateResult;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::shown::Worded;
use serde::{Deserialize, Serialize};

/// One target as the fresh read shows it. Every text went through `protocol::shown::Shown`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetFact {
    /// Device id, whole.
    pub id: String,
    /// Current name.
    pub name: String,
    /// What people here call the room (`rooms:` of policy.yaml); without what is another unit's name.
    pub known_as: Vec<String>,
    /// What the venue wants told about the room; may be empty.
    pub note: String,
    /// Model.
    pub model: String,
    /// Firmware.
    pub firmware: String,
    /// Online or not.
    pub online: Worded,
    /// Recording or not.
    pub recording: Worded,
    /// Streaming or not.
    pub streaming: Worded,
    /// The current or next event, or that there is none.
    pub event: Worded,
}

/// One argument, in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentFact {
    /// The argument's name.
    pub name: String,
    /// Its exact canonical JSON, hidden characters written out.
    pub json: String,
    /// Whether the schema filled it in.
    pub defaulted: bool,
}

/// A name for an id that the card holds: a channel, a destination, an event. Display text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedFact {
    /// What kind of thing it is.
    pub label: Worded,
    /// Its name, host or times.
    pub value: Worded,
}

/// Everything that is bound by the card's digest: the same facts give the same digest in both languages and on every surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardFacts {
    /// The proposal's number.
    pub number: ProposalNumber,
    /// The tool's name.
    pub tool: String,
    /// The tool in plain words, naming the room.
    pub heading: Worded,
    /// The targets.
    pub targets: Vec<TargetFact>,
    /// Every argument, in name order.
    pub arguments: Vec<ArgumentFact>,
    /// Names for the ids above.
    pub named: Vec<NamedFact>,
    /// What happens.
    pub effect: Worded,
    /// How to undo it.
    pub undo: Worded,
    /// Whether the change can hurt a room in use; then a second confirmation names the room.
    pub disruptive: bool,
    /// What the person must confirm for a disruptive change: the rooms' names.
    pub confirm: Option<String>,
    /// Why Approve is missing; empty when it is there.
    pub deny_only: Vec<Worded>,
    /// The drafter's reason, escaped and capped. Not checked by anybody.
    pub reason: String,
    /// Who drafted it, in words.
    pub origin: Worded,
    /// Which sign-in the write would use, in words.
    pub slot: Worded,
    /// Whether a run would end as a dry run.
    pub dry_run: bool,
    /// `isolation: none` or the like, for the card's footer.
    pub isolation: String,
}

/// A card as it is put before one person: the facts, and what may change while they read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The bound facts.
    pub facts: CardFacts,
    /// SHA-256 over the facts' canonical form.
    pub digest: [u8; 32],
    /// Proves which card was shown, to whom and when. Every decision carries it.
    pub ticket: String,
    /// What would be refused now, in words: information, not a gate.
    pub notes: Vec<Worded>,
    /// When the facts were read, in words with the zone.
    pub read_at: Worded,
    /// Seconds until the proposal expires.
    pub expires_in: u64,
    /// How many other proposals wait.
    pub others_waiting: u64,
    /// How many changes the person who looks has approved within the last half hour, on any surface.
    pub approved_lately: u64,
    /// What each gate found when it was admitted.
    pub gates: Vec<GateResult>,
}

/// One line of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// The proposal's number.
    pub number: ProposalNumber,
    /// The tool's plain words without a fresh read.
    pub heading: Worded,
    /// Target ids.
    pub targets: Vec<String>,
    /// Seconds until it expires.
    pub expires_in: u64,
}

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryRow {
    /// The proposal's number.
    pub number: ProposalNumber,
    /// The tool's plain words.
    pub heading: Worded,
    /// Target ids.
    pub targets: Vec<String>,
    /// Where it stands.
    pub state: ProposalState,
    /// Refusal code, if any.
    pub code: Option<protocol::refusal::RefusalCode>,
    /// The device's words or the read-back.
    pub detail: String,
    /// Who decided, or empty.
    pub decided_by: String,
    /// On which surface, or empty.
    pub surface: String,
    /// When it was made, in words with the zone.
    pub created_at: Worded,
    /// When it ended, in words with the zone; empty while it has not.
    pub ended_at: Worded,
    /// Whether it ran and code knows a change that undoes it.
    pub undoable: bool,
}
