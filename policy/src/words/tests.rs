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
    for one in [Origin::Command, Origin::Front, Origin::Model] {
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
fn three_changes_have_words_and_three_can_only_be_denied() {
    let (start, stop) = (Some(RecordingAction::Start), Some(RecordingAction::Stop));
    for (tool, action) in [(Tool::Recording, start), (Tool::Recording, stop), (Tool::Reboot, None)] {
        let words = plain_words(tool, action).unwrap();
        check_sentence(&words.effect);
        check_sentence(&words.undo);
        check(&heading(tool, action, "Hall A", None));
    }
    for tool in [Tool::StartStream, Tool::StopStream, Tool::ConfirmEvent, Tool::FirmwareUpdate] {
        assert_eq!(plain_words(tool, None), None);
        assert!(heading(tool, None, "Hall A", None).en.contains(tool.as_str()));
    }
    assert_eq!(plain_words(Tool::Recording, None), None);
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
fn a_heading_names_room_and_channel_and_makes_them_safe() {
    let words = heading(Tool::Recording, Some(RecordingAction::Start), "Hall A", Some(ChannelWord::Named("Program")));
    assert_eq!(words.en, "Start recording in Hall A, channel \"Program\"");
    assert_eq!(words.es, "Iniciar la grabación en Hall A, canal \"Program\"");
    let hostile = heading(Tool::Reboot, None, &"x\u{200b}\n".repeat(200), None);
    assert!(hostile.en.contains("\\u{200b}\\u{a}") && !hostile.en.contains('\n'));
    assert!(hostile.en.chars().count() < 160);
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
