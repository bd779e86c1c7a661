//! The model stand-in over the wire: both forms of an answer, strict requests, scripted failures.

use serde_json::{Value, json};

use crate::support::{Sim, http};

const LABEL: &str = "[scripted stand-in, not a real model] ";

fn request(messages: &Value, stream: bool) -> Value {
    let tool = |name| json!({"name": name, "description": "x", "input_schema": {"type": "object"}});
    json!({
        "model": "any", "max_tokens": 1000, "stream": stream, "messages": messages,
        "tools": [tool("get_devices_in_my_team"), tool("propose_change")],
    })
}

fn question(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

fn after_read(text: &str) -> Value {
    let data = r#"<fleet_data>{"devices":[{"Id":"20301000003","Name":"Hall A","Status":"online"}]}</fleet_data>"#;
    json!([
        {"role": "user", "content": text},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "get_devices_in_my_team", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": data}]},
    ])
}

#[test]
fn a_plain_answer_has_the_shape_of_the_real_one() {
    let sim = Sim::start(&[]);
    let first = sim.ask(&request(&question("Start recording in Hall A"), false)).expect("an answer").json();
    assert_eq!(first["model"], "fleetwatch-sim-script");
    assert_eq!(first["stop_reason"], "tool_use");
    assert_eq!(first["content"][0]["name"], "get_devices_in_my_team");
    assert!(first["usage"]["input_tokens"].is_u64());
    let second = sim.ask(&request(&after_read("Start recording in Hall A"), false)).expect("an answer").json();
    assert_eq!(second["content"][0]["input"]["arguments"], json!({"action": "start", "device_ids": ["20301000003-1"]}));
    let last = sim.ask(&request(&after_read("Which rooms aren't ready?"), false)).expect("an answer").json();
    assert_eq!(last["stop_reason"], "end_turn");
    let text = last["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with(LABEL), "{text}");
}

#[test]
fn a_streamed_answer_says_the_same() {
    let sim = Sim::start(&[]);
    let messages = after_read("Start recording in Hall A");
    let answer = sim.ask(&request(&messages, true)).expect("an answer");
    assert_eq!(answer.header("content-type").as_deref(), Some("text/event-stream"));
    assert!(!answer.cut);
    let events: Vec<Value> = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).expect("json"))
        .collect();
    assert_eq!(events[0]["type"], "message_start");
    let pieces: String = events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    let input: Value = serde_json::from_str(&pieces).expect("json");
    assert_eq!(input["tool"], "batch_recording");
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "tool_use");
}

#[test]
fn a_request_against_the_rules_is_refused_in_their_words() {
    let sim = Sim::start(&[]);
    let mut messages = after_read("Start recording in Hall A");
    messages[2]["content"][0]["tool_use_id"] = json!("t2");
    let answer = sim.ask(&request(&messages, false)).expect("an answer");
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    let bare = http(sim.model_port, "POST", "/v1/messages", &[], "{}");
    let bare = bare.expect("an answer");
    assert_eq!(bare.status, 400);
    assert!(bare.body.contains("x-api-key"), "{}", bare.body);
}

#[test]
fn scripted_failures_fail_as_asked() {
    let sim = Sim::start(&[]);
    let ask = |text: &str, stream| sim.ask(&request(&question(text), stream));
    assert_eq!(ask("SIM:500 hello", false).expect("one").status, 500);
    let limited = ask("SIM:429 hello", false).expect("one");
    assert_eq!((limited.status, limited.header("retry-after").as_deref()), (429, Some("1")));
    for stream in [false, true] {
        let cut = ask("SIM:cut which rooms are ready?", stream).expect("a part");
        assert!(cut.cut && !cut.body.is_empty(), "{cut:?}");
    }
    let kept = sim.control("/_sim/model", None).json();
    assert_eq!(kept.as_array().expect("a list").len(), 4);
}
