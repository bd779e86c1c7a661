//! Strict reading of a Messages request, so that a client that is wrong hears of it in a test.

use std::collections::BTreeSet;

use hyper::header::HeaderMap;
use serde_json::{Value, json};

/// Most blocks with a cache mark.
const MOST_MARKS: usize = 4;
const VERSIONS: [&str; 2] = ["2023-06-01", "2023-01-01"];

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The operator, and tool results.
    User,
    /// The model.
    Assistant,
}

/// One block of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    /// Words.
    Text(String),
    /// A tool call of the model.
    Use {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
    },
    /// The result of a tool call.
    Result {
        /// The id of the call.
        id: String,
        /// What came back.
        text: String,
    },
    /// Something that the script doesn't read, like a picture or a thought.
    Other,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    /// Who speaks.
    pub(crate) role: Role,
    /// What is said.
    pub(crate) blocks: Vec<Block>,
}

/// A request that obeys the rules.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// Server-sent events are wanted.
    pub(crate) stream: bool,
    /// Thoughts are wanted.
    pub(crate) thinking: bool,
    /// All messages, the last one by the user.
    pub(crate) messages: Vec<Message>,
    /// The names of the offered tools.
    pub(crate) tools: BTreeSet<String>,
}

impl Checked {
    /// Where the last message of the user starts that is no mere tool result.
    pub(crate) fn question_place(&self) -> usize {
        self.messages
            .iter()
            .rposition(|message| message.role == Role::User && message.results().next().is_none())
            .unwrap_or_default()
    }

    /// The words of that message, without any fleet data in them.
    pub(crate) fn question(&self) -> String {
        let Some(message) = self.messages.get(self.question_place()) else {
            return String::new();
        };
        let texts: Vec<&str> = message
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text.as_str()),
                Block::Use { .. } | Block::Result { .. } | Block::Other => None,
            })
            .collect();
        super::fleet_data::without(&texts.join("\n"))
    }
}

impl Message {
    /// Its tool results: id and text.
    pub(crate) fn results(&self) -> impl Iterator<Item = (&str, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Result { id, text } => Some((id.as_str(), text.as_str())),
            Block::Text(_) | Block::Use { .. } | Block::Other => None,
        })
    }

    /// Its tool calls: id and name.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (&str, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Use { id, name } => Some((id.as_str(), name.as_str())),
            Block::Text(_) | Block::Result { .. } | Block::Other => None,
        })
    }
}

/// Checks the two headers that the API demands.
///
/// # Errors
/// One sentence.
pub(crate) fn headers(headers: &HeaderMap) -> Result<(), String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text("x-api-key").unwrap_or_default().is_empty() {
        return Err("x-api-key: header is required".to_owned());
    }
    match text("anthropic-version") {
        Some(version) if VERSIONS.contains(&version) => {}
        Some(version) => return Err(format!("anthropic-version: {version:?} is not a version")),
        None => return Err("anthropic-version: header is required".to_owned()),
    }
    let kind = text("content-type").unwrap_or_default();
    if !kind.starts_with("application/json") {
        return Err("content-type: must be application/json".to_owned());
    }
    Ok(())
}

/// Checks a whole body.
///
/// # Errors
/// One sentence that starts with the place, like `messages.1.content.0`.
pub(crate) fn body(body: &Value) -> Result<Checked, String> {
    if body["model"].as_str().unwrap_or_default().is_empty() {
        return Err("model: Field required".to_owned());
    }
    if body["max_tokens"].as_u64().unwrap_or_default() == 0 {
        return Err("max_tokens: must be a whole number of at least 1".to_owned());
    }
    let stream = &body["stream"];
    if !stream.is_null() && !stream.is_boolean() {
        return Err("stream: must be true or false".to_owned());
    }
    let stream = stream == true;
    let thinking = thinking(&body["thinking"])?;
    let marks = marks(body);
    if marks > MOST_MARKS {
        return Err(format!("A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {marks}."));
    }
    system(&body["system"])?;
    let tools = tools(&body["tools"])?;
    let messages = messages(&body["messages"])?;
    answered(&messages)?;
    if thinking {
        thoughts_came_back(&body["messages"])?;
    }
    Ok(Checked { stream, thinking, messages, tools })
}

