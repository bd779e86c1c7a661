//! The argument check of a proposal, and what it then names (`seed 000, Binding`).

use super::ToolPolicy;
use super::entry::ProposeEntry;
use super::schema::Schema;
use crate::call::{CheckedCall, RecordingAction, Target, Tool};
use crate::ids::{ChannelId, MasterId, split_channel_device};
use crate::limits::ARGUMENT_BYTES;
use protocol::canonical::Canonical;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::{Map, Value};

type Members = Map<String, Value>;

pub(super) fn check_call(policy: &ToolPolicy, tool: &str, arguments: &Canonical) -> Result<CheckedCall, Refusal> {
    let (entry, schema) = entry_of(policy, tool)?;
    let (arguments, defaulted) = fill(tool, schema, arguments)?;
    let members = members(&arguments)?;
    let targets = targets(entry, schema, members)?;
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let action = match (entry.tool, text("action")) {
        (Tool::Recording, Some("start")) => Some(RecordingAction::Start),
        (Tool::Recording, Some("stop")) => Some(RecordingAction::Stop),
        (Tool::Recording, _) => return Err(bad("action: expected start or stop")),
        (Tool::FirmwareUpdate | Tool::Reboot | Tool::ConfirmEvent | Tool::StartStream | Tool::StopStream, _) => None,
    };
    let (stream_id, event_id) = match entry.tool {
        Tool::StartStream | Tool::StopStream => (text("stream_id").map(str::to_ascii_lowercase), None),
        Tool::ConfirmEvent => (None, text("event_id").map(str::to_owned)),
        Tool::FirmwareUpdate | Tool::Reboot | Tool::Recording => (None, None),
    };
    let rules = policy.rules_of(entry.tool, &arguments);
    let (tool, schema_version) = (entry.tool, schema.version);
    Ok(CheckedCall { tool, arguments, defaulted, targets, action, stream_id, event_id, schema_version, rules })
}

fn entry_of<'a>(policy: &'a ToolPolicy, tool: &str) -> Result<(&'a ProposeEntry, &'a Schema), Refusal> {
    let entry = Tool::from_name(tool).and_then(|tool| policy.entries.get(&tool));
    match entry {
        Some(entry) => {
            let waits =
                || Refusal::new(RefusalCode::ToolNotProposable, &format!("{tool}: its schema is not reviewed yet"));
            entry.schema.as_ref().map(|schema| (entry, schema)).ok_or_else(waits)
        }
        None if policy.is_write(tool) && stands(RefusalCode::ToolNotProposable) => {
            Err(Refusal::new(RefusalCode::ToolNotProposable, &format!("{tool}: not under propose in the tool policy")))
        }
        None if policy.read.contains(tool) && stands(RefusalCode::ToolNotProposable) => {
            Err(Refusal::new(RefusalCode::ToolNotProposable, &format!("{tool}: it only reads")))
        }
        None => Err(Refusal::new(RefusalCode::ToolUnknown, tool)),
    }
}

/// Checks every field and fills in the defaults, whose names it gives.
fn fill(tool: &str, schema: &Schema, given: &Canonical) -> Result<(Canonical, Vec<String>), Refusal> {
    too_large(given)?;
    let mut members = members(given)?.clone();
    if let Some(odd) = members.keys().find(|name| !schema.fields.contains_key(*name))
        && stands(RefusalCode::BadArguments)
    {
        let known = schema.fields.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(bad(&format!("{odd}: not a field of {tool}; its fields are {known}")));
    }
    let mut defaulted = Vec::new();
    for (name, field) in &schema.fields {
        match (members.get(name), &field.default) {
            (Some(value), _) => {
                let fits = field.kind.check(name, value).map_err(|what| bad(&what));
                if stands(RefusalCode::BadArguments) {
                    fits?;
                }
            }
            (None, _) if field.required && stands(RefusalCode::BadArguments) => {
                return Err(bad(&format!("{name}: missing; expected {}", field.kind.describe())));
            }
            (None, Some(default)) => {
                members.insert(name.clone(), default.clone());
                defaulted.push(name.clone());
            }
            (None, None) => {}
        }
    }
    if defaulted.is_empty() {
        return Ok((given.clone(), defaulted));
    }
    let filled = Canonical::from_value(&Value::Object(members))?;
    too_large(&filled)?;
    Ok((filled, defaulted))
}

fn too_large(arguments: &Canonical) -> Result<(), Refusal> {
    if arguments.as_str().len() <= ARGUMENT_BYTES || !stands(RefusalCode::TooLarge) {
        return Ok(());
    }
    Err(Refusal::new(RefusalCode::TooLarge, &format!("arguments: expected at most {ARGUMENT_BYTES} bytes")))
}

fn members(arguments: &Canonical) -> Result<&Members, Refusal> {
    arguments.value().as_object().ok_or_else(|| bad("arguments: expected an object"))
}

fn targets(entry: &ProposeEntry, schema: &Schema, members: &Members) -> Result<Vec<Target>, Refusal> {
    let name = schema.target.as_str();
    let written: Vec<&str> = match members.get(name) {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    };
    let countless = written.is_empty() || written.len() > entry.max_targets;
    if countless && stands(RefusalCode::BadArguments) {
        return Err(bad(&format!("{name}: expected 1 to {} targets", entry.max_targets)));
    }
    let mut targets = written
        .into_iter()
        .map(|id| {
            target(entry.tool, id, members).ok_or_else(|| bad(&format!("{name}: expected {}", kind_of_id(entry.tool))))
        })
        .collect::<Result<Vec<_>, _>>()?;
    targets.sort();
    let twice = targets.iter().zip(targets.iter().skip(1)).any(|(one, next)| one == next);
    if twice && stands(RefusalCode::BadArguments) {
        return Err(bad(&format!("{name}: a target is named twice")));
    }
    Ok(targets)
}

fn target(tool: Tool, id: &str, members: &Members) -> Option<Target> {
    match tool {
        Tool::Recording => {
            let (master, channel) = split_channel_device(id)?;
            Some(Target { master, channel: Some(channel) })
        }
        Tool::StartStream | Tool::StopStream => {
            let channel = ChannelId::new(members.get("channel_id")?.as_str()?)?;
            Some(Target { master: MasterId::new(id)?, channel: Some(channel) })
        }
        Tool::FirmwareUpdate | Tool::Reboot | Tool::ConfirmEvent => {
            Some(Target { master: MasterId::new(id)?, channel: None })
        }
    }
}

fn kind_of_id(tool: Tool) -> &'static str {
    match tool {
        Tool::Recording => "a channel's device id, like 19012341234-1",
        Tool::StartStream | Tool::StopStream => "a unit's device id, like 19012341234, and a channel number",
        Tool::FirmwareUpdate | Tool::Reboot | Tool::ConfirmEvent => "a unit's device id, like 19012341234",
    }
}

fn bad(what: &str) -> Refusal {
    Refusal::new(RefusalCode::BadArguments, what)
}
