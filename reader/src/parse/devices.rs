//! Shape A: the team's device list, either `{"devices": […]}` or the bare list.

use super::{Object, ShapeError, container, id_text, list, object, pick, text};
use policy::ids::{ChannelId, MasterId};
use policy::observed::{Channel, Device, Publisher, RecorderWord, Recording, Team};
use serde_json::Value;
use std::collections::BTreeSet;

const TOP: &str = "device list";
const DEVICE: &str = "device";
const CHANNEL: &str = "channel";
const PUBLISHER: &str = "publisher";
/// The spellings under which a team id may stand on the top object.
const TEAM_ID: &[&str] = &["team_id", "teamId", "TeamId", "TeamID"];

/// The team (`facts 1.6, shape A`). Entries without an id are passed over when a good one is beside them; an entry
/// with an id must be understood in full.
///
/// # Errors
/// No list; a list in which nothing has an id; an id that is none; a device, channel or team id said twice.
pub fn team(value: &Value) -> Result<Team, ShapeError> {
    let found = container(value, &["devices"], TOP)?;
    let entries = list(found.ok_or(ShapeError::new(TOP, "no list of devices"))?, TOP)?;
    let mut devices = Vec::new();
    for entry in entries {
        if let Some(id) = device_id(entry)? {
            devices.push(device(id, object(entry, DEVICE)?)?);
        }
    }
    if devices.is_empty() && !entries.is_empty() {
        return Err(ShapeError::new(TOP, "no entry has a device id"));
    }
    let mut seen = BTreeSet::new();
    if !devices.iter().all(|device| seen.insert(device.id.as_str())) {
        return Err(ShapeError::new(TOP, "a device is named twice"));
    }
    let team_id = value.as_object().map_or(Ok(None), team_id)?;
    Ok(Team { devices, team_id })
}

fn team_id(top: &Object) -> Result<Option<String>, ShapeError> {
    let id = text(top, TEAM_ID, "team id")?;
    Ok(Some(id).filter(|id| !id.is_empty()))
}

pub(super) fn device_id(entry: &Value) -> Result<Option<MasterId>, ShapeError> {
    let Some(entry) = entry.as_object() else {
        return Ok(None);
    };
    let Some(id) = pick(entry, &["Id", "id", "ID", "device_id"], DEVICE)? else {
        return Ok(None);
    };
    let id = id_text(id, DEVICE)?;
    if id.is_empty() {
        return Ok(None);
    }
    let master = MasterId::new(&id).ok_or(ShapeError::new(DEVICE, "not a device id"))?;
    Ok(Some(master))
}

fn device(id: MasterId, entry: &Object) -> Result<Device, ShapeError> {
    let status = pick(entry, &["Status", "status"], DEVICE)?;
    let online = status.and_then(Value::as_str).is_some_and(|word| word.trim().eq_ignore_ascii_case("online"));
    let channels = match pick(entry, &["Channels", "channels"], DEVICE)? {
        None => None,
        Some(found) => Some(channels(found)?),
    };
    Ok(Device {
        id,
        name: text(entry, &["Name", "name"], DEVICE)?,
        model: text(entry, &["Model", "model"], DEVICE)?,
        firmware: text(entry, &["Firmware", "firmware"], DEVICE)?,
        group: text(entry, &["GroupName", "group_name", "groupName"], DEVICE)?,
        online,
        channels,
    })
}

fn channels(found: &Value) -> Result<Vec<Channel>, ShapeError> {
    let mut channels: Vec<Channel> = Vec::new();
    for entry in list(found, CHANNEL)? {
        let channel = channel(object(entry, CHANNEL)?)?;
        if channels.iter().any(|other| other.id == channel.id) {
            return Err(ShapeError::new(CHANNEL, "a channel is named twice"));
        }
        channels.push(channel);
    }
    Ok(channels)
}

fn channel(entry: &Object) -> Result<Channel, ShapeError> {
    let id = pick(entry, CHANNEL_ID, CHANNEL)?;
    let id = id.ok_or(ShapeError::new(CHANNEL, "a channel without a number"))?;
    let publishers = match pick(entry, &["Publishers", "publishers"], CHANNEL)? {
        None => Vec::new(),
        Some(found) => publishers(found)?,
    };
    Ok(Channel {
        id: channel_id(id)?,
        name: text(entry, &["name", "Name"], CHANNEL)?,
        recording: pick(entry, RECORDING_STATUS, CHANNEL)?.map(lenient_state),
        publishers,
    })
}

/// The spellings of a channel's number.
pub(crate) const CHANNEL_ID: &[&str] = &["channel_id", "ChannelId", "ChannelID", "channelId", "id", "Id"];
/// The spellings of a channel's recorder.
pub(crate) const RECORDING_STATUS: &[&str] = &["recording_status", "RecordingStatus", "recordingStatus"];

pub(crate) fn channel_id(value: &Value) -> Result<ChannelId, ShapeError> {
    let id = id_text(value, CHANNEL)?;
    ChannelId::new(&id).ok_or(ShapeError::new(CHANNEL, "not a channel number"))
}

