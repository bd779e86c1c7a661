//! What is bound of the room's state, and of the names that the card shows (`seed 000, Binding`).
//!
//! Online, recording and the next event's start bind for every tool; a table adds more per tool. Whatever is missing from
//! what was read is a failed read, never a default.

use crate::call::{CheckedCall, Tool};
use crate::ids::{ChannelId, MasterId};
use crate::observed::{Channel, Device, Event, Observed, Recording, StreamDestination, Team};
use protocol::canonical::Canonical;
use protocol::guard::{stands, unguarded};
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// How many changed paths a detail names.
const PATHS: usize = 4;

/// Longest value that a detail repeats, in characters.
const ECHO: usize = 40;

/// What a tool binds beyond online, recording and the next event's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// Every channel's recorder word.
    ChannelRecorders,
    /// The destination's host.
    DestinationHost,
    /// The event's id and end.
    EventIdAndEnd,
    /// The firmware text.
    Firmware,
    /// Every channel's publishers and their states.
    Publishers,
}

/// What this tool binds beyond the three that bind for all.
#[must_use]
pub fn extras(tool: Tool) -> &'static [Extra] {
    match tool {
        Tool::ConfirmEvent => &[Extra::EventIdAndEnd],
        Tool::FirmwareUpdate => &[Extra::ChannelRecorders, Extra::Publishers, Extra::EventIdAndEnd, Extra::Firmware],
        Tool::Reboot => &[Extra::ChannelRecorders, Extra::Publishers, Extra::EventIdAndEnd],
        Tool::Recording => &[Extra::ChannelRecorders, Extra::EventIdAndEnd],
        Tool::StartStream | Tool::StopStream => {
            &[Extra::Publishers, Extra::ChannelRecorders, Extra::DestinationHost, Extra::EventIdAndEnd]
        }
    }
}

/// The fingerprint of this call's targets in what was read.
///
/// # Errors
/// `read_failed` when a device, channel, event or the destination list is missing from what was read, `target_unknown` or
/// `stream_unknown` when a list was read but lacks the target or destination.
pub fn fingerprint(call: &CheckedCall, observed: &Observed) -> Result<Canonical, Refusal> {
    let extras = extras(call.tool());
    let mut devices = Map::new();
    for target in call.targets() {
        let state = device_state(&target.master, observed, extras)?;
        devices.insert(target.master.as_str().to_owned(), Value::Object(state));
    }
    let mut whole = Map::new();
    whole.insert("devices".to_owned(), Value::Object(devices));
    if extras.contains(&Extra::DestinationHost) {
        let destination = destination_of(call, observed)?;
        whole.insert("destination_host".to_owned(), Value::from(destination.host.clone()));
    }
    canonical(whole)
}

/// What the card names for the ids that the call holds: channel, destination name and host, event title and times.
///
/// # Errors
/// `channel_unknown`, `stream_unknown` or `event_mismatch` when the thing is not there, `read_failed` when its list is missing.
pub fn referents(call: &CheckedCall, observed: &Observed) -> Result<Canonical, Refusal> {
    let mut channels = Map::new();
    for target in call.targets() {
        let Some(channel) = &target.channel else { continue };
        let device = device_of(&observed.team, &target.master)?;
        let name = channel_of(device, channel)?.name.clone();
        channels.insert(format!("{}-{channel}", target.master), Value::from(name));
    }
    let mut whole = Map::new();
    whole.insert("channels".to_owned(), Value::Object(channels));
    if call.stream_id().is_some() {
        let destination = destination_of(call, observed)?;
        let mut stream = Map::new();
        stream.insert("host".to_owned(), Value::from(destination.host.clone()));
        stream.insert("name".to_owned(), Value::from(destination.name.clone()));
        whole.insert("stream".to_owned(), Value::Object(stream));
    }
    if let Some(event) = named_event(call, observed)? {
        let mut named = Map::new();
        named.insert("end".to_owned(), event.end.map_or(Value::Null, Value::from));
        named.insert("start".to_owned(), Value::from(event.start));
        named.insert("title".to_owned(), Value::from(event.title.clone()));
        whole.insert("event".to_owned(), Value::Object(named));
    }
    canonical(whole)
}

