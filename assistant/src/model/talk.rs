//! The conversation as the turn holds it: one form for every kind of model, which each kind writes in its own way.

use super::ModelError;
use protocol::shown::Shown;
use serde_json::Value;

/// Longest model name that is shown, in characters.
const MAX_NAME: usize = policy::limits::MODEL;
/// Longest id of a tool use.
pub(crate) const MAX_ID: usize = 128;

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
    /// The arguments it gave: an object.
    pub(crate) input: Value,
}

/// One part of an answer, in the order of writing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    /// A block that only its own API understands (a thought, its signature). It goes back as it came.
    Own(Value),
    /// Words for the person who asked.
    Text(String),
    /// A tool that is wanted.
    Use(ToolUse),
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The model's name as the API gives it, safe to show.
    pub(crate) model: String,
    /// Why it stopped.
    pub(crate) stop: Stop,
    /// What it wrote.
    pub(crate) parts: Vec<Part>,
    /// What it cost.
    pub(crate) usage: Usage,
}

impl Answer {
    /// The texts, one after the other; blank when there is none.
    pub(crate) fn text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Part::Own(_) | Part::Use(_) => None,
        };
        self.parts.iter().filter_map(text).collect::<Vec<_>>().join("\n\n")
    }

    /// The tools that it wants, in order.
    ///
    /// # Errors
    /// [`ModelError::NotUnderstood`] when there is none, or two have the same id.
    pub(crate) fn tool_uses(&self) -> Result<Vec<ToolUse>, ModelError> {
        let wanted = |part: &Part| match part {
            Part::Use(wanted) => Some(wanted.clone()),
            Part::Own(_) | Part::Text(_) => None,
        };
        let uses: Vec<_> = self.parts.iter().filter_map(wanted).collect();
        let mut ids: Vec<_> = uses.iter().map(|one| &one.id).collect();
        ids.sort_unstable();
        ids.dedup();
        if uses.is_empty() || ids.len() != uses.len() {
            return Err(ModelError::NotUnderstood);
        }
        Ok(uses)
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolResult {
    /// The id of the use.
    pub(crate) id: String,
    /// The text for the model. What comes from the fleet stands in one escaped block of it.
    pub(crate) text: String,
    /// Whether it tells of a failure.
    pub(crate) failed: bool,
}

/// One step of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// What the model wrote.
    Answered(Vec<Part>),
    /// The operator's question.
    Asked {
        /// Notes by Fleetwatch, in one escaped block.
        notes: String,
        /// The operator's own words.
        question: String,
    },
    /// What the tools gave, in the order in which they were wanted.
    Results(Vec<ToolResult>),
}

/// One tool that is offered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offer {
    /// Its name.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) schema: Value,
    /// Every list of tools begins with the same ones up to here.
    pub(crate) ends_prefix: bool,
}

/// Everything that one call sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The system prompt.
    pub(crate) system: &'a str,
    /// The tools.
    pub(crate) offers: &'a [Offer],
    /// The conversation, which begins with a question.
    pub(crate) steps: &'a [Step],
}

/// The model's own name, safe to show.
pub(crate) fn shown_name(name: Option<&str>) -> String {
    Shown::capped(name.unwrap_or("unnamed"), MAX_NAME).into_string()
}

/// The arguments of a tool use from their JSON text; no text is no arguments.
pub(crate) fn arguments(text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return Some(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// An id that is neither empty nor too long.
pub(crate) fn usable_id(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(parts: Vec<Part>) -> Answer {
        Answer { model: "m".to_owned(), stop: Stop::Tools, parts, usage: Usage::default() }
    }

    fn wanted(id: &str) -> Part {
        Part::Use(ToolUse { id: id.to_owned(), name: "get_x".to_owned(), input: json!({}) })
    }

    #[test]
    fn texts_are_joined_and_blank_ones_are_nothing() {
        let parts = [" a ", "\n", "b"].map(|text| Part::Text(text.to_owned())).to_vec();
        assert_eq!(answer(parts).text(), "a\n\nb");
        assert_eq!(shown_name(Some("m\u{202e}x")), "m\\u{202e}x");
    }

    #[test]
    fn no_tool_and_two_with_one_id_are_refused() {
        assert_eq!(answer(vec![]).tool_uses(), Err(ModelError::NotUnderstood));
        assert_eq!(answer(vec![wanted("a"), wanted("a")]).tool_uses(), Err(ModelError::NotUnderstood));
        assert_eq!(answer(vec![wanted("a"), wanted("b")]).tool_uses().unwrap().len(), 2);
    }

    #[test]
    fn arguments_are_an_object_or_nothing() {
        assert_eq!(arguments(" "), Some(json!({})));
        assert_eq!(arguments("{\"a\":1}"), Some(json!({"a": 1})));
        for bad in ["[1]", "{\"a\":", "1", "\"{}\""] {
            assert_eq!(arguments(bad), None, "{bad}");
        }
    }
}
