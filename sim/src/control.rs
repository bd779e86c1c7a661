//! The tests' own channel, `/_sim/…`: read the log and the state, and move the world under a proposal.

use clap::ValueEnum;
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde_json::{Map, Value, json};
use std::sync::PoisonError;

use crate::clock;
use crate::config::Caller;
use crate::faults::{Fault, Faults, ReadFault};
use crate::fleet::effects::set_stream;
use crate::fleet::rooms::event_id;
use crate::fleet::state::{Event, Room, State};
use crate::shapes::{self, Read};
use crate::web::{self, Reply};
use crate::world::World;

/// Answers one request below `/_sim/`. Every one must carry `x-sim: 1`, which no web page can send.
pub(crate) async fn answer(world: &World, request: Request<Incoming>) -> Reply {
    if request.headers().get("x-sim").map(|value| value.as_bytes()) != Some(b"1") {
        return web::text(StatusCode::FORBIDDEN, "send the header x-sim: 1");
    }
    let (parts, body) = request.into_parts();
    match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/_sim/log") => web::json(StatusCode::OK, &Value::from(world.log().entries().to_vec())),
        (&Method::GET, "/_sim/state") => web::json(StatusCode::OK, &snapshot(&mut world.state())),
        (&Method::GET, "/_sim/sign-ins") => {
            let live = world.sign_ins().map(|all| all.lock().unwrap_or_else(PoisonError::into_inner).live());
            web::json(StatusCode::OK, &Value::from(live.unwrap_or_default()))
        }
        (&Method::GET, "/_sim/model") => web::json(StatusCode::OK, &Value::from(world.model_requests())),
        (&Method::POST, "/_sim/set") => match web::read_body(body).await {
            Ok(body) => match set(world, &body) {
                Ok(()) => web::json(StatusCode::OK, &json!({"ok": true})),
                Err(words) => web::text(StatusCode::BAD_REQUEST, &words),
            },
            Err(reply) => reply,
        },
        _ => web::text(
            StatusCode::NOT_FOUND,
            "GET /_sim/log, /_sim/state, /_sim/sign-ins or /_sim/model, or POST /_sim/set",
        ),
    }
}

/// Devices, streams, events and the time, as a sign-in would read them that sees every room.
fn snapshot(state: &mut State) -> Value {
    let now_ms = clock::now_ms();
    let none = Map::new();
    let read = |state: &mut State, tool| {
        let call = Read { caller: Caller::Everyone, tool, arguments: &none, now_ms };
        call.run(state).unwrap_or(Value::Null)
    };
    let devices = read(state, "get_devices_in_my_team");
    let events = read(state, "get_current_or_next_cms_events_for_devices");
    json!({
        "now_ms": now_ms,
        "devices": devices["devices"],
        "events": events["events"],
        "streams": shapes::streams(state)["streams"],
    })
}

fn set(world: &World, body: &[u8]) -> Result<(), String> {
    let wish: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| "the body must be a JSON object".to_owned())?;
    let now_ms = clock::now_ms();
    if let Some(id) = wish.get("device") {
        let mut state = world.state();
        state.settle(now_ms);
        return set_device(&mut state, text(id, "device")?, &wish, now_ms / 1000);
    }
    if let Some(id) = wish.get("stream") {
        return set_destination(&mut world.state(), text(id, "stream")?, &wish);
    }
    known(&wish, &["team_id", "fault", "once", "read_fault"])?;
    if let Some(team) = wish.get("team_id") {
        world.state().team_id = text_or_null(team, "team_id")?.map(str::to_owned);
    }
    if let Some(kind) = wish.get("fault") {
        let kind = match text_or_null(kind, "fault")? {
            None => None,
            Some(word) => Some(Fault::from_str(word, false)?),
        };
        let once = wish.get("once").map_or(Ok(false), |once| flag(once, "once"))?;
        *world.faults() = Faults::new(kind, once);
    }
    if let Some(fault) = wish.get("read_fault") {
        set_read_fault(world, fault)?;
    }
    Ok(())
}

fn set_read_fault(world: &World, fault: &Value) -> Result<(), String> {
    if fault.is_null() {
        world.read_faults().clear();
        return Ok(());
    }
    let fault = object(fault, "read_fault", &["tool", "kind"])?;
    let tool = text(&fault["tool"], "read_fault.tool")?;
    let kind = ReadFault::from_word(text(&fault["kind"], "read_fault.kind")?)
        .ok_or("read_fault.kind: error, unauthorized, text, mismatch, empty or stalls")?;
    world.read_faults().insert(tool.to_owned(), kind);
    Ok(())
}

