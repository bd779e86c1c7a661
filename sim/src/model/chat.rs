//! The other kind of API, chat completions, as strictly read as the first: requests become the same checked conversation,
//! answers the same message in other pieces.

use serde_json::{Value, json};

use super::sse::PIECE;
use super::validate::{self, Block, Checked, Message, Role};

/// Checks a whole body.
///
/// # Errors
/// One sentence that starts with the place.
pub(crate) fn body(body: &Value) -> Result<Checked, String> {
    if body["model"].as_str().unwrap_or_default().is_empty() {
        return Err("model: required".to_owned());
    }
    if body["max_tokens"].as_u64().unwrap_or_default() == 0 {
        return Err("max_tokens: must be a whole number of at least 1".to_owned());
    }
    if body["stream"] != true {
        return Err("stream: this stand-in streams only".to_owned());
    }
    if body.to_string().contains("\"cache_control\"") || !body["system"].is_null() || !body["thinking"].is_null() {
        return Err("a member of another API is in the body".to_owned());
    }
    let mut tools = std::collections::BTreeSet::new();
    for (place, tool) in body["tools"].as_array().map_or(&[][..], Vec::as_slice).iter().enumerate() {
        let name = tool["function"]["name"].as_str().unwrap_or_default();
        let fits = tool["type"] == "function" && tool["function"]["parameters"]["type"] == "object";
        if !fits || name.is_empty() || !tools.insert(name.to_owned()) {
            return Err(format!("tools.{place}: a function with a name of its own and an object of parameters"));
        }
    }
    let messages = messages(body["messages"].as_array().map_or(&[][..], Vec::as_slice))?;
    validate::answered(&messages)?;
    Ok(Checked { stream: true, thinking: false, messages, tools })
}

fn messages(list: &[Value]) -> Result<Vec<Message>, String> {
    let mut found: Vec<Message> = Vec::new();
    for (place, message) in list.iter().enumerate() {
        let text = message["content"].as_str().ok_or_else(|| format!("messages.{place}.content: must be text"))?;
        let texts = |words: &str| (!words.is_empty()).then(|| Block::Text(words.to_owned()));
        let (role, blocks) = match message["role"].as_str() {
            Some("system") if place == 0 => continue,
            Some("user") if !text.trim().is_empty() => (Role::User, texts(text).into_iter().collect()),
            Some("assistant") => {
                let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
                let calls = calls.iter().map(|value| call(value, place)).collect::<Result<Vec<_>, _>>()?;
                (Role::Assistant, texts(text).into_iter().chain(calls).collect::<Vec<_>>())
            }
            Some("tool") => {
                let id =
                    message["tool_call_id"].as_str().ok_or_else(|| format!("messages.{place}: no tool_call_id"))?;
                let result = Block::Result { id: id.to_owned(), text: text.to_owned() };
                // The results of one answer are one step.
                if let Some(last) = found.last_mut().filter(|last| last.role == Role::User && place > 2) {
                    last.blocks.push(result);
                    continue;
                }
                (Role::User, vec![result])
            }
            _ => return Err(format!("messages.{place}.role: system first, then user, assistant and tool")),
        };
        if blocks.is_empty() || (role == Role::User) != found.len().is_multiple_of(2) {
            return Err(format!("messages.{place}: empty, or out of turn"));
        }
        found.push(Message { role, blocks });
    }
    if found.last().map(|message| message.role) != Some(Role::User) {
        return Err("messages: the last one must be by the user or a tool".to_owned());
    }
    Ok(found)
}

fn call(value: &Value, place: usize) -> Result<Block, String> {
    let wrong =
        || format!("messages.{place}.tool_calls: id, type function, name, and arguments as JSON text of an object");
    let function = &value["function"];
    let arguments = serde_json::from_str::<Value>(function["arguments"].as_str().ok_or_else(wrong)?);
    let object = arguments.is_ok_and(|arguments| arguments.is_object());
    match (value["id"].as_str(), function["name"].as_str()) {
        (Some(id), Some(name)) if object && !id.is_empty() && value["type"] == "function" => {
            Ok(Block::Use { id: id.to_owned(), name: name.to_owned() })
        }
        _ => Err(wrong()),
    }
}

