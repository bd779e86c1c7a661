//! HTTP under the MCP session: one POST per message, read whole and strictly, and nothing else.
//!
//! No redirect, no repeat, no proxy, no resumed stream, no standing stream from the server: its answer to a request
//! comes on that request or not at all, and what it asks in between is not heard.

use crate::client;
use crate::error::{Fault, Why};
use crate::json::{self, JsonFault};
use crate::sse::Events;
use crate::token::SignIn;
use policy::call::Slot;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The largest answer, in bytes, all of an event stream counted.
const LARGEST: usize = 8 * 1024 * 1024;
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const GOODBYE_LIMIT: Duration = Duration::from_secs(2);
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// Nobody waits longer; a request that is no longer waited for ends here.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

/// What one POST failed with. It holds nothing of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HttpFault(pub(crate) Fault);

impl fmt::Display for HttpFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Fault::Failed(why) => why.fmt(f),
            Fault::NotSignedIn | Fault::SaysNotSignedIn => f.write_str("not signed in"),
        }
    }
}

impl std::error::Error for HttpFault {}

impl From<Why> for HttpFault {
    fn from(why: Why) -> Self {
        Self(Fault::Failed(why))
    }
}

impl From<JsonFault> for HttpFault {
    fn from(fault: JsonFault) -> Self {
        Self::from(match fault {
            JsonFault::DuplicateKey => Why::DuplicateKey,
            JsonFault::NotJson => Why::NotProtocol,
            JsonFault::TooDeep => Why::TooDeep,
        })
    }
}

type Answered<T> = Result<T, StreamableHttpError<HttpFault>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The strict client for a slot: over https unless it is the simulator's.
pub(crate) fn plain_client(slot: Slot) -> ClientBuilder {
    let client =
        client::strict().connect_timeout(CONNECT_LIMIT).pool_max_idle_per_host(4).pool_idle_timeout(IDLE_LIMIT);
    match slot {
        Slot::Sandbox => client.https_only(true),
        // Plain http on this machine: no certificates are looked for, and none would be believed.
        Slot::Sim => client.tls_certs_only([]),
    }
}

/// The HTTP client of one sign-in at one endpoint.
#[derive(Clone)]
pub(crate) struct StrictHttp {
    client: Client,
    sign_in: Arc<SignIn>,
}

impl StrictHttp {
    /// A client that sends the sign-in with every request, as it is at that time; `None` when the system gives no TLS.
    pub(crate) fn new(sign_in: Arc<SignIn>) -> Option<Self> {
        let client = plain_client(sign_in.endpoint().slot()).build().ok()?;
        Some(Self { client, sign_in })
    }

    fn signed(&self, request: RequestBuilder) -> Result<RequestBuilder, HttpFault> {
        let bearer = self.sign_in.header().ok_or(HttpFault(Fault::NotSignedIn))?;
        Ok(request.header(AUTHORIZATION, bearer))
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        headers: Headers,
    ) -> Answered<StreamableHttpPostResponse> {
        let request = self.client.post(uri).header(ACCEPT, "application/json, text/event-stream");
        let mut request = self.signed(request).map_err(StreamableHttpError::Client)?;
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        let response = request.timeout(REQUEST_LIMIT).json(message).send().await.map_err(sent)?;
        let checked = check_status(response.status(), session.is_some());
        let ClientJsonRpcMessage::Request(request) = message else {
            return checked.map(|()| StreamableHttpPostResponse::Accepted);
        };
        let id = serde_json::to_value(&request.id).map_err(|_| fault(Why::NotProtocol))?;
        let given = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let greets = matches!(request.request, ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_));
        let answer = if session.is_none() && !greets && explains(response.status()) {
            explanation(response, &id).await?
        } else {
            checked?;
            read_answer(response, &id).await.map_err(StreamableHttpError::Client)?
        };
        let message = serde_json::from_value::<ServerJsonRpcMessage>(answer);
        let message = message.map_err(|_| fault(Why::NotProtocol))?;
        Ok(StreamableHttpPostResponse::Json(message, given))
    }
}

