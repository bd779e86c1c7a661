//! The server's answer as bytes: JSON, or one event stream. What is not plainly the answer to our id is not an answer.

use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use serde_json::Value;

/// Words of [`result_of`] for an answer that is the protocol's own "no".
pub(super) const PROTOCOL_ERROR: &str = "the server answered with a protocol error";

/// The `result` of the JSON-RPC answer with this id.
pub(super) fn result_of(headers: &HeaderMap, body: &[u8], id: u64) -> Result<Value, &'static str> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let answer = if kind.starts_with("text/event-stream") {
        answers(body).into_iter().next().ok_or("the event stream ended without an answer")?
    } else if kind.starts_with("application/json") {
        reader::json::read(body).map_err(|_| "the answer is not JSON, or says one thing twice")?
    } else {
        return Err("the answer is neither JSON nor an event stream");
    };
    if answer.get("id").and_then(Value::as_u64) != Some(id) {
        return Err("the answer belongs to another question");
    }
    if answer.get("error").is_some() {
        return Err(PROTOCOL_ERROR);
    }
    answer.get("result").cloned().ok_or("the answer holds no result")
}

/// Whether a whole JSON-RPC answer stands in these bytes of an event stream.
pub(super) fn has_answer(body: &[u8]) -> bool {
    !answers(body).is_empty()
}

/// Where the last whole event at or after `from` ends, or `from`.
pub(super) fn end_of_events(body: &[u8], from: usize) -> usize {
    let unread = body.get(from..).unwrap_or_default();
    [&b"\n\n"[..], b"\r\n\r\n"]
        .into_iter()
        .filter_map(|gap| unread.windows(gap.len()).rposition(|window| window == gap).map(|at| from + at + gap.len()))
        .max()
        .unwrap_or(from)
}

/// The JSON-RPC answers among the whole events; requests and notifications of the server are passed over unanswered.
fn answers(body: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n");
    let Some((whole, _)) = text.rsplit_once("\n\n") else { return Vec::new() };
    whole
        .split("\n\n")
        .filter_map(|event| {
            let data: Vec<&str> = event
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .map(|d| d.strip_prefix(' ').unwrap_or(d))
                .collect();
            let value = reader::json::read(data.join("\n").as_bytes()).ok()?;
            let is_answer = value.get("result").is_some() || value.get("error").is_some();
            (is_answer && value.get("method").is_none()).then_some(value)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(kind: &'static str) -> HeaderMap {
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, kind.parse().unwrap());
        map
    }

    #[test]
    fn json_and_event_streams_give_the_same_result() {
        let json = br#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#;
        let stream = b"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1}}\n\n";
        assert_eq!(result_of(&headers("application/json"), json, 2).unwrap()["a"], 1);
        assert_eq!(result_of(&headers("text/event-stream"), stream, 2).unwrap()["a"], 1);
    }

    #[test]
    fn anything_else_is_not_an_answer() {
        for (kind, body) in [
            ("application/json", &br#"{"jsonrpc":"2.0","id":1,"result":{}}"#[..]),
            ("application/json", br#"{"jsonrpc":"2.0","id":2,"error":{"code":1}}"#),
            ("application/json", br#"{"jsonrpc":"2.0","id":2}"#),
            ("application/json", b"{"),
            ("text/html", b"<p>hello"),
            ("text/event-stream", b"data: {\"id\":2,\"result\":{}}\n"),
        ] {
            assert!(result_of(&headers(kind), body, 2).is_err(), "{kind} {body:?}");
        }
    }
}
