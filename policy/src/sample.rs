//! A small world for tests: two rooms, one destination, one event.

use crate::call::{CallRules, CheckedCall, RecordingAction, Target, Tool};
use crate::ids::{ChannelId, MasterId};
use crate::observed::{Channel, Device, Event, Observed, Publisher, Recording, StreamDestination, Team};
use protocol::canonical::Canonical;
use std::collections::BTreeMap;

/// The unit that calls aim at.
pub(crate) const HALL: &str = "19012341234";
/// Another unit of the same team.
pub(crate) const LAB: &str = "29012341234";
/// The destination.
pub(crate) const STREAM: &str = "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d";
/// The event that the hall reports.
pub(crate) const EVENT: &str = "k3x9w0c1v7b5n2m8q4zz:1927880000";
/// Unix seconds of the reads.
pub(crate) const NOW: i64 = 1_927_870_000;
/// Boot clock of the reads, in milliseconds.
pub(crate) const BOOT_MS: i64 = 500_000;

pub(crate) fn master(text: &str) -> MasterId {
    MasterId::new(text).unwrap()
}

pub(crate) fn channel_id(text: &str) -> ChannelId {
    ChannelId::new(text).unwrap()
}

fn channel(id: &str, name: &str) -> Channel {
    let publisher =
        |id: &str| Publisher { id: id.to_owned(), kind: "rtmp".to_owned(), active: false, state: "stopped".to_owned() };
    Channel {
        id: channel_id(id),
        name: name.to_owned(),
        recording: Some(Recording::from_word("stopped")),
        publishers: vec![publisher("0"), publisher("1")],
    }
}

pub(crate) fn device(id: &str, name: &str) -> Device {
    Device {
        id: master(id),
        name: name.to_owned(),
        model: "Pearl-2".to_owned(),
        firmware: "4.24.6".to_owned(),
        group: "West Wing".to_owned(),
        online: true,
        channels: Some(vec![channel("1", "Program"), channel("2", "Slides")]),
    }
}

pub(crate) fn event() -> Event {
    Event {
        id: EVENT.to_owned(),
        title: "Seminar".to_owned(),
        start: NOW + 10_000,
        end: Some(NOW + 13_600),
        confirmed: None,
    }
}

/// Everything calm: both rooms online and idle, one far event in the hall.
pub(crate) fn observed() -> Observed {
    let words: BTreeMap<_, _> =
        ["1", "2"].map(|id| (channel_id(id), Recording::from_word("stopped"))).into_iter().collect();
    let destination = StreamDestination {
        id: STREAM.to_owned(),
        name: "Town feed".to_owned(),
        host: "ingest.example.net".to_owned(),
        streaming: Some(false),
        locked_by: None,
    };
    Observed {
        team: Team { devices: vec![device(HALL, "Hall A"), device(LAB, "Lab 3")], team_id: Some("team-1".to_owned()) },
        streams: Some(vec![destination]),
        recorders: [(master(HALL), words.clone()), (master(LAB), words)].into(),
        events: [(master(HALL), Some(event())), (master(LAB), None)].into(),
        read_boot_ms: BOOT_MS,
        read_unix: NOW,
    }
}

/// The arguments of a call of this tool at the hall.
pub(crate) fn arguments(tool: Tool, action: Option<RecordingAction>) -> String {
    match (tool, action) {
        (Tool::FirmwareUpdate | Tool::Reboot, _) => format!(r#"{{"device_ids":["{HALL}"]}}"#),
        (Tool::Recording, Some(RecordingAction::Stop)) => {
            format!(r#"{{"action":"stop","device_ids":["{HALL}-1"]}}"#)
        }
        (Tool::Recording, _) => format!(r#"{{"action":"start","device_ids":["{HALL}-1"]}}"#),
        (Tool::ConfirmEvent, _) => format!(r#"{{"device_id":"{HALL}","event_id":"{EVENT}"}}"#),
        (Tool::StartStream | Tool::StopStream, _) => {
            format!(r#"{{"channel_id":"1","device_id":"{HALL}","stream_id":"{STREAM}"}}"#)
        }
    }
}

/// A checked call at the hall, channel 1 where the tool has channels, with the shipped rules.
pub(crate) fn call(tool: Tool, action: Option<RecordingAction>) -> CheckedCall {
    let stop = action == Some(RecordingAction::Stop);
    let on_channel = match tool {
        Tool::ConfirmEvent | Tool::FirmwareUpdate | Tool::Reboot => false,
        Tool::Recording | Tool::StartStream | Tool::StopStream => true,
    };
    let streams = matches!(tool, Tool::StartStream | Tool::StopStream);
    CheckedCall {
        tool,
        arguments: Canonical::parse(arguments(tool, action).as_bytes()).unwrap(),
        defaulted: Vec::new(),
        targets: vec![Target { master: master(HALL), channel: on_channel.then(|| channel_id("1")) }],
        action: (tool == Tool::Recording).then_some(action).flatten(),
        stream_id: streams.then(|| STREAM.to_owned()),
        event_id: (tool == Tool::ConfirmEvent).then(|| EVENT.to_owned()),
        schema_version: 1,
        rules: CallRules {
            disruptive: match tool {
                Tool::ConfirmEvent | Tool::StartStream => false,
                Tool::FirmwareUpdate | Tool::Reboot | Tool::StopStream => true,
                Tool::Recording => stop,
            },
            stops_recording: tool == Tool::Recording && stop,
            stops_streaming: tool == Tool::StopStream,
            lead_minutes: if tool == Tool::FirmwareUpdate { 120 } else { 30 },
        },
    }
}

/// The hall in a world.
pub(crate) fn hall(world: &mut Observed) -> &mut Device {
    world.team.devices.first_mut().unwrap()
}

/// A channel of the hall, counted from 0.
pub(crate) fn hall_channel(world: &mut Observed, at: usize) -> &mut Channel {
    hall(world).channels.as_mut().unwrap().get_mut(at).unwrap()
}

/// Sets the hall's recorder word of one channel, in both answers.
pub(crate) fn set_recorder(world: &mut Observed, channel: &str, word: &str) {
    let recording = Recording::from_word(word);
    world.recorders.get_mut(&master(HALL)).unwrap().insert(channel_id(channel), recording);
    let at = channel.parse::<usize>().unwrap() - 1;
    hall_channel(world, at).recording = Some(recording);
}

/// Makes the hall stream on one channel.
pub(crate) fn set_streaming(world: &mut Observed, channel: &str) {
    let at = channel.parse::<usize>().unwrap() - 1;
    let publisher = hall_channel(world, at).publishers.first_mut().unwrap();
    publisher.active = true;
    publisher.state = "started".to_owned();
}
