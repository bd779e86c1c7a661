//! What holds for any proposal, on a few hundred made by a seeded generator.

use super::listing;
use super::scene::{CALLS, Change, EVENT, STREAM, Scene};
use crate::card::digest_of;
use protocol::canonical::Canonical;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::{Language, Shown};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ROUNDS: u64 = 400;

/// Xorshift: the same numbers for the same seed, everywhere.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }

    fn text(&mut self, from: &[char], least: usize, most: usize) -> String {
        let length = least + self.roll(most - least + 1);
        (0..length).map(|_| self.pick(from)).collect()
    }
}

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
const ODD: [char; 20] = [
    'a',
    'Z',
    '0',
    ' ',
    '"',
    '\\',
    '<',
    '&',
    '\'',
    '\n',
    '\t',
    '\0',
    '\u{1b}',
    '\u{202e}',
    '\u{200b}',
    '\u{a0}',
    'é',
    '字',
    '\u{e0041}',
    '\u{fe0f}',
];

// A proposal that intake could have admitted.
fn sound(dice: &mut Dice) -> Scene {
    let id = dice.text(&HEX, 8, 32);
    let channel = dice.pick(&["1", "2"]);
    let call = dice.pick(&CALLS);
    let arguments = match call.name {
        "start-recording" => json!({ "action": "start", "device_ids": [format!("{id}-{channel}")] }),
        "stop-recording" => json!({ "action": "stop", "device_ids": [format!("{id}-{channel}")] }),
        "start-stream" | "stop-stream" => json!({ "channel_id": channel, "device_id": id, "stream_id": STREAM }),
        "confirm-event" => json!({ "device_id": id, "event_id": EVENT }),
        _ => json!({ "device_ids": [id] }),
    };
    let mut scene = Scene::of(call.tool, Canonical::from_value(&arguments).unwrap().as_str(), &id);
    scene.record.number = 1 + i64::try_from(dice.roll(9_000)).unwrap();
    scene.record.reason = dice.text(&ODD, 0, 200);
    scene.record.origin = dice.pick(&["model", "command", "front"]).to_owned();
    assert!(scene.call().is_ok(), "{}", scene.record.arguments);
    scene.bind();
    scene
}

// A row that somebody wrote into the store: any arguments, any text.
fn odd(dice: &mut Dice) -> Scene {
    let mut scene = sound(dice);
    let mut arguments = serde_json::Map::new();
    for _ in 0..=dice.roll(4) {
        let text = dice.text(&ODD, 0, 60);
        let value = match dice.roll(4) {
            0 => json!([text, dice.roll(1_000)]),
            1 => json!({ "k": text }),
            2 => Value::Null,
            _ => json!(text),
        };
        arguments.insert(dice.text(&['a', 'b', 'c', '_'], 1, 6), value);
    }
    Canonical::from_value(&Value::Object(arguments)).unwrap().as_str().clone_into(&mut scene.record.arguments);
    scene
}

#[test]
fn every_argument_byte_and_every_target_id_can_be_read_in_both_languages() {
    for seed in 0..ROUNDS {
        let mut dice = Dice::new(seed);
        let is_sound = seed % 2 == 0;
        let scene = if is_sound { sound(&mut dice) } else { odd(&mut dice) };
        let facts = scene.facts_as_bound();
        let arguments = Canonical::parse(scene.record.arguments.as_bytes()).unwrap();
        for language in [Language::English, Language::Spanish] {
            let text = listing(&facts, language);
            for (name, value) in arguments.value().as_object().unwrap() {
                let value = Canonical::from_value(value).unwrap();
                let line =
                    format!("argument {} = {}", Shown::whole(name).as_str(), Shown::whole(value.as_str()).as_str());
                assert!(text.lines().any(|found| found.starts_with(&line)), "seed {seed}: {line}\nnot in\n{text}");
            }
            let hidden =
                text.chars().find(|c| *c != '\n' && Shown::whole(&format!("a{c}")).was_flagged() && *c != '\\');
            assert_eq!(hidden, None, "seed {seed}: {text:?}");
            if is_sound {
                let id = scene.record.targets.trim_matches(['[', ']', '"']);
                assert!(
                    text.lines().any(|line| line.starts_with("target: ") && line.contains(id)),
                    "seed {seed}: {text}"
                );
            }
        }
        // What the schema does not know is shown, and can only be denied.
        assert_eq!(facts.deny_only.is_empty(), is_sound, "seed {seed}: {:?}", facts.deny_only);
    }
}

