//! The greeting before the one write. `initialize` comes first; a server that says no to it in a whole answer is asked with
//! `server/discover`, on a new connection. A wrong guess costs that greeting: no `tools/call` is sent here.

use super::{Destination, OpenError, OpenSession, SESSION, reply};
use hyper::StatusCode;
use hyper::header::HeaderValue;
use hyper::http::response::Parts;
use serde_json::{Value, json};

/// Offered in `initialize`; a server may answer with an older one that we speak.
const PROTOCOL: &str = "2025-11-25";
const SPOKEN: [&str; 4] = [PROTOCOL, "2025-06-18", "2025-03-26", "2024-11-05"];
/// The revision without a handshake: each request says its version and who asks.
pub(super) const STATELESS: &str = "2026-07-28";

/// What the greeting agreed on; it shapes what is sent after it.
#[derive(Debug)]
pub(super) enum Terms {
    /// Nothing yet.
    None,
    /// `initialize` was answered.
    Session {
        /// The version that the server chose; sent with everything after the greeting.
        version: &'static str,
        /// The session, if the server gave one.
        id: Option<HeaderValue>,
    },
    /// `server/discover` is asked, or was answered: [`STATELESS`], no session.
    Stateless,
}

/// How a greeting failed.
enum Failed {
    /// The server answered, and the answer is no to this greeting: another one may do.
    Refused(String),
    /// Anything else.
    Open(OpenError),
}

impl From<OpenError> for Failed {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

/// Connects and greets.
///
/// # Errors
/// [`OpenError`]; nothing that could change a room was sent.
pub(super) async fn greet(destination: &Destination, bearer: &HeaderValue) -> Result<OpenSession, OpenError> {
    let first = match initialize(OpenSession::connect(destination, bearer, Terms::None).await?).await {
        Ok(session) => return Ok(session),
        Err(Failed::Open(error)) => return Err(error),
        Err(Failed::Refused(why)) => why,
    };
    match discover(OpenSession::connect(destination, bearer, Terms::Stateless).await?).await {
        Ok(session) => Ok(session),
        Err(Failed::Open(error)) => Err(error),
        Err(Failed::Refused(why)) => Err(OpenError::Greeting(format!("{first}, then {why}"))),
    }
}

/// `initialize`, then `notifications/initialized`.
async fn initialize(mut session: OpenSession) -> Result<OpenSession, Failed> {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client_info() } });
    let (head, body) = exchange(&mut session, &hello, "initialize").await?;
    let answer = answer_of(&head, &body)?;
    let chosen = answer.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let Some(version) = SPOKEN.into_iter().find(|spoken| *spoken == chosen) else { return Err(unspoken().into()) };
    session.terms = Terms::Session { version, id: head.headers.get(SESSION).cloned() };
    session.free().await?;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let (head, _) = exchange(&mut session, &ready, "notifications/initialized").await?;
    if !head.status.is_success() {
        let why = format!("status {} after the greeting", head.status.as_u16());
        return Err(OpenError::Greeting(why).into());
    }
    Ok(session)
}

/// `server/discover`, and nothing else: there is no session to open.
async fn discover(mut session: OpenSession) -> Result<OpenSession, Failed> {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta() } });
    let (head, body) = exchange(&mut session, &hello, "server/discover").await?;
    let answer = answer_of(&head, &body)?;
    let versions = answer.get("supportedVersions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if !versions.iter().any(|version| version == STATELESS) {
        return Err(unspoken().into());
    }
    session.free().await?;
    Ok(session)
}

/// What each request of the stateless revision says about itself.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": client_info(),
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn client_info() -> Value {
    json!({ "name": "fleetwatch", "version": env!("CARGO_PKG_VERSION") })
}

fn unspoken() -> OpenError {
    OpenError::Greeting("a protocol version that we do not speak".to_owned())
}

async fn exchange(
    session: &mut OpenSession,
    message: &Value,
    method: &'static str,
) -> Result<(Parts, Vec<u8>), OpenError> {
    let request = session.request(message.to_string().into_bytes(), method, None).map_err(OpenError::Greeting)?;
    session.connection.greet(request).await.map_err(OpenError::Greeting)
}

/// The result, or why there is none. Only a whole "no" to the message itself lets another greeting follow: a status of 400 to
/// 499 that is not about the sign-in, or a protocol error.
fn answer_of(head: &Parts, body: &[u8]) -> Result<Value, Failed> {
    if head.status != StatusCode::OK {
        let why = format!("status {}", head.status.as_u16());
        let about_us = matches!(head.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let refused = head.status.is_client_error() && !about_us;
        return Err(if refused { Failed::Refused(why) } else { Failed::Open(OpenError::Greeting(why)) });
    }
    reply::result_of(&head.headers, body, 1).map_err(|why| {
        let refused = why == reply::PROTOCOL_ERROR;
        if refused { Failed::Refused(why.to_owned()) } else { Failed::Open(OpenError::Greeting(why.to_owned())) }
    })
}
