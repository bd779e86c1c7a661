//! One entry under `propose`: how it loads, and what it says of a call.

use super::raw::{RawEntry, RawRule, RawSchema};
use super::schema::{self, FieldKind, Schema, whole};
use crate::call::Tool;
use crate::yaml::{Flag, PolicyError, Source};
use serde_json::{Map, Value, json};
use serde_saphyr::{Location, Spanned};
use std::collections::BTreeSet;

/// A tool that may be proposed to a person (`seed 000, Disruptive tools`).
#[derive(Debug, Clone)]
pub struct ProposeEntry {
    pub(super) tool: Tool,
    pub(super) max_targets: usize,
    pub(super) listed_disruptive: bool,
    pub(super) disruptive: bool,
    pub(super) disruptive_when: Option<Rule>,
    pub(super) stops_recording: Option<Rule>,
    pub(super) stops_streaming: bool,
    pub(super) lead_minutes: Option<u32>,
    pub(super) schema: Option<Schema>,
}

/// When a call of a tool counts as disruptive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disrupts {
    /// Whatever its arguments are.
    Always,
    /// Whatever its arguments are, it does not.
    Never,
    /// Its arguments decide.
    Sometimes,
}

/// Named values of one enum field.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) field: String,
    pub(super) values: BTreeSet<String>,
}

impl ProposeEntry {
    /// The tool.
    #[must_use]
    pub fn tool(&self) -> Tool {
        self.tool
    }

    /// Most targets of one call.
    #[must_use]
    pub fn max_targets(&self) -> usize {
        self.max_targets
    }

    /// Version of the schema; `None` while it waits for the live run.
    #[must_use]
    pub fn version(&self) -> Option<u32> {
        self.schema.as_ref().map(|schema| schema.version)
    }

    /// When a call counts as disruptive, for people who read the file.
    #[must_use]
    pub fn disrupts(&self) -> Disrupts {
        if self.listed_disruptive || self.schema.is_none() {
            return Disrupts::Always;
        }
        match (self.disruptive, &self.disruptive_when) {
            (false, _) => Disrupts::Never,
            (true, None) => Disrupts::Always,
            (true, Some(_)) => Disrupts::Sometimes,
        }
    }

    /// Fails to disruptive: calm needs a reviewed schema and a known value that the rule does not name.
    pub(super) fn is_disruptive(&self, arguments: &Value) -> bool {
        if self.listed_disruptive || self.schema.is_none() {
            return true;
        }
        let calm_value = || {
            self.disruptive_when.as_ref().is_some_and(|rule| {
                self.known_value(&rule.field, arguments).is_some_and(|value| !rule.values.contains(value))
            })
        };
        self.disruptive && !calm_value()
    }

    /// True only for a known value that the rule names.
    pub(super) fn stops_recording(&self, arguments: &Value) -> bool {
        self.stops_recording.as_ref().is_some_and(|rule| {
            self.known_value(&rule.field, arguments).is_some_and(|value| rule.values.contains(value))
        })
    }

    /// The argument's text, when the reviewed enum knows it.
    fn known_value<'a>(&self, field: &str, arguments: &'a Value) -> Option<&'a str> {
        let value = arguments.as_object()?.get(field)?.as_str()?;
        let known = enum_values(self.schema.as_ref()?, field)?;
        known.contains(value).then_some(value)
    }

    /// The entry as JSON with sorted keys, for the version of its slice.
    pub(super) fn slice(&self, default_lead: u32) -> Value {
        let rule = |rule: &Option<Rule>| rule.as_ref().map(|rule| json!({"field": rule.field, "values": rule.values}));
        json!({
            "tool": self.tool.as_str(),
            "max_targets": self.max_targets,
            "listed_disruptive": self.listed_disruptive,
            "disruptive": self.disruptive,
            "disruptive_when": rule(&self.disruptive_when),
            "stops_recording": rule(&self.stops_recording),
            "stops_streaming": self.stops_streaming,
            "lead_minutes": self.lead_minutes.unwrap_or(default_lead),
            "schema": self.schema.as_ref().map(schema_slice),
        })
    }
}

fn schema_slice(schema: &Schema) -> Value {
    let fields: Map<String, Value> = schema
        .fields
        .iter()
        .map(|(name, field)| {
            let one = json!({"kind": field.kind.slice(), "required": field.required, "default": field.default});
            (name.clone(), one)
        })
        .collect();
    json!({"version": schema.version, "target": schema.target, "fields": fields})
}

fn enum_values<'a>(schema: &'a Schema, field: &str) -> Option<&'a BTreeSet<String>> {
    match &schema.fields.get(field)?.kind {
        FieldKind::Enum(values) => Some(values),
        FieldKind::Boolean | FieldKind::Integer { .. } | FieldKind::List { .. } | FieldKind::Text { .. } => None,
    }
}

