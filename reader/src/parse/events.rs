//! Shape D: the current or next event of each device, the live list and the fixture map.

use super::time::unix_seconds;
use super::{Object, ShapeError, by_device, container, entry_of, id_text, object, pick, text};
use policy::ids::MasterId;
use policy::observed::Event;
use serde_json::Value;
use std::collections::BTreeMap;

const TOP: &str = "event list";
const EVENT: &str = "event";

/// The events of those asked devices that the answer names (`facts 1.6, shape D`). `None` means that the answer says
/// plainly that nothing is scheduled; a device that is absent from the map is absent from the answer, which proves
/// nothing.
///
/// # Errors
/// No list, a device named twice, an event without id or start, or one that ends before it starts.
pub fn events(value: &Value, asked: &[MasterId]) -> Result<BTreeMap<MasterId, Option<Event>>, ShapeError> {
    let found = container(value, &["events", "devices"], TOP)?;
    let found = found.ok_or(ShapeError::new(TOP, "no list of events"))?;
    let entries = by_device(found, TOP)?;
    let mut events = BTreeMap::new();
    for id in asked {
        if let Some(entry) = entry_of(&entries, id) {
            events.insert(id.clone(), scheduled(entry)?);
        }
    }
    Ok(events)
}

fn scheduled(entry: &Value) -> Result<Option<Event>, ShapeError> {
    // The fixtures also write null for a device with nothing scheduled.
    if entry.is_null() {
        return Ok(None);
    }
    let entry = object(entry, EVENT)?;
    if let Some(found) = pick(entry, &["event", "Event"], EVENT)? {
        return event(object(found, EVENT)?).map(Some);
    }
    // Only an entry that plainly says nothing but whose it is means that nothing is scheduled.
    let label = [
        "device_id",
        "deviceId",
        "DeviceId",
        "id",
        "Id",
        "name",
        "Name",
        "device_name",
        "cms",
        "Cms",
        "event",
        "Event",
    ];
    if entry.keys().any(|name| !label.contains(&name.as_str())) {
        return Err(ShapeError::new(EVENT, "an entry that is neither an event nor none"));
    }
    Ok(None)
}

fn event(event: &Object) -> Result<Event, ShapeError> {
    let id = pick(event, &["id", "Id", "ID", "event_id"], EVENT)?;
    let id = id_text(id.ok_or(ShapeError::new(EVENT, "an event without an id"))?, EVENT)?;
    if id.is_empty() {
        return Err(ShapeError::new(EVENT, "an event without an id"));
    }
    let start = pick(event, &["start", "Start"], EVENT)?;
    let start = unix_seconds(start.ok_or(ShapeError::new(EVENT, "an event without a start"))?)?;
    let end = end(event)?;
    if end.is_some_and(|end| end < start) {
        return Err(ShapeError::new(EVENT, "an event that ends before it starts"));
    }
    let confirmed = pick(event, &["confirmed", "Confirmed"], EVENT)?.and_then(Value::as_bool);
    Ok(Event { id, title: text(event, &["title", "Title"], EVENT)?, start, end, confirmed })
}