fn thinking(thinking: &Value) -> Result<bool, String> {
    match thinking["type"].as_str() {
        None if thinking.is_null() => Ok(false),
        Some("disabled") => Ok(false),
        Some("adaptive") => Ok(true),
        Some(_) | None => Err("thinking.type: adaptive or disabled".to_owned()),
    }
}

// Marks on blocks, wherever they are.
fn marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(members) => {
            usize::from(members.contains_key("cache_control")) + members.values().map(marks).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What stands before every tool call of this stand-in when thoughts are wanted.
pub(crate) fn thoughts() -> [Value; 2] {
    let thought = "The script looks for the next step.\n«Sala» \u{202e}";
    [
        json!({"type": "thinking", "thinking": thought, "signature": signature(thought)}),
        json!({"type": "redacted_thinking", "data": "c2ltLW9wYXF1ZQ=="}),
    ]
}

fn signature(thought: &str) -> String {
    let sum = thought
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("sim-{sum:016x}")
}

/// A tool call of this stand-in comes back with the thoughts that stood before it, unchanged.
fn thoughts_came_back(messages: &Value) -> Result<(), String> {
    for (place, message) in messages.as_array().map_or(&[][..], Vec::as_slice).iter().enumerate() {
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        let ours = |block: &Value| block["id"].as_str().is_some_and(|id| id.starts_with("toolu_sim_"));
        if blocks.iter().any(ours) && !blocks.starts_with(&thoughts()) {
            return Err(format!(
                "messages.{place}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"
            ));
        }
    }
    Ok(())
}

fn system(system: &Value) -> Result<(), String> {
    let blocks = system.as_array().is_some_and(|blocks| blocks.iter().all(|block| block["text"].is_string()));
    if system.is_null() || system.is_string() || blocks {
        return Ok(());
    }
    Err("system: must be text or a list of text blocks".to_owned())
}

fn tools(tools: &Value) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    if tools.is_null() {
        return Ok(names);
    }
    let list = tools.as_array().ok_or("tools: must be a list")?;
    for (place, tool) in list.iter().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 128 || !name.chars().all(fits) {
            return Err(format!("tools.{place}.name: must match [a-zA-Z0-9_-]{{1,128}}"));
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(format!("tools.{place}.input_schema.type: must be \"object\""));
        }
        if !names.insert(name.to_owned()) {
            return Err(format!("tools: Tool names must be unique ({name})"));
        }
    }
    Ok(names)
}

fn messages(messages: &Value) -> Result<Vec<Message>, String> {
    let list =
        messages.as_array().filter(|list| !list.is_empty()).ok_or("messages: at least one message is required")?;
    let mut checked = Vec::with_capacity(list.len());
    for (place, message) in list.iter().enumerate() {
        let role = match message["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return Err(format!("messages.{place}.role: user or assistant")),
        };
        let turn = if place.is_multiple_of(2) { Role::User } else { Role::Assistant };
        if role != turn {
            return Err(format!("messages.{place}: roles must alternate between user and assistant, user first"));
        }
        let blocks = blocks(&message["content"], role, place)?;
        checked.push(Message { role, blocks });
    }
    if checked.last().map(|message| message.role) != Some(Role::User) {
        return Err("messages: the last one must be by the user".to_owned());
    }
    Ok(checked)
}

