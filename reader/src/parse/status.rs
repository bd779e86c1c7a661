//! Shape C: load, temperature and start time of each unit, the live list and the fixture map.

use super::time::unix_seconds;
use super::{Object, ShapeError, by_device, container, object};
use policy::ids::MasterId;
use serde_json::Value;
use std::collections::BTreeMap;

const TOP: &str = "status list";

/// What one unit says of itself. A part that is missing or not understood is `None`; nothing is decided by these.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SystemStatus {
    /// Load of the processor, percent.
    pub cpu_load: Option<f64>,
    /// Its temperature, degrees Celsius.
    pub cpu_temp: Option<f64>,
    /// When the unit started, Unix seconds.
    pub up_since: Option<i64>,
}

/// The status of every unit in the answer (`facts 1.6, shape C`). `now` is Unix seconds: some units give their
/// uptime as a number of seconds.
///
/// # Errors
/// No list of units, or a unit named twice.
pub fn system(value: &Value, now: i64) -> Result<BTreeMap<MasterId, SystemStatus>, ShapeError> {
    let found = container(value, &["status", "devices"], TOP)?;
    let found = found.ok_or(ShapeError::new(TOP, "no list of units"))?;
    let mut units = BTreeMap::new();
    for (id, entry) in by_device(found, TOP)? {
        let mut status = SystemStatus::default();
        if !entry.is_null() {
            fill(&mut status, object(entry, TOP)?, now, 0);
        }
        units.insert(id, status);
    }
    Ok(units)
}

// Keys are told by what is in their name, in this object or in those inside it.
fn fill(status: &mut SystemStatus, entry: &Object, now: i64, depth: usize) {
    for (key, value) in entry {
        let key = key.to_ascii_lowercase();
        if let (Value::Object(inner), true) = (value, depth < 3) {
            fill(status, inner, now, depth + 1);
        } else if key.contains("load") {
            status.cpu_load = status.cpu_load.or_else(|| number(value));
        } else if key.contains("temp") {
            status.cpu_temp = status.cpu_temp.or_else(|| number(value));
        } else if key.contains("uptime") {
            status.up_since = status.up_since.or_else(|| uptime(value, now));
        } else if ["up_since", "boot", "started"].iter().any(|part| key.contains(part)) {
            status.up_since = status.up_since.or_else(|| unix_seconds(value).ok());
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().trim_end_matches('%').parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
    .filter(|number: &f64| number.is_finite())
}

// A number is how long it has been up, a text is since when.
fn uptime(value: &Value, now: i64) -> Option<i64> {
    let seconds = unix_seconds(value).ok()?;
    Some(if value.is_number() { now.saturating_sub(seconds) } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::samples::{HALL, LAB, master};
    use serde_json::json;

    const NOW: i64 = 1_927_700_000;

    #[test]
    fn the_live_list_and_the_fixture_map_are_read() {
        let want = SystemStatus { cpu_load: Some(14.0), cpu_temp: Some(47.5), up_since: Some(1_927_692_000) };
        for value in [
            json!({"status": [{"device_id": HALL, "cpu_load_pct": 14, "cpu_temp_c": 47.5,
                "uptime_since": "2031-02-01T06:00:00Z"}]}),
            json!({"devices": {HALL: {"cpu_load": "14%", "cpu_temp_c": 47.5, "up_since": "1927692000"}}}),
            json!({"devices": {HALL: {"system": {"load": 14, "temp": 47.5, "uptime": 8000}}}}),
        ] {
            assert_eq!(system(&value, NOW).unwrap()[&master(HALL)], want, "{value}");
        }
    }

    #[test]
    fn a_part_that_is_not_understood_is_none_and_a_list_that_is_not_there_a_failure() {
        let value = json!({"status": [{"device_id": HALL, "cpu_load_pct": null, "cpu_temp_c": "hot",
            "uptime_since": "yesterday"}, {"device_id": LAB}]});
        let found = system(&value, NOW).unwrap();
        assert_eq!(found[&master(HALL)], SystemStatus::default());
        assert_eq!(found.len(), 2);
        for bad in [
            json!({}),
            json!(null),
            json!({"status": "ok"}),
            json!({"status": [{"cpu_load": 1}]}),
            json!({"status": [{"device_id": HALL}, {"device_id": HALL}]}),
        ] {
            assert!(system(&bad, NOW).is_err(), "{bad}");
        }
    }
}
