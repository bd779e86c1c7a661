//! The state of a room in words.

use super::name;
use crate::ids::ChannelId;
use crate::observed::{Device, Publisher, RecorderWord, Recording};
use protocol::shown::Worded;
use std::collections::BTreeMap;

/// Yes or no.
#[must_use]
pub fn yes_no(yes: bool) -> Worded {
    if yes { Worded::new("Yes", "Sí") } else { Worded::new("No", "No") }
}

/// Online or offline.
#[must_use]
pub fn online(online: bool) -> Worded {
    if online { Worded::new("Online", "En línea") } else { Worded::new("Offline", "Sin conexión") }
}

/// What can't be known, for instance of an offline unit.
#[must_use]
pub fn not_known() -> Worded {
    Worded::new("Not known", "No se sabe")
}

/// A recorder's state.
#[must_use]
pub fn recorder_word(recording: Recording) -> Worded {
    let (Recording::Active(word) | Recording::Idle(word)) = recording;
    let (en, es) = match word {
        RecorderWord::Disabled => ("recorder switched off", "grabador desactivado"),
        RecorderWord::Error => ("recorder reports a problem", "el grabador informa de un problema"),
        RecorderWord::Other => ("in a state we don't know", "en un estado desconocido"),
        RecorderWord::Paused => ("recording, paused", "grabando, en pausa"),
        RecorderWord::Recording => ("recording", "grabando"),
        RecorderWord::Starting => ("about to record", "a punto de grabar"),
        RecorderWord::Stopped => ("not recording", "sin grabar"),
    };
    Worded::new(en, es)
}

/// A publisher's state.
#[must_use]
pub fn publisher_word(publisher: &Publisher) -> Worded {
    let state = name(&publisher.state);
    match (publisher.active, publisher.state.as_str()) {
        (false, _) => Worded::new("not streaming", "sin transmitir"),
        (true, "started" | "streaming") => Worded::new("streaming", "transmitiendo"),
        (true, _) => {
            Worded::new(format!("may be streaming ({state})"), format!("puede que esté transmitiendo ({state})"))
        }
    }
}

/// The recorders of a unit: which channels record, or that none does. `None` when nothing was read.
#[must_use]
pub fn recording_of(recorders: Option<&BTreeMap<ChannelId, Recording>>) -> Worded {
    let Some(recorders) = recorders else { return not_known() };
    let active = recorders.iter().filter(|(_, word)| word.is_active());
    let lines: Vec<_> = active.map(|(channel, word)| on_channel(channel, &recorder_word(*word))).collect();
    joined(&lines).unwrap_or_else(|| Worded::new("Not recording", "Sin grabar"))
}

/// The streams of a unit: which channels stream, or that none does.
#[must_use]
pub fn streaming_of(device: &Device) -> Worded {
    if !device.online || (device.channels.is_none() && !device.is_camera()) {
        return not_known();
    }
    let channels = device.channels.as_deref().unwrap_or_default();
    let active = channels.iter().flat_map(|channel| {
        let live = channel.publishers.iter().filter(|publisher| publisher.active);
        live.map(|publisher| on_channel(&channel.id, &publisher_word(publisher)))
    });
    joined(&active.collect::<Vec<_>>()).unwrap_or_else(|| Worded::new("Not streaming", "Sin transmitir"))
}

fn on_channel(channel: &ChannelId, words: &Worded) -> Worded {
    Worded::new(format!("Channel {channel}: {}", words.en), format!("Canal {channel}: {}", words.es))
}

fn joined(lines: &[Worded]) -> Option<Worded> {
    let each = |form: fn(&Worded) -> &str| lines.iter().map(form).collect::<Vec<_>>().join("; ");
    (!lines.is_empty()).then(|| Worded::new(each(|line| &line.en), each(|line| &line.es)))
}

/// That no event is ahead.
#[must_use]
pub fn no_event() -> Worded {
    Worded::new("No event", "Ningún evento")
}

/// An event with its times, which the caller words with their zone.
#[must_use]
pub fn event_line(title: &str, start: &Worded, end: Option<&Worded>) -> Worded {
    let title = name(title);
    match end {
        Some(end) => Worded::new(
            format!("\"{title}\", from {} to {}", start.en, end.en),
            format!("\"{title}\", de {} a {}", start.es, end.es),
        ),
        None => Worded::new(
            format!("\"{title}\", from {}, no end given", start.en),
            format!("\"{title}\", desde {}, sin hora de fin", start.es),
        ),
    }
}
