//! The room rule: a change that can hurt a room in use is refused while the room is in use (`seed 000, Disruptive tools`).

use crate::call::CheckedCall;
use crate::ids::ChannelId;
use crate::limits;
use crate::observed::{Channel, Device, Event, Recording};
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::{Shown, Worded};
use std::collections::{BTreeMap, BTreeSet};

/// One thing that stands against a disruptive change now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// An event is on.
    EventLive {
        /// Its title, as the device gives it.
        title: String,
    },
    /// An event starts inside the window.
    EventSoon {
        /// Its title, as the device gives it.
        title: String,
        /// Minutes until it starts, rounded up, at least 1.
        minutes: i64,
    },
    /// Something records, or may be recording.
    Recording {
        /// The channels; empty when the unit's channels are not known.
        channels: Vec<ChannelId>,
    },
    /// Something streams, or may be streaming.
    Streaming {
        /// The channels; empty when the unit's channels are not known.
        channels: Vec<ChannelId>,
    },
}

/// What stands against this call on this device at `now` (Unix seconds); nothing for a call that is not disruptive.
///
/// Unknown counts as in use, and so does a recording that only one of the two answers reports. What the call itself ends
/// never blocks it: a recording or stream on its own channel, when its entry says so.
#[must_use]
pub fn room_rule(
    call: &CheckedCall,
    device: &Device,
    recorders: &BTreeMap<ChannelId, Recording>,
    event: Option<&Event>,
    now: i64,
) -> Vec<Blocked> {
    let rules = call.rules();
    if !rules.disruptive {
        return Vec::new();
    }
    let own = |channel: &ChannelId| {
        call.targets().iter().any(|target| target.master == device.id && target.channel.as_ref() == Some(channel))
    };
    let blind = device.channels.is_none() && !device.is_camera();
    let recording: Vec<_> = recording_channels(device, recorders)
        .into_iter()
        .filter(|channel| !(rules.stops_recording && own(channel)))
        .collect();
    let streaming: Vec<_> =
        streaming_channels(device).into_iter().filter(|channel| !(rules.stops_streaming && own(channel))).collect();
    let mut blocked = Vec::new();
    let unknown = blind && recorders.is_empty();
    if (!recording.is_empty() || unknown) && stands(RefusalCode::RoomRecording) {
        blocked.push(Blocked::Recording { channels: recording });
    }
    if (!streaming.is_empty() || blind) && stands(RefusalCode::RoomStreaming) {
        blocked.push(Blocked::Streaming { channels: streaming });
    }
    blocked.extend(event.and_then(|event| event_rule(event, rules.lead_minutes, now)));
    blocked
}

fn recording_channels(device: &Device, recorders: &BTreeMap<ChannelId, Recording>) -> BTreeSet<ChannelId> {
    let listed = device.channels.as_deref().unwrap_or_default();
    let from_list = listed.iter().filter(|channel| may_record(device, channel, recorders)).map(|channel| &channel.id);
    let from_recorders = recorders.iter().filter(|(_, word)| word.is_active()).map(|(channel, _)| channel);
    from_list.chain(from_recorders).cloned().collect()
}

fn may_record(device: &Device, channel: &Channel, recorders: &BTreeMap<ChannelId, Recording>) -> bool {
    let words = [recorders.get(&channel.id).copied(), channel.recording];
    let known = words.iter().flatten().count() > 0;
    // A camera has no recorder, so silence about it is not a missing answer.
    words.into_iter().flatten().any(Recording::is_active) || !(known || device.is_camera())
}

fn streaming_channels(device: &Device) -> Vec<ChannelId> {
    let listed = device.channels.as_deref().unwrap_or_default();
    let live = listed.iter().filter(|channel| channel.publishers.iter().any(|publisher| publisher.active));
    live.map(|channel| channel.id.clone()).collect()
}

