//! From the result of one call to its data: one value, or a failed read.

use crate::error::{Fault, Why};
use crate::json::{self, JsonFault};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// The data of a result (`facts 1.1`). Structured data and JSON text must say the same; an error result and plain
/// text are failures, and only those are searched for the words of a dead sign-in: a device may be *named* so.
pub(crate) fn read(result: &CallToolResult) -> Result<Value, Fault> {
    let texts: Vec<&str> = result.content.iter().filter_map(text_of).collect();
    if result.is_error == Some(true) {
        return Err(refused(&texts));
    }
    if texts.len() < result.content.len() {
        return Err(Fault::Failed(Why::OtherContent));
    }
    let structured = result.structured_content.as_ref().filter(|value| !value.is_null());
    match (structured, texts.as_slice()) {
        (None, []) => Err(Fault::Failed(Why::Empty)),
        (None, [text]) => parsed(text),
        (None, _) => Err(Fault::Failed(Why::Differs)),
        (Some(value), []) => Ok(wrapped_list(value, &[]).unwrap_or_else(|_| value.clone())),
        (Some(value), [text]) if json::same(value, &parsed(text)?) => Ok(value.clone()),
        (Some(value), texts) => wrapped_list(value, texts),
    }
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    if let ContentBlock::Text(text) = block {
        return Some(&text.text);
    }
    None
}

fn parsed(text: &str) -> Result<Value, Fault> {
    match json::read(text.as_bytes()) {
        Ok(value) => Ok(value),
        Err(JsonFault::NotJson) if speaks_of_sign_in(text) => Err(Fault::SaysNotSignedIn),
        Err(fault) => Err(Fault::Failed(fault.into())),
    }
}

// Servers of the Python SDK wrap a bare list as {"result": […]} and write each item as its own text.
fn wrapped_list(value: &Value, texts: &[&str]) -> Result<Value, Fault> {
    let differs = Fault::Failed(Why::Differs);
    let list = value
        .as_object()
        .filter(|object| object.len() == 1)
        .and_then(|object| object.get("result")?.as_array())
        .ok_or(differs)?;
    let items = texts.iter().map(|text| parsed(text)).collect::<Result<Vec<_>, _>>()?;
    let whole = Value::Array(list.clone());
    let one_text = matches!(items.as_slice(), [only] if json::same(only, &whole));
    if one_text || json::same(&Value::Array(items), &whole) {
        return Ok(whole);
    }
    Err(differs)
}

fn refused(texts: &[&str]) -> Fault {
    if texts.iter().any(|text| speaks_of_sign_in(text)) {
        Fault::SaysNotSignedIn
    } else if texts.iter().any(|text| has_word(&text.to_ascii_lowercase(), "forbidden")) {
        Fault::Failed(Why::Forbidden)
    } else {
        Fault::Failed(Why::ErrorAnswer)
    }
}

/// Whether an error's words say that the sign-in is missing, wrong or over (`facts 1.1`).
pub(crate) fn speaks_of_sign_in(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let phrases =
        ["invalid token", "invalid_token", "token expired", "token has expired", "unauthorised", "unauthorized"];
    phrases.iter().any(|phrase| text.contains(phrase)) || has_word(&text, "401")
}

