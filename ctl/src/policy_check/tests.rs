//! What `policy check` says of files as people write them.

use super::*;
use crate::testing::{self, Paper};
use std::fs;

const PHC: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA";

// Exit, text and JSON of one file.
fn checked(name: &str, text: &str, said: Option<PolicyKind>) -> (Exit, String, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let session = testing::session(folder.path());
    let (plain, json) = (Paper::default(), Paper::default());
    let exit = check(&session, &mut plain.out(), (std::slice::from_ref(&path), said), false);
    assert_eq!(check(&session, &mut json.out(), (std::slice::from_ref(&path), said), true), exit);
    let value: Value = serde_json::from_str(&json.text()).unwrap();
    (exit, plain.text(), value[0].clone())
}

#[test]
fn the_shipped_files_are_ok_and_it_says_what_they_mean() {
    let (exit, text, value) = checked("policy.yaml", policy::behaviour::SHIPPED, None);
    assert_eq!(exit, Exit::Done, "{text}");
    for words in ["ok, read as policy.yaml", "observe: it answers", "refused instead of sent", "22:00-06:30", "03:00"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!((&value["kind"], &value["means"]["dry_run"]), (&"policy".into(), &true.into()));
    let (exit, text, value) = checked("tool_policy.yaml", policy::tool_policy::SHIPPED, None);
    assert_eq!(exit, Exit::Done, "{text}");
    for words in
        ["batch_reboot: disruptive", "start_stream_endpoint: not disruptive", "batch_recording: disruptive with"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(value["means"]["propose"].as_array().map(Vec::len), Some(6), "{value}");
}

#[test]
fn a_live_file_is_told_as_such_with_its_rooms() {
    let live = "autonomy: propose\ndry_run: false\nquiet_hours: \"\"\nrooms:\n  \"20301000003\":\n    aliases: [the big hall]\n";
    let (exit, text, value) = checked("policy.yaml", live, None);
    assert_eq!(exit, Exit::Done, "{text}");
    for words in ["one at a time", "really sent", "20301000003 (the big hall)"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(value["means"]["quiet_hours"], Value::Null);
}

#[test]
fn a_mistake_is_named_with_its_place_and_what_to_do_and_is_exit_one() {
    for (name, text, line, words) in [
        ("policy.yaml", "autonomy: observe\ndry_run: yes\n", 2, "dry_run"),
        ("policy.yaml", "timezone: Europe/Nowhere\n", 1, "knows no zone Europe/Nowhere"),
        ("principals.yaml", "- {name: ana, uid: 1, operator: true, pin: \"1234\"}\n", 1, "argon2id"),
        ("tool_policy.yaml", "read: [batch_reboot]\n", 1, ""),
    ] {
        let (exit, shown, value) = checked(name, text, None);
        assert_eq!(exit, Exit::Wrong, "{shown}");
        let flat = shown.replace('\n', " ");
        assert!(flat.contains(words) && flat.contains("refused, read as"), "{shown}");
        assert_eq!((&value["line"], &value["ok"]), (&line.into(), &false.into()), "{value}");
        assert!(value["advice"].as_str().is_some_and(|advice| advice.ends_with('.')), "{value}");
    }
}

#[test]
fn what_a_file_is_comes_from_its_name_then_its_first_key_then_the_person() {
    let people = format!("# people\n- name: ana\n  uid: 1001\n  operator: true\n  pin: \"{PHC}\"\n");
    let (exit, text, value) = checked("mine.yaml", &people, None);
    assert!(exit == Exit::Done && text.contains("ana (uid 1001): may decide, has a PIN"), "{text}");
    assert!(!text.contains("argon2") && !value.to_string().contains("argon2"), "{text} {value}");
    assert_eq!(checked("x.yaml", "lead_minutes: 40\n", None).2["kind"], "policy");
    assert_eq!(checked("x.yaml", "\nwrite: []\n", None).2["kind"], "tool-policy");
    let (exit, text, _) = checked("x.yaml", "what: 1\n", None);
    assert!(exit == Exit::Wrong && text.contains("--as"), "{text}");
    let (exit, text, _) = checked("x.yaml", "[]\n", Some(PolicyKind::Principals));
    assert!(exit == Exit::Done && text.contains("nobody may decide"), "{text}");
}

#[test]
fn a_file_that_is_not_there_or_hostile_is_refused_and_moves_no_cursor() {
    let folder = tempfile::tempdir().unwrap();
    let (session, paper) = (testing::session(folder.path()), Paper::default());
    let files = [folder.path().join("policy.yaml"), folder.path().to_owned()];
    assert_eq!(check(&session, &mut paper.out(), (&files, Some(PolicyKind::Policy)), false), Exit::Wrong);
    assert_eq!(paper.text().matches("cannot be read").count(), 2, "{}", paper.text());
    let (exit, text, _) = checked("policy.yaml", "\"a\\e[2J\\u202e\": 1\n", None);
    assert!(exit == Exit::Wrong && !text.contains(['\u{1b}', '\u{202e}']), "{text}");
}