/// The chunks of this message, each ready to be sent.
pub(crate) fn chunks(message: &Value) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": message["id"], "object": "chat.completion.chunk", "created": 0, "model": message["model"],
            "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, reason: Value| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}]), Value::Null)
    };
    let pieces = |text: &str| -> Vec<String> {
        text.chars().collect::<Vec<_>>().chunks(PIECE).map(|piece| piece.iter().collect()).collect()
    };
    let mut chunks = vec![delta(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut calls = 0_usize;
    for block in message["content"].as_array().map_or(&[][..], Vec::as_slice) {
        if let Some(text) = block["text"].as_str() {
            chunks.extend(pieces(text).iter().map(|piece| delta(json!({"content": piece}), Value::Null)));
            continue;
        }
        let head = json!({"name": block["name"], "arguments": ""});
        let call = json!({"index": calls, "id": block["id"], "type": "function", "function": head});
        chunks.push(delta(json!({"tool_calls": [call]}), Value::Null));
        for piece in pieces(&block["input"].to_string()) {
            let call = json!({"index": calls, "function": {"arguments": piece}});
            chunks.push(delta(json!({"tool_calls": [call]}), Value::Null));
        }
        calls += 1;
    }
    chunks.push(delta(json!({}), json!(if calls > 0 { "tool_calls" } else { "stop" })));
    let (input, output) = (&message["usage"]["input_tokens"], &message["usage"]["output_tokens"]);
    chunks.push(chunk(json!([]), json!({"prompt_tokens": input, "completion_tokens": output})));
    chunks.push("data: [DONE]\n\n".to_owned());
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: &Value) -> Value {
        json!({"model": "m", "max_tokens": 100, "stream": true, "messages": messages,
            "tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}]})
    }

    fn conversation() -> Value {
        let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "a", "arguments": "{}"}});
        json!([
            {"role": "system", "content": "s"},
            {"role": "user", "content": "<fleet_data>{}</fleet_data> hello"},
            {"role": "assistant", "content": "", "tool_calls": [call("c1"), call("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
            {"role": "tool", "tool_call_id": "c2", "content": "y"},
        ])
    }

    #[test]
    fn a_good_conversation_is_the_same_as_in_the_other_api() {
        let checked = body(&request(&conversation())).expect("good");
        assert_eq!(checked.question().trim(), "hello");
        assert_eq!(checked.messages.len(), 3);
        assert_eq!(checked.messages[2].results().collect::<Vec<_>>(), [("c1", "x"), ("c2", "y")]);
    }

    #[test]
    fn each_broken_rule_is_refused() {
        let with = |place: &str, value: Value| {
            let mut broken = request(&conversation());
            *broken.pointer_mut(place).expect("a place") = value;
            body(&broken)
        };
        for (place, value) in [
            ("/model", json!("")),
            ("/max_tokens", json!(0)),
            ("/stream", json!(false)),
            ("/tools/0/type", json!("x")),
            ("/tools/0/function/parameters", json!({"type": "object", "cache_control": 1})),
            ("/messages/0/role", json!("tool")),
            ("/messages/1/content", json!([])),
            ("/messages/1/role", json!("system")),
            ("/messages/2/tool_calls/0/function/arguments", json!({})),
            ("/messages/2/tool_calls/0/function/arguments", json!("[]")),
            ("/messages/2/tool_calls/0/id", json!("c2")),
            ("/messages/3/tool_call_id", json!("c3")),
            ("/messages/4/role", json!("user")),
            ("/messages/4", json!({"role": "assistant", "content": "x"})),
        ] {
            assert!(with(place, value.clone()).is_err(), "{place} {value}");
        }
    }

    #[test]
    fn the_chunks_put_together_are_the_message() {
        let message = json!({"id": "i", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 2}, "content": [
            {"type": "text", "text": "Sala «Norte» lista, y ninguna otra más por hoy."},
            {"type": "tool_use", "id": "t", "name": "n", "input": {"device_ids": ["20301000003-1"]}},
        ]});
        let (mut text, mut arguments) = (String::new(), String::new());
        let sent = chunks(&message);
        for sent in &sent[..sent.len() - 1] {
            let chunk: Value = serde_json::from_str(sent.trim_start_matches("data: ").trim()).expect("json");
            let delta = &chunk["choices"][0]["delta"];
            text.push_str(delta["content"].as_str().unwrap_or_default());
            arguments.push_str(delta["tool_calls"][0]["function"]["arguments"].as_str().unwrap_or_default());
        }
        assert_eq!(json!(text), message["content"][0]["text"]);
        assert_eq!(serde_json::from_str::<Value>(&arguments).expect("json"), message["content"][1]["input"]);
        assert_eq!(sent.last().map(String::as_str), Some("data: [DONE]\n\n"));
    }
}
