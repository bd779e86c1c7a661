//! The tools that the model is offered: the reads without pictures, and when somebody asked for a change the list of what can
//! be changed and `propose_change`. Never a write tool.

use crate::model::talk::Offer;
use policy::tool_policy::{self, ToolPolicy};
use protocol::propose::MAX_REASON;
use serde_json::{Value, json};

/// The one tool that leads anywhere but to a reading.
pub(crate) const PROPOSE: &str = "propose_change";
/// The list of what can be changed, by the executor's own sign-in.
pub(crate) const CHANGEABLE: &str = "get_changeable_devices";
/// A picture of a room is never given to the model.
const PICTURES: &str = "get_channel_image";
/// The one read that the keyword answer makes.
pub(crate) const DEVICES: &str = "get_devices_in_my_team";

/// Both tool lists, made once, so that their bytes never change.
#[derive(Debug)]
pub(crate) struct Tools {
    readable: Vec<String>,
    reading: Vec<Offer>,
    proposing: Vec<Offer>,
}

impl Tools {
    /// The lists of this policy, sorted by name.
    pub(crate) fn new(policy: &ToolPolicy) -> Self {
        let mut readable: Vec<_> = policy.read_tools().filter(|name| *name != PICTURES).map(str::to_owned).collect();
        readable.sort_unstable();
        let mut reading: Vec<_> = readable.iter().map(|name| read_tool(name)).collect();
        // The list for proposing shares everything up to here.
        if let Some(last) = reading.last_mut() {
            last.ends_prefix = true;
        }
        let mut proposing = reading.clone();
        proposing.push(changeable_tool());
        proposing.push(propose_tool(policy));
        Self { readable, reading, proposing }
    }

    /// What is offered; `get_changeable_devices` and `propose_change` only when `may_propose`.
    pub(crate) fn offered(&self, may_propose: bool) -> &[Offer] {
        if may_propose { &self.proposing } else { &self.reading }
    }

    /// The reads, sorted by name.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &str> {
        self.readable.iter().map(String::as_str)
    }

    /// The name as we hold it, when it is a read that is offered.
    pub(crate) fn readable(&self, name: &str) -> Option<&str> {
        self.readable.iter().find(|known| *known == name).map(String::as_str)
    }
}

fn read_tool(name: &str) -> Offer {
    Offer {
        name: name.to_owned(),
        description: description(name).to_owned(),
        schema: tool_policy::read_schema(name),
        ends_prefix: false,
    }
}

fn changeable_tool() -> Offer {
    Offer {
        name: CHANGEABLE.to_owned(),
        description: description(CHANGEABLE).to_owned(),
        schema: changeable_schema(),
        ends_prefix: false,
    }
}

/// The schema of a tool without arguments.
pub(crate) fn changeable_schema() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

fn propose_tool(policy: &ToolPolicy) -> Offer {
    let (changes, schema) = changes(policy);
    let description = format!(
        "Proposes one change. Nothing runs: a person approves or denies it on a separate page, and you get the proposal's \
         number at once. Only for what the operator asked for. Every id must come from get_changeable_devices, read in \
         this conversation. The changes and their arguments:\n{changes}"
    );
    Offer { name: PROPOSE.to_owned(), description, schema, ends_prefix: false }
}

/// What can be proposed, a line each in name order, and the schema of proposing one: the same for the model and for other
/// agents.
pub(crate) fn changes(policy: &ToolPolicy) -> (String, Value) {
    let mut entries: Vec<_> =
        policy.proposable().map(|entry| (entry.tool().as_str(), tool_policy::describe_fields(entry))).collect();
    entries.sort_unstable();
    let names: Vec<_> = entries.iter().map(|(name, _)| *name).collect();
    let lines: Vec<_> = entries.iter().map(|(_, line)| line.as_str()).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "tool": {"type": "string", "enum": names, "description": "Which change."},
            "arguments": {"type": "object", "description": "The change's own arguments."},
            "reason": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_REASON,
                "description": "Why, in one plain sentence for the person who decides."
            }
        },
        "required": ["tool", "arguments", "reason"],
        "additionalProperties": false
    });
    (lines.join("\n"), schema)
}

