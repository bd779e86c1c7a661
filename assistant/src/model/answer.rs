//! One answer of the model, taken apart. Its blocks are kept as they came, since they must go back unchanged.

use super::ModelError;
use protocol::shown::Shown;
use serde_json::Value;

/// Longest model name that is shown, in characters.
const MAX_NAME: usize = policy::limits::MODEL;
/// Longest id of a tool use.
const MAX_ID: usize = 128;

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its answer is complete.
    Ended,
    /// It ran out of room.
    Cut,
    /// It waits for tools.
    Tools,
}

/// What one call cost, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Read anew.
    pub(crate) input: u64,
    /// Written.
    pub(crate) output: u64,
    /// Put into the cache.
    pub(crate) cache_write: u64,
    /// Taken from the cache.
    pub(crate) cache_read: u64,
}

impl Usage {
    /// All four together.
    pub(crate) fn total(self) -> u64 {
        [self.output, self.cache_write, self.cache_read].into_iter().fold(self.input, u64::saturating_add)
    }

    /// Adds another call's.
    pub(crate) fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
    }
}

/// A tool that the model wants to use. Untrusted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolUse {
    /// The API's id for it.
    pub(crate) id: String,
    /// The name it gave.
    pub(crate) name: String,
    /// The arguments it gave.
    pub(crate) input: Value,
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The model's name as the API gives it, safe to show.
    pub(crate) model: String,
    /// Why it stopped.
    pub(crate) stop: Stop,
    /// Its blocks, unchanged.
    pub(crate) content: Vec<Value>,
    /// What it cost.
    pub(crate) usage: Usage,
}

impl Answer {
    /// Parses an answer's bytes. Fields we do not know are upstream's business; what we use must be there.
    ///
    /// # Errors
    /// [`ModelError::NotUnderstood`], or [`ModelError::Declined`] when the model declined.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ModelError> {
        let mut value: Value = serde_json::from_slice(bytes).map_err(|_| ModelError::NotUnderstood)?;
        let content = match value.get_mut("content").map(Value::take) {
            Some(Value::Array(content)) if content.iter().all(is_block) => content,
            _ => return Err(ModelError::NotUnderstood),
        };
        let stop = match value.get("stop_reason").and_then(Value::as_str) {
            Some("end_turn" | "stop_sequence") => Stop::Ended,
            Some("max_tokens" | "model_context_window_exceeded") => Stop::Cut,
            Some("tool_use") => Stop::Tools,
            Some("refusal") => return Err(ModelError::Declined),
            _ => return Err(ModelError::NotUnderstood),
        };
        let model = value.get("model").and_then(Value::as_str).unwrap_or("unnamed");
        Ok(Self {
            model: Shown::capped(model, MAX_NAME).into_string(),
            stop,
            content,
            usage: usage(value.get("usage")),
        })
    }

    /// The text blocks, one after the other; blank when there is none.
    pub(crate) fn text(&self) -> String {
        let texts = self.content.iter().filter(|block| kind(block) == Some("text"));
        let texts: Vec<_> = texts
            .filter_map(|block| block.get("text")?.as_str())
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n\n")
    }

    /// The tools that it wants, in order.
    ///
    /// # Errors
    /// [`ModelError::NotUnderstood`] when there is none, one is malformed, or two have the same id.
    pub(crate) fn tool_uses(&self) -> Result<Vec<ToolUse>, ModelError> {
        let blocks = self.content.iter().filter(|block| kind(block) == Some("tool_use"));
        let uses = blocks.map(tool_use).collect::<Option<Vec<_>>>().ok_or(ModelError::NotUnderstood)?;
        let mut ids: Vec<_> = uses.iter().map(|one| &one.id).collect();
        ids.sort_unstable();
        ids.dedup();
        if uses.is_empty() || ids.len() != uses.len() {
            return Err(ModelError::NotUnderstood);
        }
        Ok(uses)
    }
}

fn is_block(block: &Value) -> bool {
    kind(block).is_some()
}

fn kind(block: &Value) -> Option<&str> {
    block.get("type")?.as_str()
}

fn tool_use(block: &Value) -> Option<ToolUse> {
    let id = block.get("id")?.as_str().filter(|id| (1..=MAX_ID).contains(&id.len()))?;
    let name = block.get("name")?.as_str()?;
    Some(ToolUse { id: id.to_owned(), name: name.to_owned(), input: block.get("input")?.clone() })
}

fn usage(value: Option<&Value>) -> Usage {
    let count = |field| value.and_then(|usage| usage.get(field)?.as_u64()).unwrap_or(0);
    Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        cache_read: count("cache_read_input_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: &Value) -> Result<Answer, ModelError> {
        Answer::parse(value.to_string().as_bytes())
    }

    #[test]
    fn text_tools_usage_and_name_are_read() {
        let answer = parse(&json!({"model": "m\u{202e}x", "stop_reason": "tool_use", "new_field": 1,
            "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": null},
            "content": [{"type": "thinking", "thinking": "", "signature": "x"}, {"type": "text", "text": " a "},
                {"type": "tool_use", "id": "t1", "name": "get_x", "input": {}}, {"type": "text", "text": "b"}]}));
        let answer = answer.unwrap();
        assert_eq!(answer.model, "m\\u{202e}x");
        assert_eq!(answer.text(), "a\n\nb");
        assert_eq!(answer.usage.total(), 12);
        assert_eq!(answer.tool_uses().unwrap()[0].name, "get_x");
    }

    #[test]
    fn answers_that_are_not_understood_are_refused() {
        for bad in [
            json!([]),
            json!({"content": "text", "stop_reason": "end_turn"}),
            json!({"content": [], "stop_reason": "pause_turn"}),
            json!({"content": []}),
            json!({"content": [1], "stop_reason": "end_turn"}),
        ] {
            assert_eq!(parse(&bad), Err(ModelError::NotUnderstood), "{bad}");
        }
        assert_eq!(parse(&json!({"content": [], "stop_reason": "refusal"})), Err(ModelError::Declined));
        assert_eq!(Answer::parse(&[b'['; 100_000]), Err(ModelError::NotUnderstood));
    }

    #[test]
    fn malformed_or_repeated_tool_uses_are_refused() {
        let tool = |id: &str| json!({"type": "tool_use", "id": id, "name": "get_x", "input": {}});
        for blocks in [vec![], vec![tool("")], vec![tool("a"), tool("a")], vec![json!({"type": "tool_use", "id": "a"})]]
        {
            let answer = parse(&json!({"model": "m", "stop_reason": "tool_use", "content": blocks})).unwrap();
            assert_eq!(answer.tool_uses(), Err(ModelError::NotUnderstood));
        }
    }
}
