//! The 35 tools with the argument names of the live server: one table for the schemas and for the check.

use serde_json::{Map, Value, json};

/// Read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Changes nothing.
    Read,
    /// May change the fleet.
    Write,
}

impl Kind {
    /// The word that stands in the log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What an argument may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Any text.
    Text,
    /// A list of texts.
    List,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// One argument of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg {
    name: &'static str,
    holds: Holds,
    required: bool,
}

/// One tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    /// Its name.
    pub(crate) name: &'static str,
    /// Read or write.
    pub(crate) kind: Kind,
    /// One sentence for the caller.
    pub(crate) about: &'static str,
    args: &'static [Arg],
}

const fn need(name: &'static str, holds: Holds) -> Arg {
    Arg { name, holds, required: true }
}

const fn may(name: &'static str, holds: Holds) -> Arg {
    Arg { name, holds, required: false }
}

const fn read(name: &'static str, about: &'static str, args: &'static [Arg]) -> Tool {
    Tool { name, kind: Kind::Read, about, args }
}

const fn write(name: &'static str, about: &'static str, args: &'static [Arg]) -> Tool {
    Tool { name, kind: Kind::Write, about, args }
}

const DEVICE: Arg = need("device_id", Holds::Text);
const DEVICES: Arg = need("device_ids", Holds::List);
const MAYBE_DEVICES: Arg = may("device_ids", Holds::List);
const CHANNEL: Arg = need("channel_id", Holds::Text);
const STREAM: Arg = need("stream_id", Holds::Text);
const EVENT: Arg = need("event_id", Holds::Text);
const UNTIL: Arg = may("until", Holds::Text);
const ACTIONS: Holds = Holds::Words(&["start", "stop", "pause", "resume"]);

/// Every tool, reads first.
pub(crate) const TOOLS: &[Tool] = &[
    read("get_devices_in_my_team", "All devices of the team with channels, publishers and warnings.", &[]),
    read("get_device_info", "One device.", &[DEVICE]),
    read("get_device_sources", "The video inputs of one device.", &[DEVICE]),
    read("get_system_status_for_devices", "Load, temperature and start time.", &[DEVICES]),
    read("get_recorder_status_for_devices", "The recorder state of every channel.", &[DEVICES]),
    read("get_storage_status_for_devices", "Free space.", &[DEVICES]),
    read("get_channel_settings", "Encoder settings of one channel.", &[DEVICE, CHANNEL]),
    read(
        "get_channel_image",
        "A preview picture of one channel.",
        &[DEVICE, CHANNEL, may("format", Holds::Words(&["binary", "base64"]))],
    ),
    read("get_channel_audio_levels", "Audio levels of one channel.", &[DEVICE, CHANNEL]),
    read("get_stream_endpoint", "One stream destination.", &[need("endpoint_id", Holds::Text)]),
    read("get_stream_endpoints", "All stream destinations of the team.", &[]),
    read("get_team_presets", "The presets of the team.", &[]),
    read("get_cms_events_for_device", "The timeline of one device.", &[DEVICE, UNTIL]),
    read("get_cms_events_for_devices", "The timeline of several devices.", &[DEVICES]),
    read(
        "get_current_or_next_cms_event_for_device",
        "The event that runs or comes next on one device.",
        &[DEVICE, UNTIL],
    ),
    read(
        "get_current_or_next_cms_events_for_devices",
        "The event that runs or comes next on each device.",
        &[MAYBE_DEVICES, UNTIL],
    ),
    read("get_cms_names_for_devices", "Which CMS each device uses.", &[MAYBE_DEVICES]),
    read("get_devices_by_cms", "The devices of one CMS.", &[need("cms", Holds::Text)]),
    read("kb_search", "Searches the help pages.", &[need("query", Holds::Text), may("device_model", Holds::Text)]),
    read("kb_fetch", "One help page.", &[need("id", Holds::Text)]),
    write(
        "batch_recording",
        "Starts or stops recording on channels (ids like 20301000003-1).",
        &[need("action", ACTIONS), DEVICES],
    ),
    write("start_stream_endpoint", "Starts streaming a channel to a destination.", &[STREAM, DEVICE, CHANNEL]),
    write("stop_stream_endpoint", "Stops streaming a channel to a destination.", &[STREAM, DEVICE, CHANNEL]),
    write("confirm_cms_event_on_device", "Confirms a scheduled event.", &[DEVICE, EVENT]),
    write("batch_reboot", "Restarts devices.", &[DEVICES]),
    write("batch_firmware_update", "Updates the firmware of devices.", &[DEVICES]),
    write(
        "create_stream_endpoint",
        "Adds a stream destination.",
        &[need("name", Holds::Text), need("url", Holds::Text), may("stream_key", Holds::Text)],
    ),
    write(
        "update_stream_endpoint",
        "Changes a stream destination.",
        &[STREAM, may("name", Holds::Text), may("url", Holds::Text), may("stream_key", Holds::Text)],
    ),
    write("delete_stream_endpoint", "Removes a stream destination.", &[STREAM]),
    write(
        "create_cms_event",
        "Adds an event.",
        &[DEVICE, need("title", Holds::Text), need("start", Holds::Text), need("finish", Holds::Text)],
    ),
    write(
        "update_cms_event",
        "Changes an event.",
        &[DEVICE, EVENT, may("title", Holds::Text), may("start", Holds::Text), may("finish", Holds::Text)],
    ),
    write("delete_cms_event", "Removes an event.", &[DEVICE, EVENT]),
    write("cms_event_action", "Starts, pauses or ends an event.", &[DEVICE, EVENT, need("action", Holds::Text)]),
    write("apply_team_preset", "Applies a preset to devices.", &[need("preset_id", Holds::Text), DEVICES]),
    write("switch_device_to_cms", "Moves a device to another CMS.", &[DEVICE, need("cms", Holds::Text)]),
];