fn fault(why: Why) -> StreamableHttpError<HttpFault> {
    StreamableHttpError::Client(why.into())
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn sent(error: reqwest::Error) -> StreamableHttpError<HttpFault> {
    fault(if error.is_connect() || error.is_timeout() { Why::Unreachable } else { Why::Closed })
}

fn check_status(status: StatusCode, in_session: bool) -> Answered<()> {
    if status.is_success() {
        return Ok(());
    }
    Err(match status {
        StatusCode::UNAUTHORIZED => StreamableHttpError::Client(HttpFault(Fault::NotSignedIn)),
        StatusCode::FORBIDDEN => fault(Why::Forbidden),
        StatusCode::NOT_FOUND if in_session => StreamableHttpError::SessionExpired,
        other if other.is_redirection() => fault(Why::Redirected),
        other => status_fault(other),
    })
}

fn status_fault(status: StatusCode) -> StreamableHttpError<HttpFault> {
    fault(Why::Status(status.as_u16()))
}

// Without a session these two come with the protocol's own error to the call: it is the tool that is not there or the
// arguments that are wrong, and asking again would not help.
fn explains(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND)
}

async fn explanation(response: Response, id: &Value) -> Answered<Value> {
    let status = response.status();
    let answer = read_answer(response, id).await.ok();
    answer.filter(|answer| answer.get("error").is_some()).ok_or_else(|| status_fault(status))
}

// The answer to the request with this id, from a JSON body or from the first event that is it.
async fn read_answer(mut response: Response, id: &Value) -> Result<Value, HttpFault> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    let streamed = kind.eq_ignore_ascii_case(EVENT_STREAM);
    if !streamed && !kind.eq_ignore_ascii_case(JSON) {
        return Err(Why::NotProtocol.into());
    }
    let mut body = Vec::new();
    let mut events = Events::default();
    let mut taken = 0_usize;
    while let Some(chunk) = response.chunk().await.map_err(|_| Why::Closed)? {
        taken = taken.saturating_add(chunk.len());
        if taken > LARGEST {
            return Err(Why::TooLarge.into());
        }
        if !streamed {
            body.extend_from_slice(&chunk);
            continue;
        }
        for data in events.feed(&chunk) {
            if let Some(answer) = answer_to(&data, id)? {
                return Ok(answer);
            }
        }
    }
    if streamed {
        return Err(Why::Closed.into());
    }
    answer_to(&body, id)?.ok_or(HttpFault(Fault::Failed(Why::NotProtocol)))
}

// `None` for a message of another kind, which is not listened to.
fn answer_to(data: &[u8], id: &Value) -> Result<Option<Value>, HttpFault> {
    let message = json::read(data)?;
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    if !is_answer {
        return Ok(None);
    }
    match message.get("id") {
        Some(found) if found == id => Ok(Some(message)),
        // An error that the server could not put an id to; there is one request on this connection, ours.
        None | Some(Value::Null) => Err(Why::NotProtocol.into()),
        Some(_) => Ok(None),
    }
}

impl StreamableHttpClient for StrictHttp {
    type Error = HttpFault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Answered<StreamableHttpPostResponse> {
        self.post(&uri, &message, session_id.as_deref(), custom_headers).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        _limits: StreamableHttpResponseLimits,
    ) -> Answered<StreamableHttpPostResponse> {
        self.post(&uri, &message, session_id.as_deref(), custom_headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Answered<()> {
        let request = self.client.delete(&*uri).header(SESSION, &*session_id);
        // Without a sign-in there is nobody to say goodbye as.
        let Ok(mut request) = self.signed(request) else { return Ok(()) };
        for (name, value) in custom_headers {
            request = request.header(name, value);
        }
        // A goodbye; the server forgets the session by itself if it is not heard.
        let _ = request.timeout(GOODBYE_LIMIT).send().await;
        Ok(())
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _auth_header: Option<String>,
        _custom_headers: Headers,
    ) -> Answered<BoxedSseResponse> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}
