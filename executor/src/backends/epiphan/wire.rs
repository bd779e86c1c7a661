//! The one write on the wire. One connection, opened and greeted before the approval is consumed, carries exactly one
//! `tools/call` and is dropped. Nothing here can retry, redirect, refresh, resume, answer a question or use a proxy: what
//! is not a plain answer on this connection is "unknown" (`seed 000, Flow 6`; `ledger C-38`).

mod connect;
mod greeting;
mod reply;
#[cfg(test)]
mod tests;

use super::echo::without_sign_in;
use connect::Connection;
use greeting::Terms;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use policy::call::Tool;
use protocol::canonical::Canonical;
use reader::endpoint::Endpoint;
use rustls::ClientConfig;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The one method that may change a room; [`PreparedCall`] alone carries it.
const CALL: &str = "tools/call";
/// For the greeting as a whole, a second one included.
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

/// A greeted connection of its own, good for one call.
pub(crate) struct OpenSession {
    connection: Connection,
    destination: Destination,
    bearer: HeaderValue,
    terms: Terms,
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
    /// Connects and greets. No client capability is offered. `bearer` is the whole `Authorization` value, marked sensitive.
    ///
    /// # Errors
    /// [`OpenError`]; nothing that could change a room was sent.
    pub(crate) async fn open(destination: &Destination, bearer: &HeaderValue) -> Result<Self, OpenError> {
        tokio::time::timeout(GREETING, greeting::greet(destination, bearer))
            .await
            .unwrap_or_else(|_| Err(OpenError::Connect("no greeting within 10 s".to_owned())))
    }

    async fn connect(destination: &Destination, bearer: &HeaderValue, terms: Terms) -> Result<Self, OpenError> {
        let connection = Connection::open(destination).await.map_err(OpenError::Connect)?;
        Ok(Self { connection, destination: destination.clone(), bearer: bearer.clone(), terms })
    }

    /// Changes the connection if the answer to the greeting keeps it busy.
    async fn free(&mut self) -> Result<(), OpenError> {
        if !self.connection.is_free().await {
            self.connection = Connection::open(&self.destination).await.map_err(OpenError::Connect)?;
        }
        Ok(())
    }

    /// One message. `method` and `name` are those of the body.
    fn request(
        &self,
        body: Vec<u8>,
        method: &'static str,
        name: Option<&'static str>,
    ) -> Result<Request<Full<Bytes>>, String> {
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
        match &self.terms {
            Terms::None => {}
            Terms::Session { version, id } => {
                request = request.header(VERSION, *version);
                if let Some(id) = id {
                    request = request.header(SESSION, id.clone());
                }
            }
            Terms::Stateless => {
                request = request.header(VERSION, greeting::STATELESS).header(METHOD, method);
                if let Some(name) = name {
                    request = request.header(NAME, name);
                }
            }
        }
        request.body(Full::new(Bytes::from(body))).map_err(|e| e.to_string())
    }

    /// Makes the call's bytes from the canonical arguments.
    ///
    /// # Errors
    /// [`OpenError::Greeting`] when no request can be made of them.
    pub(crate) fn prepare(self, tool: Tool, arguments: &Canonical) -> Result<PreparedCall, OpenError> {
        let meta = match &self.terms {
            Terms::None | Terms::Session { .. } => String::new(),
            Terms::Stateless => format!(r#","_meta":{}"#, greeting::meta()),
        };
        // Built by hand around the canonical text, so that what was hashed is byte for byte what is sent.
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"{CALL}","params":{{"name":"{}","arguments":{}{meta}}}}}"#,
            tool.as_str(),
            arguments.as_str()
        );
        let request = self.request(body.into_bytes(), CALL, Some(tool.as_str())).map_err(OpenError::Greeting)?;
        Ok(PreparedCall { session: self, request })
    }
}

impl PreparedCall {
    /// Sends the call, once, and reads one answer. Takes itself, so a second send does not compile.
    pub(crate) async fn send(self) -> Sent {
        let Self { session, request } = self;
        let in_session = matches!(session.terms, Terms::Session { .. });
        let answered = tokio::time::timeout(ANSWER, session.connection.send_once(request)).await;
        let (head, body) = match answered {
            Err(_) => return Sent::Lost("no answer within 60 s"),
            Ok(Err(connect::SendError::NotSent)) => return Sent::Unwritten,
            Ok(Err(connect::SendError::Lost)) => return Sent::Lost("the connection closed before an answer"),
            Ok(Ok(answer)) => answer,
        };
        if head.status != StatusCode::OK {
            return Sent::Lost(status_words(head.status, in_session));
        }
        match reply::result_of(&head.headers, &body, 2) {
            Ok(result) => Sent::Answered(without_sign_in(result, &session.bearer)),
            Err(why) => Sent::Lost(why),
        }
    }
}

fn status_words(status: StatusCode, in_session: bool) -> &'static str {
    match status.as_u16() {
        300..=399 => "the server answered with a redirect, which is never followed",
        401 | 403 => "the server answered that the sign-in is not valid",
        404 if in_session => "the server answered that the session is gone",
        500..=599 => "the server answered with a server error",
        _ => "the server answered with an unexpected status",
    }
}
