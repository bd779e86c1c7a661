//! The receipt: what the device reports right after the write, recorded beside the outcome (`issue line 2.22`). It proves
//! nothing and changes nothing; state may lag behind a command.

use crate::app::App;
use policy::call::{CheckedCall, Target, Tool};
use policy::limits::{EVENT_HORIZON, MODEL, NAME};
use policy::observed::{Device, Event, StreamDestination};
use protocol::shown::Shown;
use std::time::Duration;

/// How long the read-back may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest receipt, in characters.
const MOST: usize = 500;

/// One read-back in a sentence, or that there was none. Names of the fleet in it are shown as everywhere.
pub(crate) async fn read_back(app: &App, call: &CheckedCall) -> Shown {
    let found = tokio::time::timeout(PATIENCE, read(app, call)).await.ok().flatten();
    let text = found.as_deref().unwrap_or("the device could not be read after the write");
    Shown::capped(&format!("read back: {text}"), MOST)
}

async fn read(app: &App, call: &CheckedCall) -> Option<String> {
    let (reads, target) = (app.reads().ok()?, call.targets().first()?);
    match call.tool() {
        Tool::ConfirmEvent => {
            let until = app.clock.unix().saturating_add(EVENT_HORIZON);
            let events = reads.events(std::slice::from_ref(&target.master), until).await.ok()?;
            Some(of_event(call.event_id()?, events.get(&target.master)?.as_ref()))
        }
        Tool::FirmwareUpdate | Tool::Reboot => {
            let team = reads.team().await.ok()?;
            Some(of_unit(team.device(&target.master)?))
        }
        Tool::Recording => {
            let recorders = reads.recorders(std::slice::from_ref(&target.master)).await.ok()?;
            let channel = target.channel.as_ref()?;
            let word = recorders.get(&target.master)?.get(channel)?.as_str();
            Some(format!("channel {channel} is {word}"))
        }
        Tool::StartStream | Tool::StopStream => {
            let (team, streams) = tokio::join!(reads.team(), reads.streams());
            let (team, streams) = (team.ok()?, streams.ok()?);
            let named = call.stream_id()?;
            let destination = streams.iter().find(|stream| stream.id.eq_ignore_ascii_case(named));
            of_stream(target, team.device(&target.master)?, destination)
        }
    }
}

fn of_event(wanted: &str, reported: Option<&Event>) -> String {
    let Some(event) = reported else { return "the unit reports no event".to_owned() };
    let confirmed = match event.confirmed {
        None => "not said",
        Some(false) => "no",
        Some(true) => "yes",
    };
    let which = if event.id == wanted { "the event" } else { "another event," };
    format!("the unit reports {which} \"{}\", confirmed: {confirmed}", cut(&event.title, NAME))
}

fn of_unit(device: &Device) -> String {
    let online = if device.online { "online" } else { "offline" };
    format!("the unit is {online}, firmware {}", cut(&device.firmware, MODEL))
}

/// The named channel and the named destination; what else the unit streams is not this change.
fn of_stream(target: &Target, device: &Device, destination: Option<&StreamDestination>) -> Option<String> {
    let channel = target.channel.as_ref()?;
    let outputs = &device.channel(channel)?.publishers;
    let on = outputs.iter().filter(|publisher| publisher.active).count();
    let destination = match destination {
        None => "the destination is not on the list".to_owned(),
        Some(stream) => {
            let name = cut(&stream.name, NAME);
            let used = match (stream.locked_by.as_deref(), stream.streaming) {
                (Some(holder), _) => format!("held by {}", cut(holder, NAME)),
                (None, Some(true)) => "in use".to_owned(),
                (None, Some(false) | None) => "held by nobody".to_owned(),
            };
            format!("destination \"{name}\" is {used}")
        }
    };
    Some(format!("channel {channel} streams to {on} of its {} outputs, {destination}", outputs.len()))
}

/// A name that is too long must not push out what stands behind it.
fn cut(name: &str, most: usize) -> String {
    name.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::ids::{ChannelId, MasterId};
    use policy::observed::{Channel, Publisher};

    const HALL: &str = "19012341234";

    fn hall(active: [bool; 2]) -> Device {
        let output =
            |active: bool| Publisher { id: "0".to_owned(), kind: "rtmp".to_owned(), active, state: String::new() };
        let channel = |id: &str, outputs: Vec<Publisher>| Channel {
            id: ChannelId::new(id).unwrap(),
            name: id.to_owned(),
            recording: None,
            publishers: outputs,
        };
        Device {
            id: MasterId::new(HALL).unwrap(),
            name: "Hall A".to_owned(),
            model: "Pearl-2".to_owned(),
            firmware: "4.24.6".to_owned(),
            group: String::new(),
            online: true,
            channels: Some(vec![channel("1", active.map(output).into()), channel("2", vec![output(true)])]),
        }
    }

    fn target(channel: &str) -> Target {
        Target { master: MasterId::new(HALL).unwrap(), channel: Some(ChannelId::new(channel).unwrap()) }
    }

    fn feed(locked_by: Option<&str>, streaming: Option<bool>) -> StreamDestination {
        StreamDestination {
            id: "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d".to_owned(),
            name: "Town feed".to_owned(),
            host: "ingest.example.net".to_owned(),
            streaming,
            locked_by: locked_by.map(str::to_owned),
        }
    }

    #[test]
    fn a_streams_receipt_names_its_channel_and_its_destination() {
        let of = |active, destination: Option<&StreamDestination>| {
            of_stream(&target("1"), &hall(active), destination).unwrap()
        };
        assert_eq!(
            of([true, false], Some(&feed(Some(HALL), Some(true)))),
            "channel 1 streams to 1 of its 2 outputs, destination \"Town feed\" is held by 19012341234"
        );
        let stopped = of([false, false], Some(&feed(None, Some(false))));
        assert!(stopped.contains("streams to 0 of its 2") && stopped.ends_with("held by nobody"), "{stopped}");
        assert!(of([true, true], Some(&feed(None, Some(true)))).ends_with("is in use"));
        assert!(of([true, true], None).ends_with("the destination is not on the list"));
        assert_eq!(of_stream(&target("7"), &hall([true, true]), None), None, "a channel that is gone");
    }

    #[test]
    fn an_events_receipt_says_whether_it_is_the_one_and_whether_it_is_confirmed() {
        let event = |id: &str, confirmed| Event {
            id: id.to_owned(),
            title: "Seminar".to_owned(),
            start: 1,
            end: None,
            confirmed,
        };
        assert_eq!(of_event("a", None), "the unit reports no event");
        for (reported, words) in [
            (event("a", Some(true)), "the unit reports the event \"Seminar\", confirmed: yes"),
            (event("a", Some(false)), "the unit reports the event \"Seminar\", confirmed: no"),
            (event("a", None), "the unit reports the event \"Seminar\", confirmed: not said"),
            (event("b", Some(true)), "the unit reports another event, \"Seminar\", confirmed: yes"),
        ] {
            assert_eq!(of_event("a", Some(&reported)), words);
        }
    }

    #[test]
    fn a_units_receipt_says_whether_it_is_online_and_its_firmware() {
        let mut unit = hall([false, false]);
        assert_eq!(of_unit(&unit), "the unit is online, firmware 4.24.6");
        unit.online = false;
        assert!(of_unit(&unit).starts_with("the unit is offline"));
    }
}