/// The state word of a recorder, under its usual spellings.
pub(crate) fn state_word(status: &Value) -> Option<&str> {
    let status = status.as_object()?;
    let word = pick(status, &["state", "State"], CHANNEL).ok()??;
    word.as_str().map(str::trim).filter(|word| !word.is_empty())
}

// The list keeps an old state for units that are off, so what can't be read here counts as recording and no more.
fn lenient_state(status: &Value) -> Recording {
    match state_word(status) {
        Some(word) => Recording::from_word(word),
        None => Recording::Active(RecorderWord::Other),
    }
}

fn publishers(found: &Value) -> Result<Vec<Publisher>, ShapeError> {
    let mut publishers: Vec<Publisher> = Vec::new();
    for entry in list(found, PUBLISHER)? {
        let publisher = publisher(object(entry, PUBLISHER)?)?;
        if publishers.iter().any(|other| other.id == publisher.id) {
            return Err(ShapeError::new(PUBLISHER, "a publisher is named twice"));
        }
        publishers.push(publisher);
    }
    Ok(publishers)
}

fn publisher(entry: &Object) -> Result<Publisher, ShapeError> {
    let id = pick(entry, &["id", "Id", "ID"], PUBLISHER)?;
    let id = id_text(id.ok_or(ShapeError::new(PUBLISHER, "a publisher without an id"))?, PUBLISHER)?;
    let (active, state) = match pick(entry, &["status", "Status"], PUBLISHER)? {
        Some(Value::Object(status)) => publisher_state(status)?,
        Some(_) | None => (true, "unknown".to_owned()),
    };
    Ok(Publisher { id, kind: text(entry, &["type", "Type"], PUBLISHER)?, active, state })
}

