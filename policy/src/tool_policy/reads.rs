//! The arguments of the 20 read tools: what the model is told, and what the reader lets through.

use super::ReadTool;
use protocol::canonical::Canonical;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::{Map, Value, json};

/// Most device ids in one call.
const MAX_IDS: usize = 100;
/// Longest id.
const MAX_ID: usize = 64;

#[derive(Clone, Copy)]
enum Kind {
    /// The one word `binary`.
    Binary,
    /// One id: 1 to 64 characters of `A-Za-z0-9_.:-`.
    Id,
    /// One to a hundred ids.
    Ids,
    /// Text of at most so many characters.
    Text(usize),
}

struct Argument {
    name: &'static str,
    kind: Kind,
    required: bool,
}

const fn must(name: &'static str, kind: Kind) -> Argument {
    Argument { name, kind, required: true }
}

const fn may(name: &'static str, kind: Kind) -> Argument {
    Argument { name, kind, required: false }
}

const DEVICE: Argument = must("device_id", Kind::Id);
const DEVICES: Argument = must("device_ids", Kind::Ids);
const SOME_DEVICES: Argument = may("device_ids", Kind::Ids);
const CHANNEL: Argument = must("channel_id", Kind::Id);
const ENDPOINT: Argument = must("endpoint_id", Kind::Id);
const FORMAT: Argument = may("format", Kind::Binary);
const CMS: Argument = must("cms", Kind::Text(64));
const QUERY: Argument = must("query", Kind::Text(200));
const MODEL: Argument = may("device_model", Kind::Text(64));
const PAGE: Argument = must("id", Kind::Text(200));
const UNTIL: Argument = may("until", Kind::Text(40));

fn arguments_of(tool: &str) -> Option<&'static [Argument]> {
    Some(match tool {
        "get_devices_in_my_team" | "get_stream_endpoints" | "get_team_presets" => &[],
        "get_device_info" | "get_device_sources" => &[DEVICE],
        "get_system_status_for_devices"
        | "get_recorder_status_for_devices"
        | "get_storage_status_for_devices"
        | "get_cms_events_for_devices" => &[DEVICES],
        "get_channel_settings" | "get_channel_audio_levels" => &[DEVICE, CHANNEL],
        "get_channel_image" => &[DEVICE, CHANNEL, FORMAT],
        "get_stream_endpoint" => &[ENDPOINT],
        "get_cms_events_for_device" | "get_current_or_next_cms_event_for_device" => &[DEVICE, UNTIL],
        "get_current_or_next_cms_events_for_devices" => &[SOME_DEVICES, UNTIL],
        "get_cms_names_for_devices" => &[SOME_DEVICES],
        "get_devices_by_cms" => &[CMS],
        "kb_search" => &[QUERY, MODEL],
        "kb_fetch" => &[PAGE],
        _ => return None,
    })
}

pub(super) fn is_known(tool: &str) -> bool {
    arguments_of(tool).is_some()
}

/// Checks the arguments of a read before it is sent (`epiphan-facts 1.3`).
///
/// # Errors
/// `bad_arguments` with the field and what was expected.
pub fn check_read_arguments(tool: &ReadTool, arguments: &Canonical) -> Result<(), Refusal> {
    let name = tool.as_str();
    let known = arguments_of(name).ok_or_else(|| Refusal::new(RefusalCode::ToolUnknown, name))?;
    let members = arguments.value().as_object().ok_or_else(|| bad("arguments: expected an object"))?;
    if let Some(odd) = members.keys().find(|member| !known.iter().any(|one| one.name == member.as_str()))
        && stands(RefusalCode::BadArguments)
    {
        return Err(bad(&format!("{odd}: not an argument of {name}")));
    }
    for one in known {
        match members.get(one.name) {
            Some(value) if one.kind.fits(value) || !stands(RefusalCode::BadArguments) => {}
            None if !one.required => {}
            Some(_) | None => return Err(bad(&format!("{}: expected {}", one.name, one.kind.describe()))),
        }
    }
    Ok(())
}

/// JSON Schema of a read tool's arguments, for the model's tool list; `null` for a tool that is not read.
#[must_use]
pub fn read_schema(tool: &str) -> Value {
    let Some(known) = arguments_of(tool) else { return Value::Null };
    let properties: Map<String, Value> =
        known.iter().map(|one| (one.name.to_owned(), one.kind.json_schema())).collect();
    let required: Vec<&str> = known.iter().filter(|one| one.required).map(|one| one.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Binary => value == "binary",
            Self::Id => is_id(value),
            Self::Ids => {
                value.as_array().is_some_and(|ids| (1..=MAX_IDS).contains(&ids.len()) && ids.iter().all(is_id))
            }
            Self::Text(most) => value.as_str().is_some_and(|text| (1..=most).contains(&text.chars().count())),
        }
    }

    fn describe(self) -> String {
        match self {
            Self::Binary => "the word binary".to_owned(),
            Self::Id => format!("an id: 1 to {MAX_ID} characters of A-Za-z0-9_.:-"),
            Self::Ids => format!("a list of 1 to {MAX_IDS} ids, each 1 to {MAX_ID} characters of A-Za-z0-9_.:-"),
            Self::Text(most) => format!("text of 1 to {most} characters"),
        }
    }

    fn json_schema(self) -> Value {
        let id = json!({"type": "string", "pattern": format!("^[A-Za-z0-9_.:-]{{1,{MAX_ID}}}$")});
        match self {
            Self::Binary => json!({"type": "string", "enum": ["binary"]}),
            Self::Id => id,
            Self::Ids => json!({"type": "array", "minItems": 1, "maxItems": MAX_IDS, "items": id}),
            Self::Text(most) => json!({"type": "string", "minLength": 1, "maxLength": most}),
        }
    }
}

fn is_id(value: &Value) -> bool {
    value.as_str().is_some_and(|text| protocol::ids::Label::new(text).is_some())
}

fn bad(what: &str) -> Refusal {
    Refusal::new(RefusalCode::BadArguments, what)
}
