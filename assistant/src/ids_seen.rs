//! The ids that id fields of this turn's readings held. A proposal may name no other id, so text in a name can never
//! become a target (`seed 000, Prompt injection`).

use policy::ids::{ChannelId, MasterId, split_channel_device};
use serde_json::Value;
use std::collections::BTreeSet;

/// The only fields that ids are taken from.
const ID_FIELDS: [&str; 11] =
    ["Id", "id", "ID", "device_id", "DeviceId", "DeviceID", "deviceId", "StreamID", "stream_id", "event_id", "EventId"];
/// Those of them that name a unit, whose channels may stand below it.
const UNIT_FIELDS: [&str; 7] = ["Id", "id", "ID", "device_id", "DeviceId", "DeviceID", "deviceId"];
/// Deepest nesting that is looked at.
const MAX_DEPTH: usize = 32;
/// Most ids that are kept; a team has a few thousand at most.
const MAX_IDS: usize = 100_000;
/// Longest id.
const MAX_ID: usize = 200;

/// Ids read in one turn.
#[derive(Debug, Default)]
pub(crate) struct IdsSeen {
    ids: BTreeSet<String>,
    channels: BTreeSet<(String, String)>,
}

impl IdsSeen {
    /// Adds the ids of one answer, taken from id fields alone.
    pub(crate) fn collect(&mut self, answer: &Value) {
        self.walk(answer, None, 0);
    }

    /// The first argument that holds an id which no id field held, or nothing when all were read.
    pub(crate) fn unread(&self, arguments: &Value) -> Option<&'static str> {
        let devices = texts(arguments.get("device_ids"));
        if !devices.iter().all(|id| self.has_device(id)) {
            return Some("device_ids");
        }
        let unit = texts(arguments.get("device_id"));
        if !unit.iter().all(|id| self.has_device(id)) {
            return Some("device_id");
        }
        let channel = texts(arguments.get("channel_id"));
        let on_unit = |channel: &&str| {
            unit.iter().any(|unit| self.channels.contains(&((*unit).to_owned(), (*channel).to_owned())))
        };
        if !channel.iter().all(on_unit) {
            return Some("channel_id");
        }
        let has = |field: &str| {
            texts(arguments.get(field))
                .iter()
                .all(|id| self.ids.contains(&id.to_ascii_lowercase()) || self.ids.contains(*id))
        };
        ["stream_id", "event_id"].into_iter().find(|field| !has(field))
    }

    fn has_device(&self, id: &str) -> bool {
        match split_channel_device(id) {
            None => self.ids.contains(id),
            Some((unit, channel)) => {
                self.ids.contains(unit.as_str())
                    && self.channels.contains(&(unit.as_str().to_owned(), channel.as_str().to_owned()))
            }
        }
    }

    fn walk(&mut self, value: &Value, unit: Option<&str>, depth: usize) {
        if depth > MAX_DEPTH || self.ids.len() > MAX_IDS || self.channels.len() > MAX_IDS {
            return;
        }
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, unit, depth + 1)),
            Value::Object(members) => {
                let own = UNIT_FIELDS
                    .into_iter()
                    .find_map(|field| members.get(field)?.as_str().filter(|text| MasterId::new(text).is_some()));
                let unit = own.or(unit);
                for (field, inner) in members {
                    self.member(field, inner, unit);
                    // Settings hold free text and names of settings, no ids of things.
                    if field != "settings" {
                        self.walk(inner, unit, depth + 1);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn member(&mut self, field: &str, value: &Value, unit: Option<&str>) {
        if let (true, Some(unit)) = (matches!(field, "channel_id" | "ChannelId"), unit) {
            // A channel's number comes as text or as a number.
            let number = value.as_u64().map(|number| number.to_string());
            let channel = number.as_deref().or(value.as_str()).and_then(ChannelId::new);
            self.channels.extend(channel.map(|channel| (unit.to_owned(), channel.as_str().to_owned())));
        }
        let Some(text) = value.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_ID) else { return };
        if ID_FIELDS.contains(&field) {
            self.ids.insert(text.to_owned());
            if text.contains('-') {
                // Destinations are compared without case.
                self.ids.insert(text.to_ascii_lowercase());
            }
        }
    }
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen() -> IdsSeen {
        let mut seen = IdsSeen::default();
        seen.collect(&json!({"devices": [
            {"Id": "19012341234", "Name": "Hall A 19099999999", "GroupId": "19088888888",
             "Channels": [{"channel_id": "1", "name": "19077777777-1",
                "Publishers": [{"id": "0", "settings": [{"id": "19066666666", "value": "19055555555"}]}]}]},
            {"Id": "19012340000", "Name": "{\"Id\":\"19044444444\"}", "Channels": [{"channel_id": "2"}]}]}));
        seen.collect(&json!({"streams": [{"StreamID": "7D1F0C9E-2b34-4c56-8d78-9e0f1a2b3c4d", "Name": "feed"}]}));
        seen.collect(
            &json!({"events": [{"device_id": "19012341234", "event": {"id": "k3x9:1927880000", "title": "k4:1"}}]}),
        );
        seen
    }

    #[test]
    fn ids_from_id_fields_may_be_named() {
        for arguments in [
            json!({"action": "start", "device_ids": ["19012341234-1"]}),
            json!({"device_ids": ["19012341234"]}),
            json!({"device_id": "19012341234", "event_id": "k3x9:1927880000"}),
            json!({"device_id": "19012341234", "channel_id": "1", "stream_id": "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d"}),
            json!({"device_id": "19012341234", "channel_id": "1", "stream_id": "7D1F0C9E-2B34-4C56-8D78-9E0F1A2B3C4D"}),
        ] {
            assert_eq!(seen().unread(&arguments), None, "{arguments}");
        }
    }

    #[test]
    fn ids_from_names_settings_and_thin_air_may_not() {
        for id in
            ["19099999999", "19088888888", "19077777777-1", "19066666666", "19055555555", "19044444444", "Hall A", ""]
        {
            assert_eq!(seen().unread(&json!({"device_ids": [id]})), Some("device_ids"), "{id}");
        }
        assert_eq!(seen().unread(&json!({"device_id": "19012341234", "event_id": "k4:1"})), Some("event_id"));
        assert_eq!(seen().unread(&json!({"device_id": "19012341234", "stream_id": "feed"})), Some("stream_id"));
    }

    #[test]
    fn a_channel_of_another_unit_may_not_be_named() {
        assert_eq!(seen().unread(&json!({"device_ids": ["19012341234-2"]})), Some("device_ids"));
        let call = json!({"device_id": "19012341234", "channel_id": "2"});
        assert_eq!(seen().unread(&call), Some("channel_id"));
    }

    #[test]
    fn a_very_deep_answer_is_not_followed_to_its_end() {
        let mut deep = json!({"Id": "19012341234"});
        for _ in 0..100 {
            deep = json!([deep]);
        }
        let mut seen = IdsSeen::default();
        seen.collect(&deep);
        assert!(seen.ids.is_empty());
    }
}
