//! The answers of the read tools, in the spellings of the live server (facts 1.6).
//!
//! Shapes A to E are known; the others keep the few field names that are known and are otherwise a guess.

use serde_json::{Map, Value, json};

use crate::clock::{minute_stamp, parse, rfc3339};
use crate::config::Caller;
use crate::fleet::ToolError;
use crate::fleet::state::{Channel, Destination, Event, Protocol, Publisher, Room, State, Warning};
use crate::help;

const DEFAULT_HORIZON_SECONDS: i64 = 7 * 86_400;
const DISK_BYTES: i64 = 512_000_000_000;

/// A read call whose arguments have passed the tool table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read<'a> {
    /// Who calls.
    pub(crate) caller: Caller,
    /// The tool.
    pub(crate) tool: &'a str,
    /// Its arguments.
    pub(crate) arguments: &'a Map<String, Value>,
    /// The moment, in milliseconds.
    pub(crate) now_ms: i64,
}

impl Read<'_> {
    /// The answer of the tool, after time has passed.
    ///
    /// # Errors
    /// An id that this caller doesn't see, or a time that isn't one.
    pub(crate) fn run(self, state: &mut State) -> Result<Value, ToolError> {
        state.settle(self.now_ms);
        let state = &*state;
        Ok(match self.tool {
            "get_devices_in_my_team" => self.team(state),
            "get_device_info" => device(self.room(state)?),
            "get_device_sources" => sources(self.room(state)?),
            "get_system_status_for_devices" => self.status(state, system_status),
            "get_recorder_status_for_devices" => self.recorders(state),
            "get_storage_status_for_devices" => self.status(state, storage_status),
            "get_channel_settings" => self.settings(state)?,
            "get_channel_image" => self.image(state)?,
            "get_channel_audio_levels" => self.audio(state)?,
            "get_stream_endpoint" => self.stream(state)?,
            "get_stream_endpoints" => streams(state),
            "get_team_presets" => presets(),
            "get_cms_events_for_device" => self.timeline(state)?,
            "get_cms_events_for_devices" => self.timelines(state),
            "get_current_or_next_cms_event_for_device" => self.next_event(state)?,
            "get_current_or_next_cms_events_for_devices" => self.next_events(state)?,
            "get_cms_names_for_devices" => self.cms_names(state),
            "get_devices_by_cms" => self.by_cms(state),
            "kb_search" => help::search(self.text("query")),
            "kb_fetch" => help::fetch(self.text("id")).ok_or_else(|| ToolError("Error: page not found".to_owned()))?,
            other => return Err(ToolError(format!("Error: {other} is not a read tool"))),
        })
    }

    fn now(&self) -> i64 {
        self.now_ms / 1000
    }

    fn text(&self, name: &str) -> &str {
        self.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The rooms that the call names, in its order; every visible one if it names none.
    fn rooms<'s>(&self, state: &'s State) -> Vec<&'s Room> {
        match self.arguments.get("device_ids").and_then(Value::as_array) {
            None => state.visible(self.caller).collect(),
            Some(ids) => ids.iter().filter_map(Value::as_str).filter_map(|id| state.room(self.caller, id)).collect(),
        }
    }

    fn room<'s>(&self, state: &'s State) -> Result<&'s Room, ToolError> {
        state.room(self.caller, self.text("device_id")).ok_or_else(|| ToolError("Error: device not found".to_owned()))
    }

    fn channel<'s>(&self, state: &'s State) -> Result<(&'s Room, &'s Channel), ToolError> {
        let room = self.room(state)?;
        let wanted = self.text("channel_id");
        room.channels
            .iter()
            .find(|channel| channel.id == wanted)
            .map(|channel| (room, channel))
            .ok_or_else(|| ToolError("Error: channel not found".to_owned()))
    }

    fn until(&self) -> Result<i64, ToolError> {
        match self.arguments.get("until").and_then(Value::as_str) {
            None => Ok(self.now() + DEFAULT_HORIZON_SECONDS),
            Some(text) => parse(text).ok_or_else(|| ToolError("Error: until must be an RFC 3339 time".to_owned())),
        }
    }

    fn team(&self, state: &State) -> Value {
        let devices: Vec<Value> = state.visible(self.caller).map(device).collect();
        let mut answer = json!({"devices": devices});
        if let Some(team) = &state.team_id {
            answer["team_id"] = json!(team);
        }
        answer
    }

    fn status(&self, state: &State, of: fn(&Room) -> Value) -> Value {
        let status: Vec<Value> = self.rooms(state).into_iter().map(of).collect();
        json!({ "status": status })
    }

    fn recorders(&self, state: &State) -> Value {
        let devices: Map<String, Value> =
            self.rooms(state).into_iter().map(|room| (room.id.clone(), recorder(room))).collect();
        json!({ "devices": devices })
    }

    fn settings(&self, state: &State) -> Result<Value, ToolError> {
        let (room, channel) = self.channel(state)?;
        let vbitrate = if room.model.records() { json!(6000) } else { json!("auto") };
        Ok(json!({
            "device_id": room.id,
            "channel_id": channel.id,
            "name": channel.name,
            "encoder": {"vcodec": "h264", "vbitrate": vbitrate, "framesize": "1920x1080", "audio_bitrate": 192},
        }))
    }

    fn image(&self, state: &State) -> Result<Value, ToolError> {
        let (room, channel) = self.channel(state)?;
        Ok(json!({
            "device_id": room.id,
            "channel_id": channel.id,
            "is_stub": channel.no_signal || !room.online,
        }))
    }

    fn audio(&self, state: &State) -> Result<Value, ToolError> {
        let (room, channel) = self.channel(state)?;
        if !room.model.hears() {
            return Err(ToolError("Error: audio levels are not supported by this device".to_owned()));
        }
        let level = if room.online { -23 } else { -90 };
        Ok(json!({
            "device_id": room.id,
            "channel_id": channel.id,
            "levels": [{"channel": "left", "rms": level}, {"channel": "right", "rms": level - 1}],
        }))
    }

    fn stream(&self, state: &State) -> Result<Value, ToolError> {
        let wanted = self.text("endpoint_id");
        state
            .streams
            .iter()
            .find(|stream| stream.listed && stream.id.eq_ignore_ascii_case(wanted))
            .map(destination)
            .ok_or_else(|| ToolError("Error: stream endpoint not found".to_owned()))
    }

    fn timeline(&self, state: &State) -> Result<Value, ToolError> {
        let room = self.room(state)?;
        let until = self.until()?;
        let now = self.now();
        let events: Vec<Value> =
            room.events.iter().filter(|event| event.start < until).map(|entry| event(room, entry, now)).collect();
        Ok(json!({"device_id": room.id, "events": events}))
    }

    fn timelines(&self, state: &State) -> Value {
        let now = self.now();
        let events: Vec<Value> = self
            .rooms(state)
            .into_iter()
            .flat_map(|room| {
                room.events.iter().map(move |entry| json!({"device_id": room.id, "event": event(room, entry, now)}))
            })
            .collect();
        json!({ "events": events })
    }

    fn next_event(&self, state: &State) -> Result<Value, ToolError> {
        let room = self.room(state)?;
        Ok(next_entry(room, self.now(), self.until()?))
    }

    /// A room with a CMS and nothing scheduled is an entry without `event`; one without a CMS is missing.
    fn next_events(&self, state: &State) -> Result<Value, ToolError> {
        let until = self.until()?;
        let now = self.now();
        let events: Vec<Value> = self
            .rooms(state)
            .into_iter()
            .filter(|room| room.cms.is_some())
            .map(|room| next_entry(room, now, until))
            .collect();
        Ok(json!({ "events": events }))
    }

    fn cms_names(&self, state: &State) -> Value {
        let names: Map<String, Value> = self
            .rooms(state)
            .into_iter()
            .filter_map(|room| Some((room.id.clone(), json!(room.cms.as_ref()?))))
            .collect();
        Value::Object(names)
    }

    fn by_cms(&self, state: &State) -> Value {
        let wanted = self.text("cms");
        let devices: Vec<Value> = state
            .visible(self.caller)
            .filter(|room| room.cms.as_deref() == Some(wanted))
            .map(|room| json!({"device_id": room.id, "name": room.name}))
            .collect();
        json!({"cms": wanted, "devices": devices})
    }
}

