//! The shapes of Epiphan's answers, live spelling and fixture spelling. Pure: a JSON value comes in, plain values or
//! a [`ShapeError`] go out. What is not known is an error, never an empty or idle answer.

pub mod cms;
pub mod devices;
pub mod events;
pub mod recorders;
pub mod status;
pub mod streams;
pub mod time;
pub mod warnings;

use policy::ids::MasterId;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// An answer whose shape is not known, or that contradicts itself. The words are fixed: nothing of the answer is in
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeError {
    place: &'static str,
    what: &'static str,
}

impl ShapeError {
    pub(crate) const fn new(place: &'static str, what: &'static str) -> Self {
        Self { place, what }
    }

    /// Which part of the answer: `device`, `channel`, `event` and the like.
    #[must_use]
    pub fn place(&self) -> &'static str {
        self.place
    }

    /// What is wrong with it.
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.what
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for ShapeError {}

pub(crate) type Object = Map<String, Value>;

/// The spellings of a device's id beside its entry.
const DEVICE_ID: &[&str] = &["device_id", "DeviceId", "DeviceID", "deviceId", "Id"];

pub(crate) fn object<'a>(value: &'a Value, place: &'static str) -> Result<&'a Object, ShapeError> {
    value.as_object().ok_or_else(|| ShapeError::new(place, "not an object"))
}

pub(crate) fn list<'a>(value: &'a Value, place: &'static str) -> Result<&'a [Value], ShapeError> {
    match value.as_array() {
        Some(list) => Ok(list),
        None => Err(ShapeError::new(place, "not a list")),
    }
}

/// The member under one of several spellings; null is as good as absent.
///
/// # Errors
/// When two spellings are there and differ.
pub(crate) fn pick<'a>(
    object: &'a Object,
    names: &[&str],
    place: &'static str,
) -> Result<Option<&'a Value>, ShapeError> {
    let mut found = names.iter().filter_map(|name| object.get(*name)).filter(|value| !value.is_null());
    let Some(first) = found.next() else {
        return Ok(None);
    };
    if found.any(|other| other != first) {
        return Err(ShapeError::new(place, "one thing said twice and differently"));
    }
    Ok(Some(first))
}

/// The text under one of several spellings, blanks at its ends gone; empty when absent.
///
/// # Errors
/// When it is no text, or said twice and differently.
pub(crate) fn text(object: &Object, names: &[&str], place: &'static str) -> Result<String, ShapeError> {
    match pick(object, names, place)? {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.trim().to_owned()),
        Some(_) => Err(ShapeError::new(place, "not a text")),
    }
}

/// An id: text, or a whole number as its digits.
pub(crate) fn id_text(value: &Value, place: &'static str) -> Result<String, ShapeError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) if number.is_u64() => Ok(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(ShapeError::new(place, "an id that is no text"))
        }
    }
}

/// The container under one of several names.
pub(crate) fn container<'a>(
    value: &'a Value,
    names: &[&str],
    place: &'static str,
) -> Result<Option<&'a Value>, ShapeError> {
    match value {
        Value::Array(_) => Ok(Some(value)),
        Value::Object(top) => {
            if names.iter().filter(|name| top.contains_key(**name)).count() > 1 {
                return Err(ShapeError::new(place, "more than one list"));
            }
            Ok(names.iter().find_map(|name| top.get(*name)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(ShapeError::new(place, "neither an object nor a list"))
        }
    }
}

/// The entries of a container that is either a map keyed by device id or a list whose entries carry it.
///
/// # Errors
/// A key or id that is no device id, an entry without one, a device named twice.
pub(crate) fn by_device<'a>(value: &'a Value, place: &'static str) -> Result<Vec<(MasterId, &'a Value)>, ShapeError> {
    let mut entries = Vec::new();
    match value {
        Value::Object(map) => {
            for (key, entry) in map {
                entries.push((master(key, place)?, entry));
            }
        }
        Value::Array(list) => {
            for entry in list {
                let id = pick(object(entry, place)?, DEVICE_ID, place)?;
                let id = id.ok_or_else(|| ShapeError::new(place, "an entry without a device id"))?;
                entries.push((master(&id_text(id, place)?, place)?, entry));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(ShapeError::new(place, "neither a map nor a list"));
        }
    }
    let mut seen = BTreeSet::new();
    if !entries.iter().all(|(id, _)| seen.insert(id.as_str().to_owned())) {
        return Err(ShapeError::new(place, "a device is named twice"));
    }
    Ok(entries)
}

/// The entry of one device among those found.
pub(crate) fn entry_of<'a>(entries: &[(MasterId, &'a Value)], id: &MasterId) -> Option<&'a Value> {
    entries.iter().find(|(found, _)| found == id).map(|(_, entry)| *entry)
}

fn master(text: &str, place: &'static str) -> Result<MasterId, ShapeError> {
    MasterId::new(text).ok_or_else(|| ShapeError::new(place, "not a device id"))
}

#[cfg(test)]
pub(crate) mod samples {
    use policy::ids::MasterId;

    pub(crate) const HALL: &str = "20311112222";
    pub(crate) const LAB: &str = "20311113333";

    pub(crate) fn master(text: &str) -> MasterId {
        MasterId::new(text).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_spellings_must_agree() {
        let both = json!({"Id": "a", "id": "a", "Name": null});
        let both = both.as_object().unwrap();
        assert_eq!(pick(both, &["Id", "id"], "x"), Ok(Some(&json!("a"))));
        assert_eq!(pick(both, &["Name"], "x"), Ok(None));
        let differ = json!({"Id": "a", "id": "b"});
        pick(differ.as_object().unwrap(), &["Id", "id"], "x").unwrap_err();
    }

    #[test]
    fn entries_come_from_a_map_or_a_list_and_never_twice() {
        let map = json!({"20311112222": 1, "20311113333": 2});
        assert_eq!(by_device(&map, "x").unwrap().len(), 2);
        let list = json!([{"device_id": "20311112222"}, {"Id": 20_311_113_333_u64}]);
        let entries = by_device(&list, "x").unwrap();
        assert!(entry_of(&entries, &samples::master("20311113333")).is_some());
        for bad in [
            json!([{"device_id": "20311112222"}, {"device_id": "20311112222"}]),
            json!([{}]),
            json!(["20311112222"]),
            json!({"not an id": 1}),
            json!("20311112222"),
        ] {
            assert!(by_device(&bad, "x").is_err(), "{bad}");
        }
    }

    #[test]
    fn an_error_names_place_and_fault_only() {
        let error = by_device(&json!({"<script>": 1}), "events").unwrap_err();
        assert_eq!(error.to_string(), "events: not a device id");
    }
}
