//! Which change of the world changes which tool's fingerprint.

use super::*;
use crate::call::RecordingAction;
use crate::sample::{
    HALL, LAB, NOW, STREAM, call, channel_id, event, hall, hall_channel, master, observed, set_recorder, set_streaming,
};

fn calls() -> Vec<(&'static str, CheckedCall)> {
    vec![
        ("start", call(Tool::Recording, Some(RecordingAction::Start))),
        ("stop", call(Tool::Recording, Some(RecordingAction::Stop))),
        ("start stream", call(Tool::StartStream, None)),
        ("stop stream", call(Tool::StopStream, None)),
        ("confirm", call(Tool::ConfirmEvent, None)),
        ("reboot", call(Tool::Reboot, None)),
        ("firmware", call(Tool::FirmwareUpdate, None)),
    ]
}

fn text(call: &CheckedCall, world: &Observed) -> String {
    fingerprint(call, world).unwrap().as_str().to_owned()
}

fn code(call: &CheckedCall, world: &Observed) -> Option<RefusalCode> {
    fingerprint(call, world).err().map(|refusal| refusal.code)
}

/// Names of the calls whose fingerprint this change of the world changes.
fn changed_by(change: impl Fn(&mut Observed)) -> Vec<&'static str> {
    let mut world = observed();
    change(&mut world);
    let changed = calls().into_iter().filter(|(_, call)| text(call, &observed()) != text(call, &world));
    changed.map(|(name, _)| name).collect()
}

fn set_event(world: &mut Observed, change: impl Fn(&mut Event)) {
    let mut changed = event();
    change(&mut changed);
    world.events.insert(master(HALL), Some(changed));
}

type Change = fn(&mut Observed);

const ALL: &[&str] = &["start", "stop", "start stream", "stop stream", "confirm", "reboot", "firmware"];

#[test]
fn online_recording_and_next_event_start_bind_for_every_tool() {
    assert_eq!(changed_by(|world| hall(world).online = false), ALL);
    assert_eq!(changed_by(|world| set_recorder(world, "1", "recording")), ALL);
    assert_eq!(changed_by(|world| set_recorder(world, "2", "starting")), ALL);
    assert_eq!(changed_by(|world| set_event(world, |event| event.start += 1)), ALL);
    assert_eq!(changed_by(|world| drop(world.events.insert(master(HALL), None))), ALL);
}

#[test]
fn event_id_and_end_bind_for_every_tool_and_the_title_for_none() {
    assert_eq!(changed_by(|world| set_event(world, |event| event.end = None)), ALL);
    assert_eq!(changed_by(|world| set_event(world, |event| event.id.push('x'))), ALL);
    assert!(changed_by(|world| set_event(world, |event| event.title.push('x'))).is_empty());
}

#[test]
fn channel_recorders_bind_where_the_table_says() {
    let expected = ["start", "stop", "start stream", "stop stream", "reboot", "firmware"];
    assert_eq!(changed_by(|world| set_recorder(world, "2", "disabled")), expected);
}

#[test]
fn publishers_bind_where_the_table_says() {
    let expected = ["start stream", "stop stream", "reboot", "firmware"];
    assert_eq!(changed_by(|world| set_streaming(world, "2")), expected);
    assert_eq!(changed_by(|world| drop(hall_channel(world, 0).publishers.pop())), expected);
}

#[test]
fn the_destination_host_binds_for_the_streams_and_firmware_for_the_update() {
    let moved = |world: &mut Observed| {
        world.streams.as_mut().unwrap()[0].host = "elsewhere.example.net".to_owned();
    };
    assert_eq!(changed_by(moved), ["start stream", "stop stream"]);
    assert_eq!(changed_by(|world| hall(world).firmware = "4.25.0".to_owned()), ["firmware"]);
}