fn has_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|part| part.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|part| part.chars().next());
        edge(before) && edge(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(result: &Value) -> Result<Value, Fault> {
        read(&serde_json::from_value::<CallToolResult>(result.clone()).unwrap())
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn data_comes_from_either_part_or_from_two_that_agree() {
        let data = json!({"devices": [], "load": 14.0});
        let words = text(r#"{"load": 14, "devices": []}"#);
        for result in [
            json!({"structuredContent": data, "content": []}),
            json!({"content": [words]}),
            json!({"structuredContent": data, "content": [words], "isError": false}),
            json!({"structuredContent": null, "content": [words]}),
        ] {
            assert!(json::same(&of(&result).unwrap(), &data), "{result}");
        }
    }

    #[test]
    fn two_parts_that_differ_are_a_failed_read() {
        let one = json!({"devices": [{"Id": "20311112222"}]});
        for texts in [
            vec![text(r#"{"devices":[]}"#)],
            vec![text(&one.to_string()), text("{}")],
            vec![text(&one.to_string()), text(&one.to_string())],
        ] {
            let result = json!({"structuredContent": one, "content": texts});
            assert_eq!(of(&result), Err(Fault::Failed(Why::Differs)), "{result}");
        }
        let two = json!({"content": [text("{}"), text("{}")]});
        assert_eq!(of(&two), Err(Fault::Failed(Why::Differs)));
    }

    #[test]
    fn a_wrapped_list_is_that_list() {
        let list = json!([{"Id": "20311112222"}, {"Id": "20311113333"}]);
        let items = vec![text(r#"{"Id":"20311112222"}"#), text(r#"{"Id":"20311113333"}"#)];
        let wrapped = json!({ "result": list });
        assert_eq!(of(&json!({"structuredContent": wrapped, "content": items})), Ok(list.clone()));
        let whole = json!({"structuredContent": wrapped, "content": [text(&list.to_string())]});
        assert_eq!(of(&whole), Ok(list));
        let none = json!({"structuredContent": {"result": []}, "content": []});
        assert_eq!(of(&none), Ok(json!([])));
        let alone = json!({"structuredContent": wrapped, "content": []});
        assert_eq!(of(&alone), Ok(wrapped.clone()));
        let short = json!({"structuredContent": wrapped, "content": [text(r#"{"Id":"20311112222"}"#)]});
        assert_eq!(of(&short), Err(Fault::Failed(Why::Differs)));
    }

    #[test]
    fn errors_text_pictures_and_nothing_are_failures() {
        for (result, why) in [
            (json!({"content": [text("Device is busy")], "isError": true}), Why::ErrorAnswer),
            (json!({"content": [text("{}")], "structuredContent": {}, "isError": true}), Why::ErrorAnswer),
            (json!({"content": [text("FORBIDDEN")], "isError": true}), Why::Forbidden),
            (json!({"content": [text("Nothing found.")]}), Why::PlainText),
            (json!({"content": [text("")]}), Why::PlainText),
            (json!({"content": [text(r#"{"a":1,"a":2}"#)]}), Why::DuplicateKey),
            (json!({"content": [text(&"[".repeat(500))]}), Why::TooDeep),
            (json!({"content": []}), Why::Empty),
            (json!({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}), Why::OtherContent),
        ] {
            assert_eq!(of(&result), Err(Fault::Failed(why)), "{result}");
        }
    }

    #[test]
    fn the_words_of_a_dead_sign_in_are_found_in_errors_and_plain_text() {
        for words in [
            "Error: 401 Unauthorized",
            "HTTP 401",
            "401",
            "unauthorised",
            "error=\"invalid_token\"",
            "Invalid Token.",
            "Your token has expired",
            "token expired",
        ] {
            let error = json!({"content": [text(words)], "isError": true});
            assert_eq!(of(&error), Err(Fault::SaysNotSignedIn), "{words}");
        }
        let plain = json!({"content": [text("Error: 401 Unauthorized")]});
        assert_eq!(of(&plain), Err(Fault::SaysNotSignedIn));
        for words in ["Device 4012 is busy", "error14010", "v1_401_x", "no tokens"] {
            let error = json!({"content": [text(words)], "isError": true});
            assert_eq!(of(&error), Err(Fault::Failed(Why::ErrorAnswer)), "{words}");
        }
    }

    #[test]
    fn a_device_may_be_named_after_an_error() {
        let data = json!({"devices": [{"Id": "20311112222", "Name": "Room 401 Unauthorized"}]});
        assert_eq!(of(&json!({"content": [text(&data.to_string())]})), Ok(data.clone()));
        let both = json!({"structuredContent": data, "content": [text(&data.to_string())]});
        assert_eq!(of(&both), Ok(data));
    }
}
