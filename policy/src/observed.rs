//! What a fresh read found, as plain values. The reader's parsers build these and fail closed; gates, fingerprint,
//! room rule and card only look at them. Times are Unix seconds.

use crate::ids::{ChannelId, MasterId};
use std::collections::BTreeMap;

/// What a recorder says it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// Records, or is in any state that is not plainly stopped: starting, paused, error, unknown words.
    Active(RecorderWord),
    /// Plainly stopped or disabled.
    Idle(RecorderWord),
}

/// The recorder words that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecorderWord {
    /// `disabled`.
    Disabled,
    /// `error`.
    Error,
    /// A word nobody taught us; counts as recording.
    Other,
    /// `paused`.
    Paused,
    /// `recording`, `started`, `running`.
    Recording,
    /// `starting`.
    Starting,
    /// `stopped`.
    Stopped,
}

impl Recording {
    /// Reads the device's word. Anything but stopped and disabled counts as recording.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "stopped" => Self::Idle(RecorderWord::Stopped),
            "disabled" => Self::Idle(RecorderWord::Disabled),
            "recording" | "started" | "running" => Self::Active(RecorderWord::Recording),
            "starting" => Self::Active(RecorderWord::Starting),
            "paused" => Self::Active(RecorderWord::Paused),
            "error" => Self::Active(RecorderWord::Error),
            _ => Self::Active(RecorderWord::Other),
        }
    }

    /// Whether it counts as recording.
    #[must_use]
    pub fn is_active(self) -> bool {
        match self {
            Self::Active(_) => true,
            Self::Idle(_) => false,
        }
    }

    /// The word, in our spelling; fingerprints use it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let (Self::Active(word) | Self::Idle(word)) = self;
        match word {
            RecorderWord::Disabled => "disabled",
            RecorderWord::Error => "error",
            RecorderWord::Other => "other",
            RecorderWord::Paused => "paused",
            RecorderWord::Recording => "recording",
            RecorderWord::Starting => "starting",
            RecorderWord::Stopped => "stopped",
        }
    }
}

/// One publisher (stream output) of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publisher {
    /// Its id on the channel.
    pub id: String,
    /// `rtmp`, `srt`, … as the device says.
    pub kind: String,
    /// Whether it streams or may be streaming: anything but plainly stopped.
    pub active: bool,
    /// The device's word in lower case (`stopped`, `started`, `starting`, …).
    pub state: String,
}

/// One channel of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its number.
    pub id: ChannelId,
    /// Its name.
    pub name: String,
    /// Its recorder, when the answer says.
    pub recording: Option<Recording>,
    /// Its publishers; empty when the answer lists none.
    pub publishers: Vec<Publisher>,
}

/// One unit of the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its id.
    pub id: MasterId,
    /// Current name.
    pub name: String,
    /// Model, as the device says.
    pub model: String,
    /// Firmware text; empty when not given.
    pub firmware: String,
    /// Group name; empty when not given.
    pub group: String,
    /// `online`, compared without case; anything else is not online.
    pub online: bool,
    /// Its channels; `None` when the answer has no channel list at all.
    pub channels: Option<Vec<Channel>>,
}

impl Device {
    /// The channel with this number.
    #[must_use]
    pub fn channel(&self, id: &ChannelId) -> Option<&Channel> {
        self.channels.as_deref().unwrap_or_default().iter().find(|channel| channel.id == *id)
    }

    /// EC20 cameras cannot record or stream on command.
    #[must_use]
    pub fn is_camera(&self) -> bool {
        self.model.trim().eq_ignore_ascii_case("EC20")
    }
}

/// The current or next event of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Start, Unix seconds.
    pub start: i64,
    /// End, Unix seconds; `None` when the answer gives none (then it stays on).
    pub end: Option<i64>,
    /// Whether somebody confirmed it, when the answer says. Only the receipt tells it; nothing is decided on it.
    pub confirmed: Option<bool>,
}

/// A destination on the team's list. The key is dropped where it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamDestination {
    /// Its UUID, lower case.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Host of its address; empty when none is set.
    pub host: String,
    /// Whether it says that something streams to it now; `None` when it does not say.
    pub streaming: Option<bool>,
    /// The device that holds it, when one does.
    pub locked_by: Option<String>,
}

/// The whole team through one sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// Every unit.
    pub devices: Vec<Device>,
    /// The team's id, when the answer carries one; several that differ are a failed read.
    pub team_id: Option<String>,
}

impl Team {
    /// The unit with this id.
    #[must_use]
    pub fn device(&self, id: &MasterId) -> Option<&Device> {
        self.devices.iter().find(|device| device.id == *id)
    }
}

/// Recorder words of the devices that were asked for, by channel. A device or channel that is missing from an answer is
/// a failed read in the reader and never appears here as idle.
pub type Recorders = BTreeMap<MasterId, BTreeMap<ChannelId, Recording>>;

/// The current or next event of each device that was asked for: `None` means that the device surely has none.
pub type Events = BTreeMap<MasterId, Option<Event>>;

/// Everything that one proposal's checks look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The device list.
    pub team: Team,
    /// The destinations, when the tool needs them.
    pub streams: Option<Vec<StreamDestination>>,
    /// Recorder words of the online targets.
    pub recorders: Recorders,
    /// Events of the targets.
    pub events: Events,
    /// Boot clock, milliseconds, when the first of these reads began.
    pub read_boot_ms: i64,
    /// Unix seconds when the last of these reads ended.
    pub read_unix: i64,
}
