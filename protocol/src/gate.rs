//! What one gate of the pipeline found (`seed 002, Gate Chain`).

use serde::{Deserialize, Serialize};

/// The seven gates, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GateId {
    /// Is the proposal well formed?
    Schema,
    /// Does every target exist on the fresh list?
    DeviceResolve,
    /// Can the target do this?
    Capability,
    /// Is what was read recent enough?
    Freshness,
    /// Do policy, fence and limits allow it?
    Policy,
    /// Is this a dry run?
    DryRun,
    /// Is running switched on?
    Exec,
}

impl GateId {
    /// All gates in order.
    pub const ALL: [Self; 7] =
        [Self::Schema, Self::DeviceResolve, Self::Capability, Self::Freshness, Self::Policy, Self::DryRun, Self::Exec];

    /// The gate's stable name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::DeviceResolve => "device_resolve",
            Self::Capability => "capability",
            Self::Freshness => "freshness",
            Self::Policy => "policy",
            Self::DryRun => "dry_run",
            Self::Exec => "exec",
        }
    }
}

/// One fact a gate looked at, redacted and bounded before it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// What was looked at.
    pub name: String,
    /// What it was.
    pub value: String,
}

/// A gate's verdict with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateResult {
    /// Which gate.
    pub gate_id: GateId,
    /// Whether the chain may go on.
    pub passed: bool,
    /// The refusal code when it may not, or `not_reached`.
    pub blocked_reason: Option<String>,
    /// A snapshot at the time of the check.
    pub evidence: Vec<Evidence>,
}

/// What [`GateResult::blocked_reason`] says for a gate behind the one that failed.
pub const NOT_REACHED: &str = "not_reached";
