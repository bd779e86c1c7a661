//! Words exist for everything, in both languages, and stay calm.

use super::*;
use crate::call::{RecordingAction, Slot, Tool};
use crate::observed::{Publisher, Recording};
use crate::sample::{HALL, channel_id, device, hall, observed, set_streaming};
use protocol::propose::{Origin, ProposalState};
use protocol::refusal::RefusalCode;
use protocol::shown::Worded;

const BANNED: &[&str] = &[
    "critical", "urgent", "at risk", "danger", "failure", "p1", "p2", "p3", "crític", "urgente", "peligr", "\u{2014}",
];

fn check(words: &Worded) {
    for text in [&words.en, &words.es] {
        assert!(!text.trim().is_empty(), "{words:?}");
        let lower = text.to_lowercase();
        for word in BANNED {
            assert!(!lower.contains(word), "{word} in {text}");
        }
    }
}

fn check_sentence(words: &Worded) {
    check(words);
    assert!(words.en.ends_with('.') && words.es.ends_with('.'), "{words:?}");
    assert_ne!(words.en, words.es);
}

#[test]
fn every_refusal_code_has_its_own_sentence_in_both_languages() {
    let mut seen = std::collections::BTreeSet::new();
    for code in RefusalCode::ALL {
        let words = refusal(*code);
        check_sentence(&words);
        assert!(words.en.matches('.').count() >= 2 || words.en.contains("so "), "{code} says what to do: {}", words.en);
        assert!(seen.insert(words.en.clone()), "{code} shares its words");
        check_sentence(&deny_only(&DenyOnly::Check(*code)));
    }
}

#[test]
fn every_state_origin_and_slot_has_words() {
    for one in ProposalState::ALL {
        check_sentence(&state(one));
    }
    for one in [Origin::Command, Origin::Front, Origin::Model, Origin::Undo] {
        check(&origin(one));
    }
    assert_eq!(reason_label().en, "Written by the assistant, not checked");
    assert_eq!(slot(Slot::Sim).en, "Simulator: nothing real changes");
    check(&slot(Slot::Sandbox));
    check(&dry_run_note());
    for one in ProposalState::ALL {
        let nothing = matches!(
            one,
            ProposalState::Denied
                | ProposalState::Expired
                | ProposalState::ExpiredSeen
                | ProposalState::ExpiredUnseen
                | ProposalState::Refused
                | ProposalState::Revoked
                | ProposalState::Withdrawn
        );
        assert_eq!(state(one).en.ends_with("Nothing ran."), nothing, "{one:?}");
    }
}

#[test]
fn every_change_has_words_and_what_is_none_can_only_be_denied() {
    let (start, stop) = (Some(RecordingAction::Start), Some(RecordingAction::Stop));
    let mut seen = std::collections::BTreeSet::new();
    for (tool, action) in [
        (Tool::Recording, start),
        (Tool::Recording, stop),
        (Tool::Reboot, None),
        (Tool::StartStream, None),
        (Tool::StopStream, None),
        (Tool::ConfirmEvent, None),
        (Tool::FirmwareUpdate, None),
    ] {
        let words = plain_words(tool, action).unwrap();
        check_sentence(&words.effect);
        check_sentence(&words.undo);
        let heading = heading(tool, action, "Hall A", Named::default());
        check(&heading);
        assert!(heading.en.contains("Hall A") && heading.es.contains("Hall A"), "{heading:?}");
        assert!(!heading.en.contains(tool.as_str()), "{heading:?}");
        for words in [heading, words.effect, words.undo] {
            assert!(seen.insert(words.en.clone()), "{}", words.en);
        }
    }
    // A recording that is neither started nor stopped does not pass the schema; if it did, it has no words.
    assert_eq!(plain_words(Tool::Recording, None), None);
    assert!(heading(Tool::Recording, None, "Hall A", Named::default()).en.contains("batch_recording"));
    assert_eq!(
        deny_only(&DenyOnly::NoPlainWords).en,
        "Fleetwatch has no plain words for this change yet, so it can only be denied."
    );
    for why in
        [DenyOnly::Argument("a\u{202e}".to_owned()), DenyOnly::NoPlainWords, DenyOnly::Record, DenyOnly::Unshowable]
    {
        check_sentence(&deny_only(&why));
    }
    assert!(!deny_only(&DenyOnly::Argument("a\u{202e}".to_owned())).en.contains('\u{202e}'));
}

