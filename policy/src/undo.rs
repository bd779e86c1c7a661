//! The undo of a change, as a change of its own: drafted by code, and approved separately or not at all.

use crate::call::{CheckedCall, RecordingAction, Tool};
use protocol::canonical::Canonical;
use serde_json::json;

/// A change that would undo another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    /// The tool.
    pub tool: Tool,
    /// Its arguments.
    pub arguments: Canonical,
}

/// The undo of this call, when there is one. A stopped recording cannot be continued, and a restart, a firmware update and a
/// confirmation cannot be called back.
#[must_use]
pub fn undo_of(call: &CheckedCall) -> Option<Undo> {
    match (call.tool(), call.action()) {
        (Tool::Recording, Some(RecordingAction::Start)) => {
            let ids = call.arguments().value().get("device_ids")?;
            let arguments = Canonical::from_value(&json!({ "action": "stop", "device_ids": ids })).ok()?;
            Some(Undo { tool: Tool::Recording, arguments })
        }
        (Tool::StartStream, _) => Some(Undo { tool: Tool::StopStream, arguments: call.arguments().clone() }),
        (Tool::StopStream, _) => Some(Undo { tool: Tool::StartStream, arguments: call.arguments().clone() }),
        (Tool::ConfirmEvent | Tool::FirmwareUpdate | Tool::Reboot | Tool::Recording, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool_policy::ToolPolicy;
    use std::collections::BTreeSet;

    fn call(tool: &str, arguments: &str) -> CheckedCall {
        let arguments = Canonical::parse(arguments.as_bytes()).unwrap();
        ToolPolicy::shipped().unwrap().check_call(tool, &arguments).unwrap()
    }

    #[test]
    fn every_tool_has_its_undo_or_none() {
        let stream =
            r#"{"channel_id":"1","device_id":"20311112222","stream_id":"7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d"}"#;
        let recording = |action| format!(r#"{{"action":"{action}","device_ids":["20311112222-1"]}}"#);
        let mut tools = BTreeSet::new();
        for (tool, arguments, undo) in [
            ("batch_recording", recording("start"), Some(("batch_recording", recording("stop")))),
            ("batch_recording", recording("stop"), None),
            ("start_stream_endpoint", stream.to_owned(), Some(("stop_stream_endpoint", stream.to_owned()))),
            ("stop_stream_endpoint", stream.to_owned(), Some(("start_stream_endpoint", stream.to_owned()))),
            ("batch_reboot", r#"{"device_ids":["20311112222"]}"#.to_owned(), None),
            ("batch_firmware_update", r#"{"device_ids":["20311112222"]}"#.to_owned(), None),
            (
                "confirm_cms_event_on_device",
                r#"{"device_id":"20311112222","event_id":"k3x9w0c1v7b5n2m8q4zz:1927880000"}"#.to_owned(),
                None,
            ),
        ] {
            tools.insert(tool);
            let found = undo_of(&call(tool, &arguments));
            let found = found.map(|undo| (undo.tool.as_str(), undo.arguments.as_str().to_owned()));
            assert_eq!(found, undo, "{tool} {arguments}");
            // What undoes a change is a change that may be proposed.
            if let Some((tool, arguments)) = undo {
                call(tool, &arguments);
            }
        }
        assert_eq!(tools, Tool::ALL.iter().map(|tool| tool.as_str()).collect());
    }
}