fn blocks(content: &Value, role: Role, place: usize) -> Result<Vec<Block>, String> {
    if let Some(text) = content.as_str() {
        if text.trim().is_empty() {
            return Err(format!("messages.{place}: text content must be non-empty"));
        }
        return Ok(vec![Block::Text(text.to_owned())]);
    }
    let list = content
        .as_array()
        .filter(|list| !list.is_empty())
        .ok_or_else(|| format!("messages.{place}.content: must be text or a list of blocks"))?;
    list.iter()
        .enumerate()
        .map(|(spot, value)| block(value, role).map_err(|words| format!("messages.{place}.content.{spot}: {words}")))
        .collect()
}

fn block(value: &Value, role: Role) -> Result<Block, String> {
    let text = |name: &str| {
        value[name]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .ok_or_else(|| format!("{name}: Field required"))
    };
    match (value["type"].as_str().unwrap_or_default(), role) {
        ("text", _) => match text("text")? {
            blank if blank.trim().is_empty() => Err("text must be non-empty".to_owned()),
            words => Ok(Block::Text(words)),
        },
        ("tool_use", Role::Assistant) => {
            if !value["input"].is_object() {
                return Err("input: must be an object".to_owned());
            }
            Ok(Block::Use { id: text("id")?, name: text("name")? })
        }
        ("tool_result", Role::User) => {
            Ok(Block::Result { id: text("tool_use_id")?, text: result_text(&value["content"])? })
        }
        ("thinking", Role::Assistant) if !value["signature"].is_string() => Err("signature: Field required".to_owned()),
        ("redacted_thinking", Role::Assistant) if !value["data"].is_string() => Err("data: Field required".to_owned()),
        ("thinking" | "redacted_thinking", Role::Assistant) | ("image" | "document", Role::User) => Ok(Block::Other),
        (kind, _) => Err(format!("a block of type {kind:?} is not allowed here")),
    }
}

fn result_text(content: &Value) -> Result<String, String> {
    if content.is_null() {
        return Ok(String::new());
    }
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let list = content.as_array().ok_or("content: must be text or a list of blocks")?;
    let texts: Option<Vec<&str>> = list.iter().map(|block| block["text"].as_str()).collect();
    texts.map(|texts| texts.join("\n")).ok_or_else(|| "content: only text blocks are read here".to_owned())
}