#[test]
fn names_other_units_and_order_do_not_bind() {
    let calm: Vec<Change> = vec![
        |world| hall(world).name.push('x'),
        |world| hall(world).group.push('x'),
        |world| hall_channel(world, 0).name.push('x'),
        |world| world.team.devices.reverse(),
        |world| hall(world).channels.as_mut().unwrap().reverse(),
        |world| hall_channel(world, 0).publishers.reverse(),
        |world| drop(world.recorders.remove(&master(LAB))),
        |world| drop(world.events.remove(&master(LAB))),
        |world| world.read_unix += 5,
        |world| world.read_boot_ms += 5,
        |world| world.streams.as_mut().unwrap()[0].name.push('x'),
    ];
    for change in calm {
        assert!(changed_by(change).is_empty());
    }
}

#[test]
fn an_offline_unit_binds_null_and_its_old_words_do_not_count() {
    let mut world = observed();
    hall(&mut world).online = false;
    world.recorders.remove(&master(HALL));
    set_streaming(&mut world, "1");
    let bound = text(&call(Tool::Reboot, None), &world);
    for part in [r#""channel_recorders":null"#, r#""online":false"#, r#""publishers":null"#, r#""recording":null"#] {
        assert!(bound.contains(part), "{part} in {bound}");
    }
}

#[test]
fn whatever_is_missing_from_the_read_is_a_failed_read() {
    let holes: Vec<(&str, Change)> = vec![
        ("recorders", |world| drop(world.recorders.remove(&master(HALL)))),
        ("one recorder", |world| {
            world.recorders.get_mut(&master(HALL)).unwrap().remove(&channel_id("2"));
        }),
        ("event", |world| drop(world.events.remove(&master(HALL)))),
        ("twice", |world| {
            let again = hall(world).clone();
            world.team.devices.push(again);
        }),
        ("no channels", |world| {
            hall(world).channels = None;
            world.recorders.get_mut(&master(HALL)).unwrap().clear();
        }),
    ];
    for (hole, make) in holes {
        for (name, call) in calls() {
            let mut world = observed();
            make(&mut world);
            assert_eq!(code(&call, &world), Some(RefusalCode::ReadFailed), "{hole}, {name}");
        }
    }
}

#[test]
fn missing_publishers_destinations_and_units_are_refused() {
    let mut world = observed();
    hall(&mut world).channels = None;
    assert_eq!(code(&call(Tool::Reboot, None), &world), Some(RefusalCode::ReadFailed));
    let mut world = observed();
    world.streams = None;
    assert_eq!(code(&call(Tool::StopStream, None), &world), Some(RefusalCode::ReadFailed));
    assert_eq!(code(&call(Tool::Reboot, None), &world), None);
    world.streams = Some(Vec::new());
    assert_eq!(code(&call(Tool::StartStream, None), &world), Some(RefusalCode::StreamUnknown));
    let mut world = observed();
    world.team.devices.remove(0);
    assert_eq!(code(&call(Tool::Reboot, None), &world), Some(RefusalCode::TargetUnknown));
}

