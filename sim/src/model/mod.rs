//! A scripted stand-in for the model's API, in both kinds: `POST /v1/messages` and `POST /v1/chat/completions`. It is no
//! model and says so in every answer.

mod chat;
mod fleet_data;
mod script;
mod sse;
mod validate;
mod words;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};

use self::script::Step;
use self::validate::Checked;
use crate::web::{self, Hangup, Pieces, Reply};
use crate::world::World;

/// The model's name in every answer, whatever was asked for.
pub(crate) const MODEL_NAME: &str = "fleetwatch-sim-script";
const SLOW: Duration = Duration::from_secs(20);
/// Long enough for the first half of a cut answer to leave.
const CUT_PAUSE: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    Chat,
    Messages,
}

/// The stand-in's listener.
#[derive(Clone, Debug)]
pub(crate) struct Stand {
    world: Arc<World>,
    answers: Arc<AtomicU64>,
}

impl Stand {
    /// A stand-in that keeps its requests in this world.
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self { world, answers: Arc::default() }
    }

    /// Answers one request.
    ///
    /// # Errors
    /// Never; a cut answer is a body that fails.
    pub(crate) async fn answer(self, request: Request<Incoming>) -> Result<Reply, Hangup> {
        let (parts, body) = request.into_parts();
        let api = match parts.uri.path() {
            "/v1/messages" if parts.method == Method::POST => Api::Messages,
            "/v1/chat/completions" if parts.method == Method::POST => Api::Chat,
            _ => {
                let words = "this stand-in knows POST /v1/messages and /v1/chat/completions only";
                return Ok(failure(StatusCode::NOT_FOUND, "not_found_error", words));
            }
        };
        let body = match web::read_body(body).await {
            Ok(body) => body,
            Err(reply) => return Ok(reply),
        };
        let checked = match check(api, &parts.headers, &body) {
            Ok(checked) => checked,
            Err(words) => {
                return Ok(failure(StatusCode::BAD_REQUEST, "invalid_request_error", &words));
            }
        };
        if let Ok(kept) = serde_json::from_slice(&body) {
            self.world.keep_model_request(kept);
        }
        Ok(self.play(api, &checked, body.len()).await)
    }

    async fn play(&self, api: Api, checked: &Checked, size: usize) -> Reply {
        let question = checked.question();
        if question.contains("SIM:500") {
            return broken();
        }
        if question.contains("SIM:429") {
            return limited();
        }
        if question.contains("SIM:slow") {
            tokio::time::sleep(SLOW).await;
        }
        let blocks = match script::next(checked) {
            Step::Broken => return broken(),
            Step::Say(text) => vec![json!({"type": "text", "text": text})],
            Step::Use(blocks) if checked.thinking => validate::thoughts().into_iter().chain(blocks).collect(),
            Step::Use(blocks) => blocks,
        };
        let number = self.answers.fetch_add(1, Ordering::Relaxed) + 1;
        let message = message(number, &blocks, size);
        let pieces = match api {
            Api::Chat => chat::chunks(&message),
            Api::Messages if checked.stream => sse::events(&message),
            Api::Messages => halves(&message.to_string()),
        };
        let kind = if checked.stream { "text/event-stream" } else { "application/json" };
        send(kind, pieces, question.contains("SIM:cut"))
    }
}

fn check(api: Api, headers: &HeaderMap, body: &[u8]) -> Result<Checked, String> {
    let parsed = || serde_json::from_slice::<Value>(body).map_err(|error| format!("the body is not JSON: {error}"));
    match api {
        Api::Chat => chat::body(&parsed()?),
        Api::Messages => {
            validate::headers(headers)?;
            validate::body(&parsed()?)
        }
    }
}

fn message(number: u64, blocks: &[Value], size: usize) -> Value {
    let uses = blocks.iter().any(|block| block["type"] == "tool_use");
    let written: usize = blocks.iter().map(|block| block.to_string().len()).sum();
    json!({
        "id": format!("msg_sim_{number:06}"),
        "type": "message",
        "role": "assistant",
        "model": MODEL_NAME,
        "content": blocks,
        "stop_reason": if uses { "tool_use" } else { "end_turn" },
        "stop_sequence": null,
        "usage": {
            "input_tokens": size / 4,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": written / 4 + 1,
        },
    })
}

fn halves(text: &str) -> Vec<String> {
    let middle = (0..=text.len() / 2).rev().find(|place| text.is_char_boundary(*place)).unwrap_or_default();
    let (first, second) = text.split_at(middle);
    vec![first.to_owned(), second.to_owned()]
}

/// Sends the pieces one by one; a cut answer loses its connection half way.
fn send(kind: &'static str, pieces: Vec<String>, cut: bool) -> Reply {
    let length: usize = pieces.iter().map(String::len).sum();
    let kept = if cut { pieces.len() / 2 } else { pieces.len() };
    let (sender, body) = Pieces::new();
    tokio::spawn(async move {
        for piece in pieces.into_iter().take(kept.max(1)) {
            if sender.send(Ok(Bytes::from(piece))).await.is_err() {
                return;
            }
        }
        if cut {
            tokio::time::sleep(CUT_PAUSE).await;
            let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
            let _ = sender.send(Err(gone)).await;
        }
    });
    let mut reply = web::typed(StatusCode::OK, kind, body.boxed());
    if kind == "application/json" {
        reply.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    reply
}

fn broken() -> Reply {
    failure(StatusCode::INTERNAL_SERVER_ERROR, "api_error", "scripted failure")
}

fn limited() -> Reply {
    let mut reply = failure(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "scripted rate limit");
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    reply
}

fn failure(status: StatusCode, kind: &str, words: &str) -> Reply {
    web::json(
        status,
        &json!({
            "type": "error",
            "error": {"type": kind, "message": words},
            "request_id": "req_sim",
        }),
    )
}
