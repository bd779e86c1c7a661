//! A small made-up fleet for the watcher's tests: three Pearls, a camera and a Venue, all calm.

use crate::watch::findings::Finding;
use crate::watch::rules::Rules;
use crate::watch::seen::{Readings, Seen};
use jiff::tz::TimeZone;
use policy::behaviour::Behaviour;
use protocol::ask::{DEVICES, EVENTS, RECORDERS, SYSTEM};
use protocol::shown::Language;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// 2031-02-03 12:00 UTC.
pub(crate) const NOON: i64 = 1_927_886_400;

/// Rules of this `policy.yaml`.
pub(crate) fn rules(text: &str) -> Rules {
    let behaviour = Behaviour::parse(text, "policy.yaml").unwrap();
    let zone = TimeZone::get(behaviour.timezone()).unwrap();
    Rules { behaviour, zone, language: Language::English }
}

fn id(at: usize) -> String {
    format!("2030000000{at}")
}

/// The four readings.
pub(crate) fn readings() -> BTreeMap<String, Value> {
    let units = [
        ("Hall A", "Pearl-2", "4.24.6", "North"),
        ("Hall B", "Pearl Mini", "4.24.6", "North"),
        ("Hall C", "Pearl Nano", "4.24.6", "South"),
        ("Booth 4", "EC20", "3.6.44", "South"),
        ("Studio 2", "Epiphan Venue", "2.9.1", "South"),
    ];
    let all = || units.iter().enumerate();
    let channel = json!({"channel_id": "1", "name": "Program", "recording_status": {"state": "stopped"}});
    let devices: Vec<Value> = all()
        .map(|(at, (name, model, firmware, group))| {
            json!({"Id": id(at), "Name": name, "Model": model, "Firmware": firmware, "GroupName": group,
                "Status": "online", "Channels": [channel]})
        })
        .collect();
    let recorders: serde_json::Map<String, Value> =
        all().map(|(at, _)| (id(at), json!({"Channels": {"1": {"state": "stopped"}}}))).collect();
    let system: Vec<Value> = all()
        .map(|(at, _)| json!({"device_id": id(at), "cpu_load_pct": 14, "cpu_temp_c": 47, "uptime": 90_000}))
        .collect();
    BTreeMap::from([
        (DEVICES.to_owned(), json!({ "devices": devices })),
        (EVENTS.to_owned(), json!({"events": []})),
        (RECORDERS.to_owned(), json!({ "devices": recorders })),
        (SYSTEM.to_owned(), json!({ "status": system })),
    ])
}

/// Changes members of one unit in the device list. A unit that goes offline keeps its place in the other readings.
pub(crate) fn unit(files: &mut BTreeMap<String, Value>, at: usize, change: &Value) {
    let unit = files.get_mut(DEVICES).unwrap()["devices"][at].as_object_mut().unwrap();
    unit.extend(change.as_object().unwrap().clone());
}

/// Gives one unit its next event, an hour long.
pub(crate) fn event(files: &mut BTreeMap<String, Value>, at: usize, start: i64, title: &str) {
    let event = json!({"id": format!("e{at}"), "title": title, "start": start, "finish": start + 3_600});
    let list = files.get_mut(EVENTS).unwrap()["events"].as_array_mut().unwrap();
    list.retain(|entry| entry["device_id"] != json!(id(at)));
    list.push(json!({"device_id": id(at), "event": event}));
}

/// One look at these readings at this moment.
pub(crate) async fn look(files: &BTreeMap<String, Value>, now: i64) -> Seen {
    Seen::look(Readings::Files(files), now).await.unwrap()
}

/// The rooms of these findings.
pub(crate) fn names(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|one| one.room.as_str()).collect()
}