/// One device as in `get_devices_in_my_team`.
pub(crate) fn device(room: &Room) -> Value {
    let channels: Vec<Value> = room.channels.iter().map(channel).collect();
    let mut device = json!({
        "Id": room.id,
        "Name": room.name,
        "Model": room.model.name(),
        "GroupId": room.group_id,
        "GroupName": room.group,
        "IPAddress": format!("192.0.2.{}", room.number % 254 + 1),
        "SerialNumber": format!("SN{:08}", room.number + 1),
        "Firmware": room.firmware,
        "Status": if room.online { "online" } else { "offline" },
        "StateTime": minute_stamp(room.state_since),
        "Channels": channels,
    });
    if !room.warnings.is_empty() {
        let warnings: Vec<Value> = room.warnings.iter().copied().map(warning).collect();
        device["Warnings"] = json!(warnings);
    }
    device
}

fn channel(channel: &Channel) -> Value {
    let mut value = json!({
        "channel_id": channel.id,
        "name": channel.name,
        "recording_status": recording_status(channel),
    });
    if !channel.publishers.is_empty() {
        let publishers: Vec<Value> =
            channel.publishers.iter().enumerate().map(|(place, entry)| publisher(place, entry)).collect();
        value["Publishers"] = json!(publishers);
    }
    if channel.no_signal {
        value["Warnings"] = json!([{
            "id": "channel_no_signal",
            "data": {"channel_name": channel.name},
            "label": "nosignal",
            "message": format!("Channel '{}' has no signal", channel.name),
        }]);
    }
    value
}