/// What a read tool is for.
pub(crate) fn description(name: &str) -> &'static str {
    match name {
        CHANGEABLE => {
            "The units that a change can be proposed for, and no others: id, name, model, whether it is online, its channels \
             with recorder and stream state, the event that is on now or comes next; and the stream destinations."
        }
        "get_channel_audio_levels" => "Sound levels of one channel now.",
        "get_channel_settings" => "Encoder settings of one channel.",
        "get_cms_events_for_device" => "Scheduled events of one unit.",
        "get_cms_events_for_devices" => "Scheduled events of several units.",
        "get_cms_names_for_devices" => {
            "Which scheduling system each unit uses; a unit without one is missing from the answer."
        }
        "get_current_or_next_cms_event_for_device" => "The event that is on now or comes next on one unit.",
        "get_current_or_next_cms_events_for_devices" => {
            "The event that is on now or comes next, for several units or for all that have a schedule."
        }
        "get_device_info" => "Details of one unit.",
        "get_device_sources" => "Inputs of one unit.",
        "get_devices_by_cms" => "Units that use one scheduling system.",
        DEVICES => {
            "Every unit of the team: id, name, model, whether it is online, its channels with recorder and stream state, warnings."
        }
        "get_recorder_status_for_devices" => "Recorder state of every channel of these units.",
        "get_storage_status_for_devices" => "Free storage of these units.",
        "get_stream_endpoint" => "One stream destination.",
        "get_stream_endpoints" => "The team's stream destinations, without their keys.",
        "get_system_status_for_devices" => "Load, temperature and start time of these units.",
        "get_team_presets" => "The team's presets.",
        "kb_fetch" => "One article of the vendor's documentation, by the id that kb_search gave.",
        "kb_search" => {
            "Searches the vendor's documentation. When the answer says low_confidence, the documentation does not cover it."
        }
        _ => "Reads something about the fleet.",
    }
}

/// What the model put into `propose_change`.
#[derive(Debug, PartialEq)]
pub(crate) struct Asked<'a> {
    /// The tool's name.
    pub(crate) tool: &'a str,
    /// Its arguments.
    pub(crate) arguments: &'a Value,
    /// Why.
    pub(crate) reason: &'a str,
}

/// Takes the input of `propose_change` apart: exactly its three members, each of its type.
///
/// # Errors
/// One plain sentence that says what is wrong.
pub(crate) fn asked(input: &Value) -> Result<Asked<'_>, &'static str> {
    let members = input.as_object().ok_or("the input is not an object")?;
    if !members.keys().all(|name| matches!(name.as_str(), "tool" | "arguments" | "reason")) {
        return Err("only tool, arguments and reason may be given");
    }
    let tool = members.get("tool").and_then(Value::as_str).ok_or("tool is missing or is not text")?;
    let arguments =
        members.get("arguments").filter(|value| value.is_object()).ok_or("arguments is missing or is not an object")?;
    let reason = members.get("reason").and_then(Value::as_str).ok_or("reason is missing or is not text")?;
    Ok(Asked { tool, arguments, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[Offer]) -> Vec<&str> {
        list.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn the_model_is_offered_the_reads_and_never_a_write_tool_or_a_picture() {
        let policy = ToolPolicy::shipped().unwrap();
        let tools = Tools::new(&policy);
        let reads = names(tools.offered(false));
        assert_eq!(reads.len(), 19);
        assert!(reads.is_sorted() && !reads.contains(&PICTURES) && !reads.contains(&PROPOSE));
        assert!(reads.iter().all(|name| !policy.is_write(name)));
        let all = names(tools.offered(true));
        assert_eq!((&all[..19], &all[19..]), (reads.as_slice(), [CHANGEABLE, PROPOSE].as_slice()));
        assert!(
            !policy.is_write(CHANGEABLE) && policy.guard(CHANGEABLE).is_err(),
            "it is no tool of the fleet's server"
        );
        assert_eq!(tools.readable(CHANGEABLE), None);
        assert!(reads.iter().all(|name| description(name) != description("")), "every read has its own words");
        assert!(tools.offered(true).iter().all(|tool| tool.schema["type"] == "object"));
        let ends = |list: &[Offer]| list.iter().position(|tool| tool.ends_prefix);
        assert_eq!((ends(tools.offered(false)), ends(tools.offered(true))), (Some(18), Some(18)));
    }

    #[test]
    fn propose_change_names_the_six_changes_with_their_fields() {
        let tools = Tools::new(&ToolPolicy::shipped().unwrap());
        let propose = &tools.offered(true)[20];
        assert_eq!(propose.schema["properties"]["tool"]["enum"].as_array().unwrap().len(), 6);
        let text = propose.description.as_str();
        assert!(text.contains("batch_recording") && text.contains("device_ids") && text.contains("event_id"), "{text}");
    }

    #[test]
    fn the_input_of_propose_change_is_taken_exactly() {
        let good = json!({"tool": "batch_reboot", "arguments": {}, "reason": "r"});
        assert_eq!(asked(&good).unwrap().tool, "batch_reboot");
        for bad in [
            json!("x"),
            json!({}),
            json!({"tool": 1, "arguments": {}, "reason": "r"}),
            json!({"tool": "t", "arguments": "{}", "reason": "r"}),
            json!({"tool": "t", "arguments": {}}),
            json!({"tool": "t", "arguments": {}, "reason": "r", "approve": true}),
        ] {
            assert_eq!(asked(&bad).ok(), None, "{bad}");
        }
    }
}
