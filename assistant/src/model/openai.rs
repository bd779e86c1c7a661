//! The chat-completions API that Ollama, llama.cpp's server and vLLM speak: the request's body, and the answer put together
//! from its stream. It has no blocks: the notes and the question are one text, and a failed tool says so in its words.

use super::ModelError;
use super::sse::Event;
use super::talk::{self, Answer, Offer, Part, Request, Step, Stop, ToolUse, Usage};
use serde::Serialize;
use serde_json::{Value, json};

/// Most tokens in one answer. A local model's whole window is often smaller than what the other kind may write.
const MAX_OUTPUT: u32 = 4_096;
/// Most tool calls of one answer.
const MAX_CALLS: usize = 64;
/// What ends a stream.
const DONE: &str = "[DONE]";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    stream_options: Value,
    tools: Vec<Value>,
    messages: Vec<Value>,
}

/// The body of one call.
///
/// # Errors
/// When a value cannot be JSON, which no value of ours is.
pub(crate) fn body(model: &str, request: Request<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    for step in request.steps {
        match step {
            Step::Answered(parts) => messages.push(answered(parts)),
            Step::Asked { notes, question } => {
                messages.push(json!({"role": "user", "content": format!("{notes}\n\n{question}")}));
            }
            Step::Results(results) => messages.extend(
                results.iter().map(|result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text})),
            ),
        }
    }
    serde_json::to_vec(&Body {
        model,
        max_tokens: MAX_OUTPUT,
        stream: true,
        stream_options: json!({"include_usage": true}),
        tools: request.offers.iter().map(tool).collect(),
        messages,
    })
}

fn tool(offer: &Offer) -> Value {
    let function = json!({"name": offer.name, "description": offer.description, "parameters": offer.schema});
    json!({"type": "function", "function": function})
}