fn publisher(place: usize, publisher: &Publisher) -> Value {
    let state = if publisher.started { "started" } else { "stopped" };
    json!({
        "id": place.to_string(),
        "type": publisher.protocol,
        "status": {"since": publisher.since, "state": state, "started": publisher.started, "description": ""},
        "settings": [
            {"id": "name", "type": {"name": "string"}, "title": "Name", "value": publisher.name},
            {"id": "single-touch", "type": {"name": "bool"}, "title": "Single touch control", "value": true},
        ],
    })
}

fn recording_status(channel: &Channel) -> Value {
    let description = match channel.recorder.as_str() {
        "recording" => "recording is in progress".to_owned(),
        "stopped" => "recording is not started".to_owned(),
        other => format!("recording is {other}"),
    };
    json!({
        "state": channel.recorder,
        "timestamp": channel.recorder_since.to_string(),
        "description": description,
    })
}

fn recorder(room: &Room) -> Value {
    let channels: Map<String, Value> = room
        .channels
        .iter()
        .map(|channel| {
            let status = json!({"Name": channel.name, "RecordingStatus": recording_status(channel)});
            (channel.id.clone(), status)
        })
        .collect();
    json!({"Name": room.name, "Channels": channels})
}

fn warning(warning: Warning) -> Value {
    match warning {
        Warning::SourceNoSignal => json!({
            "id": "source_no_signal",
            "data": {"source_name": "HDMI-A"},
            "label": "source",
            "message": "Source 'HDMI-A' has no signal",
        }),
        Warning::DiskSpace => json!({
            "id": "disk_space_error",
            "data": null,
            "label": "storage",
            "message": "Less than 5 % of the disk is free",
        }),
        Warning::NoStorage => json!({
            "id": "no_storage_detected",
            "data": null,
            "label": "storage",
            "message": "No storage was detected",
        }),
    }
}

fn sources(room: &Room) -> Value {
    let dark = room.warnings.contains(&Warning::SourceNoSignal);
    json!({"device_id": room.id, "sources": [
        {"id": "hdmi-a", "name": "HDMI-A", "type": "hdmi", "status": if dark { "no signal" } else { "active" }},
        {"id": "audio-a", "name": "XLR-A", "type": "audio", "status": "active"},
    ]})
}

fn system_status(room: &Room) -> Value {
    if !room.online {
        return json!({"device_id": room.id, "cpu_load_pct": null, "cpu_temp_c": null, "uptime_since": null});
    }
    json!({
        "device_id": room.id,
        "cpu_load_pct": 12 + room.number % 30,
        "cpu_temp_c": 44 + room.number % 15,
        "uptime_since": rfc3339(room.uptime_since),
    })
}