#[test]
fn two_different_bound_records_never_share_a_digest() {
    let mut seen = BTreeMap::new();
    for seed in 0..ROUNDS {
        let scene = sound(&mut Dice::new(seed));
        let digest = scene.digest();
        assert_eq!(digest, scene.digest(), "the same facts have the same digest");
        if let Some(other) = seen.insert(digest, scene.record.clone()) {
            assert_eq!(other, scene.record, "seed {seed}");
        }
    }
    assert!(u64::try_from(seen.len()).unwrap() > ROUNDS * 9 / 10, "{} digests", seen.len());
}

// What the card does not show (agent, versions, times, the boot, the trace) is in the digest all the same; what the MAC or
// the versions refuse leaves the same trace in the facts as the two last rows.
#[test]
fn a_record_that_differs_in_one_field_has_another_digest() {
    let change: [(&str, Change); 17] = [
        ("number", |scene| scene.record.number += 1),
        ("tool", |scene| "batch_firmware_update".clone_into(&mut scene.record.tool)),
        ("arguments", |scene| scene.record.arguments = scene.record.arguments.replace('{', "{\"a\":1,")),
        ("fingerprint", |scene| "{}".clone_into(&mut scene.record.fingerprint)),
        ("referents", |scene| r#"{"a":"b"}"#.clone_into(&mut scene.record.referents)),
        ("slot", |scene| "sandbox".clone_into(&mut scene.record.slot)),
        ("reason", |scene| scene.record.reason.insert(0, 'x')),
        ("origin", |scene| "undo".clone_into(&mut scene.record.origin)),
        ("agent", |scene| scene.record.agent.push('2')),
        ("gates", |scene| r#"[{"gate_id":"schema"}]"#.clone_into(&mut scene.record.gates)),
        ("schema version", |scene| scene.record.schema_version += 1),
        ("policy version", |scene| scene.record.policy_version += 1),
        ("expiry", |scene| scene.record.expires_at += 1),
        ("expiry on the boot clock", |scene| scene.record.expires_boot_ms += 1),
        ("boot id", |scene| scene.record.boot_id.push('2')),
        ("mac", |scene| scene.tampered = true),
        ("read", |scene| scene.observed = Err(Refusal::bare(RefusalCode::PolicyChanged))),
    ];
    for seed in 0..ROUNDS / 4 {
        for (field, change) in change {
            let mut scene = sound(&mut Dice::new(seed));
            if field == "tool" && scene.record.tool == "batch_firmware_update" {
                continue;
            }
            let before = scene.digest();
            change(&mut scene);
            assert_ne!(scene.digest(), before, "seed {seed}: {field}");
        }
    }
}

// The same number for all of them: a digest that lived off the number would give itself away here.
#[test]
fn two_records_of_one_number_never_share_a_digest() {
    let mut seen = BTreeMap::new();
    for seed in 0..ROUNDS {
        let mut dice = Dice::new(seed);
        let mut scene = sound(&mut dice);
        scene.record.number = 7;
        scene.record.agent = dice.text(&HEX, 1, 8);
        scene.record.boot_id = dice.text(&HEX, 1, 8);
        scene.record.policy_version = 1 + i64::try_from(dice.roll(4)).unwrap();
        scene.record.expires_at += i64::try_from(dice.roll(900)).unwrap();
        if let Some(other) = seen.insert(scene.digest(), scene.record.clone()) {
            assert_eq!(other, scene.record, "seed {seed}");
        }
    }
    assert_eq!(u64::try_from(seen.len()).unwrap(), ROUNDS, "all of them differ");
}

// That a viewer's language does not reach it is for the whole system to show (tests/tests/refusals/page.rs).
#[test]
fn both_languages_are_under_the_digest() {
    for seed in 0..ROUNDS / 4 {
        let scene = sound(&mut Dice::new(seed));
        let facts = scene.facts_as_bound();
        let (mut english, mut spanish) = (facts.clone(), facts.clone());
        english.heading.en.push('!');
        spanish.heading.es.push('!');
        let [digest, english, spanish] =
            [facts, english, spanish].map(|facts| digest_of(&facts, Some(&scene.record)).unwrap());
        assert!(english != digest && spanish != digest && english != spanish, "seed {seed}");
    }
}
