//! Anthropic's Messages API: the request's body, and the answer put together from its stream.
//!
//! What does not change between questions comes first and byte for byte the same, so that the API's prompt cache holds; the
//! conversation comes last.

use super::ModelError;
use super::sse::Event;
use super::talk::{self, Answer, Offer, Part, Request, Step, Stop, ToolUse, Usage};
use serde::Serialize;
use serde_json::{Value, json};

/// Most tokens in one answer (`seed 000`, facts 5.1).
const MAX_OUTPUT: u32 = 16_000;
/// Most parts of one answer.
const MAX_PARTS: usize = 256;
/// Messages at the end that carry a cache mark: the newest, and the one that the last call ended with. With the system
/// prompt's and the tools' these are the four marks that the API takes.
const MARKED_MESSAGES: usize = 2;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    thinking: Thinking,
    output_config: OutputConfig,
    system: [System<'a>; 1],
    tools: Vec<Value>,
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

/// The body of one call.
///
/// # Errors
/// When a value cannot be JSON, which no value of ours is.
pub(crate) fn body(model: &str, request: Request<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let mut messages: Vec<_> = request.steps.iter().map(message).collect();
    let questions = messages.iter_mut().rev().filter(|message| message["role"] == "user");
    for message in questions.take(MARKED_MESSAGES) {
        mark_last_block(message);
    }
    serde_json::to_vec(&Body {
        model,
        max_tokens: MAX_OUTPUT,
        stream: true,
        thinking: Thinking { r#type: "adaptive" },
        output_config: OutputConfig { effort: "medium" },
        system: [System { r#type: "text", text: request.system, cache_control: mark() }],
        tools: request.offers.iter().map(tool).collect(),
        messages,
    })
}

fn mark() -> Value {
    json!({"type": "ephemeral"})
}

fn mark_last_block(message: &mut Value) {
    let last = message.get_mut("content").and_then(|content| content.as_array_mut()?.last_mut()?.as_object_mut());
    if let Some(block) = last {
        block.insert("cache_control".to_owned(), mark());
    }
}

fn tool(offer: &Offer) -> Value {
    let mut tool = json!({"name": offer.name, "description": offer.description, "input_schema": offer.schema});
    if offer.ends_prefix {
        tool["cache_control"] = mark();
    }
    tool
}

fn message(step: &Step) -> Value {
    match step {
        Step::Answered(parts) => {
            json!({"role": "assistant", "content": parts.iter().filter_map(block).collect::<Vec<_>>()})
        }
        Step::Asked { notes, question } => json!({"role": "user", "content": [text(notes), text(question)]}),
        Step::Results(results) => {
            let results = results.iter().map(|result| {
                let content = [text(&result.text)];
                json!({"type": "tool_result", "tool_use_id": result.id, "content": content, "is_error": result.failed})
            });
            json!({"role": "user", "content": results.collect::<Vec<_>>()})
        }
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

// The API writes blank texts and does not take them back.
fn block(part: &Part) -> Option<Value> {
    match part {
        Part::Own(block) => Some(block.clone()),
        Part::Text(words) => (!words.trim().is_empty()).then(|| text(words)),
        Part::Use(wanted) => {
            Some(json!({"type": "tool_use", "id": wanted.id, "name": wanted.name, "input": wanted.input}))
        }
    }
}

/// A part that is being written.
#[derive(Debug)]
enum Open {
    Text(String),
    Thought { thought: String, signature: String },
    // A thought that only the API can read comes whole.
    Hidden(Value),
    Use { id: String, name: String, json: String },
}

/// An answer while it arrives. Every event has its place; one out of place is not understood, one of a new kind is passed
/// over, as the API's rules say.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    model: Option<String>,
    parts: Vec<Part>,
    // A tool use whose arguments do not parse: fine when the answer was cut there, else an error.
    torn: bool,
    open: Option<Open>,
    count: u64,
    stop: Option<Stop>,
    usage: Usage,
    ended: bool,
}

impl Assembly {
    /// Takes one event; gives the words that it brought for the person who asked.
    ///
    /// # Errors
    /// [`ModelError`] when the API says that it failed, the model declined, or the event does not fit.
    pub(crate) fn take(&mut self, event: &Event) -> Result<Option<String>, ModelError> {
        let known = ["error", "ping", "message_start", "content_block_start", "content_block_delta"];
        let rest = ["content_block_stop", "message_delta", "message_stop"];
        let is_known = |name: &str| known.contains(&name) || rest.contains(&name);
        if !event.name.is_empty() && !is_known(&event.name) {
            return Ok(None);
        }
        let data: Value = serde_json::from_str(&event.data).map_err(|_| ModelError::NotUnderstood)?;
        let kind = data["type"].as_str().ok_or(ModelError::NotUnderstood)?;
        if !event.name.is_empty() && event.name != kind {
            return Err(ModelError::NotUnderstood);
        }
        match kind {
            "error" => return Err(error(data["error"]["type"].as_str())),
            "ping" => {}
            _ if self.ended && is_known(kind) => return Err(ModelError::NotUnderstood),
            "message_start" => self.start(&data["message"])?,
            "content_block_start" => return self.open(&data),
            "content_block_delta" => return self.grow(&data),
            "content_block_stop" => self.close(&data)?,
            "message_delta" => self.stopping(&data)?,
            "message_stop" => {
                self.ended = self.open.is_none() && self.stop.is_some();
                return if self.ended { Ok(None) } else { Err(ModelError::NotUnderstood) };
            }
            // An unnamed event of a new kind.
            _ => {}
        }
        Ok(None)
    }

    /// Whether nothing more comes.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// The answer.
    ///
    /// # Errors
    /// [`ModelError::HungUp`] when its end is missing.
    pub(crate) fn finish(self) -> Result<Answer, ModelError> {
        let stop = self.stop.filter(|_| self.ended).ok_or(ModelError::HungUp)?;
        if self.torn && stop != Stop::Cut {
            return Err(ModelError::NotUnderstood);
        }
        Ok(Answer { model: talk::shown_name(self.model.as_deref()), stop, parts: self.parts, usage: self.usage })
    }

    fn start(&mut self, message: &Value) -> Result<(), ModelError> {
        let blank = message["content"].as_array().is_some_and(Vec::is_empty);
        if self.model.is_some() || message["role"] != "assistant" || !blank {
            return Err(ModelError::NotUnderstood);
        }
        self.model = Some(message["model"].as_str().unwrap_or("unnamed").to_owned());
        self.count_tokens(&message["usage"]);
        Ok(())
    }

    fn open(&mut self, data: &Value) -> Result<Option<String>, ModelError> {
        let fits = self.model.is_some() && self.open.is_none() && self.stop.is_none();
        if !fits || data["index"].as_u64() != Some(self.count) || self.parts.len() >= MAX_PARTS {
            return Err(ModelError::NotUnderstood);
        }
        self.count += 1;
        let block = &data["content_block"];
        let words = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
        let open = match block["type"].as_str() {
            Some("redacted_thinking") if block["data"].is_string() => Open::Hidden(block.clone()),
            Some("text") => Open::Text(words("text")),
            Some("thinking") => Open::Thought { thought: words("thinking"), signature: words("signature") },
            Some("tool_use") if talk::usable_id(&words("id")) && block["name"].is_string() => {
                let whole = block["input"].as_object().is_some_and(|input| !input.is_empty());
                let json = if whole { block["input"].to_string() } else { String::new() };
                Open::Use { id: words("id"), name: words("name"), json }
            }
            // Only what was asked for can come; a block of another kind could not go back unchanged either.
            Some(_) | None => return Err(ModelError::NotUnderstood),
        };
        let said = if let Open::Text(text) = &open { self.said(text) } else { None };
        self.open = Some(open);
        Ok(said)
    }

    // Texts of one answer stand apart.
    fn said(&self, text: &str) -> Option<String> {
        let before = self.parts.iter().any(|part| matches!(part, Part::Text(_)));
        let words = if before { format!("\n\n{text}") } else { text.to_owned() };
        (!words.is_empty()).then_some(words)
    }

    fn grow(&mut self, data: &Value) -> Result<Option<String>, ModelError> {
        if data["index"].as_u64() != self.count.checked_sub(1) {
            return Err(ModelError::NotUnderstood);
        }
        let delta = &data["delta"];
        let more = |field: &str| delta[field].as_str().ok_or(ModelError::NotUnderstood);
        match (self.open.as_mut(), delta["type"].as_str()) {
            (Some(Open::Text(text)), Some("text_delta")) => {
                let words = more("text")?;
                text.push_str(words);
                return Ok(Some(words.to_owned()));
            }
            (Some(Open::Thought { thought, .. }), Some("thinking_delta")) => thought.push_str(more("thinking")?),
            (Some(Open::Thought { signature, .. }), Some("signature_delta")) => signature.push_str(more("signature")?),
            (Some(Open::Use { json, .. }), Some("input_json_delta")) => json.push_str(more("partial_json")?),
            (Some(_) | None, Some(_) | None) => return Err(ModelError::NotUnderstood),
        }
        Ok(None)
    }

    fn close(&mut self, data: &Value) -> Result<(), ModelError> {
        if data["index"].as_u64() != self.count.checked_sub(1) {
            return Err(ModelError::NotUnderstood);
        }
        let part = match self.open.take().ok_or(ModelError::NotUnderstood)? {
            Open::Hidden(block) => Part::Own(block),
            Open::Text(text) => Part::Text(text),
            Open::Thought { thought, signature } => {
                Part::Own(json!({"type": "thinking", "thinking": thought, "signature": signature}))
            }
            Open::Use { id, name, json } => {
                let Some(input) = talk::arguments(&json) else {
                    self.torn = true;
                    return Ok(());
                };
                Part::Use(ToolUse { id, name, input })
            }
        };
        self.parts.push(part);
        Ok(())
    }

    fn stopping(&mut self, data: &Value) -> Result<(), ModelError> {
        if self.model.is_none() || self.open.is_some() {
            return Err(ModelError::NotUnderstood);
        }
        match data["delta"]["stop_reason"].as_str() {
            None if data["delta"]["stop_reason"].is_null() => {}
            Some("end_turn" | "stop_sequence") => self.stop = Some(Stop::Ended),
            Some("max_tokens" | "model_context_window_exceeded") => self.stop = Some(Stop::Cut),
            Some("tool_use") => self.stop = Some(Stop::Tools),
            Some("refusal") => return Err(ModelError::Declined),
            Some(_) | None => return Err(ModelError::NotUnderstood),
        }
        self.count_tokens(&data["usage"]);
        Ok(())
    }

    // The counts of a later event are sums, not additions.
    fn count_tokens(&mut self, usage: &Value) {
        let later = |field: &str, now: u64| usage[field].as_u64().unwrap_or(now);
        self.usage = Usage {
            input: later("input_tokens", self.usage.input),
            output: later("output_tokens", self.usage.output),
            cache_write: later("cache_creation_input_tokens", self.usage.cache_write),
            cache_read: later("cache_read_input_tokens", self.usage.cache_read),
        };
    }
}

fn error(kind: Option<&str>) -> ModelError {
    match kind {
        Some("overloaded_error" | "rate_limit_error") => ModelError::Busy,
        Some("authentication_error" | "permission_error") => ModelError::KeyRefused,
        Some("invalid_request_error" | "not_found_error" | "request_too_large") => ModelError::Status(400),
        // A kind that we do not know is a failure of the API all the same.
        Some(_) | None => ModelError::Server(500),
    }
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;
