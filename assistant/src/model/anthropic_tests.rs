use super::*;
use crate::model::talk::ToolResult;
use crate::testing::stream;

const OFFERS: [&str; 2] = ["get_x", "propose_change"];

fn offers() -> Vec<Offer> {
    let offer = |name: &str| Offer {
        name: name.to_owned(),
        description: String::new(),
        schema: json!({"type": "object"}),
        ends_prefix: name == OFFERS[0],
    };
    OFFERS.map(offer).to_vec()
}

fn sent(steps: &[Step]) -> Value {
    let offers = offers();
    serde_json::from_slice(&body("m", Request { system: "s", offers: &offers, steps }).unwrap()).unwrap()
}

fn asked(question: &str) -> Step {
    Step::Asked { notes: "notes".to_owned(), question: question.to_owned() }
}

#[test]
fn everything_before_the_conversation_is_the_same_bytes() {
    let offers = offers();
    let make = |question: &str| {
        let steps = [asked(question)];
        String::from_utf8(body("m", Request { system: "s", offers: &offers, steps: &steps }).unwrap()).unwrap()
    };
    let (one, two) = (make("one"), make("a second question"));
    let prefix = |body: &str| body.split("\"messages\"").next().unwrap().to_owned();
    assert_eq!(prefix(&one), prefix(&two));
    assert!(prefix(&one).contains("\"effort\":\"medium\"") && prefix(&one).contains("\"stream\":true"));
}

#[test]
fn the_marks_move_with_the_conversation_and_history_stays_as_it_was() {
    let thought = json!({"type": "thinking", "thinking": "", "signature": "s=="});
    let hidden = json!({"type": "redacted_thinking", "data": "x"});
    let wanted = ToolUse { id: "t1".to_owned(), name: "get_x".to_owned(), input: json!({"b": 1, "a": [2]}) };
    let parts = vec![
        Part::Own(thought.clone()),
        Part::Own(hidden.clone()),
        Part::Text("\n".to_owned()),
        Part::Text("So.".to_owned()),
        Part::Use(wanted),
    ];
    let result = |id: &str, failed| ToolResult { id: id.to_owned(), text: "a".to_owned(), failed };
    let mut steps =
        vec![asked("q"), Step::Answered(parts), Step::Results(vec![result("t1", false), result("t2", true)])];
    let body = sent(&steps);
    let tool = json!({"type": "tool_use", "id": "t1", "name": "get_x", "input": {"b": 1, "a": [2]}});
    let text = json!({"type": "text", "text": "So."});
    assert_eq!(body["messages"][1]["content"], json!([thought, hidden, text, tool]));
    assert_eq!(body["messages"][2]["content"][1]["is_error"], true);
    let marks = |body: &Value| body.to_string().matches("cache_control").count();
    assert_eq!(marks(&body), 4, "the API takes no more");
    assert_eq!(body["messages"][0]["content"][1]["cache_control"], mark());
    assert_eq!(body["messages"][2]["content"][1]["cache_control"], mark());
    assert_eq!(body["tools"][0]["cache_control"], mark());
    steps.extend([Step::Answered(vec![Part::Text("x".to_owned())]), Step::Results(vec![result("t3", false)])]);
    let body = sent(&steps);
    assert_eq!(marks(&body), 4);
    assert!(body["messages"][0]["content"][1].get("cache_control").is_none());
}

fn message(stop: &str, content: &Value) -> Value {
    json!({"model": "m\u{202e}x", "stop_reason": stop, "content": content, "usage": {"input_tokens": 3, "output_tokens": 4,
        "cache_read_input_tokens": 5, "cache_creation_input_tokens": null}})
}

fn read(text: &str) -> Result<Answer, ModelError> {
    let mut decoder = crate::model::sse::Decoder::default();
    let mut assembly = Assembly::default();
    for event in decoder.push(text.as_bytes())? {
        assembly.take(&event)?;
    }
    assembly.finish()
}

fn whole() -> String {
    stream(&message(
        "tool_use",
        &json!([
            {"type": "thinking", "thinking": "hm, so", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "text", "text": " a «b» c"},
            {"type": "tool_use", "id": "t1", "name": "get_x", "input": {"device_ids": ["20301000003-1"], "n": {"x": [1, 2]}}},
            {"type": "tool_use", "id": "t2", "name": "get_y", "input": {}},
            {"type": "text", "text": "d"},
        ]),
    ))
}

