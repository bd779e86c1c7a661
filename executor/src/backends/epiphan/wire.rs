//! The one write on the wire. One connection, opened and greeted before the approval is consumed, carries exactly one
//! `tools/call` and is dropped. Nothing here can retry, redirect, refresh, resume, answer a question or use a proxy: what
//! is not a plain answer on this connection is "unknown" (`seed 000, Flow 6`; `ledger C-38`).

mod connect;
mod reply;

use connect::Connection;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use policy::call::Tool;
use protocol::canonical::Canonical;
use reader::endpoint::Endpoint;
use rustls::ClientConfig;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Offered first; a server may answer with an older one that we speak.
const PROTOCOL: &str = "2025-11-25";
const SPOKEN: [&str; 4] = [PROTOCOL, "2025-06-18", "2025-03-26", "2024-11-05"];
/// For the greeting as a whole.
const GREETING: Duration = Duration::from_secs(10);
/// For the answer to the write.
const ANSWER: Duration = Duration::from_secs(60);

/// Where the write goes, checked by the reader's endpoint rules.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    /// For https; without it, http on 127.0.0.1 to the simulator.
    tls: Option<Arc<ClientConfig>>,
    host: String,
    port: u16,
    /// Path with a leading slash.
    path: String,
}

impl Destination {
    /// The same address that the reads go to.
    pub(crate) fn of(endpoint: &Endpoint) -> Result<Self, String> {
        let wrong =
            || format!("{} is no address for the write; set FLEETWATCH_EPIPHAN_MCP_URL again", endpoint.as_str());
        let address: Uri = endpoint.as_str().parse().map_err(|_| wrong())?;
        let secure = address.scheme_str() == Some("https");
        Ok(Self {
            tls: if secure { Some(connect::tls_config()?) } else { None },
            host: address.host().ok_or_else(wrong)?.to_owned(),
            port: address.port_u16().unwrap_or(if secure { 443 } else { 80 }),
            path: address.path().to_owned(),
        })
    }
}

/// Why there is no session to write on. Nothing was sent that could change a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// No connection.
    Connect(String),
    /// The server's greeting is not one.
    Greeting(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(why) => write!(f, "no connection for the write: {why}"),
            Self::Greeting(why) => write!(f, "the server did not open a session: {why}"),
        }
    }
}

/// What became of the one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The server answered with a tool result.
    Answered(Value),
    /// The call left, or may have left, and no plain answer came; in a few fixed words.
    Lost(&'static str),
    /// The connection was dead before a byte of the call was written.
    Unwritten,
}

/// An open MCP session on a connection of its own, good for one call.
pub(crate) struct OpenSession {
    connection: Connection,
    destination: Destination,
    bearer: HeaderValue,
    session: Option<HeaderValue>,
    /// The version that the server chose; sent with everything after the greeting.
    version: Option<&'static str>,
}

impl fmt::Debug for OpenSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenSession(..)")
    }
}

/// The call's bytes, made before the last read so that nothing but the send stands between it and the write.
pub(crate) struct PreparedCall {
    session: OpenSession,
    request: Request<Full<Bytes>>,
}

impl fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PreparedCall(..)")
    }
}

impl OpenSession {
    /// Connects and greets: `initialize`, then `notifications/initialized`. No client capability is offered. `bearer` is the
    /// whole `Authorization` value, marked sensitive.
    ///
    /// # Errors
    /// [`OpenError`]; nothing that could change a room was sent.
    pub(crate) async fn open(destination: &Destination, bearer: &HeaderValue) -> Result<Self, OpenError> {
        tokio::time::timeout(GREETING, Self::greet(destination.clone(), bearer.clone()))
            .await
            .unwrap_or_else(|_| Err(OpenError::Connect("no greeting within 10 s".to_owned())))
    }

    async fn greet(destination: Destination, bearer: HeaderValue) -> Result<Self, OpenError> {
        let connection = Connection::open(&destination).await.map_err(OpenError::Connect)?;
        let mut session = Self { connection, destination, bearer, session: None, version: None };
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": { "name": "fleetwatch", "version": env!("CARGO_PKG_VERSION") } } });
        let (head, body) = session.exchange(&hello).await?;
        if head.status != StatusCode::OK {
            return Err(OpenError::Greeting(format!("status {}", head.status.as_u16())));
        }
        let answer = reply::result_of(&head.headers, &body, 1).map_err(|why| OpenError::Greeting(why.to_owned()))?;
        let chosen = answer.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        session.version = SPOKEN.into_iter().find(|spoken| *spoken == chosen);
        if session.version.is_none() {
            return Err(OpenError::Greeting("a protocol version that we do not speak".to_owned()));
        }
        session.session = head.headers.get(SESSION).cloned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let (head, _) = session.exchange(&ready).await?;
        if !head.status.is_success() {
            return Err(OpenError::Greeting(format!("status {} after the greeting", head.status.as_u16())));
        }
        Ok(session)
    }

    async fn exchange(&mut self, message: &Value) -> Result<(hyper::http::response::Parts, Vec<u8>), OpenError> {
        let request = self.request(message.to_string().into_bytes()).map_err(OpenError::Greeting)?;
        self.connection.greet(request).await.map_err(OpenError::Greeting)
    }

    fn request(&self, body: Vec<u8>) -> Result<Request<Full<Bytes>>, String> {
        let host = if matches!((self.destination.tls.is_some(), self.destination.port), (true, 443) | (false, 80)) {
            self.destination.host.clone()
        } else {
            format!("{}:{}", self.destination.host, self.destination.port)
        };
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.destination.path.as_str())
            .header(HOST, host)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, self.bearer.clone());
        if let Some(session) = &self.session {
            request = request.header(SESSION, session.clone());
        }
        if let Some(version) = self.version {
            request = request.header(VERSION, version);
        }
        request.body(Full::new(Bytes::from(body))).map_err(|e| e.to_string())
    }

    /// Makes the call's bytes from the canonical arguments.
    ///
    /// # Errors
    /// [`OpenError::Greeting`] when no request can be made of them.
    pub(crate) fn prepare(self, tool: Tool, arguments: &Canonical) -> Result<PreparedCall, OpenError> {
        // Built by hand around the canonical text, so that what was hashed is byte for byte what is sent.
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{}","arguments":{}}}}}"#,
            tool.as_str(),
            arguments.as_str()
        );
        let request = self.request(body.into_bytes()).map_err(OpenError::Greeting)?;
        Ok(PreparedCall { session: self, request })
    }
}

impl PreparedCall {
    /// Sends the call, once, and reads one answer. Takes itself, so a second send does not compile.
    pub(crate) async fn send(self) -> Sent {
        let Self { session, request } = self;
        let answered = tokio::time::timeout(ANSWER, session.connection.send_once(request)).await;
        let (head, body) = match answered {
            Err(_) => return Sent::Lost("no answer within 60 s"),
            Ok(Err(connect::SendError::NotSent)) => return Sent::Unwritten,
            Ok(Err(connect::SendError::Lost)) => return Sent::Lost("the connection closed before an answer"),
            Ok(Ok(answer)) => answer,
        };
        if head.status != StatusCode::OK {
            return Sent::Lost(status_words(head.status));
        }
        match reply::result_of(&head.headers, &body, 2) {
            Ok(result) => Sent::Answered(result),
            Err(why) => Sent::Lost(why),
        }
    }
}

fn status_words(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => "the server answered with a redirect, which is never followed",
        401 | 403 => "the server answered that the sign-in is not valid",
        404 => "the server answered that the session is gone",
        500..=599 => "the server answered with a server error",
        _ => "the server answered with an unexpected status",
    }
}
