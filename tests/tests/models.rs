//! Both kinds of model on the real daemons (issue lines 3.7, 3.8, 3.9): what is sent, what comes back, and what of it reaches
//! no disk. The scripted stand-in refuses every request that breaks the rules of its API.

use fleetwatch_tests::world::{World, answered, must, proposed, recording, some};
use protocol::ask::AssistantSays;
use serde_json::{Value, json};
use std::path::Path;

// Every text of one request to the model with the role that says it; a text that stands in no message has none.
fn texts(request: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for message in request["messages"].as_array().cloned().unwrap_or_default() {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        let mut strings = Vec::new();
        strings_of(&message["content"], &mut strings);
        found.extend(strings.into_iter().map(|text| (role.clone(), text)));
    }
    let mut rest = Vec::new();
    strings_of(&request["system"], &mut rest);
    strings_of(&request["tools"], &mut rest);
    found.extend(rest.into_iter().map(|text| (String::new(), text)));
    found
}

fn strings_of(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| strings_of(item, found)),
        Value::Object(members) => members.values().for_each(|value| strings_of(value, found)),
        Value::String(text) => found.push(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

// What stands outside the blocks of fleet data; each text has at most one, and its inside is JSON.
#[track_caller]
fn outside(text: &str) -> String {
    let (opened, closed) = (text.matches("<fleet_data").count(), text.matches("</fleet_data>").count());
    assert!(opened == closed && opened <= 1, "{text}");
    let Some((before, rest)) = text.split_once("<fleet_data>") else { return text.to_owned() };
    let (inside, after) = some(rest.split_once("</fleet_data>"), "the end of the block");
    let _data: Value = must(serde_json::from_str(inside), "JSON inside the block");
    assert!(!inside.contains(['<', '>', '&']), "{inside}");
    format!("{before}{after}")
}

fn corpus() -> Vec<String> {
    let rows = include_str!("../data/injection.dev.jsonl").lines();
    rows.map(|row| must(serde_json::from_str::<Value>(row), "a row")["text"].as_str().unwrap_or_default().to_owned())
        .collect()
}

// Names of the fleet that say nothing by themselves cannot be looked for.
fn telling(text: &str) -> Option<String> {
    let start: String = text.trim().chars().take(24).collect();
    (start.chars().filter(|c| c.is_alphabetic()).count() >= 12).then_some(start)
}

#[test]
fn nothing_of_the_hostile_corpus_stands_outside_its_block_for_either_kind_of_model() {
    for world in [World::builder().rooms(400).start(), World::builder().rooms(400).chat_model().start()] {
        let state = world.sim.state();
        let devices = some(state["devices"].as_array(), "the devices");
        let corpus = corpus();
        for (device, name) in devices.iter().zip(&corpus) {
            world.sim_set(&json!({ "device": device["Id"], "name": name }));
        }
        for question in
            ["Which rooms aren't ready?", "Restart the unit in Hall Z", "SIM:obey ¿qué salas están grabando?"]
        {
            let said = world.ask(question);
            assert!(answered(&said).1.starts_with("model "), "{question}: {said:?}");
            assert_eq!(proposed(&said), [], "{question}: {said:?}");
        }
        let requests = world.sim.model_requests();
        let all: Vec<_> = requests.iter().flat_map(texts).collect();
        let results: Vec<_> = all.iter().filter(|(_, text)| text.contains("<fleet_data>{\"devices\"")).collect();
        assert!(!results.is_empty(), "the names did get there");
        for (role, text) in &all {
            let outside = outside(text);
            // The model's own words come back as its own; there the script repeats names.
            if role == "assistant" {
                continue;
            }
            for name in corpus.iter().filter_map(|name| telling(name)) {
                assert!(!outside.contains(&name), "{role}: {name:?} stands in {outside:?}");
            }
        }
        assert_eq!(world.writes(), []);
    }
}

#[test]
fn a_model_in_the_building_reads_answers_and_proposes() {
    let world = World::builder().chat_model().start();
    let said = world.ask("¿Qué salas no están listas?");
    let (text, by) = answered(&said);
    assert!(text.contains("No están listas") && by.starts_with("model "), "{by}: {text}");
    assert!(said.contains(&AssistantSays::Reading { tool: "get_devices_in_my_team".to_owned() }), "{said:?}");
    let said = world.ask("Start recording in Hall A");
    assert_eq!(proposed(&said).len(), 1, "{said:?}");
    assert_eq!(world.control().list()[0].targets, [world.room("Hall A")]);
    let status = world.asker().status();
    assert_eq!(status.model.as_deref(), Some("a-model-in-the-building"));
    assert_eq!(status.model_host.as_deref(), Some("127.0.0.1"));
    let requests = must(serde_json::to_string(&world.sim.model_requests()), "JSON");
    assert!(!requests.contains("never-show") && !requests.contains("rtmps://ingest"), "secrets stay here");
    assert_eq!(world.writes(), []);
}

#[test]
fn an_answer_comes_in_pieces_and_a_broken_one_is_made_void() {
    for world in [World::builder().start(), World::builder().chat_model().start()] {
        let said = world.ask("Which rooms aren't ready?");
        let piece =
            |word: &AssistantSays| if let AssistantSays::Piece { text } = word { Some(text.clone()) } else { None };
        let told: String = said.iter().filter_map(piece).collect();
        assert!(!told.is_empty() && answered(&said).0.starts_with(&told), "{said:?}");
        assert!(!said.contains(&AssistantSays::PiecesVoid), "{said:?}");
        let said = world.ask("SIM:cut Which rooms aren't ready?");
        let (_, by) = answered(&said);
        assert!(by.starts_with("keywords "), "{by}");
        let pieces = said.iter().rposition(|word| piece(word).is_some());
        let void = said.iter().position(|word| *word == AssistantSays::PiecesVoid);
        assert!(pieces.is_none() || pieces < void, "{said:?}");
    }
}

fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in must(std::fs::read_dir(folder), "a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            found.push((path.display().to_string(), must(std::fs::read(&path), "a file")));
        }
    }
}

