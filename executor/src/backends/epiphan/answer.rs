//! What a tool result says happened. Not understood is `unknown`, never `ok` (`seed 000, Flow 6`).

use crate::store::Outcome;
use policy::call::CheckedCall;
use serde_json::{Map, Value};

/// Reads the result of the one call. `targets` are the ids under which this call's own devices may answer.
pub(crate) fn outcome_of(targets: &[String], result: &Value) -> Outcome {
    let failed = match result.get("isError") {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => return unknown("the answer's error mark is not a yes or no"),
    };
    match result.get("resultType") {
        None => {}
        Some(kind) if kind == "complete" => {}
        Some(_) => return unknown("the server asked a question instead of answering"),
    }
    let Some(texts) = texts_of(result) else { return unknown("the answer holds something else than text") };
    let body = match body_of(result, &texts) {
        Ok(body) => body,
        Err(why) => return unknown(why),
    };
    match body {
        Some(Value::Object(map)) if !failed => read_map(targets, &map),
        Some(_) if !failed => unknown("the answer is not a map of device to error"),
        _ if sounds_signed_out(&texts) => unknown("the server says that the sign-in is not valid"),
        _ if failed => Outcome::Error(texts.join(" ")),
        _ => unknown("the answer is text where data should be"),
    }
}

fn unknown(why: &str) -> Outcome {
    Outcome::Unknown(why.to_owned())
}

/// The ids under which a call's targets may stand in an answer: the unit, and the channel on it.
pub(crate) fn answering_ids(call: &CheckedCall) -> Vec<String> {
    let ids = call.targets().iter().flat_map(|target| {
        let channel = target.channel.as_ref().map(|channel| format!("{}-{channel}", target.master));
        std::iter::once(target.master.to_string()).chain(channel)
    });
    ids.collect()
}

/// The batch tools answer with a map of device to error text; an empty one means success. The other three have never been
/// seen live. An empty object is a yes, our own target's words are a no, anything else is not understood.
fn read_map(targets: &[String], map: &Map<String, Value>) -> Outcome {
    let mut words = Vec::new();
    for (device, why) in map {
        match why {
            Value::String(why) if targets.contains(device) => words.push(format!("{device}: {why}")),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                return unknown("the answer is not about this call's own target");
            }
        }
    }
    if words.is_empty() { Outcome::Ok(String::new()) } else { Outcome::Error(words.join("; ")) }
}

/// The answer's text parts; nothing when a part is something else.
fn texts_of(result: &Value) -> Option<Vec<String>> {
    let parts = match result.get("content") {
        None => &[][..],
        Some(content) => content.as_array()?,
    };
    parts.iter().map(|part| Some(part.get("text")?.as_str()?.to_owned())).collect()
}

/// The answer's data: structured content, or the one text part when it is JSON. Both present must say the same.
fn body_of(result: &Value, texts: &[String]) -> Result<Option<Value>, &'static str> {
    let structured = result.get("structuredContent").filter(|value| !value.is_null()).cloned();
    let parsed = match texts {
        [one] => reader::json::read(one.as_bytes()).ok(),
        _ => None,
    };
    match (structured, parsed) {
        (Some(data), None) if texts.is_empty() => Ok(Some(data)),
        (Some(data), Some(text)) if data == text => Ok(Some(data)),
        (Some(_), _) => Err("the answer's data and text differ"),
        (None, text) => Ok(text),
    }
}

fn sounds_signed_out(texts: &[String]) -> bool {
    texts.iter().any(|text| {
        let text = text.to_lowercase();
        let alone = text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "401");
        let words = [
            "unauthorized",
            "unauthorised",
            "invalid token",
            "invalid_token",
            "token expired",
            "token has expired",
            "forbidden",
        ];
        alone || words.iter().any(|word| text.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(result: &Value) -> Outcome {
        outcome_of(&["20311112222".to_owned(), "20311112222-1".to_owned()], result)
    }

    #[test]
    fn an_empty_map_is_a_yes_and_device_words_are_a_no() {
        assert_eq!(read(&json!({ "structuredContent": {}, "content": [] })), Outcome::Ok(String::new()));
        assert_eq!(read(&json!({ "content": [{ "type": "text", "text": "{}" }] })), Outcome::Ok(String::new()));
        assert_eq!(
            read(&json!({ "structuredContent": { "20311112222-1": "Device is busy" } })),
            Outcome::Error("20311112222-1: Device is busy".to_owned())
        );
        assert_eq!(
            read(&json!({ "isError": true, "content": [{ "type": "text", "text": "plan does not allow it" }] })),
            Outcome::Error("plan does not allow it".to_owned())
        );
    }

    #[test]
    fn whatever_is_not_understood_is_unknown() {
        for result in [
            json!({}),
            json!({ "content": [{ "type": "text", "text": "done" }] }),
            json!({ "content": [{ "type": "text", "text": "Error: 401 Unauthorized" }] }),
            json!({ "isError": true, "content": [{ "type": "text", "text": "Error: 401 Unauthorized" }] }),
            json!({ "structuredContent": { "status": { "ok": true } } }),
            json!({ "structuredContent": { "status": "ok" } }),
            json!({ "structuredContent": { "20311113333-1": "Device is busy" } }),
            json!({ "structuredContent": [] }),
            json!({ "structuredContent": {}, "content": [{ "type": "text", "text": "{\"a\":\"b\"}" }] }),
            json!({ "resultType": "input_required", "inputRequests": {} }),
            json!({ "isError": "no", "structuredContent": {} }),
            json!({ "structuredContent": {}, "content": [{ "type": "text", "text": "Error: device busy" }] }),
            json!({ "structuredContent": {}, "content": [{ "type": "text", "text": "{}" }, { "type": "text", "text": "401" }] }),
            json!({ "structuredContent": {}, "content": [{ "type": "image", "data": "" }] }),
            json!({ "resultType": 5, "structuredContent": {} }),
            json!({ "content": [{ "type": "text", "text": "{\"a\":\"b\",\"a\":\"c\"}" }] }),
        ] {
            assert!(matches!(read(&result), Outcome::Unknown(_)), "{result}");
        }
    }

    #[test]
    fn a_device_named_401_is_no_auth_failure() {
        let named = json!({ "structuredContent": { "20311112222-1": "Room 401 Unauthorized is busy" } });
        assert!(matches!(read(&named), Outcome::Error(_)));
    }
}
