//! Warnings in the team's device list: missing storage, an input without a signal, a channel without a picture.

use super::devices::{CHANNEL_ID, channel_id, device_id};
use super::{Object, ShapeError, container, list, object, pick, text};
use policy::ids::{ChannelId, MasterId};
use serde_json::Value;
use std::collections::BTreeMap;

const TOP: &str = "device list";
const WARNING: &str = "warning";

/// One warning of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A channel has no picture.
    ChannelNoSignal {
        /// The channel's number.
        channel: ChannelId,
        /// The channel's name; empty when not given.
        name: String,
    },
    /// A warning nobody taught us.
    Other {
        /// Its id, as the unit gives it.
        id: String,
    },
    /// An input has no signal.
    SourceNoSignal {
        /// The input's name; empty when not given.
        source: String,
    },
    /// Storage is nearly full or missing.
    Storage,
}

/// The warnings of every unit in the answer of the device list (`facts 1.5, Warnings`); a unit without any has an
/// empty list.
///
/// # Errors
/// No list of devices, a list of warnings that is none, or a warning without id and label.
pub fn warnings(value: &Value) -> Result<BTreeMap<MasterId, Vec<Warning>>, ShapeError> {
    let found = container(value, &["devices"], TOP)?;
    let mut units = BTreeMap::new();
    for entry in list(found.ok_or(ShapeError::new(TOP, "no list of devices"))?, TOP)? {
        if let Some(id) = device_id(entry)? {
            units.insert(id, of_device(object(entry, TOP)?)?);
        }
    }
    Ok(units)
}

fn of_device(entry: &Object) -> Result<Vec<Warning>, ShapeError> {
    let mut found = Vec::new();
    for warning in listed(entry)? {
        found.push(of_unit(object(warning, WARNING)?)?);
    }
    let channels = pick(entry, &["Channels", "channels"], TOP)?;
    for channel in channels.map_or(Ok(&[][..]), |channels| list(channels, TOP))? {
        let channel = object(channel, TOP)?;
        for warning in listed(channel)? {
            found.push(of_channel(object(warning, WARNING)?, channel)?);
        }
    }
    Ok(found)
}

fn listed(entry: &Object) -> Result<&[Value], ShapeError> {
    match pick(entry, &["Warnings", "warnings"], WARNING)? {
        None => Ok(&[]),
        Some(found) => list(found, WARNING),
    }
}

fn of_unit(warning: &Object) -> Result<Warning, ShapeError> {
    let (id, label) = words(warning)?;
    Ok(match (id.as_str(), label.as_str()) {
        ("disk_space_error" | "no_storage_detected", _) | (_, "storage") => Warning::Storage,
        ("source_no_signal", _) | (_, "source") => Warning::SourceNoSignal { source: named(warning, "source_name")? },
        _ => Warning::Other { id },
    })
}

fn of_channel(warning: &Object, channel: &Object) -> Result<Warning, ShapeError> {
    let (id, label) = words(warning)?;
    if id != "channel_no_signal" && label != "nosignal" {
        return of_unit(warning);
    }
    let number = pick(channel, CHANNEL_ID, WARNING)?.ok_or(ShapeError::new(WARNING, "a channel without a number"))?;
    Ok(Warning::ChannelNoSignal { channel: channel_id(number)?, name: text(channel, &["name", "Name"], WARNING)? })
}

fn words(warning: &Object) -> Result<(String, String), ShapeError> {
    let id = text(warning, &["id", "Id", "ID"], WARNING)?;
    let label = text(warning, &["label", "Label"], WARNING)?;
    if id.is_empty() && label.is_empty() {
        return Err(ShapeError::new(WARNING, "a warning without id and label"));
    }
    Ok((if id.is_empty() { label.clone() } else { id }, label))
}

fn named(warning: &Object, name: &str) -> Result<String, ShapeError> {
    match pick(warning, &["data", "Data"], WARNING)? {
        None => Ok(String::new()),
        Some(data) => text(object(data, WARNING)?, &[name], WARNING),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::samples::{HALL, LAB, master};
    use serde_json::json;

    #[test]
    fn warnings_of_units_and_channels_are_told_apart() {
        let value = json!({"devices": [
            {"Id": HALL, "Warnings": [
                {"id": "no_storage_detected", "data": null, "label": "storage", "message": "…"},
                {"id": "source_no_signal", "data": {"source_name": "HDMI-A"}, "label": "source"},
                {"id": "fan_stopped", "label": "fan"}],
             "Channels": [{"channel_id": "2", "name": "Program", "Warnings": [
                {"id": "channel_no_signal", "data": {"channel_name": "Program"}, "label": "nosignal"}]}]},
            {"Id": LAB, "Warnings": null}]});
        let found = warnings(&value).unwrap();
        let channel = ChannelId::new("2").unwrap();
        let want = vec![
            Warning::Storage,
            Warning::SourceNoSignal { source: "HDMI-A".into() },
            Warning::Other { id: "fan_stopped".into() },
            Warning::ChannelNoSignal { channel, name: "Program".into() },
        ];
        assert_eq!(found[&master(HALL)], want);
        assert!(found[&master(LAB)].is_empty());
    }

    #[test]
    fn what_is_no_list_of_warnings_is_a_failure() {
        for bad in [
            json!({"devices": [{"Id": HALL, "Warnings": "none"}]}),
            json!({"devices": [{"Id": HALL, "Warnings": ["storage"]}]}),
            json!({"devices": [{"Id": HALL, "Warnings": [{"data": null}]}]}),
            json!({"devices": [{"Id": HALL, "Warnings": [{"id": 7}]}]}),
            json!({"devices": [{"Id": HALL, "Warnings": [{"id": "source_no_signal", "data": "x"}]}]}),
            json!({"devices": [{"Id": HALL, "Channels": [{"name": "x", "Warnings": [{"id": "channel_no_signal"}]}]}]}),
            json!({}),
        ] {
            assert!(warnings(&bad).is_err(), "{bad}");
        }
    }
}
