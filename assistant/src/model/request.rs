//! One request body. What does not change between questions comes first and byte for byte the same, so that the API's
//! prompt cache holds; the conversation comes last.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Most tokens in one answer (`seed 000`, facts 5.1).
pub(crate) const MAX_OUTPUT: u32 = 16_000;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    thinking: Thinking,
    output_config: OutputConfig,
    system: [System<'a>; 1],
    tools: &'a [Value],
    messages: Vec<Value>,
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct System<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: Value,
}

/// The body for one call: `messages` as they are, with a cache mark on the last block of the last one.
///
/// # Errors
/// When a value cannot be JSON, which no value of ours is.
pub(crate) fn body(
    model: &str,
    system: &str,
    tools: &[Value],
    messages: &[Value],
) -> Result<Vec<u8>, serde_json::Error> {
    let mut messages = messages.to_vec();
    mark_last_block(&mut messages);
    serde_json::to_vec(&Body {
        model,
        max_tokens: MAX_OUTPUT,
        thinking: Thinking { r#type: "adaptive" },
        output_config: OutputConfig { effort: "medium" },
        system: [System { r#type: "text", text: system, cache_control: mark() }],
        tools,
        messages,
    })
}

/// The cache mark.
pub(crate) fn mark() -> Value {
    json!({"type": "ephemeral"})
}

fn mark_last_block(messages: &mut [Value]) {
    let block =
        messages.last_mut().and_then(|message| message.get_mut("content")?.as_array_mut()?.last_mut()?.as_object_mut());
    if let Some(block) = block {
        block.insert("cache_control".to_owned(), mark());
    }
}

/// A user message of these blocks.
pub(crate) fn user(blocks: Vec<Value>) -> Value {
    message("user", blocks)
}

/// The model's own blocks, given back unchanged, thinking included.
pub(crate) fn assistant(blocks: Vec<Value>) -> Value {
    message("assistant", blocks)
}

fn message(role: &str, blocks: Vec<Value>) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), Value::from(role));
    message.insert("content".to_owned(), Value::Array(blocks));
    Value::Object(message)
}

/// A block of text.
pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// What a tool answered.
pub(crate) fn tool_result(id: &str, text: &str, is_error: bool) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}], "is_error": is_error})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_before_the_conversation_is_the_same_bytes() {
        let tools = [json!({"name": "get_x"})];
        let make =
            |question: &str| String::from_utf8(body("m", "s", &tools, &[user(vec![text(question)])]).unwrap()).unwrap();
        let (one, two) = (make("one"), make("a second question"));
        let prefix = |body: &str| body.split("\"messages\"").next().unwrap().to_owned();
        assert_eq!(prefix(&one), prefix(&two));
        assert!(prefix(&one).contains("\"effort\":\"medium\""));
    }

    #[test]
    fn the_mark_moves_and_history_stays_as_it_was() {
        let history = vec![
            user(vec![text("q")]),
            assistant(vec![json!({"type": "thinking", "thinking": "", "signature": "s=="})]),
            user(vec![tool_result("t1", "a", false), tool_result("t2", "b", true)]),
        ];
        let sent: Value = serde_json::from_slice(&body("m", "s", &[], &history).unwrap()).unwrap();
        assert_eq!(sent["messages"][1], history[1]);
        assert_eq!(sent["messages"][0], history[0]);
        assert!(sent["messages"][2]["content"][0].get("cache_control").is_none());
        assert_eq!(sent["messages"][2]["content"][1]["cache_control"], mark());
    }
}
