//! A capture that can be handed on: what is kept is on a list, everything else becomes a stand-in (facts 10, capture). The
//! same text has the same stand-in in every file, so the readings still fit together.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Members that a look reads, in small letters and without `_`.
const MEMBERS: &[&str] = &[
    "boot",
    "channel",
    "channelid",
    "channelname",
    "channels",
    "cms",
    "confirmed",
    "cpuload",
    "cpuloadpct",
    "cputemp",
    "cputempc",
    "data",
    "description",
    "deviceid",
    "devicename",
    "devices",
    "end",
    "error",
    "event",
    "events",
    "finish",
    "firmware",
    "group",
    "groupname",
    "id",
    "label",
    "load",
    "message",
    "model",
    "name",
    "publisher",
    "publishers",
    "recorder",
    "recording",
    "recordingstatus",
    "since",
    "source",
    "sourcename",
    "start",
    "state",
    "statetime",
    "status",
    "storage",
    "streamid",
    "teamid",
    "temp",
    "time",
    "timestamp",
    "title",
    "type",
    "uptime",
    "uptimesince",
    "upsince",
    "value",
    "warning",
    "warnings",
];
/// Members whose value is a word of the fleet's own vocabulary.
const WORDED: &[&str] = &["id", "label", "recorder", "recording", "recordingstatus", "state", "status", "type"];
/// That vocabulary, as far as a look understands it.
const WORDS: &[&str] = &[
    "channel_no_signal",
    "disabled",
    "disk_space_error",
    "error",
    "fan_stopped",
    "fan",
    "hibernating",
    "idle",
    "no_storage_detected",
    "nosignal",
    "offline",
    "online",
    "paused",
    "rebooting",
    "recording",
    "rtmp",
    "rtsp",
    "scheduled",
    "sleeping",
    "source",
    "source_no_signal",
    "srt",
    "started",
    "starting",
    "stopped",
    "stopping",
    "storage",
    "streaming",
    "unknown",
];
const MODELS: &[&str] =
    &["EC20", "Epiphan Venue", "LiveScrypt", "Pearl", "Pearl Mini", "Pearl Nano", "Pearl Nexus", "Pearl-2"];
const TIMES: &[&str] =
    &["boot", "end", "finish", "since", "start", "statetime", "time", "timestamp", "uptime", "uptimesince", "upsince"];
const IDS: &[&str] = &["channel", "channelid", "deviceid", "id", "streamid", "teamid"];
/// Channels are numbered up to here.
const LAST_CHANNEL: u64 = 999;

/// The files without names, ids, titles and whatever else is on no list; each is JSON.
///
/// # Errors
/// A file that is no JSON, or a text that is itself one of the stand-ins, so that it would still be there.
pub(super) fn anonymous(files: BTreeMap<&'static str, Vec<u8>>) -> Result<BTreeMap<&'static str, Vec<u8>>, String> {
    let mut names = StandIns::default();
    let mut done = BTreeMap::new();
    for (tool, bytes) in files {
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| format!("{tool}.json: {error}"))?;
        let value = names.value("", value);
        done.insert(tool, value.to_string().into_bytes());
    }
    if names.shows_an_original() {
        return Err("a name is the same as one of the stand-ins, so nothing was written".to_owned());
    }
    Ok(done)
}

/// What stands for what, by kind and text.
#[derive(Debug, Default)]
struct StandIns {
    texts: BTreeMap<(&'static str, String), String>,
    units: BTreeMap<String, String>,
}

impl StandIns {
    fn value(&mut self, member: &str, value: Value) -> Value {
        match value {
            Value::Array(items) => items.into_iter().map(|item| self.value(member, item)).collect(),
            Value::Object(members) => Value::Object(self.members(members)),
            Value::String(text) => Value::String(self.text(member, &text)),
            Value::Number(number) => {
                let is_id = IDS.contains(&member) && number.as_u64().is_none_or(|number| number > LAST_CHANNEL);
                if is_id {
                    Value::String(self.text(member, &number.to_string()))
                } else if MEMBERS.contains(&member) {
                    Value::Number(number)
                } else {
                    Value::from(0)
                }
            }
            plain @ (Value::Null | Value::Bool(_)) => plain,
        }
    }

    fn members(&mut self, members: Map<String, Value>) -> Map<String, Value> {
        let renamed = members.into_iter().map(|(name, value)| {
            let plain = name.to_lowercase().replace('_', "");
            let kept = if MEMBERS.contains(&plain.as_str()) { name } else { self.key(&name) };
            (kept, self.value(&plain, value))
        });
        renamed.collect()
    }

    // A key that is no known member is an id, a channel's number, or nobody knows what.
    fn key(&mut self, key: &str) -> String {
        if is_channel(key) { key.to_owned() } else { self.unit(key).unwrap_or_else(|| self.stand_in("member", key)) }
    }

    fn text(&mut self, member: &str, text: &str) -> String {
        let is_word = WORDED.contains(&member) && WORDS.contains(&text.to_lowercase().as_str());
        let is_time = TIMES.contains(&member) && is_time(text);
        let is_model = member == "model" && MODELS.contains(&text);
        let is_firmware = member == "firmware" && is_version(text);
        let is_number = IDS.contains(&member) && is_channel(text);
        if text.is_empty() || is_word || is_time || is_model || is_firmware || is_number {
            return text.to_owned();
        }
        self.unit(text).unwrap_or_else(|| self.stand_in(kind_of(member), text))
    }