#[test]
fn no_word_of_question_or_answer_is_on_disk_or_in_a_log() {
    let (question, marker) = ("Which rooms aren't ready? zebracrossing-in-the-question", "zebracrossing");
    for builder in [World::builder(), World::builder().chat_model()] {
        let world = builder.start();
        let (text, _) = answered(&world.ask(question));
        assert!(text.contains("rooms read"), "{text}");
        assert_eq!(proposed(&world.ask("Start recording in Hall A")).len(), 1);
        let mut found = Vec::new();
        files(world.folder(), &mut found);
        assert!(found.iter().any(|(_, bytes)| !bytes.is_empty()), "files were looked at");
        for (path, bytes) in found {
            let text = String::from_utf8_lossy(&bytes);
            for word in [marker, "rooms read. Not ready", "scripted stand-in, not a real model"] {
                assert!(!text.contains(word), "{word} stands in {path}");
            }
        }
    }
}

#[test]
fn a_typed_change_needs_no_model_of_either_kind() {
    let world = World::builder().chat_model().start();
    let mut turn = world.turn("a");
    let hall = world.room("Hall A");
    must(turn.propose("batch_recording", &recording("start", &hall, 1)), "a proposal");
    turn.end();
    assert_eq!(world.sim.model_requests(), Vec::<Value>::new());
}

#[test]
fn of_two_rooms_one_gets_a_card_and_the_words_for_the_next_lead_to_it() {
    for chat in [false, true] {
        let world = if chat { World::builder().chat_model().start() } else { World::builder().start() };
        for (room, name) in [("Hall A", "Building B 101"), ("Chapel", "Building B 102")] {
            let id = world.room(room);
            world.sim_set(&json!({ "device": id, "name": name }));
        }
        let said = world.ask("Restart Building B 101 and Building B 102");
        assert_eq!(proposed(&said).len(), 1, "{said:?}");
        let (text, _) = answered(&said);
        let (_, rest) = some(text.split_once("For the next one, ask: "), "the next words");
        let next = some(rest.split_once(')'), "their end").0.to_owned();
        assert!(next.starts_with("Restart Building B 10"), "{text}");
        let said = world.ask(&next);
        assert_eq!(proposed(&said).len(), 1, "{next}: {said:?}");
        assert!(!answered(&said).0.contains("One change is proposed at a time"), "{said:?}");
        let mut targets: Vec<_> = world.control().list().into_iter().flat_map(|row| row.targets).collect();
        targets.sort();
        let mut both = [world.room("Building B 101"), world.room("Building B 102")];
        both.sort();
        assert_eq!(targets, both);
        // Nothing is proposed for a later time, whatever the model would do.
        let said = world.ask("Graba en Building B 101 a las diez");
        assert_eq!(proposed(&said), [], "{said:?}");
        assert!(answered(&said).0.contains("nunca para más tarde"), "{said:?}");
        assert_eq!(world.writes(), []);
    }
}
