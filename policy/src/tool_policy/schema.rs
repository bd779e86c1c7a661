//! The schema of one proposable tool: its fields, how they are read from the file, and the check of one value.

use super::raw::{Plain, RawField, RawItem, RawShape, Words};
use crate::limits::SHOWABLE_TEXT;
use crate::yaml::{PolicyError, Source, Text, Whole};
use protocol::canonical::MAX_INTEGER;
use regex::Regex;
use serde_json::{Value, json};
use serde_saphyr::{Location, Spanned};
use std::collections::{BTreeMap, BTreeSet};

/// Most items that any list may have.
const MAX_ITEMS: i64 = 100;

/// The reviewed schema of one tool.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) version: u32,
    pub(super) target: String,
    pub(super) fields: BTreeMap<String, Field>,
}

/// One field.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) kind: FieldKind,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
}

/// What a field holds.
#[derive(Debug, Clone)]
pub(super) enum FieldKind {
    Boolean,
    Enum(BTreeSet<String>),
    Integer { minimum: i64, maximum: i64 },
    List { item: Box<Self>, max_items: usize },
    Text { pattern: Option<Pattern>, max_length: usize },
}

/// A regular expression that must match the whole text.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    written: String,
    whole: Regex,
}

impl Pattern {
    /// Compiles the text by itself first: only then is it one expression that can be anchored.
    fn new(written: &str) -> Option<Self> {
        if written.is_empty() || Regex::new(written).is_err() {
            return None;
        }
        let whole = Regex::new(&format!(r"\A(?:{written})\z")).ok()?;
        Some(Self { written: written.to_owned(), whole })
    }
}

impl FieldKind {
    /// Checks one value.
    ///
    /// # Errors
    /// The place inside the field, and what was expected there.
    pub(super) fn check(&self, place: &str, value: &Value) -> Result<(), String> {
        let fits = match (self, value) {
            (Self::Boolean, Value::Bool(_)) => true,
            (Self::Enum(values), Value::String(text)) => values.contains(text),
            (Self::Integer { minimum, maximum }, Value::Number(number)) => {
                number.as_i64().is_some_and(|number| (*minimum..=*maximum).contains(&number))
            }
            (Self::Text { pattern, max_length }, Value::String(text)) => {
                !text.is_empty()
                    && text.chars().count() <= *max_length
                    && pattern.as_ref().is_none_or(|pattern| pattern.whole.is_match(text))
            }
            (Self::List { item, max_items }, Value::Array(items)) => {
                if !items.is_empty() && items.len() <= *max_items {
                    return items.iter().enumerate().try_for_each(|(i, one)| item.check(&format!("{place}[{i}]"), one));
                }
                false
            }
            (Self::Boolean | Self::Enum(_) | Self::Integer { .. } | Self::Text { .. } | Self::List { .. }, _) => false,
        };
        if fits { Ok(()) } else { Err(format!("{place}: expected {}", self.describe())) }
    }

    /// What is expected, in plain words.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Boolean => "true or false".to_owned(),
            Self::Enum(values) => values.iter().cloned().collect::<Vec<_>>().join(" or "),
            Self::Integer { minimum, maximum } => format!("a whole number from {minimum} to {maximum}"),
            Self::List { item, max_items } => format!("a list of 1 to {max_items}, each {}", item.describe()),
            Self::Text { pattern: Some(pattern), max_length } => {
                format!("text of 1 to {max_length} characters, wholly matching {}", pattern.written)
            }
            Self::Text { pattern: None, max_length } => format!("text of 1 to {max_length} characters"),
        }
    }

    /// The kind as JSON, for the version of a policy slice.
    pub(super) fn slice(&self) -> Value {
        match self {
            Self::Boolean => json!({"type": "boolean"}),
            Self::Enum(values) => json!({"type": "enum", "values": values}),
            Self::Integer { minimum, maximum } => json!({"type": "integer", "minimum": minimum, "maximum": maximum}),
            Self::List { item, max_items } => json!({"type": "list", "max_items": max_items, "items": item.slice()}),
            Self::Text { pattern, max_length } => {
                let written = pattern.as_ref().map(|pattern| pattern.written.as_str());
                json!({"type": "string", "max_length": max_length, "pattern": written})
            }
        }
    }

    /// Whether a target id can stand here: text with a pattern, or a list of such.
    fn names_targets(&self) -> bool {
        match self {
            Self::Text { pattern, .. } => pattern.is_some(),
            Self::List { item, .. } => item.names_targets(),
            Self::Boolean | Self::Enum(_) | Self::Integer { .. } => false,
        }
    }
}

