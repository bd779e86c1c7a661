mod calls;
mod loader;

use super::*;
use serde_json::json;

fn canonical(value: &Value) -> Canonical {
    Canonical::from_value(value).unwrap()
}

fn parse(text: &str) -> Result<ToolPolicy, PolicyError> {
    ToolPolicy::parse(text, "tool_policy.yaml")
}

/// The shipped text with the first `from` after the line `after` replaced, and the line number of that place.
fn changed(after: &str, from: &str, to: &str) -> (String, usize) {
    let start = SHIPPED.find(&format!("\n{after}\n")).unwrap_or_else(|| panic!("no line {after:?}"));
    let at = start + SHIPPED[start..].find(from).unwrap_or_else(|| panic!("no {from:?} after {after:?}"));
    let text = format!("{}{to}{}", &SHIPPED[..at], &SHIPPED[at + from.len()..]);
    (text, SHIPPED[..at].matches('\n').count() + 1)
}

/// Shipped, changed in one place, and open to one more kind of field in `batch_reboot`.
fn with_field(field: &str) -> Result<ToolPolicy, PolicyError> {
    let fields = "      target: device_ids\n      fields:\n";
    let (text, _) = changed("  batch_reboot:", fields, &format!("{fields}        extra: {field}\n"));
    parse(&text)
}

const REBOOT: &str = "  batch_reboot:";
const RECORDING: &str = "  batch_recording:";
const STOP: &str = "  stop_stream_endpoint:";
const START: &str = "  start_stream_endpoint:";
const CONFIRM: &str = "  confirm_cms_event_on_device:";
const FIRMWARE: &str = "  batch_firmware_update:";

fn pending(tool: &str) -> ToolPolicy {
    let after = format!("  {tool}:");
    let start = SHIPPED.find(&format!("\n{after}\n    max_targets")).unwrap() + 1;
    let length = SHIPPED[start..].find("\n\n").unwrap();
    let entry = format!("{after}\n    max_targets: 1\n    schema: pending-live-run");
    parse(&format!("{}{entry}{}", &SHIPPED[..start], &SHIPPED[start + length..])).unwrap()
}

const UNIT: &str = "19012341234";
const STREAM: &str = "7D1F0C9E-2b34-4c56-8d78-9e0f1a2b3c4d";

fn example(tool: Tool) -> Value {
    match tool {
        Tool::Recording => json!({"action": "start", "device_ids": ["19012341234-1"]}),
        Tool::Reboot | Tool::FirmwareUpdate => json!({"device_ids": [UNIT]}),
        Tool::ConfirmEvent => json!({"device_id": UNIT, "event_id": "k3x9w0c1v7b5n2m8q4zz:1927880000"}),
        Tool::StartStream | Tool::StopStream => json!({"stream_id": STREAM, "device_id": UNIT, "channel_id": "2"}),
    }
}