fn storage_status(room: &Room) -> Value {
    let free = if room.warnings.contains(&Warning::DiskSpace) { DISK_BYTES / 50 } else { DISK_BYTES / 2 };
    let state = if !room.online {
        ""
    } else if room.warnings.contains(&Warning::NoStorage) {
        "missing"
    } else {
        "ok"
    };
    json!({"device_id": room.id, "state": state, "total_bytes": DISK_BYTES, "free_bytes": free})
}

/// The stream list with its keys, as the real one has them: a reader must drop them.
pub(crate) fn streams(state: &State) -> Value {
    let streams: Vec<Value> = state.streams.iter().filter(|stream| stream.listed).map(destination).collect();
    json!({ "streams": streams })
}

fn destination(stream: &Destination) -> Value {
    let mut value = json!({
        "StreamID": stream.id,
        "Name": stream.name,
        "CurrentlyStreaming": stream.held_by.is_some(),
        "LockByDevice": stream.held_by.as_ref().map_or("", |(device, _)| device.as_str()),
    });
    match stream.protocol {
        Protocol::Rtmp => value["RTMP"] = json!({"URL": stream.url, "StreamingKey": stream.key}),
        Protocol::Srt => value["SRT"] = json!({"URL": stream.url, "Passphrase": stream.key}),
    }
    value
}

fn event(room: &Room, event: &Event, now: i64) -> Value {
    let status = if now < event.start {
        "scheduled"
    } else if now < event.finish {
        "running"
    } else {
        "finished"
    };
    json!({
        "id": event.id,
        "title": event.title,
        "cms": room.cms,
        "status": status,
        "confirmed": event.confirmed,
        "start": rfc3339(event.start),
        "finish": rfc3339(event.finish),
        "devices": [{
            "device_id": room.id,
            "channels": [{"channel_id": "1", "recording": true, "streaming": false}],
        }],
    })
}

fn next_entry(room: &Room, now: i64, until: i64) -> Value {
    match room.current_or_next(now, until) {
        Some(entry) => json!({"device_id": room.id, "event": event(room, entry, now)}),
        None => json!({"device_id": room.id}),
    }
}

