//! Which devices have a CMS: a map from device to name, in several spellings. Devices without one are absent.

use super::{ShapeError, by_device, object, pick};
use policy::ids::MasterId;
use serde_json::Value;
use std::collections::BTreeMap;

const TOP: &str = "cms list";
const WRAPPERS: &[&str] = &["devices", "cms_names", "cms", "names"];

/// The CMS name of each device that has one (`facts 1.3, get_cms_names_for_devices`).
///
/// # Errors
/// Anything that is not a map or list of devices, or a name that is no text.
pub fn names(value: &Value) -> Result<BTreeMap<MasterId, String>, ShapeError> {
    let found = match value {
        Value::Object(top) => {
            let wrapped: Vec<_> = WRAPPERS.iter().filter_map(|name| top.get(*name)).collect();
            match wrapped.as_slice() {
                // The live form has no wrapper: every key is a device.
                [] => value,
                [only] => only,
                _ => return Err(ShapeError::new(TOP, "more than one list")),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value,
    };
    let mut names = BTreeMap::new();
    for (id, entry) in by_device(found, TOP)? {
        if let Some(name) = name(entry)? {
            names.insert(id, name);
        }
    }
    Ok(names)
}

fn name(entry: &Value) -> Result<Option<String>, ShapeError> {
    let text = match entry {
        Value::Object(_) => {
            let entry = object(entry, TOP)?;
            let spelled = ["cms", "Cms", "CMS", "cms_name", "CmsName", "name"];
            if !spelled.iter().any(|name| entry.contains_key(*name)) {
                return Err(ShapeError::new(TOP, "an entry without a CMS name"));
            }
            pick(entry, &spelled, TOP)?
        }
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Some(entry),
    };
    match text {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Some(_) => Err(ShapeError::new(TOP, "a CMS name that is no text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::samples::{HALL, LAB, master};
    use serde_json::json;

    #[test]
    fn every_spelling_gives_the_same_names() {
        let want = BTreeMap::from([(master(HALL), "panopto".to_owned())]);
        for value in [
            json!({HALL: "panopto"}),
            json!({HALL: "panopto", LAB: null}),
            json!({HALL: "panopto", LAB: ""}),
            json!({"devices": {HALL: "panopto"}}),
            json!({"devices": {HALL: {"cms": "panopto"}}}),
            json!({"cms_names": {HALL: "panopto"}}),
            json!({"devices": [{"device_id": HALL, "cms": "panopto"}, {"device_id": LAB, "cms": null}]}),
            json!([{"device_id": HALL, "cms": "panopto"}]),
        ] {
            assert_eq!(names(&value).unwrap(), want, "{value}");
        }
        assert!(names(&json!({})).unwrap().is_empty());
        assert!(names(&json!({"devices": {}})).unwrap().is_empty());
    }

    #[test]
    fn what_is_not_understood_is_a_failure() {
        for value in [
            json!(null),
            json!("panopto"),
            json!({"error": "no"}),
            json!({HALL: 7}),
            json!({HALL: {}}),
            json!({HALL: ["panopto"]}),
            json!({"devices": {}, "names": {}}),
            json!({"devices": null}),
            json!([{"cms": "panopto"}]),
            json!([{"device_id": HALL}]),
            json!([{"device_id": HALL, "cms": "a"}, {"device_id": HALL, "cms": "b"}]),
        ] {
            assert!(names(&value).is_err(), "{value}");
        }
    }
}