#[test]
fn every_kind_of_block_is_put_together_again() {
    let answer = read(&whole()).unwrap();
    assert_eq!((answer.model.as_str(), answer.stop, answer.usage.total()), ("m\\u{202e}x", Stop::Tools, 12));
    assert_eq!(answer.text(), "a «b» c\n\nd");
    assert_eq!(answer.parts[0], Part::Own(json!({"type": "thinking", "thinking": "hm, so", "signature": "c2ln"})));
    assert_eq!(answer.parts[1], Part::Own(json!({"type": "redacted_thinking", "data": "b3BhcXVl"})));
    let uses = answer.tool_uses().unwrap();
    assert_eq!(uses[0].input, json!({"device_ids": ["20301000003-1"], "n": {"x": [1, 2]}}));
    assert_eq!((uses[1].id.as_str(), &uses[1].input), ("t2", &json!({})));
}

#[test]
fn a_stream_that_is_cut_anywhere_is_no_answer() {
    let text = whole();
    let events: Vec<_> = text.split_inclusive("\n\n").collect();
    for kept in 0..events.len() {
        assert_eq!(read(&events[..kept].concat()), Err(ModelError::HungUp), "{kept}");
    }
}

#[test]
fn a_missing_doubled_or_misplaced_event_is_never_an_answer() {
    let text = whole();
    let events: Vec<_> = text.split_inclusive("\n\n").collect();
    for place in 0..events.len() {
        let kind = events[place].split('\n').next().unwrap();
        // A lost or doubled word is not seen; everything that gives the stream its shape is.
        if kind == "event: ping" || kind == "event: content_block_delta" || kind == "event: message_delta" {
            continue;
        }
        let (mut without, mut twice) = (events.clone(), events.clone());
        without.remove(place);
        twice.insert(place, events[place]);
        assert!(read(&without.concat()).is_err(), "without {kind}");
        if kind != "event: message_stop" {
            assert!(read(&twice.concat()).is_err(), "twice {kind}");
        }
        if kind == "event: content_block_start" {
            let mut swapped = events.clone();
            swapped.swap(place, place + 1);
            assert!(read(&swapped.concat()).is_err(), "{kind} after its first delta");
        }
    }
}

#[test]
fn new_events_are_passed_over_and_new_blocks_are_not() {
    let text = whole();
    let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let new = text.replace(ping, "event: news\ndata: not even JSON\n\n: hello\n\ndata: {\"type\":\"later\"}\n\n");
    assert_eq!(read(&new), read(&text));
    for bad in [
        text.replace("\"thinking_delta\"", "\"new_delta\""),
        text.replace("redacted_thinking", "holo_thinking"),
        text.replace("event: message_delta", "event: message_stop"),
        text.replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"pause_turn\""),
        text.replace("\"id\":\"t1\"", "\"id\":\"\""),
        text.replace("\"role\":\"assistant\"", "\"role\":\"user\""),
        text.replace("\"index\":3", "\"index\":9"),
        text.replace(ping, "event: ping\ndata: {\n\n"),
        text.replacen("data: {", "data: {{", 4),
    ] {
        assert_eq!(read(&bad), Err(ModelError::NotUnderstood), "{bad}");
    }
}

#[test]
fn errors_refusals_and_cut_answers_are_told_apart() {
    let start = whole().split("event: content_block_start").next().unwrap().to_owned();
    for (kind, want) in [
        ("overloaded_error", ModelError::Busy),
        ("rate_limit_error", ModelError::Busy),
        ("authentication_error", ModelError::KeyRefused),
        ("invalid_request_error", ModelError::Status(400)),
        ("something_new", ModelError::Server(500)),
    ] {
        let error = json!({"type": "error", "error": {"type": kind, "message": "x"}});
        assert_eq!(read(&format!("{start}event: error\ndata: {error}\n\n")), Err(want), "{kind}");
    }
    let declined = stream(&message("refusal", &json!([{"type": "text", "text": "no"}])));
    assert_eq!(read(&declined), Err(ModelError::Declined));
    let tool = json!([{"type": "tool_use", "id": "t1", "name": "get_x", "input": {"abc": "defghi"}}]);
    let torn = |stop: &str| stream(&message(stop, &tool)).replace("\"partial_json\":\"}\"", "\"partial_json\":\"\"");
    let cut = read(&torn("max_tokens")).unwrap();
    assert_eq!((cut.stop, cut.parts.len()), (Stop::Cut, 0));
    assert_eq!(read(&torn("tool_use")), Err(ModelError::NotUnderstood));
}
