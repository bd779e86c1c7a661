//! A write call whose arguments were checked against its entry in the tool policy.

use crate::ids::{ChannelId, MasterId};
use protocol::canonical::Canonical;

/// One of the six tools that have a meaning to the checks. A propose entry for any other name does not load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// `batch_firmware_update`.
    FirmwareUpdate,
    /// `batch_reboot`.
    Reboot,
    /// `batch_recording`.
    Recording,
    /// `confirm_cms_event_on_device`.
    ConfirmEvent,
    /// `start_stream_endpoint`.
    StartStream,
    /// `stop_stream_endpoint`.
    StopStream,
}

impl Tool {
    /// All six.
    pub const ALL: [Self; 6] =
        [Self::FirmwareUpdate, Self::Reboot, Self::Recording, Self::ConfirmEvent, Self::StartStream, Self::StopStream];

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FirmwareUpdate => "batch_firmware_update",
            Self::Reboot => "batch_reboot",
            Self::Recording => "batch_recording",
            Self::ConfirmEvent => "confirm_cms_event_on_device",
            Self::StartStream => "start_stream_endpoint",
            Self::StopStream => "stop_stream_endpoint",
        }
    }

    /// The tool with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }
}

/// Start or stop, for recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordingAction {
    /// `start`.
    Start,
    /// `stop`.
    Stop,
}

/// The one target of a call: a unit, and the channel on it when the call names one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The unit.
    pub master: MasterId,
    /// The channel.
    pub channel: Option<ChannelId>,
}

/// What the tool policy says of this very call (`seed 000, Disruptive tools`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRules {
    /// Refused while the room is in use, and confirmed twice.
    pub disruptive: bool,
    /// Ends the recording on its own target, which therefore does not block it.
    pub stops_recording: bool,
    /// Ends the stream on its own target, which therefore does not block it.
    pub stops_streaming: bool,
    /// Readiness window in minutes.
    pub lead_minutes: u32,
}

/// A call that passed its schema. Built only by `ToolPolicy::check_call`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedCall {
    pub(crate) tool: Tool,
    pub(crate) arguments: Canonical,
    pub(crate) defaulted: Vec<String>,
    pub(crate) targets: Vec<Target>,
    pub(crate) action: Option<RecordingAction>,
    pub(crate) stream_id: Option<String>,
    pub(crate) event_id: Option<String>,
    pub(crate) schema_version: u32,
    pub(crate) rules: CallRules,
}

impl CheckedCall {
    /// The tool.
    #[must_use]
    pub fn tool(&self) -> Tool {
        self.tool
    }

    /// The canonical arguments, defaults filled in.
    #[must_use]
    pub fn arguments(&self) -> &Canonical {
        &self.arguments
    }

    /// Names of the arguments that the schema filled in.
    #[must_use]
    pub fn defaulted(&self) -> &[String] {
        &self.defaulted
    }

    /// The targets: sorted, unique, at least one, at most the entry's `max_targets`.
    #[must_use]
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Start or stop, for `batch_recording`.
    #[must_use]
    pub fn action(&self) -> Option<RecordingAction> {
        self.action
    }

    /// The destination, lower case, for the two stream tools.
    #[must_use]
    pub fn stream_id(&self) -> Option<&str> {
        self.stream_id.as_deref()
    }

    /// The event, for `confirm_cms_event_on_device`.
    #[must_use]
    pub fn event_id(&self) -> Option<&str> {
        self.event_id.as_deref()
    }

    /// Version of the entry's schema.
    #[must_use]
    pub fn schema_version(&self) -> u32 {
        self.schema_version
    }

    /// What the policy says of this call.
    #[must_use]
    pub fn rules(&self) -> CallRules {
        self.rules
    }
}

/// The sign-in slot that a write uses. It is part of the bound record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The sandbox sign-in; https only.
    Sandbox,
    /// The simulator; http on 127.0.0.1 only, its own state folder, named on every card.
    Sim,
}

impl Slot {
    /// The stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Sim => "sim",
        }
    }

    /// The slot with this word.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::Sandbox, Self::Sim].into_iter().find(|slot| slot.as_str() == text)
    }
}