fn answered(parts: &[Part]) -> Value {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            // Another API's block; this one has none.
            Part::Own(_) => {}
            Part::Text(text) => texts.push(text.as_str()),
            Part::Use(wanted) => {
                let function = json!({"name": wanted.name, "arguments": wanted.input.to_string()});
                calls.push(json!({"id": wanted.id, "type": "function", "function": function}));
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": texts.join("\n\n")});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

#[derive(Debug, Default)]
struct Call {
    // The server's own number and id for it.
    index: u64,
    id: String,
    name: String,
    json: String,
}

/// An answer while it arrives.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    model: Option<String>,
    text: String,
    calls: Vec<Call>,
    reason: Option<String>,
    usage: Option<Usage>,
    ended: bool,
}

impl Assembly {
    /// Takes one event; gives the words that it brought for the person who asked.
    ///
    /// # Errors
    /// [`ModelError`] when the server says that it failed, the model declined, or the event does not fit.
    pub(crate) fn take(&mut self, event: &Event) -> Result<Option<String>, ModelError> {
        if self.ended {
            return Err(ModelError::NotUnderstood);
        }
        if event.data.trim() == DONE {
            self.ended = true;
            return Ok(None);
        }
        let chunk: Value = serde_json::from_str(&event.data).map_err(|_| ModelError::NotUnderstood)?;
        if !chunk["error"].is_null() || event.name == "error" {
            return Err(error(&chunk["error"]));
        }
        if let Some(model) = chunk["model"].as_str().filter(|_| self.model.is_none()) {
            self.model = Some(model.to_owned());
        }
        if chunk["usage"].is_object() {
            self.usage = Some(usage(&chunk["usage"]));
        }
        match chunk["choices"].as_array().map(Vec::as_slice) {
            Some([]) => Ok(None),
            Some([choice]) => self.choice(choice),
            // Only one answer was asked for.
            Some(_) | None => Err(ModelError::NotUnderstood),
        }
    }

    /// Whether nothing more comes.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// The answer. `guessed` is what it cost when the server does not say.
    ///
    /// # Errors
    /// [`ModelError::HungUp`] when its end is missing, [`ModelError::Declined`], or [`ModelError::NotUnderstood`].
    pub(crate) fn finish(self, guessed: Usage) -> Result<Answer, ModelError> {
        if !self.ended {
            return Err(ModelError::HungUp);
        }
        let stop = match self.reason.as_deref() {
            // Some servers say "stop" although tools are wanted.
            Some("stop" | "tool_calls") if !self.calls.is_empty() => Stop::Tools,
            Some("stop") => Stop::Ended,
            Some("length") => Stop::Cut,
            Some("content_filter") => return Err(ModelError::Declined),
            Some(_) | None => return Err(ModelError::NotUnderstood),
        };
        let mut parts = Vec::new();
        if !self.text.trim().is_empty() {
            parts.push(Part::Text(self.text));
        }
        for (place, call) in self.calls.into_iter().enumerate() {
            match wanted(place, call) {
                Some(wanted) => parts.push(Part::Use(wanted)),
                None if stop == Stop::Cut => {}
                None => return Err(ModelError::NotUnderstood),
            }
        }
        let model = talk::shown_name(self.model.as_deref());
        Ok(Answer { model, stop, parts, usage: self.usage.unwrap_or(guessed) })
    }

    fn choice(&mut self, choice: &Value) -> Result<Option<String>, ModelError> {
        let delta = &choice["delta"];
        let silent = delta["content"].as_str().unwrap_or_default().is_empty() && delta["tool_calls"].is_null();
        if self.reason.is_some() && !silent {
            return Err(ModelError::NotUnderstood);
        }
        if delta["refusal"].as_str().is_some_and(|words| !words.is_empty()) {
            return Err(ModelError::Declined);
        }
        for part in delta["tool_calls"].as_array().map_or(&[][..], Vec::as_slice) {
            self.call(part)?;
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.reason = Some(reason.to_owned());
        }
        match &delta["content"] {
            Value::Null => Ok(None),
            Value::String(words) => {
                self.text.push_str(words);
                Ok((!words.is_empty()).then(|| words.clone()))
            }
            Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(ModelError::NotUnderstood),
        }
    }

    // A part of a call that has begun, or a new one. A new id under an old number is a new call.
    fn call(&mut self, part: &Value) -> Result<(), ModelError> {
        let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, function) = (words(&part["id"]), &part["function"]);
        let index = part["index"].as_u64().unwrap_or(0);
        let goes_on = |call: &Call| call.index == index && (id.is_empty() || call.id == id);
        let more = match &function["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Object(_) => function["arguments"].to_string(),
            Value::Array(_) | Value::Bool(_) | Value::Number(_) => return Err(ModelError::NotUnderstood),
        };
        if let Some(call) = self.calls.last_mut().filter(|call| goes_on(call)) {
            call.name.push_str(&words(&function["name"]));
            call.json.push_str(&more);
            return Ok(());
        }
        if self.calls.len() >= MAX_CALLS || words(&function["name"]).is_empty() {
            return Err(ModelError::NotUnderstood);
        }
        self.calls.push(Call { index, id, name: words(&function["name"]), json: more });
        Ok(())
    }
}

// An id is only needed to pair a result with its call; a server that gives none gets ours back.
fn wanted(place: usize, call: Call) -> Option<ToolUse> {
    let id = if call.id.is_empty() { format!("call_{place}") } else { call.id };
    let input = talk::arguments(&call.json)?;
    talk::usable_id(&id).then_some(ToolUse { id, name: call.name, input })
}

fn usage(value: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let cached = count(&value["prompt_tokens_details"]["cached_tokens"]);
    Usage {
        input: count(&value["prompt_tokens"]).saturating_sub(cached),
        output: count(&value["completion_tokens"]),
        cache_write: 0,
        cache_read: cached,
    }
}

fn error(error: &Value) -> ModelError {
    match error["code"].as_u64() {
        Some(429 | 529) => ModelError::Busy,
        Some(401 | 403) => ModelError::KeyRefused,
        Some(code @ 400..=499) => ModelError::Status(u16::try_from(code).unwrap_or(400)),
        Some(_) | None => ModelError::Server(500),
    }
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
