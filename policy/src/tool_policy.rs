//! The tool policy: what may be read, what may be proposed, and what is never called (issue lines 1.9 to 1.11).

mod check;
mod entry;
mod load;
mod raw;
mod reads;
mod schema;

#[cfg(test)]
mod tests;

pub use entry::{Disrupts, ProposeEntry};
pub use reads::{check_read_arguments, read_schema};

use crate::call::{CallRules, CheckedCall, Tool};
use crate::intent::Phrase;
use crate::yaml::{PolicyError, Source};
use protocol::canonical::Canonical;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The file that ships, as text.
pub const SHIPPED: &str = include_str!("../tool_policy.yaml");

/// The write tools that are known, whatever a file says. None of them is ever read.
const KNOWN_WRITE: [&str; 15] = [
    "apply_team_preset",
    "batch_firmware_update",
    "batch_reboot",
    "batch_recording",
    "cms_event_action",
    "confirm_cms_event_on_device",
    "create_cms_event",
    "create_stream_endpoint",
    "delete_cms_event",
    "delete_stream_endpoint",
    "start_stream_endpoint",
    "stop_stream_endpoint",
    "switch_device_to_cms",
    "update_cms_event",
    "update_stream_endpoint",
];

/// The name of a tool that only reads. Made by [`ToolPolicy::guard`] alone; the reader accepts nothing else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadTool(String);

impl ReadTool {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A tool policy that passed every check of its loader.
#[derive(Debug, Clone)]
pub struct ToolPolicy {
    read: BTreeSet<String>,
    write: BTreeSet<String>,
    disruptive: BTreeSet<String>,
    entries: BTreeMap<Tool, ProposeEntry>,
    verbs: Vec<(Tool, Vec<Phrase>)>,
    default_lead: u32,
}

impl ToolPolicy {
    /// Reads a policy text; `file` is the name that refusals show.
    ///
    /// # Errors
    /// [`PolicyError`] for the first thing that is wrong, with its place and what to do.
    pub fn parse(text: &str, file: &str) -> Result<Self, PolicyError> {
        load::load(Source { text, file })
    }

    /// The shipped policy, for tests of other crates.
    ///
    /// # Errors
    /// [`PolicyError`] if the shipped file were broken.
    pub fn shipped() -> Result<Self, PolicyError> {
        Self::parse(SHIPPED, "tool_policy.yaml")
    }

    /// Sets the readiness window of entries without their own: `Behaviour::lead_minutes`. Without this it is 30.
    #[must_use]
    pub fn with_lead_minutes(mut self, minutes: u32) -> Self {
        self.default_lead = minutes;
        self
    }

    /// Lets a read tool through and nothing else, in every mode (`seed 000, Parts`).
    ///
    /// # Errors
    /// `not_permitted` for a write tool, `tool_unknown` for any other name.
    pub fn guard(&self, name: &str) -> Result<ReadTool, Refusal> {
        if self.is_write(name) && stands(RefusalCode::NotPermitted) {
            return Err(Refusal::new(RefusalCode::NotPermitted, &format!("{name}: only read tools are called here")));
        }
        if self.read.contains(name) || !stands(RefusalCode::ToolUnknown) {
            return Ok(ReadTool(name.to_owned()));
        }
        Err(Refusal::new(RefusalCode::ToolUnknown, name))
    }

    /// Write tools that the guard would let through, and made-up names likewise; empty when it holds. For `doctor`.
    #[must_use]
    pub fn leaks(&self) -> Vec<&str> {
        const MADE_UP: [&str; 3] = ["", "get_devices_in_my_team ", "no_such_tool"];
        let names = KNOWN_WRITE.iter().copied().chain(self.write.iter().map(String::as_str)).chain(MADE_UP);
        names.filter(|name| self.guard(name).is_ok() || self.read.contains(*name)).collect()
    }

    /// How many write tools are known, by the file or whatever it says.
    #[must_use]
    pub fn write_count(&self) -> usize {
        KNOWN_WRITE.iter().copied().chain(self.write.iter().map(String::as_str)).collect::<BTreeSet<_>>().len()
    }

    /// The read tools, sorted.
    pub fn read_tools(&self) -> impl Iterator<Item = &str> {
        self.read.iter().map(String::as_str)
    }

    /// The entries whose schema is reviewed, sorted by name.
    pub fn proposable(&self) -> impl Iterator<Item = &ProposeEntry> {
        self.entries.values().filter(|entry| entry.schema.is_some())
    }

    /// Whether the tool changes something, by the file or by what is known.
    #[must_use]
    pub fn is_write(&self, name: &str) -> bool {
        self.write.contains(name) || KNOWN_WRITE.contains(&name)
    }

    /// Whether a call counts as disruptive. Fails to yes: only a reviewed entry that says calm is calm.
    #[must_use]
    pub fn is_disruptive(&self, name: &str, arguments: &Value) -> bool {
        if self.disruptive.contains(name) {
            return true;
        }
        let entry = Tool::from_name(name).and_then(|tool| self.entries.get(&tool));
        entry.is_none_or(|entry| entry.is_disruptive(arguments))
    }

    /// What the policy says of one call (`epiphan-facts 2.4`).
    #[must_use]
    pub fn rules_of(&self, tool: Tool, arguments: &Canonical) -> CallRules {
        let disruptive = self.is_disruptive(tool.as_str(), arguments.value());
        let Some(entry) = self.entries.get(&tool) else {
            let lead_minutes = self.default_lead;
            return CallRules { disruptive, stops_recording: false, stops_streaming: false, lead_minutes };
        };
        CallRules {
            disruptive,
            stops_recording: entry.stops_recording(arguments.value()),
            stops_streaming: entry.stops_streaming,
            lead_minutes: entry.lead_minutes.unwrap_or(self.default_lead),
        }
    }

    /// Checks a proposed call against its entry and reads what it names.
    ///
    /// # Errors
    /// `tool_unknown`, `tool_not_proposable`, `too_large`, or `bad_arguments` with the field and what was expected.
    pub fn check_call(&self, tool: &str, arguments: &Canonical) -> Result<CheckedCall, Refusal> {
        check::check_call(self, tool, arguments)
    }

    /// Canonical text of everything the policy says of one tool; another text is another policy.
    #[must_use]
    pub fn slice_text(&self, tool: Tool) -> String {
        let slice = self.entries.get(&tool).map_or(Value::Null, |entry| entry.slice(self.default_lead));
        Canonical::from_value(&slice).map_or_else(|_| slice.to_string(), |text| text.as_str().to_owned())
    }

    pub(crate) fn phrases(&self) -> impl Iterator<Item = (Tool, &[Phrase])> {
        self.verbs.iter().map(|(tool, phrases)| (*tool, phrases.as_slice()))
    }
}

/// One plain line that tells the model a proposable tool's fields.
#[must_use]
pub fn describe_fields(entry: &ProposeEntry) -> String {
    let Some(schema) = &entry.schema else {
        return format!("{}: not open yet", entry.tool.as_str());
    };
    let fields: Vec<String> = schema
        .fields
        .iter()
        .map(|(name, field)| {
            let optional = if field.required { "" } else { " (may be left out)" };
            format!("{name}{optional}: {}", field.kind.describe())
        })
        .collect();
    format!("{}: {}", entry.tool.as_str(), fields.join("; "))
}
