//! What the six proposable write tools do. Answers: `{}`, or a map of id to words.

use serde_json::{Map, Value};

use super::ToolError;
use super::state::{Destination, Outage, Protocol, Publisher, Room, State};
use crate::config::Caller;

/// How long a restart takes.
pub(crate) const REBOOT_MS: i64 = 20_000;
/// How long a firmware update takes.
pub(crate) const FIRMWARE_MS: i64 = 60_000;

/// A write call whose arguments have passed the tool table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    /// Who calls.
    pub(crate) caller: Caller,
    /// The tool.
    pub(crate) tool: &'a str,
    /// Its arguments.
    pub(crate) arguments: &'a Map<String, Value>,
    /// The moment, in milliseconds.
    pub(crate) now_ms: i64,
}

impl Write<'_> {
    /// Changes the fleet and gives the answer of facts 1.6, shape F.
    ///
    /// # Errors
    /// The nine tools outside the simulation answer a tool error.
    pub(crate) fn run(self, state: &mut State) -> Result<Value, ToolError> {
        state.settle(self.now_ms);
        match self.tool {
            "batch_recording" => Ok(self.each(|id| self.record(state, id))),
            "batch_reboot" => Ok(self.each(|id| self.restart(state, id, false))),
            "batch_firmware_update" => Ok(self.each(|id| self.restart(state, id, true))),
            "start_stream_endpoint" => Ok(self.one(|id| self.stream(state, id, true))),
            "stop_stream_endpoint" => Ok(self.one(|id| self.stream(state, id, false))),
            "confirm_cms_event_on_device" => Ok(self.one(|id| self.confirm(state, id))),
            other => Err(ToolError(format!("Error: {other} is not part of the simulation; nothing was changed"))),
        }
    }

    fn each(&self, mut act: impl FnMut(&str) -> Result<(), &'static str>) -> Value {
        let ids = self.arguments.get("device_ids").and_then(Value::as_array);
        let failed = ids
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter_map(|id| act(id).err().map(|words| (id.to_owned(), words.into())))
            .collect();
        Value::Object(failed)
    }

    fn one(&self, act: impl FnOnce(&str) -> Result<(), &'static str>) -> Value {
        let id = self.text("device_id");
        let failed = act(id).err().map(|words| (id.to_owned(), words.into()));
        Value::Object(failed.into_iter().collect())
    }

    fn text(&self, name: &str) -> &str {
        self.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn seconds(&self) -> i64 {
        self.now_ms / 1000
    }

    fn online<'s>(&self, state: &'s mut State, id: &str) -> Result<&'s mut Room, &'static str> {
        let room = state.room_mut(self.caller, id).ok_or("Device not found")?;
        if !room.online {
            return Err("Device is offline");
        }
        Ok(room)
    }

    fn record(&self, state: &mut State, id: &str) -> Result<(), &'static str> {
        let (master, number) = id.split_once('-').ok_or("Device not found")?;
        let room = self.online(state, master)?;
        if !room.model.records() {
            return Err("Recording is not supported by this device");
        }
        let channel = room.channel_mut(number).ok_or("Channel not found")?;
        let next = match self.text("action") {
            "start" if channel.recorder == "stopped" => "recording",
            "start" => return Err("Device is busy"),
            "stop" if channel.recorder == "stopped" => return Err("Recording is not running"),
            "stop" => "stopped",
            _ => return Err("Action is not supported by this device"),
        };
        next.clone_into(&mut channel.recorder);
        channel.recorder_since = self.seconds();
        Ok(())
    }

    fn restart(&self, state: &mut State, id: &str, update: bool) -> Result<(), &'static str> {
        let now_ms = self.now_ms;
        let room = self.online(state, id)?;
        let firmware = room.model.newest_firmware();
        if update && room.firmware == firmware {
            return Err("Firmware is up to date");
        }
        room.online = false;
        room.state_since = now_ms / 1000;
        room.outage = Some(Outage {
            until_ms: now_ms + if update { FIRMWARE_MS } else { REBOOT_MS },
            firmware: update.then_some(firmware),
        });
        Ok(())
    }

    fn stream(&self, state: &mut State, id: &str, start: bool) -> Result<(), &'static str> {
        let channel = self.text("channel_id");
        let room = self.online(state, id)?;
        if !room.model.records() {
            return Err("Streaming is not supported by this device");
        }
        room.channel_mut(channel).ok_or("Channel not found")?;
        let wanted = self.text("stream_id");
        let place = state
            .streams
            .iter()
            .position(|stream| stream.listed && stream.id.eq_ignore_ascii_case(wanted))
            .ok_or("Stream endpoint not found")?;
        let here = (id.to_owned(), channel.to_owned());
        match (&state.streams[place].held_by, start) {
            (Some(_), true) => return Err("Stream endpoint is in use"),
            (Some(holder), false) if *holder == here => {}
            (Some(_) | None, false) => return Err("Stream is not running on this channel"),
            (None, true) => {}
        }
        set_stream(state, place, &here, start.then_some(self.seconds()));
        Ok(())
    }

    fn confirm(&self, state: &mut State, id: &str) -> Result<(), &'static str> {
        let now = self.seconds();
        let wanted = self.text("event_id");
        let room = self.online(state, id)?;
        let event = room.events.iter_mut().find(|event| event.id == wanted).ok_or("Event not found")?;
        if event.finish <= now {
            return Err("Event is over");
        }
        if event.confirmed {
            return Err("Event is already confirmed");
        }
        event.confirmed = true;
        Ok(())
    }
}