// Idle only when every word that is there says so.
fn publisher_state(status: &Object) -> Result<(bool, String), ShapeError> {
    let word = match pick(status, &["state", "State"], PUBLISHER)? {
        Some(Value::String(word)) => Some(word.trim().to_ascii_lowercase()),
        Some(_) => Some("unknown".to_owned()),
        None => None,
    };
    let started = match pick(status, &["started", "Started"], PUBLISHER)? {
        Some(Value::Bool(started)) => Some(*started),
        Some(_) => Some(true),
        None => None,
    };
    Ok(match (word, started) {
        (Some(word), started) => {
            let idle = matches!(word.as_str(), "stopped" | "disabled") && started != Some(true);
            (!idle, word)
        }
        (None, Some(false)) => (false, "stopped".to_owned()),
        (None, Some(true)) => (true, "started".to_owned()),
        (None, None) => (true, "unknown".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::samples::{HALL, LAB, master};
    use serde_json::json;

    fn hall() -> Value {
        json!({"Id": HALL, "Name": "Hall 7 Mini", "Model": "Pearl Mini",
            "GroupId": "00000000-0000-4000-8000-0000000000aa", "GroupName": "West Wing",
            "IPAddress": "192.0.2.7", "SerialNumber": "SN00000007", "Firmware": "4.24.6", "Status": "Online",
            "StateTime": "2031-02-03T08:15Z",
            "Channels": [{"channel_id": "1", "name": "Program",
                "Publishers": [{"id": "0", "type": "rtmp",
                    "status": {"since": 0, "state": "stopped", "started": false, "description": ""},
                    "settings": [{"id": "name", "type": {"name": "string"}, "title": "Name", "value": "Main"}]}],
                "recording_status": {"state": "recording", "timestamp": "1927872000", "description": "on"},
                "Warnings": [{"id": "channel_no_signal", "data": null, "label": "nosignal", "message": "…"}]}],
            "Warnings": [{"id": "no_storage_detected", "data": null, "label": "storage", "message": "…"}]})
    }

    #[test]
    fn the_live_list_and_the_bare_list_are_the_same_team() {
        let wrapped = team(&json!({"devices": [hall()]})).unwrap();
        let bare = team(&json!([hall()])).unwrap();
        assert_eq!(wrapped, bare);
        let device = wrapped.device(&master(HALL)).unwrap();
        assert!(device.online);
        assert_eq!((device.model.as_str(), device.firmware.as_str()), ("Pearl Mini", "4.24.6"));
        assert_eq!(device.group, "West Wing");
        let channel = &device.channels.as_ref().unwrap()[0];
        assert_eq!(channel.recording, Some(Recording::Active(RecorderWord::Recording)));
        assert!(!channel.publishers[0].active);
        assert_eq!(wrapped.team_id, None);
    }

    #[test]
    fn the_other_spelling_is_read_too() {
        let found =
            team(&json!([{"id": LAB, "name": "Lab", "model": "EC20", "status": "offline", "firmware": "3.6.44",
            "group_name": "East", "channels": [{"ChannelId": 2, "Name": "Room", "publishers": [],
            "RecordingStatus": {"state": "stopped"}}]}]))
            .unwrap();
        let device = &found.devices[0];
        assert!(device.is_camera() && !device.online);
        assert_eq!(device.channels.as_ref().unwrap()[0].id.as_str(), "2");
    }

    #[test]
    fn an_empty_list_is_a_list_and_missing_parts_are_allowed() {
        assert!(team(&json!({"devices": []})).unwrap().devices.is_empty());
        let bare = team(&json!([{"Id": HALL}])).unwrap();
        assert_eq!(bare.devices[0].channels, None);
        assert!(!bare.devices[0].online && bare.devices[0].name.is_empty());
        let null = team(&json!([{"Id": HALL, "Channels": [{"channel_id": "1", "Publishers": null}]}])).unwrap();
        assert_eq!(null.devices[0].channels.as_ref().unwrap()[0].recording, None);
    }

    #[test]
    fn junk_is_passed_over_only_beside_a_good_entry_and_only_without_an_id() {
        let beside = json!({"devices": [null, 7, {"Name": "no id"}, {"Id": ""}, hall()]});
        assert_eq!(team(&beside).unwrap().devices.len(), 1);
        for bad in [
            json!({"devices": [null, {"Name": "no id"}]}),
            json!({"devices": [hall(), {"Id": "Hall A"}]}),
            json!({"devices": [hall(), {"Id": ["x"]}]}),
            json!({"devices": [hall(), {"Id": LAB, "Name": 7}]}),
            json!({"devices": [hall(), {"Id": LAB, "Channels": "none"}]}),
            json!({"devices": [hall(), {"Id": LAB, "Channels": [{"name": "no number"}]}]}),
            json!({"devices": [hall(), {"Id": LAB, "Channels": [{"channel_id": "01"}]}]}),
            json!({"devices": [hall(), {"Id": LAB, "id": HALL}]}),
        ] {
            assert!(team(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_list_or_names_a_thing_twice_is_a_failure() {
        let twice = json!([{"channel_id": "1"}, {"channel_id": 1}]);
        for bad in [
            json!(null),
            json!("Error: 401 Unauthorized"),
            json!({}),
            json!({"devices": null}),
            json!({"devices": {HALL: {}}}),
            json!({"items": [hall()]}),
            json!({"devices": [hall(), hall()]}),
            json!({"devices": [{"Id": HALL, "Channels": twice}]}),
        ] {
            assert!(team(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn team_ids_in_all_spellings_must_agree() {
        let with = |extra: Value| {
            let mut top = json!({"devices": [hall()]});
            top.as_object_mut().unwrap().append(&mut extra.as_object().unwrap().clone());
            team(&top)
        };
        for key in TEAM_ID {
            assert_eq!(with(json!({*key: "t-1"})).unwrap().team_id.as_deref(), Some("t-1"));
        }
        assert_eq!(with(json!({"team_id": "t-1", "TeamID": "t-1"})).unwrap().team_id.as_deref(), Some("t-1"));
        assert_eq!(with(json!({"team_id": null})).unwrap().team_id, None);
        with(json!({"team_id": "t-1", "TeamID": "t-2"})).unwrap_err();
        with(json!({"team_id": 7})).unwrap_err();
    }

    #[test]
    fn a_recorder_or_publisher_that_is_not_plainly_stopped_is_active() {
        let recording = |status: Value| {
            let list = json!([{"Id": HALL, "Channels": [{"channel_id": "1", "recording_status": status}]}]);
            team(&list).unwrap().devices[0].channels.as_ref().unwrap()[0].recording.unwrap().is_active()
        };
        for word in ["starting", "paused", "error", "recording", "sleeping", ""] {
            assert!(recording(json!({ "state": word })), "{word}");
        }
        assert!(recording(json!("stopped")) && recording(json!({"state": 0})) && recording(json!({})));
        assert!(!recording(json!({"state": "Stopped"})) && !recording(json!({"state": "disabled"})));

        let streams = |status: Value| {
            let publisher = json!({"id": "0", "type": "srt", "status": status});
            let list = json!([{"Id": HALL, "Channels": [{"channel_id": "1", "Publishers": [publisher]}]}]);
            team(&list).unwrap().devices[0].channels.as_ref().unwrap()[0].publishers[0].active
        };
        for status in [
            json!(null),
            json!("stopped"),
            json!({}),
            json!({"state": "started", "started": false}),
            json!({"state": "starting"}),
            json!({"state": "listening"}),
            json!({"state": "error"}),
            json!({"state": "stopped", "started": true}),
            json!({"state": 1}),
            json!({"started": "no"}),
        ] {
            assert!(streams(status.clone()), "{status}");
        }
        assert!(!streams(json!({"state": "stopped", "started": false})));
        assert!(!streams(json!({"state": "STOPPED"})) && !streams(json!({"started": false})));
    }

    #[test]
    fn publishers_that_are_not_understood_fail_the_read() {
        for publishers in [json!("none"), json!([7]), json!([{"type": "rtmp"}]), json!([{"id": "0"}, {"id": 0}])] {
            let list = json!([{"Id": HALL, "Channels": [{"channel_id": "1", "Publishers": publishers}]}]);
            assert!(team(&list).is_err(), "{list}");
        }
    }
}