fn set_destination(state: &mut State, id: &str, wish: &Map<String, Value>) -> Result<(), String> {
    known(wish, &["stream", "name", "url", "listed"])?;
    let stream = state.streams.iter_mut().find(|stream| stream.id == id).ok_or("there is no such stream")?;
    if let Some(name) = wish.get("name") {
        text(name, "name")?.clone_into(&mut stream.name);
    }
    if let Some(url) = wish.get("url") {
        text(url, "url")?.clone_into(&mut stream.url);
    }
    if let Some(listed) = wish.get("listed") {
        stream.listed = flag(listed, "listed")?;
    }
    Ok(())
}

fn set_device(state: &mut State, id: &str, wish: &Map<String, Value>, now: i64) -> Result<(), String> {
    known(
        wish,
        &["device", "online", "listed", "recording", "event", "name", "channel_name", "firmware", "cms", "streaming"],
    )?;
    if let Some(streaming) = wish.get("streaming") {
        set_streaming(state, id, streaming, now)?;
    }
    let room = state.any_room_mut(id).ok_or("there is no such device")?;
    if let Some(online) = wish.get("online") {
        room.online = flag(online, "online")?;
        room.outage = None;
        room.state_since = now;
    }
    if let Some(listed) = wish.get("listed") {
        room.listed = flag(listed, "listed")?;
    }
    if let Some(name) = wish.get("name") {
        text(name, "name")?.clone_into(&mut room.name);
    }
    if let Some(firmware) = wish.get("firmware") {
        text(firmware, "firmware")?.clone_into(&mut room.firmware);
    }
    if let Some(cms) = wish.get("cms") {
        room.cms = text_or_null(cms, "cms")?.map(str::to_owned);
    }
    if let Some(recording) = wish.get("recording") {
        set_recording(room, recording, now)?;
    }
    if let Some(named) = wish.get("channel_name") {
        let named = object(named, "channel_name", &["channel", "name"])?;
        let name = text(&named["name"], "channel_name.name")?;
        let channel = text(&named["channel"], "channel_name.channel")?;
        let channel = room.channel_mut(channel).ok_or("there is no such channel")?;
        name.clone_into(&mut channel.name);
    }
    if let Some(event) = wish.get("event") {
        set_event(room, event, now)?;
    }
    Ok(())
}

fn set_recording(room: &mut Room, recording: &Value, now: i64) -> Result<(), String> {
    let recording = object(recording, "recording", &["channel", "state"])?;
    let state = text(&recording["state"], "recording.state")?;
    let channel = text(&recording["channel"], "recording.channel")?;
    let channel = room.channel_mut(channel).ok_or("there is no such channel")?;
    state.clone_into(&mut channel.recorder);
    channel.recorder_since = now;
    Ok(())
}

/// `null` clears the room's timeline; an object makes it the only event and pairs the room if it had no CMS.
fn set_event(room: &mut Room, event: &Value, now: i64) -> Result<(), String> {
    if event.is_null() {
        room.events.clear();
        return Ok(());
    }
    let event = object(event, "event", &["start_in", "end_in", "id", "title"])?;
    let seconds = |name: &str| {
        event[name].as_i64().map(|ahead| now + ahead).ok_or_else(|| format!("event.{name}: whole seconds from now"))
    };
    let start = seconds("start_in")?;
    let number = u64::try_from(room.number).unwrap_or_default() + 70_000;
    let only = Event {
        id: text_or_null(&event["id"], "event.id")?.map_or_else(|| event_id(number, start), str::to_owned),
        title: text_or_null(&event["title"], "event.title")?.unwrap_or("Set by a test").to_owned(),
        start,
        finish: seconds("end_in")?,
        confirmed: false,
    };
    room.events = vec![only];
    room.cms.get_or_insert_with(|| "epiphan".to_owned());
    Ok(())
}

/// `null` ends every stream of the device; `{"channel","stream_id"}` starts one.
fn set_streaming(state: &mut State, id: &str, wish: &Value, now: i64) -> Result<(), String> {
    if wish.is_null() {
        let held: Vec<(usize, (String, String))> = state
            .streams
            .iter()
            .enumerate()
            .filter_map(|(place, stream)| Some((place, stream.held_by.clone()?)))
            .filter(|(_, (device, _))| device == id)
            .collect();
        for (place, here) in held {
            set_stream(state, place, &here, None);
        }
        return Ok(());
    }
    let wish = object(wish, "streaming", &["channel", "stream_id"])?;
    let wanted = text(&wish["stream_id"], "streaming.stream_id")?;
    let here = (id.to_owned(), text(&wish["channel"], "streaming.channel")?.to_owned());
    let place = state.streams.iter().position(|stream| stream.id == wanted).ok_or("there is no such stream")?;
    set_stream(state, place, &here, Some(now));
    Ok(())
}