fn event_rule(event: &Event, lead_minutes: u32, now: i64) -> Option<Blocked> {
    let until_start = event.start.saturating_sub(now);
    if until_start <= 0 {
        let on = event.end.is_none_or(|end| end > now);
        return (on && stands(RefusalCode::EventLive)).then(|| Blocked::EventLive { title: event.title.clone() });
    }
    let minutes = until_start.saturating_add(59) / 60;
    (until_start <= i64::from(lead_minutes) * 60 && stands(RefusalCode::EventSoon))
        .then(|| Blocked::EventSoon { title: event.title.clone(), minutes: minutes.max(1) })
}

impl Blocked {
    /// The refusal with which a run ends.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::EventLive { title } => Refusal::new(RefusalCode::EventLive, &format!("event \"{title}\"")),
            Self::EventSoon { title, minutes } => {
                let unit = if *minutes == 1 { "minute" } else { "minutes" };
                Refusal::new(RefusalCode::EventSoon, &format!("event \"{title}\" in {minutes} {unit}"))
            }
            Self::Recording { channels } => Refusal::new(RefusalCode::RoomRecording, &detail(channels)),
            Self::Streaming { channels } => Refusal::new(RefusalCode::RoomStreaming, &detail(channels)),
        }
    }

    /// The note on the card: information, not a gate.
    #[must_use]
    pub fn words(&self) -> Worded {
        match self {
            Self::EventLive { title } => {
                let title = Shown::capped(title, limits::NAME);
                Worded::new(
                    format!("It would be refused now: the event \"{title}\" is on."),
                    format!("Se rechazaría ahora: el evento \"{title}\" está en curso."),
                )
            }
            Self::EventSoon { title, minutes } => event_soon(&Shown::capped(title, limits::NAME), *minutes),
            Self::Recording { channels } => recording_words(channels),
            Self::Streaming { channels } => streaming_words(channels),
        }
    }
}

fn detail(channels: &[ChannelId]) -> String {
    match channels {
        [] => "the unit's channels are not known".to_owned(),
        [one] => format!("channel {one}"),
        _ => format!("channels {}", list(channels)),
    }
}

fn list(channels: &[ChannelId]) -> String {
    channels.iter().map(ChannelId::as_str).collect::<Vec<_>>().join(", ")
}

fn event_soon(title: &Shown, minutes: i64) -> Worded {
    let (en, es) = if minutes == 1 { ("minute", "minuto") } else { ("minutes", "minutos") };
    Worded::new(
        format!("It would be refused now: the event \"{title}\" starts in {minutes} {en}."),
        format!("Se rechazaría ahora: el evento \"{title}\" empieza en {minutes} {es}."),
    )
}

fn recording_words(channels: &[ChannelId]) -> Worded {
    match channels {
        [] => Worded::new(
            "It would be refused now: whether the room is recording is not known.",
            "Se rechazaría ahora: no se sabe si la sala está grabando.",
        ),
        [one] => Worded::new(
            format!("It would be refused now: the room is recording on channel {one}."),
            format!("Se rechazaría ahora: la sala está grabando en el canal {one}."),
        ),
        more => Worded::new(
            format!("It would be refused now: the room is recording on channels {}.", list(more)),
            format!("Se rechazaría ahora: la sala está grabando en los canales {}.", list(more)),
        ),
    }
}

fn streaming_words(channels: &[ChannelId]) -> Worded {
    match channels {
        [] => Worded::new(
            "It would be refused now: whether the room is streaming is not known.",
            "Se rechazaría ahora: no se sabe si la sala está transmitiendo.",
        ),
        [one] => Worded::new(
            format!("It would be refused now: the room is streaming on channel {one}."),
            format!("Se rechazaría ahora: la sala está transmitiendo en el canal {one}."),
        ),
        more => Worded::new(
            format!("It would be refused now: the room is streaming on channels {}.", list(more)),
            format!("Se rechazaría ahora: la sala está transmitiendo en los canales {}.", list(more)),
        ),
    }
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