/// The paths at which two records differ, with the values before and after, for a refusal's detail. Not escaped:
/// [`Refusal::new`] does that.
#[must_use]
pub fn differences(before: &Canonical, after: &Canonical) -> String {
    let mut paths = Vec::new();
    compare("", before.value(), after.value(), &mut paths);
    let more = paths.len().saturating_sub(PATHS);
    paths.truncate(PATHS);
    if more > 0 {
        paths.push(format!("and {more} more"));
    }
    paths.join("; ")
}

fn compare(path: &str, before: &Value, after: &Value, paths: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            paths.push(format!("{path}: {} to {}", short(before), short(after)));
        }
        return;
    };
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for name in names {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let (was, is) = (old.get(name), new.get(name));
        compare(&inner, was.unwrap_or(&Value::Null), is.unwrap_or(&Value::Null), paths);
    }
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    };
    text.chars().take(ECHO).collect()
}

fn canonical(whole: Map<String, Value>) -> Result<Canonical, Refusal> {
    Canonical::from_value(&Value::Object(whole))
        .map_err(|error| failed(&format!("what was read has no canonical form: {error}")))
}

fn failed(detail: &str) -> Refusal {
    Refusal::new(RefusalCode::ReadFailed, detail)
}

fn device_state(master: &MasterId, observed: &Observed, extras: &[Extra]) -> Result<Map<String, Value>, Refusal> {
    let device = device_of(&observed.team, master)?;
    let event = event_of(observed, master)?;
    let recorders = recorders_of(observed, device)?;
    let mut state = Map::new();
    state.insert("online".to_owned(), Value::from(device.online));
    let active = recorders.map(|words| words.values().any(|word| word.is_active()));
    state.insert("recording".to_owned(), active.map_or(Value::Null, Value::from));
    state.insert("next_event_start".to_owned(), event.map_or(Value::Null, |event| event.start.into()));
    for extra in extras {
        match extra {
            Extra::ChannelRecorders => {
                state.insert("channel_recorders".to_owned(), recorders.map_or(Value::Null, recorder_words));
            }
            // It belongs to the call, not to a device.
            Extra::DestinationHost => {}
            Extra::EventIdAndEnd => {
                state.insert("event".to_owned(), event.map_or(Value::Null, event_id_and_end));
            }
            Extra::Firmware => {
                state.insert("firmware".to_owned(), Value::from(device.firmware.clone()));
            }
            Extra::Publishers => {
                state.insert("publishers".to_owned(), publishers(device)?);
            }
        }
    }
    Ok(state)
}

fn recorder_words(recorders: &BTreeMap<ChannelId, Recording>) -> Value {
    let words = recorders.iter().map(|(channel, word)| (channel.as_str().to_owned(), Value::from(word.as_str())));
    Value::Object(words.collect())
}

fn event_id_and_end(event: &Event) -> Value {
    let mut bound = Map::new();
    bound.insert("end".to_owned(), event.end.map_or(Value::Null, Value::from));
    bound.insert("id".to_owned(), Value::from(event.id.clone()));
    Value::Object(bound)
}

/// Lists and not maps inside, since a publisher's id is any text; sorted, since the answer's order means nothing.
fn publishers(device: &Device) -> Result<Value, Refusal> {
    // An offline unit's list tells what was, not what is.
    if !device.online {
        return Ok(Value::Null);
    }
    let channels = match device.channels.as_deref() {
        Some(channels) => channels,
        None if device.is_camera() => &[],
        None => return Err(failed(&format!("unit {} comes without its channels", device.id))),
    };
    let mut bound = Map::new();
    for channel in channels {
        let mut states: Vec<_> = channel
            .publishers
            .iter()
            .map(|publisher| {
                (publisher.id.as_str(), publisher.kind.as_str(), publisher.state.as_str(), publisher.active)
            })
            .collect();
        states.sort_unstable();
        let list = states
            .into_iter()
            .map(|(id, kind, state, active)| Value::Array(vec![id.into(), kind.into(), state.into(), active.into()]));
        bound.insert(channel.id.as_str().to_owned(), Value::Array(list.collect()));
    }
    Ok(Value::Object(bound))
}