/// Reads one schema. `tool` leads every message; `max_targets` bounds a target list.
pub(super) fn compile(
    source: Source<'_>,
    tool: &str,
    raw: &RawShape,
    max_targets: usize,
) -> Result<Schema, PolicyError> {
    let version = whole(source, &raw.version, 1..=i64::from(u32::MAX), &format!("{tool}: version"))?;
    if raw.fields.value.0.is_empty() {
        return Err(source.refuse(
            raw.fields.referenced,
            &format!("{tool}: no fields"),
            "Describe at least the target",
        ));
    }
    let mut fields = BTreeMap::new();
    for (name, field) in &raw.fields.value.0 {
        if !is_name(&name.value) {
            let what = format!("{tool}: the field name `{}` is not a-z, 0-9 and _", name.value);
            return Err(source.refuse(name.referenced, &what, "Use the tool's own argument name"));
        }
        let place = format!("{tool}.{}", name.value);
        fields.insert(name.value.clone(), one_field(source, &place, field, max_targets_of(raw, name, max_targets))?);
    }
    let (target, at) = (raw.target.value.0.clone(), raw.target.referenced);
    check_target(source, tool, fields.get(&target), (&target, at))?;
    let version = u32::try_from(version).unwrap_or(u32::MAX);
    Ok(Schema { version, target, fields })
}

fn max_targets_of(raw: &RawShape, name: &Spanned<String>, max_targets: usize) -> Option<usize> {
    (raw.target.value.0 == name.value).then_some(max_targets)
}

fn check_target(
    source: Source<'_>,
    tool: &str,
    field: Option<&Field>,
    (target, at): (&str, Location),
) -> Result<(), PolicyError> {
    let (what, advice) = match field {
        None => ("is not one of the fields", "Name one of them"),
        Some(field) if !field.required => ("is not required", "Set required: true on it"),
        Some(field) if !field.kind.names_targets() => {
            ("is not text with a pattern, nor a list of such", "Give it a pattern that only the right ids match")
        }
        Some(_) => return Ok(()),
    };
    Err(source.refuse(at, &format!("{tool}: the target `{target}` {what}"), advice))
}

fn one_field(
    source: Source<'_>,
    place: &str,
    raw: &RawField,
    max_targets: Option<usize>,
) -> Result<Field, PolicyError> {
    known_type(source, place, &raw.kind)?;
    let kind = if raw.kind.value.0 == "list" {
        no_keys(
            source,
            place,
            &[
                ("pattern", raw.pattern.as_ref().map(|v| v.referenced)),
                ("max_length", raw.max_length.as_ref().map(|v| v.referenced)),
                ("minimum", raw.minimum.as_ref().map(|v| v.referenced)),
                ("maximum", raw.maximum.as_ref().map(|v| v.referenced)),
                ("values", raw.values.as_ref().map(|v| v.referenced)),
            ],
        )?;
        list(source, place, raw, max_targets)?
    } else {
        no_keys(
            source,
            place,
            &[
                ("items", raw.items.as_ref().map(|v| v.kind.referenced)),
                ("max_items", raw.max_items.as_ref().map(|v| v.referenced)),
            ],
        )?;
        scalar(source, place, &Scalar::of_field(raw))?
    };
    let default = raw.default.as_ref().map(|default| one_default(source, place, (raw, &kind), default)).transpose()?;
    Ok(Field { kind, required: raw.required.value.0, default })
}