fn presets() -> Value {
    json!({"presets": [
        {"id": "00000000-0000-4000-8000-0000000000b1", "name": "Lecture capture", "device_model": "Pearl Mini", "sections": ["channels", "recorders"]},
        {"id": "00000000-0000-4000-8000-0000000000b2", "name": "Site network", "device_model": "Pearl-2", "sections": ["network", "system"]},
    ]})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::rooms::fleet;

    const NOW_MS: i64 = 1_927_880_000_000;

    fn answer(state: &mut State, tool: &str, arguments: &Value) -> Result<Value, ToolError> {
        Read { caller: Caller::Normal, tool, arguments: arguments.as_object().expect("an object"), now_ms: NOW_MS }
            .run(state)
    }

    fn read(tool: &str, arguments: &Value) -> Value {
        answer(&mut fleet(30, 30, NOW_MS), tool, arguments).expect("an answer")
    }

    fn id(place: usize) -> String {
        fleet(30, 30, NOW_MS).rooms[place].id.clone()
    }

    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_device_list_has_the_live_mix_of_spellings() {
        let team = read("get_devices_in_my_team", &json!({}));
        let magna = &team["devices"][3];
        assert_eq!(
            keys(magna),
            [
                "Channels",
                "Firmware",
                "GroupId",
                "GroupName",
                "IPAddress",
                "Id",
                "Model",
                "Name",
                "SerialNumber",
                "StateTime",
                "Status"
            ]
        );
        let channel = &magna["Channels"][0];
        assert_eq!(keys(channel), ["Publishers", "channel_id", "name", "recording_status"]);
        assert_eq!(channel["recording_status"]["state"], "recording");
        assert!(channel["recording_status"]["timestamp"].is_string());
        assert_eq!(channel["Publishers"][0]["status"]["started"], true);
        let disk = &team["devices"][15]["Warnings"][0];
        assert_eq!((&disk["id"], &disk["data"]), (&json!("disk_space_error"), &Value::Null));
        assert!(team.get("team_id").is_none());
    }

    #[test]
    fn recorder_states_are_a_map_by_device_and_channel() {
        let status = read("get_recorder_status_for_devices", &json!({"device_ids": [id(1), "99999999999"]}));
        assert_eq!(keys(&status["devices"]), [id(1)]);
        let device = &status["devices"][id(1)];
        assert_eq!(keys(device), ["Channels", "Name"]);
        assert_eq!(device["Channels"]["1"]["RecordingStatus"]["state"], "recording");
        assert_eq!(device["Channels"]["2"]["RecordingStatus"]["state"], "stopped");
    }

    #[test]
    fn system_status_is_a_list_and_null_for_a_room_that_is_away() {
        let status = read("get_system_status_for_devices", &json!({"device_ids": [id(0), id(5)]}));
        assert_eq!(keys(&status["status"][0]), ["cpu_load_pct", "cpu_temp_c", "device_id", "uptime_since"]);
        assert_eq!(status["status"][1]["uptime_since"], Value::Null);
    }

    #[test]
    fn events_are_a_list_with_finish_and_rooms_without_a_cms_are_missing() {
        let answer = read("get_current_or_next_cms_events_for_devices", &json!({}));
        let entries = answer["events"].as_array().expect("a list");
        let of = |device: String| entries.iter().find(|entry| entry["device_id"] == device);
        let running = &of(id(1)).expect("Hall B")["event"];
        assert_eq!(keys(running), ["cms", "confirmed", "devices", "finish", "id", "start", "status", "title"]);
        assert_eq!(running["status"], "running");
        assert_eq!(keys(of(id(17)).expect("paired, nothing scheduled")), ["device_id"]);
        assert!(of(id(6)).is_none());
        let names = read("get_cms_names_for_devices", &json!({}));
        assert_eq!(names[id(1)], "epiphan");
        assert!(names.get(id(6)).is_none());
    }

    #[test]
    fn until_hides_later_events_and_must_be_a_time() {
        let tool = "get_current_or_next_cms_event_for_device";
        let until = rfc3339(NOW_MS / 1000 + 3_600);
        let near = read(tool, &json!({"device_id": id(0), "until": until}));
        assert_eq!(keys(&near), ["device_id"]);
        assert!(read(tool, &json!({"device_id": id(0)})).get("event").is_some());
        let mut state = fleet(30, 30, NOW_MS);
        let odd = json!({"device_id": id(0), "until": "soon"});
        let error = answer(&mut state, tool, &odd).expect_err("refused");
        assert!(error.to_string().contains("RFC 3339"), "{error}");
    }

    #[test]
    fn destinations_carry_keys_and_the_device_that_holds_them() {
        let list = read("get_stream_endpoints", &json!({}));
        let first = &list["streams"][0];
        assert_eq!(keys(first), ["CurrentlyStreaming", "LockByDevice", "Name", "RTMP", "StreamID"]);
        assert_eq!((&first["CurrentlyStreaming"], &first["LockByDevice"]), (&json!(true), &json!(id(3))));
        assert_eq!(list["streams"][2]["LockByDevice"], "");
        assert!(list.to_string().contains("never-show"));
    }

    #[test]
    fn every_read_tool_answers_an_object_and_an_unseen_device_is_an_error() {
        let mut state = fleet(30, 3, NOW_MS);
        let stream = state.streams[0].id.clone();
        let all = json!({
            "device_id": id(0), "device_ids": [id(0)], "channel_id": "1", "endpoint_id": stream,
            "cms": "epiphan", "query": "recording", "id": "recording-start",
        });
        let reads = crate::tools::TOOLS.iter().filter(|tool| tool.kind == crate::tools::Kind::Read);
        for tool in reads {
            let value = answer(&mut state, tool.name, &all).expect(tool.name);
            assert!(value.is_object(), "{}", tool.name);
        }
        let outside = Read {
            caller: Caller::Sandbox,
            tool: "get_device_info",
            arguments: json!({"device_id": id(9)}).as_object().expect("an object"),
            now_ms: NOW_MS,
        }
        .run(&mut state);
        assert_eq!(outside, Err(ToolError("Error: device not found".to_owned())));
    }
}