/// Starts (`since`) or stops (none) a stream on a device's channel: publisher and destination together.
pub(crate) fn set_stream(state: &mut State, place: usize, here: &(String, String), since: Option<i64>) {
    let Some(stream) = state.streams.get_mut(place) else {
        return;
    };
    stream.held_by = since.is_some().then(|| here.clone());
    let output = publisher_of(stream, since);
    let Some(channel) = state.any_room_mut(&here.0).and_then(|room| room.channel_mut(&here.1)) else {
        return;
    };
    channel.publishers.retain(|old| old.name != output.name);
    channel.publishers.push(output);
}

fn publisher_of(stream: &Destination, since: Option<i64>) -> Publisher {
    Publisher {
        protocol: match stream.protocol {
            Protocol::Rtmp => "rtmp",
            Protocol::Srt => "srt",
        },
        name: stream.name.clone(),
        started: since.is_some(),
        since: since.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::rooms::fleet;
    use super::*;

    const NOW_MS: i64 = 1_927_880_000_000;

    fn write(state: &mut State, tool: &str, arguments: &Value, now_ms: i64) -> Value {
        Write { caller: Caller::Sandbox, tool, arguments: arguments.as_object().expect("an object"), now_ms }
            .run(state)
            .expect("an answer")
    }

    fn id_of(state: &State, name: &str) -> String {
        let room = state.rooms.iter().find(|room| room.name == name);
        room.expect("a room").id.clone()
    }

    fn record(state: &mut State, action: &str, id: &str) -> Value {
        let arguments = json!({"action": action, "device_ids": [id]});
        write(state, "batch_recording", &arguments, NOW_MS)
    }

    #[test]
    fn recording_starts_once_and_stops_once_on_one_channel() {
        let mut state = fleet(30, 30, NOW_MS);
        let id = format!("{}-1", id_of(&state, "Hall A"));
        assert_eq!(record(&mut state, "start", &id), json!({}));
        let channels = &state.rooms[0].channels;
        assert_eq!((channels[0].recorder.as_str(), channels[1].recorder.as_str()), ("recording", "stopped"));
        assert_eq!(channels[0].recorder_since, NOW_MS / 1000);
        assert_eq!(record(&mut state, "start", &id), json!({&id: "Device is busy"}));
        assert_eq!(record(&mut state, "stop", &id), json!({}));
        assert_eq!(record(&mut state, "stop", &id), json!({&id: "Recording is not running"}));
        assert_eq!(record(&mut state, "pause", &id), json!({&id: "Action is not supported by this device"}));
    }

    #[test]
    fn what_cannot_record_says_so_by_id() {
        let mut state = fleet(30, 4, NOW_MS);
        let outside = format!("{}-1", id_of(&state, "Courtroom 1"));
        assert_eq!(record(&mut state, "start", &outside), json!({&outside: "Device not found"}));
        let mut state = fleet(30, 30, NOW_MS);
        for (name, channel, words) in [
            ("Sala de Juntas", "1", "Recording is not supported by this device"),
            ("Aula 102", "1", "Device is offline"),
            ("Hall A", "9", "Channel not found"),
        ] {
            let id = format!("{}-{channel}", id_of(&state, name));
            assert_eq!(record(&mut state, "start", &id), json!({&id: words}), "{name}");
        }
        let master = id_of(&state, "Hall A");
        assert_eq!(record(&mut state, "start", &master), json!({&master: "Device not found"}));
    }

    #[test]
    fn a_restart_is_offline_then_back_with_everything_stopped() {
        let mut state = fleet(30, 30, NOW_MS);
        let id = id_of(&state, "Aula Magna");
        let arguments = json!({"device_ids": [&id]});
        assert_eq!(write(&mut state, "batch_reboot", &arguments, NOW_MS), json!({}));
        let room = |state: &State| state.room(Caller::Normal, &id).expect("a room").clone();
        assert!(!room(&state).online);
        assert_eq!(room(&state).channels[0].recorder, "recording");
        assert_eq!(write(&mut state, "batch_reboot", &arguments, NOW_MS), json!({&id: "Device is offline"}));
        state.settle(NOW_MS + REBOOT_MS - 1);
        assert!(!room(&state).online);
        state.settle(NOW_MS + REBOOT_MS);
        let back = room(&state);
        assert!(back.online);
        assert_eq!(back.uptime_since, (NOW_MS + REBOOT_MS) / 1000);
        assert_eq!(back.channels[0].recorder, "stopped");
        assert!(back.channels[0].publishers.iter().all(|p| !p.started));
        assert!(state.streams[0].held_by.is_none());
    }

    #[test]
    fn a_firmware_update_takes_longer_and_raises_the_version() {
        let mut state = fleet(30, 30, NOW_MS);
        let id = id_of(&state, "Hall A");
        let arguments = json!({"device_ids": [&id]});
        let tool = "batch_firmware_update";
        assert_eq!(write(&mut state, tool, &arguments, NOW_MS), json!({}));
        state.settle(NOW_MS + REBOOT_MS);
        assert!(!state.rooms[0].online);
        state.settle(NOW_MS + FIRMWARE_MS);
        assert!(state.rooms[0].online);
        assert_eq!(state.rooms[0].firmware, "4.25.1");
        assert_eq!(write(&mut state, tool, &arguments, NOW_MS + FIRMWARE_MS), json!({&id: "Firmware is up to date"}));
    }

    #[test]
    fn a_stream_takes_its_destination_and_gives_it_back() {
        let mut state = fleet(30, 30, NOW_MS);
        let id = id_of(&state, "Hall A");
        let call = |stream: &str| json!({"stream_id": stream, "device_id": &id, "channel_id": "1"});
        let free = call(&state.streams[2].id);
        let taken = call(&state.streams[0].id);
        let unknown = call("00000000-0000-4000-8000-000000000000");
        let (start, stop) = ("start_stream_endpoint", "stop_stream_endpoint");
        let answers: Vec<Value> =
            [(start, &taken), (start, &unknown), (stop, &free), (start, &free), (start, &free), (stop, &free)]
                .into_iter()
                .map(|(tool, arguments)| write(&mut state, tool, arguments, NOW_MS))
                .collect();
        let words = |text: &str| json!({&id: text});
        assert_eq!(answers[0], words("Stream endpoint is in use"));
        assert_eq!(answers[1], words("Stream endpoint not found"));
        assert_eq!(answers[2], words("Stream is not running on this channel"));
        assert_eq!(answers[3], json!({}));
        assert_eq!(answers[4], words("Stream endpoint is in use"));
        assert_eq!(answers[5], json!({}));
        assert!(state.streams[2].held_by.is_none());
    }

    #[test]
    fn an_event_is_confirmed_once() {
        let mut state = fleet(30, 30, NOW_MS);
        let id = id_of(&state, "Hall C");
        let event = state.rooms[2].events[0].id.clone();
        let call = |event: &str| json!({"device_id": &id, "event_id": event});
        let tool = "confirm_cms_event_on_device";
        assert_eq!(write(&mut state, tool, &call(&event), NOW_MS), json!({}));
        assert_eq!(write(&mut state, tool, &call(&event), NOW_MS), json!({&id: "Event is already confirmed"}));
        assert_eq!(write(&mut state, tool, &call("nothing:1"), NOW_MS), json!({&id: "Event not found"}));
    }

    #[test]
    fn the_other_nine_answer_a_tool_error() {
        let mut state = fleet(30, 30, NOW_MS);
        let others = crate::tools::TOOLS
            .iter()
            .filter(|tool| tool.kind == crate::tools::Kind::Write)
            .filter(|tool| {
                let call = Write { caller: Caller::Sandbox, tool: tool.name, arguments: &Map::new(), now_ms: NOW_MS };
                call.run(&mut state).is_err()
            })
            .count();
        assert_eq!(others, 9);
    }
}
