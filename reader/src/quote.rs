//! Fleet data for the model: redacted, cut to size as data and never as text, inside one block that no name can
//! close (`facts 5.1`; weakness W27).

use crate::parse::streams;
use policy::observed::StreamDestination;
use policy::redact::redact_value;
use protocol::shown::Shown;
use serde_json::{Map, Value, json};

const OPEN: &str = "<fleet_data>";
const CLOSE: &str = "</fleet_data>";
const LEFT_OUT: &str = "\nSomething was left out of this answer because it is too long.";
const NOT_UNDERSTOOD: &str = "The answer was not understood, so nothing of it is shown.";
/// Members that the model has no use for, or that are nobody's business; in lower case without underscores.
const DROPPED: &[&str] = &["groupid", "ipaddress", "serialnumber", "settings"];
/// What one list of destinations may be called in an answer to the model.
const STREAMS: &str = "get_stream_endpoints";
const STREAM: &str = "get_stream_endpoint";

/// How much of an answer is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Longest text, in characters.
    pub text: usize,
    /// Longest list, in items.
    pub list: usize,
    /// Deepest nesting.
    pub depth: usize,
    /// Longest quote, in characters.
    pub total: usize,
}

impl Default for Caps {
    /// `facts 3.1`: 200 characters, 200 items, depth 10, 32,000 characters in all.
    fn default() -> Self {
        Self { text: 200, list: 200, depth: 10, total: 32_000 }
    }
}

/// The quote of one tool's answer: compact JSON between `<fleet_data>` and `</fleet_data>`, in which `<`, `>`, `&` and
/// every character that hides or reorders is a `\u` escape; a sentence after the block when something was left out.
/// Of stream destinations only id, name, host and use are in it, whatever the answer holds.
#[must_use]
pub fn quote(tool: &str, value: Value, caps: &Caps) -> String {
    let Some(Quoted { json, cut }) = data(tool, value, caps) else {
        return NOT_UNDERSTOOD.to_owned();
    };
    format!("{OPEN}{json}{CLOSE}{}", if cut { LEFT_OUT } else { "" })
}

/// What stands inside a quote's block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quoted {
    /// Compact JSON, escaped as [`quote`] says.
    pub json: String,
    /// Whether something was left out.
    pub cut: bool,
}

/// The inside of the [`quote`] of one tool's answer; nothing when the answer is not understood.
#[must_use]
pub fn data(tool: &str, value: Value, caps: &Caps) -> Option<Quoted> {
    let mut value = shareable(tool, value)?;
    redact_value(&mut value);
    let mut cutter = Cutter { caps, cut: false };
    let frame = OPEN.len() + CLOSE.len() + LEFT_OUT.len();
    let room = caps.total.saturating_sub(frame);
    let kept = cutter.prune(value, 0).and_then(|value| cutter.fit(value, room));
    let mut json = String::new();
    write(&kept.map_or(Value::Null, |(value, _)| value), &mut json);
    Some(Quoted { json, cut: cutter.cut })
}

fn shareable(tool: &str, value: Value) -> Option<Value> {
    match tool {
        STREAMS => {
            let list = streams::streams(&value).ok()?;
            Some(json!({"streams": list.iter().map(destination).collect::<Vec<_>>()}))
        }
        STREAM => streams::stream(&value).ok().map(|stream| destination(&stream)),
        _ => Some(value),
    }
}

fn destination(stream: &StreamDestination) -> Value {
    json!({
        "id": stream.id,
        "name": stream.name,
        "host": stream.host,
        "streaming": stream.streaming,
        "locked_by": stream.locked_by,
    })
}

struct Cutter<'a> {
    caps: &'a Caps,
    cut: bool,
}

