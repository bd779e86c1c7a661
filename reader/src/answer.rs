//! From the result of one call to its data: one value, or a failed read.

use crate::error::{Fault, Why};
use crate::fleet::TEAM;
use crate::json::{self, JsonFault};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// What an error that says so may be made of: no word that is likely to stand in a room's name.
const ABOUT_SIGN_IN: &str = "401 a access again an and are auth authenticate authenticated authentication authorization \
    authorized be bearer been by calling check client code credentials denied description detail error executing expired \
    failed for has have header http in information invalid is log login message missing more must no not oauth or please \
    provided reason request required response session sign signed status the to token tool type unauthenticated \
    unauthorised unauthorized url valid was with you your";

/// The data of a result of this tool (`facts 1.1`). Structured data and JSON text must say the same; an error result and
/// plain text are failures, and only those are searched for the words of a dead sign-in: a device may be *named* so.
pub(crate) fn read(result: &CallToolResult, tool: &str) -> Result<Value, Fault> {
    let texts: Vec<&str> = result.content.iter().filter_map(text_of).collect();
    if result.is_error == Some(true) {
        return Err(refused(&texts, tool));
    }
    if texts.len() < result.content.len() {
        return Err(Fault::Failed(Why::OtherContent));
    }
    let structured = result.structured_content.as_ref().filter(|value| !value.is_null());
    match (structured, texts.as_slice()) {
        (None, []) => Err(Fault::Failed(Why::Empty)),
        (None, [text]) => parsed(text, tool),
        (None, _) => Err(Fault::Failed(Why::Differs)),
        (Some(value), []) => Ok(wrapped_list(value, &[], tool).unwrap_or_else(|_| value.clone())),
        (Some(value), [text]) if json::same(value, &parsed(text, tool)?) => Ok(value.clone()),
        (Some(value), texts) => wrapped_list(value, texts, tool),
    }
}

fn text_of(block: &ContentBlock) -> Option<&str> {
    if let ContentBlock::Text(text) = block {
        return Some(&text.text);
    }
    None
}

fn parsed(text: &str, tool: &str) -> Result<Value, Fault> {
    match json::read(text.as_bytes()) {
        Ok(value) => Ok(value),
        Err(JsonFault::NotJson) if ends_sign_in(text, tool) => Err(Fault::SaysNotSignedIn),
        Err(fault) => Err(Fault::Failed(fault.into())),
    }
}

// Servers of the Python SDK wrap a bare list as {"result": […]} and write each item as its own text.
fn wrapped_list(value: &Value, texts: &[&str], tool: &str) -> Result<Value, Fault> {
    let differs = Fault::Failed(Why::Differs);
    let list = value
        .as_object()
        .filter(|object| object.len() == 1)
        .and_then(|object| object.get("result")?.as_array())
        .ok_or(differs)?;
    let items = texts.iter().map(|text| parsed(text, tool)).collect::<Result<Vec<_>, _>>()?;
    let whole = Value::Array(list.clone());
    let one_text = matches!(items.as_slice(), [only] if json::same(only, &whole));
    if one_text || json::same(&Value::Array(items), &whole) {
        return Ok(whole);
    }
    Err(differs)
}

fn refused(texts: &[&str], tool: &str) -> Fault {
    if texts.iter().any(|text| ends_sign_in(text, tool)) {
        Fault::SaysNotSignedIn
    } else if texts.iter().any(|text| has_word(&text.to_ascii_lowercase(), "forbidden")) {
        Fault::Failed(Why::Forbidden)
    } else {
        Fault::Failed(Why::ErrorAnswer)
    }
}

/// Whether this error of this tool says that the sign-in is missing, wrong or over (`facts 1.1`). Only the device list is
/// believed: what other tools were asked for comes back in their errors (issue line 3.4).
pub(crate) fn ends_sign_in(text: &str, tool: &str) -> bool {
    tool == TEAM && is_of_sign_in_alone(text)
}

/// Whether these words say so and speak of nothing else: whatever else is named may be a room (`Room 401 is busy`).
pub(crate) fn is_of_sign_in_alone(text: &str) -> bool {
    let text = text.to_ascii_lowercase().replace(TEAM, " ");
    // Client libraries name the address that refused them.
    let is_address = |part: &str| {
        let bare = part.trim_start_matches(|c: char| !c.is_alphanumeric());
        bare.starts_with("https://") || bare.starts_with("http://")
    };
    let text = text.split_whitespace().filter(|part| !is_address(part)).collect::<Vec<_>>().join(" ");
    let phrases =
        ["invalid token", "invalid_token", "token expired", "token has expired", "unauthorised", "unauthorized"];
    let says = phrases.iter().any(|phrase| text.contains(phrase)) || has_word(&text, "401");
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    says && words.all(|word| ABOUT_SIGN_IN.split(' ').any(|known| known == word))
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
        by(TEAM, result)
    }

    fn by(tool: &str, result: &Value) -> Result<Value, Fault> {
        read(&serde_json::from_value::<CallToolResult>(result.clone()).unwrap(), tool)
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
            "{\"error\": \"invalid_token\", \"message\": \"Authentication required\"}",
            "Error executing tool get_devices_in_my_team: Client error '401 Unauthorized' for url 'https://h.example/room/9'\n\
             For more information check: https://docs.example/Status/401",
        ] {
            let error = json!({"content": [text(words)], "isError": true});
            assert_eq!(of(&error), Err(Fault::SaysNotSignedIn), "{words}");
            for tool in ["kb_search", "get_recorder_status_for_devices"] {
                assert_eq!(by(tool, &error), Err(Fault::Failed(Why::ErrorAnswer)), "{tool}: {words}");
            }
        }
        let plain = json!({"content": [text("Error: 401 Unauthorized")]});
        assert_eq!(of(&plain), Err(Fault::SaysNotSignedIn));
        let plain_of_another = by("kb_search", &json!({"content": [text("401 Unauthorized")]}));
        assert_eq!(plain_of_another, Err(Fault::Failed(Why::PlainText)));
        for words in [
            "Device 4012 is busy",
            "error14010",
            "v1_401_x",
            "no tokens",
            "Room 401 is busy",
            "Room 401 Unauthorized is busy",
            "401 Unauthorized: Sala Ñ",
            "Error: https://h.example/401 failed",
            "No results for: token expired",
        ] {
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