/// Reads one entry. `name` is its key; `listed` says whether the tool is on the disruptive list.
pub(super) fn compile(
    source: Source<'_>,
    (name, tool): (&Spanned<String>, Tool),
    raw: &RawEntry,
    listed: bool,
) -> Result<ProposeEntry, PolicyError> {
    let label = name.value.as_str();
    let targets = whole(source, &raw.max_targets, 1..=100, &format!("{label}: max_targets"))?;
    let max_targets = usize::try_from(targets).unwrap_or(1);
    let disruptive = raw.disruptive.as_ref().is_none_or(|flag| flag.value.0);
    if let Some(flag) = raw.disruptive.as_ref().filter(|_| listed && !disruptive) {
        let what = format!("{label}: disruptive is false, but the tool is on the disruptive list");
        return Err(source.refuse(flag.referenced, &what, "Set it to true, or take the tool off the list"));
    }
    let schema = match &raw.schema {
        RawSchema::Pending => None,
        RawSchema::Reviewed(shape) => Some(schema::compile(source, label, shape, max_targets)?),
    };
    let load = Loading { source, label, schema: schema.as_ref() };
    if let Some(rule) = raw.disruptive_when.as_ref().filter(|_| listed || !disruptive) {
        let what =
            format!("{label}: disruptive_when needs disruptive: true on a tool that is not on the disruptive list");
        return Err(source.refuse(rule.referenced, &what, "Remove disruptive_when"));
    }
    let disruptive_when = load.rule("disruptive_when", raw.disruptive_when.as_ref())?;
    let stops_recording = load.stops_recording(tool, raw.stops_recording.as_ref())?;
    let stops_streaming = load.stops_streaming(tool, raw.stops_streaming.as_ref())?;
    let lead_minutes = match &raw.lead_minutes {
        Some(minutes) => Some(whole(source, minutes, 1..=1_440, &format!("{label}: lead_minutes"))?),
        None => None,
    };
    load.meaning(tool, name.referenced)?;
    Ok(ProposeEntry {
        tool,
        max_targets,
        listed_disruptive: listed,
        disruptive,
        disruptive_when,
        stops_recording,
        stops_streaming,
        lead_minutes: lead_minutes.and_then(|minutes| u32::try_from(minutes).ok()),
        schema,
    })
}

struct Loading<'a> {
    source: Source<'a>,
    label: &'a str,
    schema: Option<&'a Schema>,
}

impl Loading<'_> {
    fn refuse(&self, at: Location, what: &str, advice: &str) -> PolicyError {
        self.source.refuse(at, &format!("{}: {what}", self.label), advice)
    }

    fn rule(&self, name: &str, raw: Option<&RawRule>) -> Result<Option<Rule>, PolicyError> {
        let Some(raw) = raw else { return Ok(None) };
        let Some(schema) = self.schema else {
            let what = format!("{name} on a schema that waits for the live run");
            return Err(self.refuse(raw.referenced, &what, "Remove it until the schema is reviewed"));
        };
        let [(field, values)] = raw.value.0.as_slice() else {
            return Err(self.refuse(
                raw.referenced,
                &format!("{name} names not exactly one field"),
                "Name one enum field",
            ));
        };
        let Some(known) = enum_values(schema, &field.value) else {
            let what = format!("{name}: `{}` is not an enum field", field.value);
            return Err(self.refuse(field.referenced, &what, "Name one enum field"));
        };
        if values.value.0.is_empty() {
            return Err(self.refuse(values.referenced, &format!("{name} names no values"), "Name at least one"));
        }
        if let Some(odd) = values.value.0.iter().find(|value| !known.contains(&value.value.0)) {
            let what = format!("{name}: `{}` is not a value of `{}`", odd.value.0, field.value);
            return Err(self.refuse(odd.referenced, &what, "Use values of that field"));
        }
        let values = values.value.0.iter().map(|value| value.value.0.clone()).collect();
        Ok(Some(Rule { field: field.value.clone(), values }))
    }

    /// The exemption exists for the one tool whose own effect is to end a recording.
    fn stops_recording(&self, tool: Tool, raw: Option<&RawRule>) -> Result<Option<Rule>, PolicyError> {
        match raw {
            Some(raw) if tool != Tool::Recording => {
                Err(self.refuse(raw.referenced, "stops_recording belongs to batch_recording only", "Remove it"))
            }
            raw => self.rule("stops_recording", raw),
        }
    }

    /// The exemption exists for the one tool whose own effect is to end a stream.
    fn stops_streaming(&self, tool: Tool, raw: Option<&Spanned<Flag>>) -> Result<bool, PolicyError> {
        let Some(flag) = raw.filter(|flag| flag.value.0) else { return Ok(false) };
        if tool != Tool::StopStream {
            return Err(self.refuse(
                flag.referenced,
                "stops_streaming belongs to stop_stream_endpoint only",
                "Remove it",
            ));
        }
        if self.schema.is_none() {
            let what = "stops_streaming on a schema that waits for the live run";
            return Err(self.refuse(flag.referenced, what, "Remove it until the schema is reviewed"));
        }
        Ok(true)
    }

    /// The checks read these fields by name, so a schema without them is refused here and not at the first proposal.
    fn meaning(&self, tool: Tool, at: Location) -> Result<(), PolicyError> {
        let Some(schema) = self.schema else { return Ok(()) };
        let (target, others): (&str, &[&str]) = match tool {
            Tool::Recording => ("device_ids", &["action"]),
            Tool::Reboot | Tool::FirmwareUpdate => ("device_ids", &[]),
            Tool::StartStream | Tool::StopStream => ("device_id", &["channel_id", "stream_id"]),
            Tool::ConfirmEvent => ("device_id", &["event_id"]),
        };
        if schema.target != target {
            return Err(self.refuse(at, &format!("its target is not `{target}`"), "Name that field as target"));
        }
        for name in others {
            let fits = schema.fields.get(*name).is_some_and(|field| field.required && carries(name, &field.kind));
            if !fits {
                let what = format!("it needs the required field `{name}`, as the tool takes it");
                return Err(self.refuse(at, &what, "Restore the field from the shipped file"));
            }
        }
        Ok(())
    }
}

fn carries(name: &str, kind: &FieldKind) -> bool {
    match kind {
        FieldKind::Enum(values) => name == "action" && values.iter().all(|value| value == "start" || value == "stop"),
        FieldKind::Text { .. } => name != "action",
        FieldKind::Boolean | FieldKind::Integer { .. } | FieldKind::List { .. } => false,
    }
}
