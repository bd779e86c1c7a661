//! Secrets in JSON values, by the names of their fields.

use super::{MASK, names, settle, table, text};
use serde_json::{Map, Value};

/// JSON inside a string inside JSON is followed this deep; deeper is masked unread.
const DEEPEST: usize = 6;

pub(super) fn redact(value: &mut Value, depth: usize) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(inner) => *inner = settle(inner, |round| redact_string(round, depth)),
        Value::Array(items) => redact_list(items, depth),
        Value::Object(fields) => redact_object(fields, depth),
    }
}

/// One look at a string: as JSON when it is JSON, else as a table and as text.
pub(super) fn redact_string(raw: &str, depth: usize) -> String {
    let begins = raw.trim_start().starts_with(['{', '[', '"']);
    if begins && let Ok(mut value) = serde_json::from_str::<Value>(raw) {
        if depth >= DEEPEST {
            return MASK.to_owned();
        }
        redact(&mut value, depth + 1);
        return value.to_string();
    }
    text::redact(&table::redact(raw), depth)
}

/// What begins at a bracket in a text.
pub(super) enum Beginning {
    /// JSON without a secret.
    Clean,
    /// JSON with secrets: how many bytes it takes, and what is shown instead.
    Hidden(usize, String),
    /// No JSON.
    Other,
}

pub(super) fn redact_beginning(text: &str, depth: usize) -> Beginning {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(Ok(before)) = values.next() else { return Beginning::Other };
    let used = values.byte_offset();
    if depth >= DEEPEST {
        return Beginning::Hidden(used, MASK.to_owned());
    }
    let mut after = before.clone();
    redact(&mut after, depth + 1);
    if after == before { Beginning::Clean } else { Beginning::Hidden(used, after.to_string()) }
}

/// A pair such as `["stream_key", "…"]` is a name and its value.
fn redact_list(items: &mut [Value], depth: usize) {
    if let [Value::String(name), value] = items
        && names::is_secret(name)
    {
        mask(value);
    }
    for item in items {
        redact(item, depth);
    }
}

fn redact_object(fields: &mut Map<String, Value>, depth: usize) {
    let labelled = fields.iter().any(|(name, value)| names::is_label(name) && names_a_secret(value));
    for (name, value) in fields.iter_mut() {
        if names::is_secret(name) || (labelled && names::is_value(name)) {
            mask(value);
        } else if names::is_stream_id(name) {
            redact_stream_id(value);
        } else if !(names::is_identifier(name) && is_identifier(value)) {
            redact(value, depth);
        }
    }
    redact_names(fields, depth);
}

fn names_a_secret(value: &Value) -> bool {
    value.as_str().is_some_and(names::is_secret)
}

/// A map may be keyed by an address or a token.
fn redact_names(fields: &mut Map<String, Value>, depth: usize) {
    let renamed: Vec<_> = fields
        .keys()
        .filter_map(|name| {
            let safe = settle(name, |round| redact_string(round, depth.max(DEEPEST)));
            (safe != *name).then(|| (name.clone(), safe))
        })
        .collect();
    for (name, safe) in renamed {
        if let Some(value) = fields.remove(&name) {
            fields.insert(safe, value);
        }
    }
}

/// Nothing to hide in null, a yes or no, or an empty text; anything else goes whole.
fn mask(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::String(inner) if inner.is_empty() => {}
        Value::Array(_) | Value::Number(_) | Value::Object(_) | Value::String(_) => *value = Value::from(MASK),
    }
}

fn redact_stream_id(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact_stream_id),
        Value::String(inner) if names::is_uuid(inner) => {}
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::String(_) => mask(value),
    }
}

fn is_identifier(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_identifier),
        Value::String(inner) => names::looks_like_identifier(inner),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::Object(_) => false,
    }
}
