//! The room rule, row by row (`seed 000, Disruptive tools`).

use super::*;
use crate::call::{RecordingAction, Tool};
use crate::observed::Observed;
use crate::sample::{HALL, NOW, call, channel_id, hall, hall_channel, master, observed, set_recorder, set_streaming};

fn blocked(call: &CheckedCall, world: &Observed) -> Vec<&'static str> {
    let device = world.team.device(&master(HALL)).unwrap();
    let recorders = &world.recorders[&master(HALL)];
    let event = world.events[&master(HALL)].as_ref();
    let found = room_rule(call, device, recorders, event, NOW);
    found.iter().map(|one| one.refusal().code.as_str()).collect()
}

fn with_event(start: i64, end: Option<i64>) -> Observed {
    let mut world = observed();
    let event = Event {
        id: "e".to_owned(),
        title: "Seminar".to_owned(),
        start: NOW + start,
        end: end.map(|e| NOW + e),
        confirmed: None,
    };
    world.events.insert(master(HALL), Some(event));
    world
}

fn reboot() -> CheckedCall {
    call(Tool::Reboot, None)
}

fn stop() -> CheckedCall {
    call(Tool::Recording, Some(RecordingAction::Stop))
}

#[test]
fn every_recorder_word_but_stopped_and_disabled_blocks_a_reboot() {
    for (word, expected) in [
        ("stopped", &[][..]),
        ("disabled", &[]),
        ("Stopped", &[]),
        ("recording", &["room_recording"]),
        ("started", &["room_recording"]),
        ("starting", &["room_recording"]),
        ("paused", &["room_recording"]),
        ("error", &["room_recording"]),
        ("", &["room_recording"]),
        ("napping", &["room_recording"]),
    ] {
        for channel in ["1", "2"] {
            let mut world = observed();
            set_recorder(&mut world, channel, word);
            assert_eq!(blocked(&reboot(), &world), expected, "{word} on {channel}");
        }
    }
}

#[test]
fn a_recording_that_only_one_answer_reports_blocks() {
    let mut world = observed();
    hall_channel(&mut world, 1).recording = Some(Recording::from_word("recording"));
    assert_eq!(blocked(&reboot(), &world), ["room_recording"]);
    let mut world = observed();
    world.recorders.get_mut(&master(HALL)).unwrap().insert(channel_id("9"), Recording::from_word("recording"));
    assert_eq!(blocked(&reboot(), &world), ["room_recording"]);
}

#[test]
fn a_channel_without_any_word_counts_as_recording_except_on_a_camera() {
    let mut world = observed();
    hall_channel(&mut world, 1).recording = None;
    world.recorders.get_mut(&master(HALL)).unwrap().remove(&channel_id("2"));
    assert_eq!(blocked(&reboot(), &world), ["room_recording"]);
    hall(&mut world).model = "EC20".to_owned();
    assert!(blocked(&reboot(), &world).is_empty());
}

#[test]
fn a_unit_whose_channels_are_not_known_counts_as_in_use_except_a_camera() {
    let mut world = observed();
    hall(&mut world).channels = None;
    world.recorders.get_mut(&master(HALL)).unwrap().clear();
    assert_eq!(blocked(&reboot(), &world), ["room_recording", "room_streaming"]);
    hall(&mut world).model = "EC20".to_owned();
    assert!(blocked(&reboot(), &world).is_empty());
}

#[test]
fn any_stream_blocks_a_reboot_and_a_firmware_update() {
    for channel in ["1", "2"] {
        let mut world = observed();
        set_streaming(&mut world, channel);
        assert_eq!(blocked(&reboot(), &world), ["room_streaming"]);
        assert_eq!(blocked(&call(Tool::FirmwareUpdate, None), &world), ["room_streaming"]);
    }
}

#[test]
fn what_the_call_itself_ends_does_not_block_it_and_everything_else_does() {
    let stop_stream = call(Tool::StopStream, None);
    for (channel, recording_stop, stream_stop) in
        [("1", &[][..], &["room_recording"][..]), ("2", &["room_recording"], &["room_recording"])]
    {
        let mut world = observed();
        set_recorder(&mut world, channel, "recording");
        assert_eq!(blocked(&stop(), &world), recording_stop, "recording on {channel}");
        assert_eq!(blocked(&stop_stream, &world), stream_stop, "recording on {channel}");
    }
    for (channel, recording_stop, stream_stop) in
        [("1", &["room_streaming"][..], &[][..]), ("2", &["room_streaming"], &["room_streaming"])]
    {
        let mut world = observed();
        set_streaming(&mut world, channel);
        assert_eq!(blocked(&stop(), &world), recording_stop, "stream on {channel}");
        assert_eq!(blocked(&stop_stream, &world), stream_stop, "stream on {channel}");
    }
}