/// The one unit with this id on the list that was read.
pub(crate) fn device_of<'a>(team: &'a Team, master: &MasterId) -> Result<&'a Device, Refusal> {
    let mut found = team.devices.iter().filter(|device| device.id == *master);
    let unknown = || Refusal::new(RefusalCode::TargetUnknown, &format!("unit {master}"));
    let any = || unguarded(RefusalCode::TargetUnknown, || team.devices.first());
    let first = found.next().or_else(any).ok_or_else(unknown)?;
    match found.next() {
        None => Ok(first),
        Some(_) => Err(failed(&format!("unit {master} is on the list twice"))),
    }
}

/// The one channel with this number on the unit.
pub(crate) fn channel_of<'a>(device: &'a Device, channel: &ChannelId) -> Result<&'a Channel, Refusal> {
    let listed = device.channels.as_deref().unwrap_or_default();
    let mut found = listed.iter().filter(|one| one.id == *channel);
    let unknown = || Refusal::new(RefusalCode::ChannelUnknown, &format!("channel {channel} of unit {}", device.id));
    let any = || unguarded(RefusalCode::ChannelUnknown, || listed.first());
    let first = found.next().or_else(any).ok_or_else(unknown)?;
    match found.next() {
        None => Ok(first),
        Some(_) => Err(failed(&format!("channel {channel} is on unit {} twice", device.id))),
    }
}

/// The one destination that the call names, on the list that was read.
///
/// # Errors
/// `stream_unknown`; `read_failed` when the call names none, the list was not read, or holds it twice.
pub fn destination_of<'a>(call: &CheckedCall, observed: &'a Observed) -> Result<&'a StreamDestination, Refusal> {
    let id = call.stream_id().ok_or_else(|| failed("the call names no destination"))?;
    let streams = observed.streams.as_deref().ok_or_else(|| failed("the destinations were not read"))?;
    let mut found = streams.iter().filter(|stream| stream.id.eq_ignore_ascii_case(id));
    let unknown = || Refusal::new(RefusalCode::StreamUnknown, &format!("destination {id}"));
    let any = || unguarded(RefusalCode::StreamUnknown, || streams.first());
    let first = found.next().or_else(any).ok_or_else(unknown)?;
    match found.next() {
        None => Ok(first),
        Some(_) => Err(failed(&format!("destination {id} is on the list twice"))),
    }
}

/// The current or next event that this unit reports; `None` when it surely has none.
pub(crate) fn event_of<'a>(observed: &'a Observed, master: &MasterId) -> Result<Option<&'a Event>, Refusal> {
    match observed.events.get(master) {
        Some(event) => Ok(event.as_ref()),
        None => Err(failed(&format!("the events of unit {master} were not read"))),
    }
}

/// The event that the call names, when it names one: the one that every target reports.
pub(crate) fn named_event<'a>(call: &CheckedCall, observed: &'a Observed) -> Result<Option<&'a Event>, Refusal> {
    let Some(id) = call.event_id() else { return Ok(None) };
    let mut named = None;
    for target in call.targets() {
        let reported = event_of(observed, &target.master)?;
        let mismatch = || {
            let instead = reported.map_or("no event", |event| event.id.as_str());
            Refusal::new(RefusalCode::EventMismatch, &format!("unit {} reports {instead}", target.master))
        };
        let fits = |event: &&Event| event.id == id || !stands(RefusalCode::EventMismatch);
        named = Some(reported.filter(fits).ok_or_else(mismatch)?);
    }
    Ok(named)
}

/// Recorder words of a unit, `None` when nothing can be known: it is offline, or a camera that the answer leaves out.
fn recorders_of<'a>(
    observed: &'a Observed,
    device: &Device,
) -> Result<Option<&'a BTreeMap<ChannelId, Recording>>, Refusal> {
    if !device.online {
        return Ok(None);
    }
    let camera = device.is_camera();
    let Some(words) = observed.recorders.get(&device.id) else {
        if camera {
            return Ok(None);
        }
        return Err(failed(&format!("the recorders of unit {} were not read", device.id)));
    };
    let listed = match device.channels.as_deref() {
        Some(channels) => channels,
        None if words.is_empty() && !camera => {
            return Err(failed(&format!("unit {} comes without its channels", device.id)));
        }
        None => &[],
    };
    match listed.iter().find(|channel| !camera && !words.contains_key(&channel.id)) {
        None => Ok(Some(words)),
        Some(channel) => {
            Err(failed(&format!("the recorder of channel {} of unit {} was not read", channel.id, device.id)))
        }
    }
}

#[cfg(test)]
#[path = "fingerprint_tests.rs"]
mod tests;