#[test]
fn the_words_say_what_cannot_be_called_back() {
    for (tool, effect, undo) in [
        (Tool::StartStream, "sees and hears the room", "Stop the stream"),
        (Tool::StopStream, "ends for everybody", "the gap stays"),
        (Tool::ConfirmEvent, "may then start", "can't be undone from here"),
        (Tool::FirmwareUpdate, "offline for several minutes", "the old firmware is not kept"),
        (Tool::Reboot, "offline for a couple of minutes", "can't be called back"),
    ] {
        let words = plain_words(tool, None).unwrap();
        assert!(words.effect.en.contains(effect) && words.undo.en.contains(undo), "{words:?}");
    }
}

#[test]
fn a_heading_names_room_channel_destination_and_event_and_makes_them_safe() {
    let named =
        Named { channel: Some(ChannelWord::Named("Program")), destination: Some("Town feed"), event: Some("Seminar") };
    let (start, stop) = (Some(RecordingAction::Start), Some(RecordingAction::Stop));
    for (tool, action, en, es) in [
        (
            Tool::Recording,
            start,
            "Start recording in Hall A, channel \"Program\"",
            "Iniciar la grabación en Hall A, canal \"Program\"",
        ),
        (
            Tool::Recording,
            stop,
            "Stop recording in Hall A, channel \"Program\"",
            "Detener la grabación en Hall A, canal \"Program\"",
        ),
        (
            Tool::StartStream,
            None,
            "Start streaming in Hall A, channel \"Program\", to \"Town feed\"",
            "Iniciar la transmisión en Hall A, canal \"Program\", hacia \"Town feed\"",
        ),
        (
            Tool::StopStream,
            None,
            "Stop streaming in Hall A, channel \"Program\", to \"Town feed\"",
            "Detener la transmisión en Hall A, canal \"Program\", hacia \"Town feed\"",
        ),
    ] {
        assert_eq!(heading(tool, action, "Hall A", named), Worded::new(en, es));
    }
    let named = Named { channel: None, ..named };
    for (tool, en, es) in [
        (Tool::ConfirmEvent, "Confirm the event \"Seminar\" in Hall A", "Confirmar el evento \"Seminar\" en Hall A"),
        (
            Tool::FirmwareUpdate,
            "Update the firmware of the unit in Hall A",
            "Actualizar el firmware de la unidad en Hall A",
        ),
        (Tool::Reboot, "Restart the unit in Hall A", "Reiniciar la unidad en Hall A"),
    ] {
        assert_eq!(heading(tool, None, "Hall A", named), Worded::new(en, es));
    }
    let raw = "x\u{200b}\n".repeat(200);
    let hostile = Named { channel: Some(ChannelWord::Named(&raw)), destination: Some(&raw), event: Some(&raw) };
    for tool in Tool::ALL {
        let hostile = heading(tool, start, &raw, hostile);
        assert!(hostile.en.contains("\\u{200b}\\u{a}") && !hostile.en.contains('\n'));
        assert!(hostile.en.chars().count() < 420, "{}", hostile.en);
    }
}

#[test]
fn room_words_follow_what_was_read() {
    for word in ["recording", "starting", "paused", "error", "stopped", "disabled", "napping"] {
        check(&recorder_word(Recording::from_word(word)));
    }
    let recorders =
        [(channel_id("1"), Recording::from_word("recording")), (channel_id("2"), Recording::from_word("stopped"))];
    assert_eq!(recording_of(Some(&recorders.into())).en, "Channel 1: recording");
    assert_eq!(recording_of(Some(&[].into())).en, "Not recording");
    assert_eq!(recording_of(None).es, "No se sabe");
    let mut world = observed();
    assert_eq!(streaming_of(&device(HALL, "Hall A")).en, "Not streaming");
    set_streaming(&mut world, "2");
    assert_eq!(streaming_of(hall(&mut world)).en, "Channel 2: streaming");
    hall(&mut world).online = false;
    assert_eq!(streaming_of(hall(&mut world)), not_known());
    let odd = Publisher { id: "0".to_owned(), kind: "srt".to_owned(), active: true, state: "listening".to_owned() };
    assert_eq!(publisher_word(&odd).en, "may be streaming (listening)");
    for words in [yes_no(true), online(true), online(false), no_event(), not_known()] {
        check(&words);
    }
    assert_eq!(yes_no(false), Worded::new("No", "No"));
    let (start, end) = (Worded::same("10:00"), Worded::same("11:00"));
    assert_eq!(event_line("Seminar", &start, Some(&end)).en, "\"Seminar\", from 10:00 to 11:00");
    check(&event_line("Seminar", &start, None));
}