fn one_default(
    source: Source<'_>,
    place: &str,
    (raw, kind): (&RawField, &FieldKind),
    default: &Spanned<Plain>,
) -> Result<Value, PolicyError> {
    if raw.required.value.0 {
        let what = format!("{place}: a required field has no default");
        return Err(source.refuse(default.referenced, &what, "Set required: false, or remove the default"));
    }
    let value = match &default.value {
        Plain::Boolean(value) => Value::Bool(*value),
        Plain::Integer(value) => Value::from(*value),
        Plain::Text(value) => Value::String(value.clone()),
    };
    kind.check(place, &value)
        .map_err(|what| source.refuse(default.referenced, &format!("{what} as its default"), "Correct the default"))?;
    Ok(value)
}

fn list(source: Source<'_>, place: &str, raw: &RawField, max_targets: Option<usize>) -> Result<FieldKind, PolicyError> {
    let Some(items) = &raw.items else {
        let what = format!("{place}: a list without items");
        return Err(source.refuse(raw.kind.referenced, &what, "Say what the list holds under items"));
    };
    let Some(max_items) = &raw.max_items else {
        let what = format!("{place}: a list without max_items");
        return Err(source.refuse(raw.kind.referenced, &what, "Say how many it may hold"));
    };
    let most = whole(source, max_items, 1..=MAX_ITEMS, &format!("{place}: max_items"))?;
    let most = usize::try_from(most).unwrap_or(1);
    if max_targets.is_some_and(|targets| most > targets) {
        let what = format!("{place}: max_items is more than max_targets");
        return Err(source.refuse(max_items.referenced, &what, "Lower it to max_targets"));
    }
    if items.kind.value.0 == "list" {
        let what = format!("{place}: a list of lists");
        return Err(source.refuse(items.kind.referenced, &what, "Lists hold text, numbers, booleans or enums only"));
    }
    let item = Box::new(scalar(source, &format!("{place}.items"), &Scalar::of_item(items))?);
    Ok(FieldKind::List { item, max_items: most })
}

/// The keys that a single value may have, of a field or of a list's items.
struct Scalar<'a> {
    kind: &'a Spanned<Text>,
    pattern: Option<&'a Spanned<Text>>,
    max_length: Option<&'a Spanned<Whole>>,
    minimum: Option<&'a Spanned<Whole>>,
    maximum: Option<&'a Spanned<Whole>>,
    values: Option<&'a Spanned<Words>>,
}

impl<'a> Scalar<'a> {
    fn of_field(raw: &'a RawField) -> Self {
        Self {
            kind: &raw.kind,
            pattern: raw.pattern.as_ref(),
            max_length: raw.max_length.as_ref(),
            minimum: raw.minimum.as_ref(),
            maximum: raw.maximum.as_ref(),
            values: raw.values.as_ref(),
        }
    }

    fn of_item(raw: &'a RawItem) -> Self {
        Self {
            kind: &raw.kind,
            pattern: raw.pattern.as_ref(),
            max_length: raw.max_length.as_ref(),
            minimum: raw.minimum.as_ref(),
            maximum: raw.maximum.as_ref(),
            values: raw.values.as_ref(),
        }
    }
}

fn scalar(source: Source<'_>, place: &str, raw: &Scalar<'_>) -> Result<FieldKind, PolicyError> {
    let text = [("pattern", raw.pattern.map(|v| v.referenced)), ("max_length", raw.max_length.map(|v| v.referenced))];
    let number = [("minimum", raw.minimum.map(|v| v.referenced)), ("maximum", raw.maximum.map(|v| v.referenced))];
    let values = [("values", raw.values.map(|v| v.referenced))];
    match raw.kind.value.0.as_str() {
        "string" => {
            no_keys(source, place, &number)?;
            no_keys(source, place, &values)?;
            text_kind(source, place, raw)
        }
        "integer" => {
            no_keys(source, place, &text)?;
            no_keys(source, place, &values)?;
            integer_kind(source, place, raw)
        }
        "boolean" => {
            no_keys(source, place, &text)?;
            no_keys(source, place, &number)?;
            no_keys(source, place, &values)?;
            Ok(FieldKind::Boolean)
        }
        "enum" => {
            no_keys(source, place, &text)?;
            no_keys(source, place, &number)?;
            enum_kind(source, place, raw)
        }
        _ => Err(unknown_type(source, place, raw.kind)),
    }
}