// Spellings may write one instant in two ways, so the instants are compared, not the words.
fn end(event: &Object) -> Result<Option<i64>, ShapeError> {
    let mut end = None;
    for name in ["end", "End", "finish", "Finish"] {
        let Some(value) = event.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let found = unix_seconds(value)?;
        if end.is_some_and(|end| end != found) {
            return Err(ShapeError::new(EVENT, "an event with two ends"));
        }
        end = Some(found);
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::samples::{HALL, LAB, master};
    use serde_json::json;

    const LIVE_ID: &str = "k3x9w0c1v7b5n2m8q4zz:1927880000";

    fn of(value: &Value) -> Result<Option<Option<Event>>, ShapeError> {
        Ok(events(value, &[master(HALL)])?.remove(&master(HALL)))
    }

    fn seminar() -> Event {
        Event {
            id: LIVE_ID.into(),
            title: "Seminar".into(),
            start: 1_927_882_800,
            end: Some(1_927_886_400),
            confirmed: Some(true),
        }
    }

    #[test]
    fn the_live_list_and_the_fixture_map_are_read() {
        let live = json!({"events": [{"device_id": HALL, "event": {"id": LIVE_ID, "title": "Seminar", "cms": "epiphan",
            "status": "scheduled", "confirmed": true, "start": "2031-02-03T11:00:00Z", "finish": "2031-02-03T12:00:00Z",
            "devices": [{"device_id": HALL, "channels": [{"channel_id": "1", "recording": true}]}]}}]});
        let map = json!({"devices": {HALL: {"event": {"id": LIVE_ID, "title": "Seminar",
            "start": "2031-02-03T11:00Z", "end": 1_927_886_400}}}});
        assert_eq!(of(&live).unwrap(), Some(Some(seminar())));
        // The map does not say whether the event is confirmed.
        assert_eq!(of(&map).unwrap(), Some(Some(Event { confirmed: None, ..seminar() })));
        let open = json!({"events": [{"device_id": HALL, "event": {"id": 7, "start": "1927882800", "finish": null}}]});
        let open = of(&open).unwrap().unwrap().unwrap();
        assert_eq!((open.id.as_str(), open.end), ("7", None));
    }

    #[test]
    fn nothing_scheduled_and_not_mentioned_are_two_things() {
        for value in [
            json!({"events": [{"device_id": HALL, "event": null}]}),
            json!({"events": [{"device_id": HALL}]}),
            json!({"devices": {HALL: {"event": null}}}),
            json!({"devices": {HALL: {}}}),
            json!({"devices": {HALL: null}}),
        ] {
            assert_eq!(of(&value).unwrap(), Some(None), "{value}");
        }
        for value in [json!({"events": []}), json!({"devices": {}}), json!({"events": [{"device_id": LAB}]})] {
            assert_eq!(of(&value).unwrap(), None, "{value}");
        }
    }

    #[test]
    fn what_is_not_understood_is_a_failure_and_never_no_event() {
        let with = |event: Value| json!({"events": [{"device_id": HALL, "event": event}]});
        let good = json!({"id": "a", "start": "2031-02-03T11:00:00Z"});
        for value in [
            json!({}),
            json!(null),
            json!("nothing scheduled"),
            json!({"events": null}),
            json!({"events": [], "devices": {}}),
            json!({"events": [{"event": good}]}),
            json!({"events": [null]}),
            json!({"events": [{"device_id": "Hall", "event": good}]}),
            json!({"events": [{"device_id": HALL, "event": good}, {"device_id": HALL, "event": null}]}),
            json!({"events": [{"device_id": HALL, "id": "a", "start": "2031-02-03T11:00:00Z"}]}),
            json!({"events": [{"device_id": HALL, "events": [good]}]}),
            with(json!("Seminar")),
            with(json!([good])),
            with(json!({"id": "a"})),
            with(json!({"start": "2031-02-03T11:00:00Z"})),
            with(json!({"id": "", "start": "2031-02-03T11:00:00Z"})),
            with(json!({"id": {}, "start": "2031-02-03T11:00:00Z"})),
            with(json!({"id": "a", "start": "tomorrow"})),
            with(json!({"id": "a", "start": "2031-02-03T11:00:00Z", "end": "later"})),
            with(json!({"id": "a", "start": "2031-02-03T11:00:00Z", "end": "2031-02-03T10:00:00Z"})),
            with(json!({"id": "a", "start": 1_927_882_800, "end": 1_927_886_400, "finish": 1_927_886_401})),
        ] {
            assert!(of(&value).is_err(), "{value}");
        }
    }

    #[test]
    fn one_end_in_two_spellings_is_one_end() {
        let value = json!({"events": [{"device_id": HALL, "event": {"id": LIVE_ID, "title": "Seminar",
            "confirmed": true, "start": 1_927_882_800, "end": "2031-02-03T12:00:00Z", "finish": "1927886400"}}]});
        assert_eq!(of(&value).unwrap(), Some(Some(seminar())));
    }
}