impl Cutter<'_> {
    // Texts, lists and depth; `None` for what is nested too deep.
    fn prune(&mut self, value: Value, depth: usize) -> Option<Value> {
        let inside = matches!(value, Value::Array(_) | Value::Object(_));
        if inside && depth >= self.caps.depth {
            self.cut = true;
            return None;
        }
        Some(match value {
            Value::String(text) => Value::String(self.shorten(text)),
            Value::Array(mut items) => {
                self.cut |= items.len() > self.caps.list;
                items.truncate(self.caps.list);
                items.into_iter().filter_map(|item| self.prune(item, depth + 1)).collect()
            }
            Value::Object(members) => {
                let mut kept = Map::new();
                for (key, value) in members {
                    if is_dropped(&key) {
                        continue;
                    }
                    if key.chars().count() > self.caps.text {
                        self.cut = true;
                    } else if let Some(value) = self.prune(value, depth + 1) {
                        kept.insert(key, value);
                    }
                }
                Value::Object(kept)
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        })
    }

    fn shorten(&mut self, text: String) -> String {
        match text.char_indices().nth(self.caps.text) {
            None => text,
            Some((end, _)) => {
                self.cut = true;
                format!("{}…", text.get(..end).unwrap_or_default())
            }
        }
    }

    // As much of the value as has room, whole items and members only, with its size.
    fn fit(&mut self, value: Value, room: usize) -> Option<(Value, usize)> {
        let whole = size(&value);
        if whole <= room {
            return Some((value, whole));
        }
        self.cut = true;
        match value {
            Value::Array(items) => self.fit_list(items, room),
            Value::Object(members) => self.fit_members(members, room),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    fn fit_list(&mut self, items: Vec<Value>, room: usize) -> Option<(Value, usize)> {
        let mut kept = Vec::new();
        let mut used = 2;
        for item in items {
            let comma = usize::from(!kept.is_empty());
            let left = room.saturating_sub(used + comma);
            // Only a first item is taken in part, so that a list of one is not lost whole.
            let whole = size(&item) <= left;
            if !whole && !kept.is_empty() {
                break;
            }
            let Some((item, taken)) = self.fit(item, left) else {
                break;
            };
            kept.push(item);
            used += comma + taken;
            if !whole {
                break;
            }
        }
        (!kept.is_empty()).then_some((Value::Array(kept), used))
    }

    fn fit_members(&mut self, members: Map<String, Value>, room: usize) -> Option<(Value, usize)> {
        let mut members: Vec<_> = members.into_iter().map(|(key, value)| (size(&value), key, value)).collect();
        // Small members first: a long list must not push a team's id out.
        members.sort_by_key(|(size, ..)| *size);
        let mut kept = Map::new();
        let mut used = 2;
        for (_, key, value) in members {
            let name = text_size(&key) + 1 + usize::from(!kept.is_empty());
            let left = room.saturating_sub(used + name);
            if let Some((value, taken)) = self.fit(value, left) {
                used += name + taken;
                kept.insert(key, value);
            }
        }
        (!kept.is_empty()).then_some((Value::Object(kept), used))
    }
}

fn is_dropped(key: &str) -> bool {
    let plain: String = key.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    DROPPED.contains(&plain.as_str())
}

fn size(value: &Value) -> usize {
    let mut text = String::new();
    write(value, &mut text);
    text.chars().count()
}

fn text_size(text: &str) -> usize {
    let mut out = String::new();
    write_text(text, &mut out);
    out.chars().count()
}

// Compact JSON.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (place, (key, value)) in members.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' | '>' | '&' => escape(c, out),
            ' '..='~' => out.push(c),
            other if is_hidden(other) => escape(other, out),
            other => out.push(other),
        }
    }
    out.push('"');
}

fn escape(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

// Alone, so an accent without its letter counts too; as an escape it still means the same.
fn is_hidden(c: char) -> bool {
    Shown::whole(c.encode_utf8(&mut [0; 4])).was_flagged()
}

#[cfg(test)]
#[path = "quote_tests.rs"]
mod tests;