    // A unit's id, alone or with a channel's number behind it.
    fn unit(&mut self, text: &str) -> Option<String> {
        let (unit, channel) = text.split_once('-').map_or((text, None), |(unit, channel)| (unit, Some(channel)));
        let is_unit = (8..=32).contains(&unit.len()) && unit.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !is_unit || !channel.is_none_or(is_channel) {
            return None;
        }
        let next = self.units.len() + 1;
        let made_up = self.units.entry(unit.to_owned()).or_insert_with(|| format!("2039{next:07}"));
        Some(channel.map_or_else(|| made_up.clone(), |channel| format!("{made_up}-{channel}")))
    }

    fn stand_in(&mut self, kind: &'static str, text: &str) -> String {
        let next = self.texts.keys().filter(|(of, _)| *of == kind).count() + 1;
        self.texts.entry((kind, text.to_owned())).or_insert_with(|| format!("{kind}-{next:03}")).clone()
    }

    fn shows_an_original(&self) -> bool {
        let is_stand_in = |text: &String| self.texts.values().chain(self.units.values()).any(|made_up| made_up == text);
        self.texts.keys().map(|(_, text)| text).chain(self.units.keys()).any(is_stand_in)
    }
}

fn kind_of(member: &str) -> &'static str {
    match member {
        "group" | "groupname" => "Group",
        "source" | "sourcename" => "Input",
        "title" => "Title",
        "devicename" | "channelname" | "name" => "Place",
        "model" => "Model",
        _ => "Other",
    }
}

fn is_channel(text: &str) -> bool {
    (1..=3).contains(&text.len()) && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_time(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|b| b.is_ascii_digit() || b"TZ:.+- ".contains(&b))
}

fn is_version(text: &str) -> bool {
    text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(files: &[(&'static str, Value)]) -> Result<BTreeMap<&'static str, Value>, String> {
        let bytes = files.iter().map(|(tool, value)| (*tool, value.to_string().into_bytes())).collect();
        let done = anonymous(bytes)?;
        Ok(done.into_iter().map(|(tool, bytes)| (tool, serde_json::from_slice(&bytes).unwrap())).collect())
    }

    #[test]
    fn nothing_of_the_fleet_is_left_and_the_files_still_fit_together() {
        let devices = json!({"devices": [{
            "Id": "20301000003", "Name": "Courtroom of Judge Zebra", "Model": "Pearl-2", "Firmware": "4.24.6",
            "GroupName": "Zebra County", "Status": "Online", "TeamID": "5f1e-zebra", "Zebra_extra": {"Owner": "Zebra", "n": 77},
            "Channels": [{"channel_id": "1", "name": "Zebra cam", "recording_status": {"state": "recording"}}],
            "Warnings": [{"id": "source_no_signal", "label": "source", "data": {"source_name": "Zebra HDMI"}}],
        }]});
        let events = json!({"events": [{"device_id": "20301000003", "event":
            {"id": "zebra:1900000000", "title": "Zebra v. Zebra", "start": "2031-02-03T12:00:00Z", "finish": 1_927_890_000}}]});
        let recorders = json!({"devices": {"20301000003": {"Channels": {"1": {"state": "recording"}}}, "Zebra": 1}});
        let done = made(&[("devices", devices), ("events", events), ("recorders", recorders)]).unwrap();
        let all = json!(done).to_string();
        assert!(!all.to_lowercase().contains("zebra") && !all.contains("20301000003"), "{all}");
        assert!(!all.contains("77") && !all.contains("1900000000") && !all.contains("5f1e"), "{all}");
        let unit = &done["devices"]["devices"][0];
        assert_eq!(
            (&unit["Model"], &unit["Firmware"], &unit["Status"]),
            (&json!("Pearl-2"), &json!("4.24.6"), &json!("Online"))
        );
        assert_eq!(unit["Channels"][0]["recording_status"]["state"], "recording");
        assert_eq!(unit["Warnings"][0]["id"], "source_no_signal");
        let id = unit["Id"].as_str().unwrap();
        assert_eq!(done["events"]["events"][0]["device_id"], id);
        assert_eq!(done["events"]["events"][0]["event"]["start"], "2031-02-03T12:00:00Z");
        assert_eq!(done["events"]["events"][0]["event"]["finish"], 1_927_890_000);
        assert_eq!(done["recorders"]["devices"][id]["Channels"]["1"]["state"], "recording");
    }

    #[test]
    fn a_word_of_the_vocabulary_is_kept_only_where_it_is_one() {
        let unit = json!({"Name": "Recording", "Status": "Ana's own word", "Model": "Pearl-2 of Ana", "Firmware": "4.1 Ana",
            "start": "after Ana"});
        let done = made(&[("devices", unit)]).unwrap();
        let all = done["devices"].to_string();
        assert!(!all.contains("Ana") && !all.contains("Recording"), "{all}");
    }

    #[test]
    fn a_name_that_is_a_stand_in_and_a_file_that_is_no_json_write_nothing() {
        let twice = json!([{"name": "Hall"}, {"name": "Place-001"}]);
        assert!(made(&[("devices", twice)]).unwrap_err().contains("nothing was written"));
        assert!(anonymous(BTreeMap::from([("devices", b"{".to_vec())])).unwrap_err().contains("devices.json"));
    }
}