#[test]
fn an_exemption_holds_on_the_calls_own_unit_only() {
    let mut world = observed();
    set_recorder(&mut world, "1", "recording");
    let other = crate::sample::device(crate::sample::LAB, "Lab 3");
    let found = room_rule(&stop(), &other, &world.recorders[&master(HALL)], None, NOW);
    assert_eq!(found, [Blocked::Recording { channels: vec![channel_id("1")] }]);
}

#[test]
fn a_calm_change_is_never_blocked() {
    let mut world = with_event(-60, None);
    set_recorder(&mut world, "1", "recording");
    set_streaming(&mut world, "2");
    for (tool, action) in
        [(Tool::Recording, Some(RecordingAction::Start)), (Tool::StartStream, None), (Tool::ConfirmEvent, None)]
    {
        assert!(blocked(&call(tool, action), &world).is_empty(), "{tool:?}");
    }
}

#[test]
fn events_block_from_the_window_until_their_end() {
    for (start, end, expected) in [
        (-60, None, &["event_live"][..]),
        (0, None, &["event_live"]),
        (-3_600, Some(1), &["event_live"]),
        (-3_600, Some(0), &[]),
        (-3_600, Some(-60), &[]),
        (1, Some(600), &["event_soon"]),
        (30 * 60, None, &["event_soon"]),
        (30 * 60 + 1, None, &[]),
        (i64::MAX - NOW, None, &[]),
    ] {
        assert_eq!(blocked(&reboot(), &with_event(start, end)), expected, "{start} {end:?}");
        assert_eq!(blocked(&stop(), &with_event(start, end)), expected, "{start} {end:?}");
    }
}

#[test]
fn a_firmware_update_has_the_longer_window() {
    let update = call(Tool::FirmwareUpdate, None);
    assert_eq!(blocked(&update, &with_event(60 * 60, None)), ["event_soon"]);
    assert!(blocked(&reboot(), &with_event(60 * 60, None)).is_empty());
    assert_eq!(blocked(&update, &with_event(120 * 60, None)), ["event_soon"]);
    assert!(blocked(&update, &with_event(120 * 60 + 1, None)).is_empty());
}

#[test]
fn no_event_is_free() {
    let mut world = observed();
    world.events.insert(master(HALL), None);
    assert!(blocked(&reboot(), &world).is_empty());
}

#[test]
fn minutes_are_rounded_up_and_one_is_singular() {
    for (seconds, en, es) in [
        (1, "in 1 minute.", "en 1 minuto."),
        (60, "in 1 minute.", "en 1 minuto."),
        (61, "in 2 minutes.", "en 2 minutos."),
        (721, "in 13 minutes.", "en 13 minutos."),
    ] {
        let world = with_event(seconds, None);
        let device = world.team.device(&master(HALL)).unwrap();
        let found =
            room_rule(&reboot(), device, &world.recorders[&master(HALL)], world.events[&master(HALL)].as_ref(), NOW);
        let words = found[0].words();
        assert!(words.en.starts_with("It would be refused now: ") && words.en.ends_with(en), "{}", words.en);
        assert!(words.es.starts_with("Se rechazaría ahora: ") && words.es.ends_with(es), "{}", words.es);
    }
}

#[test]
fn names_in_the_words_are_made_safe_to_show() {
    let words = Blocked::EventLive { title: "a\u{202e}b\n".repeat(100) }.words();
    assert!(words.en.contains("a\\u{202e}b\\u{a}") && !words.en.contains('\u{202e}'));
    assert!(words.en.chars().count() < 200);
    let two = Blocked::Recording { channels: vec![channel_id("1"), channel_id("2")] };
    assert_eq!(two.words().en, "It would be refused now: the room is recording on channels 1, 2.");
    assert_eq!(two.refusal().detail, "channels 1, 2");
}
