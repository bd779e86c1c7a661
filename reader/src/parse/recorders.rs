//! Shape B: recorder words, as a map or a list, in the live (`RecordingStatus`) and the fixture spelling.

use super::devices::{CHANNEL_ID, RECORDING_STATUS, channel_id, state_word};
use super::{Object, ShapeError, by_device, container, entry_of, object, pick};
use policy::ids::{ChannelId, MasterId};
use policy::observed::{Recorders, Recording};
use serde_json::Value;
use std::collections::BTreeMap;

const TOP: &str = "recorder list";
const CHANNEL: &str = "recorder";

/// The recorder words of the devices that were asked for (`facts 1.6, shape B`); others in the answer are not looked
/// at. A word that nobody taught us counts as recording.
///
/// # Errors
/// A device that was asked for is missing, has no list of channels, or has a channel without a state word.
pub fn recorders(value: &Value, asked: &[MasterId]) -> Result<Recorders, ShapeError> {
    let found = container(value, &["devices"], TOP)?;
    let found = found.ok_or(ShapeError::new(TOP, "no list of devices"))?;
    let entries = by_device(found, TOP)?;
    let mut recorders = BTreeMap::new();
    for id in asked {
        let entry = entry_of(&entries, id).ok_or(ShapeError::new(TOP, "a device that was asked for is missing"))?;
        recorders.insert(id.clone(), device(object(entry, TOP)?)?);
    }
    Ok(recorders)
}

fn device(entry: &Object) -> Result<BTreeMap<ChannelId, Recording>, ShapeError> {
    let found = pick(entry, &["Channels", "channels"], TOP)?;
    let mut words = BTreeMap::new();
    match found {
        Some(Value::Object(channels)) => {
            for (key, entry) in channels {
                let id = channel_id(&Value::String(key.clone()))?;
                words.insert(id, recording(object(entry, CHANNEL)?)?);
            }
        }
        Some(Value::Array(channels)) => {
            for entry in channels {
                let entry = object(entry, CHANNEL)?;
                let id = pick(entry, CHANNEL_ID, CHANNEL)?;
                let id = channel_id(id.ok_or(ShapeError::new(CHANNEL, "a channel without a number"))?)?;
                if words.insert(id, recording(entry)?).is_some() {
                    return Err(ShapeError::new(CHANNEL, "a channel is named twice"));
                }
            }
        }
        Some(_) | None => return Err(ShapeError::new(TOP, "a device without its channels")),
    }
    Ok(words)
}

// The state stands in a status object, or the entry is that object.
fn recording(entry: &Object) -> Result<Recording, ShapeError> {
    let status = pick(entry, RECORDING_STATUS, CHANNEL)?;
    let word = match status {
        Some(status) => state_word(status),
        None if RECORDING_STATUS.iter().any(|name| entry.contains_key(*name)) => None,
        None => bare_word(entry)?,
    };
    word.map(Recording::from_word).ok_or(ShapeError::new(CHANNEL, "a recorder without a state"))
}

fn bare_word(entry: &Object) -> Result<Option<&str>, ShapeError> {
    let word = pick(entry, &["state", "State"], CHANNEL)?.and_then(Value::as_str);
    Ok(word.map(str::trim).filter(|word| !word.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::samples::{HALL, LAB, master};
    use policy::observed::RecorderWord;
    use serde_json::json;

    fn of(value: &Value) -> Result<Vec<(String, Recording)>, ShapeError> {
        let found = recorders(value, &[master(HALL)])?;
        let hall = found.get(&master(HALL)).unwrap();
        Ok(hall.iter().map(|(id, word)| (id.to_string(), *word)).collect())
    }

    #[test]
    fn every_spelling_gives_the_same_words() {
        let on = json!({"state": "recording", "timestamp": "1927872000", "description": "on"});
        let off = json!({"state": "stopped", "timestamp": "0", "description": ""});
        let want = vec![
            ("1".to_owned(), Recording::Active(RecorderWord::Recording)),
            ("2".to_owned(), Recording::Idle(RecorderWord::Stopped)),
        ];
        for value in [
            json!({"devices": {HALL: {"Name": "Hall", "Channels": {
                "1": {"Name": "Program", "RecordingStatus": on}, "2": {"Name": "Side", "RecordingStatus": off}}}}}),
            json!({"devices": {HALL: {"channels": {"1": {"recording_status": on}, "2": {"recording_status": off}}}}}),
            json!({"devices": {HALL: {"channels": {"1": on, "2": off}}}}),
            json!({"devices": [{"device_id": HALL, "channels": [
                {"channel_id": "1", "recording_status": on}, {"channel_id": "2", "recording_status": off}]}]}),
            json!([{"device_id": HALL, "Channels": [
                {"channel_id": "1", "state": "recording"}, {"channel_id": 2, "RecordingStatus": off}]}]),
        ] {
            assert_eq!(of(&value).unwrap(), want, "{value}");
        }
    }

    #[test]
    fn a_device_that_was_asked_for_must_be_there() {
        let value = json!({"devices": {LAB: {"Channels": {}}}});
        recorders(&value, &[master(HALL)]).unwrap_err();
        assert!(recorders(&value, &[master(LAB)]).unwrap()[&master(LAB)].is_empty());
        // What nobody asked for is not looked at.
        let odd = json!({"devices": {LAB: "?", HALL: {"Channels": {"1": {"state": "stopped"}}}}});
        assert_eq!(of(&odd).unwrap().len(), 1);
    }

    #[test]
    fn a_word_that_nobody_taught_us_counts_as_recording() {
        for (word, want) in [
            ("hibernating", RecorderWord::Other),
            ("Starting", RecorderWord::Starting),
            ("paused", RecorderWord::Paused),
            ("error", RecorderWord::Error),
        ] {
            let value = json!({"devices": {HALL: {"Channels": {"1": {"RecordingStatus": {"state": word}}}}}});
            assert_eq!(of(&value).unwrap()[0].1, Recording::Active(want), "{word}");
        }
    }

    #[test]
    fn shapes_that_say_nothing_are_failures_and_never_idle() {
        let hall = |entry: Value| json!({"devices": {HALL: entry}});
        for value in [
            json!({}),
            json!(null),
            json!("stopped"),
            json!({"status": []}),
            json!({"devices": "none"}),
            json!({"devices": []}),
            hall(json!(null)),
            hall(json!({})),
            hall(json!({"Channels": null})),
            hall(json!({"Channels": "1"})),
            hall(json!({"Channels": {"1": null}})),
            hall(json!({"Channels": {"1": "stopped"}})),
            hall(json!({"Channels": {"1": {}}})),
            hall(json!({"Channels": {"1": {"RecordingStatus": null, "state": "stopped"}}})),
            hall(json!({"Channels": {"1": {"RecordingStatus": "stopped"}}})),
            hall(json!({"Channels": {"1": {"RecordingStatus": {"state": ""}}}})),
            hall(json!({"Channels": {"1": {"RecordingStatus": {"state": 0}}}})),
            hall(json!({"Channels": {"one": {"state": "stopped"}}})),
            hall(json!({"Channels": {"1": {"RecordingStatus": {"state": "stopped"},
                "recording_status": {"state": "recording"}}}})),
            hall(json!({"Channels": {"1": {"state": "stopped"}}, "channels": {"1": {"state": "recording"}}})),
            hall(json!({"channels": [{"channel_id": "1", "state": "stopped"}, {"channel_id": 1, "state": "stopped"}]})),
            hall(json!({"channels": [{"state": "stopped"}]})),
        ] {
            assert!(of(&value).is_err(), "{value}");
        }
    }
}
