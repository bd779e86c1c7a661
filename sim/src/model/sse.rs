//! The streamed form of an answer: the event sequence of the Messages API.

use serde_json::{Value, json};

/// Longest piece of text in one event, in characters.
pub(super) const PIECE: usize = 24;

/// The events of this message, each ready to be sent.
pub(crate) fn events(message: &Value) -> Vec<String> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![
        event("message_start", &json!({"type": "message_start", "message": start})),
        event("ping", &json!({"type": "ping"})),
    ];
    let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, block) in blocks.iter().enumerate() {
        block_events(index, block, &mut events);
    }
    events.push(event(
        "message_delta",
        &json!({
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": null},
            "usage": {"output_tokens": message["usage"]["output_tokens"]},
        }),
    ));
    events.push(event("message_stop", &json!({"type": "message_stop"})));
    events
}

fn block_events(index: usize, block: &Value, events: &mut Vec<String>) {
    let mut empty = block.clone();
    let words = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
    let mut deltas = Vec::new();
    match block["type"].as_str() {
        Some("tool_use") => {
            empty["input"] = json!({});
            deltas.extend(pieces(&block["input"].to_string(), "input_json_delta", "partial_json"));
        }
        Some("thinking") => {
            empty["thinking"] = json!("");
            empty["signature"] = json!("");
            deltas.extend(pieces(&words("thinking"), "thinking_delta", "thinking"));
            deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
        }
        Some("text") => {
            empty["text"] = json!("");
            deltas.extend(pieces(&words("text"), "text_delta", "text"));
        }
        // Comes whole.
        Some(_) | None => {}
    }
    events.push(event(
        "content_block_start",
        &json!({"type": "content_block_start", "index": index, "content_block": empty}),
    ));
    for delta in deltas {
        events.push(event(
            "content_block_delta",
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
    }
    events.push(event("content_block_stop", &json!({"type": "content_block_stop", "index": index})));
}

fn pieces(text: &str, kind: &str, field: &str) -> Vec<Value> {
    let characters: Vec<char> = text.chars().collect();
    let delta = |piece: &[char]| {
        let mut delta = json!({"type": kind});
        delta[field] = json!(piece.iter().collect::<String>());
        delta
    };
    characters.chunks(PIECE).map(delta).collect()
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_put_together_are_the_message() {
        let message = json!({
            "content": [
                {"type": "text", "text": "Sala «Norte» lista, y ninguna otra más por hoy."},
                {"type": "tool_use", "id": "t", "name": "n", "input": {"device_ids": ["20301000003-1"]}},
            ],
            "stop_reason": "tool_use",
            "usage": {"output_tokens": 9},
        });
        let mut texts = [String::new(), String::new()];
        let mut names = Vec::new();
        for sent in events(&message) {
            let (name, data) = sent.split_once("\ndata: ").expect("data");
            names.push(name.trim_start_matches("event: ").to_owned());
            let data: Value = serde_json::from_str(data.trim()).expect("json");
            for field in ["text", "partial_json"] {
                if let Some(piece) = data["delta"][field].as_str() {
                    let index = usize::try_from(data["index"].as_u64().expect("index")).expect("small");
                    texts[index].push_str(piece);
                }
            }
        }
        assert_eq!(json!(texts[0]), message["content"][0]["text"]);
        let input: Value = serde_json::from_str(&texts[1]).expect("json");
        assert_eq!(input, message["content"][1]["input"]);
        assert_eq!(names.first().map(String::as_str), Some("message_start"));
        assert_eq!(names.last().map(String::as_str), Some("message_stop"));
    }
}