fn known_type(source: Source<'_>, place: &str, kind: &Spanned<Text>) -> Result<(), PolicyError> {
    let known = ["string", "integer", "boolean", "enum", "list"].contains(&kind.value.0.as_str());
    if known { Ok(()) } else { Err(unknown_type(source, place, kind)) }
}

fn unknown_type(source: Source<'_>, place: &str, kind: &Spanned<Text>) -> PolicyError {
    let what = format!("{place}: unknown type `{}`", kind.value.0);
    source.refuse(kind.referenced, &what, "Use string, integer, boolean, enum or list")
}

fn text_kind(source: Source<'_>, place: &str, raw: &Scalar<'_>) -> Result<FieldKind, PolicyError> {
    let longest = i64::try_from(SHOWABLE_TEXT).unwrap_or(i64::MAX);
    let max_length = match raw.max_length {
        Some(length) => whole(source, length, 1..=longest, &format!("{place}: max_length"))?,
        None => longest,
    };
    let pattern = match raw.pattern {
        Some(written) => Some(Pattern::new(&written.value.0).ok_or_else(|| {
            let what = format!("{place}: the pattern is empty or no regular expression");
            source.refuse(written.referenced, &what, "Correct it; look-around and back-references do not exist here")
        })?),
        None => None,
    };
    Ok(FieldKind::Text { pattern, max_length: usize::try_from(max_length).unwrap_or(SHOWABLE_TEXT) })
}

fn integer_kind(source: Source<'_>, place: &str, raw: &Scalar<'_>) -> Result<FieldKind, PolicyError> {
    let all = -MAX_INTEGER..=MAX_INTEGER;
    let bound = |given: Option<&Spanned<Whole>>, otherwise, name| match given {
        Some(given) => whole(source, given, all.clone(), &format!("{place}: {name}")),
        None => Ok(otherwise),
    };
    let minimum = bound(raw.minimum, -MAX_INTEGER, "minimum")?;
    let maximum = bound(raw.maximum, MAX_INTEGER, "maximum")?;
    if minimum > maximum {
        let what = format!("{place}: minimum is above maximum");
        return Err(source.refuse(raw.kind.referenced, &what, "Correct one of them"));
    }
    Ok(FieldKind::Integer { minimum, maximum })
}

fn enum_kind(source: Source<'_>, place: &str, raw: &Scalar<'_>) -> Result<FieldKind, PolicyError> {
    let given = raw.values.map_or(&[][..], |values| values.value.0.as_slice());
    let values: BTreeSet<String> = given.iter().map(|value| value.value.0.clone()).collect();
    let at = raw.values.map_or(raw.kind.referenced, |values| values.referenced);
    if values.is_empty()
        || values.len() != given.len()
        || values.iter().any(|v| v.is_empty() || v.len() > SHOWABLE_TEXT)
    {
        let what = format!("{place}: an enum needs values, each once, none empty");
        return Err(source.refuse(at, &what, "List the values that the tool takes"));
    }
    Ok(FieldKind::Enum(values))
}

fn no_keys(source: Source<'_>, place: &str, keys: &[(&str, Option<Location>)]) -> Result<(), PolicyError> {
    match keys.iter().find_map(|(name, at)| at.map(|at| (name, at))) {
        None => Ok(()),
        Some((name, at)) => {
            let what = format!("{place}: the key `{name}` does not belong to this type");
            Err(source.refuse(at, &what, "Remove it or change the type"))
        }
    }
}

/// A whole number within bounds.
pub(super) fn whole(
    source: Source<'_>,
    raw: &Spanned<Whole>,
    bounds: std::ops::RangeInclusive<i64>,
    what: &str,
) -> Result<i64, PolicyError> {
    if bounds.contains(&raw.value.0) {
        return Ok(raw.value.0);
    }
    let what = format!("{what} is not a whole number from {} to {}", bounds.start(), bounds.end());
    Err(source.refuse(raw.referenced, &what, "Correct the number"))
}

/// `[a-z][a-z0-9_]{0,63}`: the shape of tool and field names.
pub(super) fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    (1..=64).contains(&text.len()) && plain && text.starts_with(|c: char| c.is_ascii_lowercase())
}