/// The tool with this name.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

impl Tool {
    /// The input schema. `signed_in` is false for a caller without a good token: then a write tool
    /// does not publish its argument names, as on the live server.
    pub(crate) fn input_schema(&self, signed_in: bool) -> Map<String, Value> {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        if self.kind == Kind::Write && !signed_in {
            return schema;
        }
        let fields: Map<String, Value> =
            self.args.iter().map(|arg| (arg.name.to_owned(), arg.holds.schema())).collect();
        let required: Vec<&str> = self.args.iter().filter(|arg| arg.required).map(|arg| arg.name).collect();
        schema.insert("properties".to_owned(), Value::Object(fields));
        schema.insert("required".to_owned(), json!(required));
        schema.insert("additionalProperties".to_owned(), json!(false));
        schema
    }

    /// Checks arguments against the table.
    ///
    /// # Errors
    /// One sentence that names the argument and what is wrong with it.
    pub(crate) fn check(&self, given: &Map<String, Value>) -> Result<(), String> {
        if let Some(odd) = given.keys().find(|name| self.args.iter().all(|arg| arg.name != **name)) {
            return Err(format!("unknown argument {odd:?}"));
        }
        for arg in self.args {
            match given.get(arg.name) {
                None if arg.required => return Err(format!("argument {:?} is missing", arg.name)),
                None => {}
                Some(value) if arg.holds.accepts(value) => {}
                Some(_) => return Err(format!("argument {:?} has the wrong type", arg.name)),
            }
        }
        Ok(())
    }
}

impl Holds {
    fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::List => json!({"type": "array", "items": {"type": "string"}}),
            Self::Words(words) => json!({"type": "string", "enum": words}),
        }
    }

    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::List => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            Self::Words(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(tool: &str, arguments: &Value) -> Result<(), String> {
        let tool = find(tool).expect("a tool");
        tool.check(arguments.as_object().expect("an object"))
    }

    #[test]
    fn there_are_twenty_reads_and_fifteen_writes_with_distinct_names() {
        let count = |kind| TOOLS.iter().filter(|tool| tool.kind == kind).count();
        assert_eq!((count(Kind::Read), count(Kind::Write)), (20, 15));
        let names: std::collections::BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        assert!(
            TOOLS
                .iter()
                .filter(|tool| tool.kind == Kind::Read)
                .all(|tool| tool.name.starts_with("get_") || tool.name.starts_with("kb_"))
        );
    }

    #[test]
    fn arguments_are_checked_by_name_and_type() {
        let good = json!({"action": "start", "device_ids": ["20301000003-1"]});
        assert_eq!(checked("batch_recording", &good), Ok(()));
        for (odd, word) in [
            (json!({"action": "start"}), "missing"),
            (json!({"action": "begin", "device_ids": []}), "wrong type"),
            (json!({"action": "start", "device_ids": "x"}), "wrong type"),
            (json!({"action": "start", "device_ids": [1]}), "wrong type"),
            (json!({"action": "stop", "device_ids": [], "force": true}), "unknown"),
        ] {
            let error = checked("batch_recording", &odd).expect_err("refused");
            assert!(error.contains(word), "{odd}: {error}");
        }
    }

    #[test]
    fn write_tools_show_their_arguments_only_to_a_signed_in_caller() {
        let tool = find("batch_reboot").expect("a tool");
        assert!(tool.input_schema(true).contains_key("properties"));
        assert!(!tool.input_schema(false).contains_key("properties"));
        let read = find("get_device_info").expect("a tool");
        assert!(read.input_schema(false).contains_key("properties"));
    }
}