fn known(wish: &Map<String, Value>, names: &[&str]) -> Result<(), String> {
    match wish.keys().find(|key| !names.contains(&key.as_str())) {
        Some(odd) => Err(format!("unknown key {odd:?}; known here: {}", names.join(", "))),
        None => Ok(()),
    }
}

/// The object's values under exactly these keys; a missing one reads as null.
fn object<'v>(value: &'v Value, name: &str, keys: &[&str]) -> Result<&'v Value, String> {
    let fields = value.as_object().ok_or_else(|| format!("{name} must be an object"))?;
    known(fields, keys)?;
    Ok(value)
}

fn text<'v>(value: &'v Value, name: &str) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| format!("{name} must be text"))
}

fn text_or_null<'v>(value: &'v Value, name: &str) -> Result<Option<&'v str>, String> {
    if value.is_null() {
        return Ok(None);
    }
    text(value, name).map(Some)
}

fn flag(value: &Value, name: &str) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("{name} must be true or false"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Tokens;
    use crate::fleet::rooms::fleet;
    use crate::log::CallLog;

    fn world() -> World {
        let tokens = Tokens::new("n".to_owned(), "s".to_owned()).expect("two tokens");
        let state = fleet(30, 30, clock::now_ms());
        World::new(tokens, state, CallLog::default(), Faults::default())
    }

    fn set_json(world: &World, wish: &Value) -> Result<(), String> {
        set(world, wish.to_string().as_bytes())
    }

    #[test]
    fn a_test_moves_a_device_in_every_way() {
        let world = world();
        let (id, stream) = {
            let state = world.state();
            (state.rooms[8].id.clone(), state.streams[3].id.clone())
        };
        let wish = json!({
            "device": id, "online": false, "name": "Renamed", "firmware": "4.0.0",
            "recording": {"channel": "1", "state": "starting"},
            "channel_name": {"channel": "2", "name": "Slides"},
            "event": {"start_in": 600, "end_in": 1200, "title": "Hearing"},
            "streaming": {"channel": "2", "stream_id": stream},
        });
        set_json(&world, &wish).expect("set");
        let snapshot = snapshot(&mut world.state());
        let device = &snapshot["devices"][8];
        assert_eq!(
            (&device["Status"], &device["Name"], &device["Firmware"]),
            (&json!("offline"), &json!("Renamed"), &json!("4.0.0"))
        );
        assert_eq!(device["Channels"][0]["recording_status"]["state"], "starting");
        assert_eq!(device["Channels"][1]["name"], "Slides");
        assert_eq!(snapshot["streams"][3]["LockByDevice"], json!(id));
        let events = snapshot["events"].as_array().expect("a list");
        let mine = events.iter().find(|entry| entry["device_id"] == json!(id));
        assert_eq!(mine.expect("an event")["event"]["title"], "Hearing");

        set_json(&world, &json!({"device": id, "event": null, "streaming": null})).expect("set");
        assert!(world.state().rooms[8].events.is_empty());
        assert!(world.state().streams[3].held_by.is_none());
        set_json(&world, &json!({"device": id, "listed": false})).expect("set");
        assert!(world.state().room(Caller::Normal, &id).is_none());
    }

    #[test]
    fn faults_and_the_team_can_be_set() {
        let world = world();
        set_json(&world, &json!({"fault": "stalls", "once": true})).expect("set");
        assert_eq!(world.faults().next(), Some(Fault::Stalls));
        assert_eq!(world.faults().next(), None);
        let read = json!({"read_fault": {"tool": "get_stream_endpoints", "kind": "text"}});
        set_json(&world, &read).expect("set");
        assert_eq!(world.read_faults().len(), 1);
        set_json(&world, &json!({"read_fault": null, "fault": null})).expect("set");
        assert_eq!(world.read_faults().len(), 0);
        set_json(&world, &json!({"team_id": "t"})).expect("set");
        assert_eq!(world.state().team_id.as_deref(), Some("t"));
    }

    #[test]
    fn a_wish_that_is_not_understood_is_refused() {
        let world = world();
        let id = world.state().rooms[0].id.clone();
        for odd in [
            json!([]),
            json!({"device": "1"}),
            json!({"device": id, "colour": "red"}),
            json!({"device": id, "online": "yes"}),
            json!({"device": id, "recording": {"channel": "7", "state": "x"}}),
            json!({"device": id, "event": {"start_in": "soon", "end_in": 1}}),
            json!({"fault": "explodes"}),
            json!({"read_fault": {"tool": "x", "kind": "odd"}}),
        ] {
            assert!(set_json(&world, &odd).is_err(), "{odd}");
        }
    }
}
