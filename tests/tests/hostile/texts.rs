//! The texts, where they are put, and what may not stand raw before a person.

use fleetwatch_tests::places::workspace_root;
use fleetwatch_tests::world::{World, must, some};
use serde_json::{Value, json};

/// The texts that want something.
#[track_caller]
pub(super) fn hostile() -> Vec<String> {
    read("injection.dev.jsonl", 353)
}

/// Texts with the same words that want nothing.
#[track_caller]
pub(super) fn benign() -> Vec<String> {
    read("benign_controls.jsonl", 63)
}

#[track_caller]
fn read(file: &str, rows: usize) -> Vec<String> {
    let text = must(std::fs::read_to_string(workspace_root().join("tests/data").join(file)), file);
    let row = |line: &str| {
        let row: Value = must(serde_json::from_str(line), file);
        some(row["text"].as_str(), file).to_owned()
    };
    let texts: Vec<_> = text.lines().map(row).collect();
    assert_eq!(texts.len(), rows, "{file} is whole");
    texts
}

/// Device ids and destination ids of a fleet.
#[derive(Debug)]
pub(super) struct Fleet {
    pub(super) units: Vec<String>,
    pub(super) streams: Vec<String>,
}

impl Fleet {
    #[track_caller]
    pub(super) fn of(world: &World) -> Self {
        let state = world.sim.state();
        let ids = |list: &str, key: &str| {
            let entries = some(state[list].as_array(), list);
            entries.iter().map(|entry| some(entry[key].as_str(), key).to_owned()).collect()
        };
        let streams = ids("streams", "StreamID");
        // A camera can only be restarted or updated.
        let units = some(state["devices"].as_array(), "the devices").iter().filter(|unit| unit["Model"] != "EC20");
        Self { units: units.map(|unit| some(unit["Id"].as_str(), "Id").to_owned()).collect(), streams }
    }
}

/// What one room shows: its name, the first channel's, the coming event's.
#[derive(Debug)]
pub(super) struct Names<'a> {
    pub(super) device: &'a str,
    pub(super) channel: &'a str,
    pub(super) event: &'a str,
}

/// Makes the room one like all others but for its names: online, idle, an event in two hours.
#[track_caller]
pub(super) fn furnish(world: &World, unit: &str, names: &Names<'_>) {
    world.sim_set(&json!({
        "device": unit,
        "online": true,
        "recording": { "channel": "1", "state": "stopped" },
        "streaming": null,
        "name": names.device,
        "channel_name": { "channel": "1", "name": names.channel },
        "event": { "start_in": 7_200, "end_in": 10_800, "title": names.event },
    }));
}

/// Whether a character hides, moves a cursor or turns text around; a list of its own, not the product's.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' // spaces that are none
            | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{d7b0}'..='\u{d7ff}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
}

/// Nothing in this text hides; lines may end.
#[track_caller]
pub(super) fn plain(text: &str, what: &str) {
    let raw = text.chars().find(|c| *c != '\n' && hides(*c));
    assert!(raw.is_none(), "{what}: raw {raw:?} in {text:?}");
}

/// Nothing in these bytes hides; lines may end.
#[track_caller]
pub(super) fn plain_bytes(bytes: &[u8], what: &str) {
    plain(must(std::str::from_utf8(bytes), what), what);
}

/// No text in this JSON hides anything, once it is read; not even a line's end may be there.
#[track_caller]
pub(super) fn plain_json(value: &Value, what: &str) {
    match value {
        Value::String(text) => assert!(!text.chars().any(hides), "{what}: {text:?}"),
        Value::Array(items) => items.iter().for_each(|item| plain_json(item, what)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            assert!(!name.chars().any(hides), "{what}: {name:?}");
            plain_json(member, what);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn the_list_knows_every_character_that_the_texts_hide_with() {
    // What the standard library writes out as an escape, but for quotes, the backslash and marks that are drawn.
    let drawn = |c: &char| "\"'\\\u{489}\u{64b}".contains(*c) || ('\u{300}'..='\u{36f}').contains(c);
    let odd = |c: &char| c.escape_debug().count() > 1 && !drawn(c);
    let texts = hostile();
    let known: Vec<char> = texts.iter().flat_map(|text| text.chars()).filter(odd).collect();
    assert!(known.len() > 500, "the texts do hide: {}", known.len());
    let missed: Vec<_> = known.iter().filter(|c| !hides(**c)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