/// Every tool call is answered in the very next message, first thing, and nothing else is.
pub(super) fn answered(messages: &[Message]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let asked: BTreeSet<&str> = match place.checked_sub(1).and_then(|last| messages.get(last)) {
            Some(last) => last.uses().map(|(id, _)| id).collect(),
            None => BTreeSet::new(),
        };
        let given: Vec<&str> = message.results().map(|(id, _)| id).collect();
        let distinct: BTreeSet<&str> = given.iter().copied().collect();
        if distinct.len() != given.len() {
            return Err(format!("messages.{place}: two tool_result blocks share an id"));
        }
        if let Some(id) = asked.difference(&distinct).next() {
            return Err(format!(
                "messages.{place}: tool_use ids were found without tool_result blocks immediately after: {id}"
            ));
        }
        if let Some(id) = distinct.difference(&asked).next() {
            return Err(format!("messages.{place}: unexpected tool_use_id found in tool_result blocks: {id}"));
        }
        let is_result = |block: &Block| matches!(block, Block::Result { .. });
        if message.blocks.iter().skip_while(|b| is_result(b)).any(is_result) {
            return Err(format!("messages.{place}: tool_result blocks must come first"));
        }
        for (id, _) in message.uses() {
            if !seen.insert(id) {
                return Err(format!("messages.{place}: tool_use ids must be unique"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: &Value) -> Value {
        json!({"model": "m", "max_tokens": 100, "messages": messages,
            "tools": [{"name": "a", "input_schema": {"type": "object"}}]})
    }

    fn conversation() -> Value {
        json!([
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
        ])
    }

    #[test]
    fn a_good_conversation_passes_and_the_question_is_the_operators() {
        let checked = body(&request(&conversation())).expect("good");
        assert_eq!(checked.question(), "hello");
        assert_eq!(checked.question_place(), 0);
        assert!(checked.tools.contains("a") && !checked.stream);
    }

    #[test]
    fn each_broken_rule_is_refused_with_its_place() {
        let call =
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {}}]});
        let hello = json!({"role": "user", "content": "hello"});
        let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
        for (messages, words) in [
            (json!([]), "at least one"),
            (json!([call]), "alternate"),
            (json!([hello, hello]), "alternate"),
            (json!([hello, call]), "last one"),
            (json!([hello, call, hello]), "without tool_result"),
            (json!([hello, call, {"role": "user", "content": [result("t2")]}]), "without tool_result"),
            (json!([{"role": "user", "content": [result("t1")]}]), "unexpected tool_use_id"),
            (json!([hello, call, {"role": "user", "content": [result("t1"), result("t1")]}]), "share an id"),
            (
                json!([hello, call, {"role": "user", "content": [{"type": "text", "text": "so"}, result("t1")]}]),
                "must come first",
            ),
            (json!([{"role": "user", "content": "  "}]), "non-empty"),
            (json!([{"role": "system", "content": "x"}]), "role"),
            (
                json!([{"role": "user", "content": [{"type": "tool_use", "id": "x", "name": "a", "input": {}}]}]),
                "not allowed",
            ),
        ] {
            let error = body(&request(&messages)).expect_err("refused");
            assert!(error.contains(words), "{messages}: {error}");
        }
    }

    #[test]
    fn thoughts_must_come_back_unchanged_and_marks_are_counted() {
        let mut good = request(&json!([
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": thoughts().into_iter().chain([json!({"type": "tool_use", "id": "toolu_sim_1", "name": "a", "input": {}})]).collect::<Vec<_>>()},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_sim_1", "content": "x"}]},
        ]));
        good["thinking"] = json!({"type": "adaptive"});
        assert!(body(&good).expect("good").thinking);
        let mut changed = good.clone();
        changed["messages"][1]["content"][0]["thinking"] = json!("another");
        assert!(body(&changed).expect_err("refused").contains("cannot be modified"));
        let mut lost = good.clone();
        lost["messages"][1]["content"].as_array_mut().expect("blocks").remove(1);
        assert!(body(&lost).expect_err("refused").contains("cannot be modified"));
        let mut unsigned = good.clone();
        unsigned["messages"][1]["content"][0]["signature"] = Value::Null;
        assert!(body(&unsigned).expect_err("refused").contains("signature"));
        let mark = json!({"type": "ephemeral"});
        good["system"] = json!(vec![json!({"type": "text", "text": "s", "cache_control": mark}); 5]);
        assert!(body(&good).expect_err("refused").contains("maximum of 4"));
    }

    #[test]
    fn limits_and_tool_names_are_checked() {
        let mut no_limit = request(&conversation());
        no_limit["max_tokens"] = Value::Null;
        assert!(body(&no_limit).expect_err("refused").starts_with("max_tokens"));
        let mut twins = request(&conversation());
        let tool = twins["tools"][0].clone();
        twins["tools"] = json!([tool, tool]);
        assert!(body(&twins).expect_err("refused").contains("unique"));
        let mut odd = request(&conversation());
        odd["tools"][0]["name"] = json!("has blank");
        assert!(body(&odd).expect_err("refused").contains("tools.0.name"));
    }

    #[test]
    fn the_two_headers_are_demanded() {
        let mut given = HeaderMap::new();
        assert!(headers(&given).expect_err("refused").contains("x-api-key"));
        given.insert("x-api-key", "k".parse().expect("a value"));
        assert!(headers(&given).expect_err("refused").contains("anthropic-version"));
        given.insert("anthropic-version", "2023-06-01".parse().expect("a value"));
        given.insert("content-type", "application/json".parse().expect("a value"));
        assert_eq!(headers(&given), Ok(()));
    }
}
