//! Questions, prompts and answers are not written to disk (`seed 000, Data sent to the model`), neither when all goes well nor
//! when the model fails, whatever a logging library reads from the environment.

use fleetwatch_tests::needles::{Needles, files_under};
use fleetwatch_tests::world::{Fate, World, answered, must, proposed, some};
use serde_json::json;
use std::path::PathBuf;

const ASKED: &str = "quarterly-zucchini-inspection";
const ANSWERED: &str = "the-answer-is-marmalade-forty";
const FAILED: &str = "a-failure-that-quotes-rhubarb";

fn ok(body: &str) -> Fate {
    Fate::Answer(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

// The plain files that a process has open.
fn open_files(pid: u32) -> Vec<PathBuf> {
    let entries = must(std::fs::read_dir(format!("/proc/{pid}/fd")), "its descriptors");
    let links = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.is_absolute() && !link.starts_with("/dev") && !link.starts_with("/proc")).collect()
}

// An answer of the model as its API streams it.
fn streamed(text: &str) -> Fate {
    let events = [
        json!({ "type": "message_start", "message": { "id": "m", "type": "message", "role": "assistant", "model": "stand-in",
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null },
            "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ];
    let event =
        |event: &serde_json::Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or(""));
    let body: String = events.iter().map(event).collect();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    Fate::Answer(format!("{head}content-length: {}\r\n\r\n{body}", body.len()))
}

#[test]
fn neither_a_question_nor_a_prompt_nor_an_answer_is_on_the_disk() {
    let loud = |name: &str| (name.to_owned(), "trace".to_owned());
    let mut builder = World::builder().with_proxies();
    for (name, value) in ["RUST_LOG", "LOG_LEVEL"].map(loud) {
        builder = builder.executor_setting(&name, &value).assistant_setting(&name, &value);
    }
    let mut world = builder.start();
    let model = |world: &World, rule: Fate| {
        let proxy = &some(world.proxies.as_ref(), "the proxies").1;
        proxy.rule(move |_| rule.clone());
    };
    model(&world, streamed(ANSWERED));
    let question = format!("Which rooms aren't ready for the {ASKED}?");
    assert!(answered(&world.ask(&question)).0.contains(ANSWERED), "the turn went well");
    for failure in [
        Fate::Answer(format!("HTTP/1.1 500 no\r\ncontent-length: {}\r\n\r\n{FAILED}", FAILED.len())),
        ok(&format!("{{\"half\": \"{FAILED}\"")),
        Fate::Close,
    ] {
        model(&world, failure);
        assert!(answered(&world.ask(&question)).1.starts_with("keywords "), "the turn went on without a model");
    }
    // A turn that proposes: the change and its reason are kept, the question is not.
    model(&world, Fate::Pass);
    let numbers = proposed(&world.ask(&format!("Start recording in Hall A for the {ASKED}")));
    assert_eq!(numbers.len(), 1);

    let sent = some(world.proxies.as_ref(), "the proxies").1.seen();
    assert!(sent.iter().filter(|seen| seen.body.contains(ASKED)).count() >= 5, "the model was asked");
    let bodies = sent.iter().filter_map(|seen| serde_json::from_str::<serde_json::Value>(&seen.body).ok());
    let system = some(bodies.into_iter().next(), "a request")["system"].clone();
    let system = some(system.as_str().or_else(|| system[0]["text"].as_str()), "a system prompt").to_owned();
    let prompt: String = system.chars().take(60).collect();

    let folder = world.folder().to_owned();
    let needles = Needles::new().text("question", ASKED).text("answer", ANSWERED).text("failure", FAILED);
    let needles = needles.bytes("prompt", prompt.as_bytes());
    assert_eq!(needles.found_under(&folder, &[]), Vec::<String>::new());
    // What is kept was looked through: the change itself is found.
    assert!(
        !Needles::new()
            .text("reason", "Scripted stand-in: the operator asked for it.")
            .found_under(&folder, &[])
            .is_empty()
    );
    for pid in [world.executor().pid(), world.assistant().pid()] {
        for file in open_files(pid) {
            assert!(file.starts_with(&folder), "a file elsewhere: {}", file.display());
        }
    }
    let kept = files_under(&folder.join("assistant"));
    let names: Vec<_> = kept.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    // The ids that were listed, what the watcher has told, and the audit's head.
    let known = |name: &&str| ["units-seen", "watch", "witness"].iter().any(|known| name.starts_with(known));
    assert!(names.iter().all(known), "the assistant keeps three things: {names:?}");
}
