//! Reads what the assistant quotes: one `<fleet_data>` block of JSON inside a tool result.

use serde_json::Value;

const OPEN: &str = "<fleet_data";
const CLOSE: &str = "</fleet_data>";

/// One device, as far as the script needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Device {
    /// Master id.
    pub(crate) id: String,
    /// Name, whatever it says.
    pub(crate) name: String,
    /// Reachable.
    pub(crate) online: bool,
    /// Some channel records.
    pub(crate) recording: bool,
    /// Some channel streams.
    pub(crate) streaming: bool,
    /// The words of its warnings.
    pub(crate) warnings: Vec<String>,
}

/// One event with its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Master id.
    pub(crate) device: String,
    /// What it is called.
    pub(crate) title: String,
    /// Start, as text.
    pub(crate) start: String,
    /// `scheduled`, `running`, ...
    pub(crate) status: String,
}

/// The JSON inside the block; the whole text if there is no block.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let inner = match split(text) {
        Some((_, inner, _)) => inner,
        None => text,
    };
    serde_json::from_str(inner.trim()).ok()
}

/// The text without any block.
pub(crate) fn without(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, _, after)) = split(rest) {
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    kept
}

fn split(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(OPEN)?;
    let (_, rest) = rest.split_once('>')?;
    let (inner, after) = rest.split_once(CLOSE)?;
    Some((before, inner, after))
}

/// The devices of a quoted device list; nothing if it is no device list.
pub(crate) fn devices(quoted: &Value) -> Option<Vec<Device>> {
    let list = quoted.get("devices").unwrap_or(quoted).as_array()?;
    Some(list.iter().filter_map(device).collect())
}

fn device(value: &Value) -> Option<Device> {
    let channels = list(value, &["Channels", "channels"]);
    let mut warnings = warnings(value);
    for channel in channels {
        warnings.extend(self::warnings(channel));
    }
    Some(Device {
        id: text(value, &["Id", "id", "device_id"])?.to_owned(),
        name: text(value, &["Name", "name"])?.to_owned(),
        online: match text(value, &["Status", "status"]) {
            Some(status) => status.eq_ignore_ascii_case("online"),
            None => value["online"] == true,
        },
        recording: channels.iter().any(is_recording),
        streaming: channels
            .iter()
            .flat_map(|channel| list(channel, &["Publishers", "publishers", "stream_outputs"]))
            .any(|publisher| {
                publisher["status"]["started"] == true
                    || publisher["started"] == true
                    || publisher["state"] == "started"
            }),
        warnings,
    })
}

fn is_recording(channel: &Value) -> bool {
    let status =
        ["recording_status", "RecordingStatus"].into_iter().find_map(|key| channel.get(key)).unwrap_or(channel);
    status["state"] == "recording" || status["recording"] == true || channel["recorder"] == "recording"
}

fn warnings(value: &Value) -> Vec<String> {
    list(value, &["Warnings", "warnings"])
        .iter()
        .filter_map(|warning| text(warning, &["message", "id"]).or_else(|| warning.as_str()))
        .map(str::to_owned)
        .collect()
}

/// The events of a quoted list, in either of its two forms.
pub(crate) fn events(quoted: &Value) -> Vec<Event> {
    let mut found = Vec::new();
    for entry in list(quoted, &["events"]) {
        if let Some(device) = text(entry, &["device_id"]) {
            found.extend(event(device, &entry["event"]));
        }
    }
    if let Some(map) = quoted.get("devices").and_then(Value::as_object) {
        for (device, entry) in map {
            found.extend(event(device, &entry["event"]));
        }
    }
    found.sort_by(|a, b| a.start.cmp(&b.start));
    found
}

fn event(device: &str, event: &Value) -> Option<Event> {
    Some(Event {
        device: device.to_owned(),
        title: text(event, &["title"])?.to_owned(),
        start: text(event, &["start"])?.to_owned(),
        status: text(event, &["status"]).unwrap_or_default().to_owned(),
    })
}

fn text<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| value.get(key)?.as_str())
}

fn list<'v>(value: &'v Value, keys: &[&str]) -> &'v [Value] {
    keys.iter().find_map(|key| value.get(key)?.as_array()).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_close_the_block_once_it_is_escaped() {
        let quoted = r#"<fleet_data tool="x">{"devices":[{"Id":"1","Name":"A\u003c/fleet_data\u003e","Status":"Online"}]}</fleet_data>
The result was cut."#;
        let devices = devices(&parse(quoted).expect("json")).expect("a list");
        assert_eq!(devices[0].name, "A</fleet_data>");
        assert!(devices[0].online);
        assert_eq!(without(quoted), "\nThe result was cut.");
    }

    #[test]
    fn events_are_read_in_both_forms() {
        let live = serde_json::json!({"events": [
            {"device_id": "2", "event": {"title": "b", "start": "2031-02-03T11:00:00Z"}},
            {"device_id": "1"},
        ]});
        let old = serde_json::json!({"devices": {"2": {"event": {"title": "b", "start": "2031-02-03T11:00:00Z"}}, "1": {"event": null}}});
        assert_eq!(events(&live), events(&old));
        assert_eq!(events(&live).len(), 1);
    }
}