#[test]
fn a_camera_without_recorders_and_channels_can_be_bound() {
    let mut world = observed();
    hall(&mut world).model = "EC20".to_owned();
    hall(&mut world).channels = None;
    world.recorders.remove(&master(HALL));
    assert!(text(&call(Tool::Reboot, None), &world).contains(r#""recording":null"#));
}

#[test]
fn the_whole_form_is_as_documented() {
    let start = text(&call(Tool::Recording, Some(RecordingAction::Start)), &observed());
    let expected = format!(
        "{{\"devices\":{{\"{HALL}\":{{\"channel_recorders\":{{\"1\":\"stopped\",\"2\":\"stopped\"}},\
         \"event\":{{\"end\":{},\"id\":\"{}\"}},\"next_event_start\":{},\"online\":true,\"recording\":false}}}}}}",
        NOW + 13_600,
        crate::sample::EVENT,
        NOW + 10_000,
    );
    assert_eq!(start, expected);
}

fn names_of(call: &CheckedCall, change: impl Fn(&mut Observed)) -> Result<String, RefusalCode> {
    let mut world = observed();
    change(&mut world);
    referents(call, &world).map(|named| named.as_str().to_owned()).map_err(|refusal| refusal.code)
}

#[test]
fn referents_hold_what_the_card_names() {
    let stream = call(Tool::StartStream, None);
    let same = names_of(&stream, |_| {}).unwrap();
    assert_eq!(
        same,
        format!(
            r#"{{"channels":{{"{HALL}-1":"Program"}},"stream":{{"host":"ingest.example.net","name":"Town feed"}}}}"#
        )
    );
    for change in [
        (|world| hall_channel(world, 0).name.push('x')) as Change,
        |world| world.streams.as_mut().unwrap()[0].name.push('x'),
        |world| world.streams.as_mut().unwrap()[0].host.push('x'),
    ] {
        assert_ne!(names_of(&stream, change).unwrap(), same);
    }
    assert_eq!(names_of(&stream, |world| hall_channel(world, 1).name.push('x')).unwrap(), same);
    assert_eq!(names_of(&call(Tool::Reboot, None), |_| {}).unwrap(), r#"{"channels":{}}"#);
}

#[test]
fn a_confirmed_event_is_bound_with_title_and_times() {
    let confirm = call(Tool::ConfirmEvent, None);
    let same = names_of(&confirm, |_| {}).unwrap();
    assert!(same.contains(r#""title":"Seminar""#), "{same}");
    for change in
        [(|event| event.title.push('x')) as fn(&mut Event), |event| event.start += 1, |event| event.end = None]
    {
        assert_ne!(names_of(&confirm, |world| set_event(world, change)).unwrap(), same);
    }
    let other = names_of(&confirm, |world| set_event(world, |event| event.id.push('x')));
    assert_eq!(other, Err(RefusalCode::EventMismatch));
    let none = names_of(&confirm, |world| drop(world.events.insert(master(HALL), None)));
    assert_eq!(none, Err(RefusalCode::EventMismatch));
}

#[test]
fn missing_referents_are_refused_with_their_codes() {
    let start = call(Tool::Recording, Some(RecordingAction::Start));
    let gone = names_of(&start, |world| drop(hall(world).channels.as_mut().unwrap().remove(0)));
    assert_eq!(gone, Err(RefusalCode::ChannelUnknown));
    let stream = call(Tool::StopStream, None);
    let unlisted = names_of(&stream, |world| world.streams = Some(Vec::new()));
    assert_eq!(unlisted, Err(RefusalCode::StreamUnknown));
    let twice = names_of(&stream, |world| {
        let mut again = world.streams.as_ref().unwrap()[0].clone();
        again.id = STREAM.to_ascii_uppercase();
        world.streams.as_mut().unwrap().push(again);
    });
    assert_eq!(twice, Err(RefusalCode::ReadFailed));
}

#[test]
fn differences_name_the_paths_and_stay_short() {
    let reboot = call(Tool::Reboot, None);
    let before = fingerprint(&reboot, &observed()).unwrap();
    let mut world = observed();
    set_recorder(&mut world, "1", "recording");
    let after = fingerprint(&reboot, &world).unwrap();
    let text = differences(&before, &after);
    assert_eq!(
        text,
        format!("devices.{HALL}.channel_recorders.1: stopped to recording; devices.{HALL}.recording: false to true")
    );
    assert_eq!(differences(&before, &before), "");
    let many = |value: i64| {
        let fields: Map<_, _> = ('a'..='j').map(|name| (name.to_string(), Value::from(value))).collect();
        Canonical::from_value(&Value::Object(fields)).unwrap()
    };
    assert_eq!(differences(&many(1), &many(2)), "a: 1 to 2; b: 1 to 2; c: 1 to 2; d: 1 to 2; and 6 more");
}
