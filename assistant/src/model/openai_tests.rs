use super::*;
use crate::model::talk::ToolResult;
use crate::testing::chat_stream;

fn read(text: &str) -> Result<Answer, ModelError> {
    let mut decoder = crate::model::sse::Decoder::default();
    let mut assembly = Assembly::default();
    for event in decoder.push(text.as_bytes())? {
        assembly.take(&event)?;
    }
    assembly.finish(Usage { input: 70, output: 7, ..Usage::default() })
}

fn whole() -> String {
    chat_stream(&json!({"model": "qwen\u{202e}", "usage": {"input_tokens": 9}, "content": [
        {"type": "text", "text": "Let me «look»."},
        {"type": "tool_use", "id": "c1", "name": "get_x", "input": {"device_ids": ["20301000003-1"]}},
        {"type": "tool_use", "id": "c2", "name": "get_y", "input": {}},
    ]}))
}

fn chunk(delta: &Value, reason: &Value) -> String {
    let chunk = json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    format!("data: {chunk}\n\n")
}

#[test]
fn words_and_calls_are_put_together_again() {
    let answer = read(&whole()).unwrap();
    assert_eq!((answer.model.as_str(), answer.stop, answer.usage.total()), ("qwen\\u{202e}", Stop::Tools, 9));
    assert_eq!(answer.text(), "Let me «look».");
    let uses = answer.tool_uses().unwrap();
    assert_eq!(uses[0].input, json!({"device_ids": ["20301000003-1"]}));
    assert_eq!((uses[1].id.as_str(), &uses[1].input), ("c2", &json!({})));
}

#[test]
fn servers_that_write_whole_calls_without_ids_or_numbers_are_understood() {
    let call = |id: Value, name: &str| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": name, "arguments": "{\"a\":1}"}}]});
    let end = format!("{}data: [DONE]\n\n", chunk(&json!({"content": ""}), &json!("stop")));
    let text =
        chunk(&call(json!("x"), "get_a"), &Value::Null) + &chunk(&call(json!("y"), "get_b"), &Value::Null) + &end;
    let answer = read(&text).unwrap();
    assert_eq!((answer.stop, answer.tool_uses().unwrap().len()), (Stop::Tools, 2));
    assert_eq!(answer.usage.total(), 77, "guessed where the server does not count");
    let answer = read(&(chunk(&call(Value::Null, "get_a"), &Value::Null) + &end)).unwrap();
    assert_eq!(answer.tool_uses().unwrap()[0].id, "call_0");
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
fn what_does_not_fit_is_refused() {
    let done = "data: [DONE]\n\n";
    let says = |words: &str, reason: Value| chunk(&json!({"content": words}), &reason);
    for (text, want) in [
        (done.to_owned(), ModelError::NotUnderstood),
        (says("a", json!("function_call")) + done, ModelError::NotUnderstood),
        (says("a", json!("content_filter")) + done, ModelError::Declined),
        (chunk(&json!({"refusal": "no"}), &Value::Null), ModelError::Declined),
        (says("a", json!("stop")) + &says("b", Value::Null), ModelError::NotUnderstood),
        (says("a", json!("stop")) + done + done, ModelError::NotUnderstood),
        (chunk(&json!({"content": [1]}), &Value::Null), ModelError::NotUnderstood),
        ("data: {\"choices\":[{},{}]}\n\n".to_owned(), ModelError::NotUnderstood),
        ("data: {}\n\n".to_owned(), ModelError::NotUnderstood),
        ("data: {\"error\":{\"message\":\"x\",\"code\":429}}\n\n".to_owned(), ModelError::Busy),
        ("data: {\"error\":\"out of memory\"}\n\n".to_owned(), ModelError::Server(500)),
        (whole().replace("\"arguments\":\"{\\\"dev", "\"arguments\":\"[\\\"dev"), ModelError::NotUnderstood),
    ] {
        assert_eq!(read(&text), Err(want), "{text}");
    }
    let cut = read(&(says("half an ans", json!("length")) + done)).unwrap();
    assert_eq!((cut.stop, cut.text().as_str()), (Stop::Cut, "half an ans"));
}

#[test]
fn the_conversation_is_written_in_the_apis_own_roles() {
    let wanted = ToolUse { id: "c1".to_owned(), name: "get_x".to_owned(), input: json!({"a": 1}) };
    let thought = Part::Own(json!({"type": "thinking", "thinking": "t", "signature": "s"}));
    let offers = [Offer {
        name: "get_x".to_owned(),
        description: "d".to_owned(),
        schema: json!({"type": "object"}),
        ends_prefix: true,
    }];
    let steps = [
        Step::Asked { notes: "notes".to_owned(), question: "q".to_owned() },
        Step::Answered(vec![thought, Part::Text("so".to_owned()), Part::Use(wanted)]),
        Step::Results(vec![ToolResult { id: "c1".to_owned(), text: "r".to_owned(), failed: true }]),
    ];
    let sent: Value =
        serde_json::from_slice(&body("m", Request { system: "s", offers: &offers, steps: &steps }).unwrap()).unwrap();
    let function = json!({"name": "get_x", "arguments": "{\"a\":1}"});
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "system", "content": "s"},
            {"role": "user", "content": "notes\n\nq"},
            {"role": "assistant", "content": "so", "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
        ])
    );
    assert_eq!(sent["tools"][0]["function"]["parameters"], json!({"type": "object"}));
    assert!(!sent.to_string().contains("cache_control"));
}
