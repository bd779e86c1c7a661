//! The one MCP session, and the only place that calls a tool. Every call takes a `ReadTool`, which only the guard
//! of the tool policy makes; the session itself never leaves this file.
//!
//! Two greetings are spoken. `server/discover` is tried first (revision 2026-07-28: no session, every request says who
//! asks); a server that answers anything else, or nothing soon, gets `initialize` at once. What worked is remembered.

use crate::answer;
use crate::endpoint::Endpoint;
use crate::error::{Fault, ReadError, Why};
use crate::http::{HttpFault, StrictHttp};
use crate::token::{Denied, NoPass, SignIn};
use host::clock::Clock;
use policy::tool_policy::{ReadTool, ToolPolicy, check_read_arguments};
use protocol::canonical::Canonical;
use protocol::refusal::{Refusal, RefusalCode};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation, JsonObject,
    ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// Longest wait for one call, a new session and one repeat included.
const CALL_LIMIT: Duration = Duration::from_secs(60);
/// Longest wait for a new session.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(20);
/// Longest wait for the answer to `server/discover`. A server that keeps silent is greeted the other way.
const PROBE_LIMIT: Duration = Duration::from_secs(2);
/// The versions of the older greeting, the one that is offered first.
const HANDSHAKE_VERSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2024_11_05,
];
/// How many calls may be on their way at once.
const AT_ONCE: usize = 16;

type Service = RunningService<RoleClient, ClientConfig>;

/// The data of one answer.
#[derive(Clone, PartialEq)]
pub struct ReadAnswer(Value);

impl ReadAnswer {
    /// The data, as the server sent it: redact and quote it before anybody else sees it.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The data, owned.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.0
    }
}

impl fmt::Debug for ReadAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadAnswer(..)")
    }
}

/// The guarded read client of one sign-in at one endpoint. Calls may run side by side; they share one session, which
/// is opened at the first call and again when it has died.
pub struct ReadClient {
    sign_in: Arc<SignIn>,
    http: StrictHttp,
    live: Mutex<Live>,
    call_limit: Duration,
    pub(crate) policy: Arc<ToolPolicy>,
    pub(crate) clock: Clock,
    pub(crate) seen_devices: AtomicBool,
}

#[derive(Default)]
struct Live {
    number: u64,
    service: Option<Arc<Service>>,
    /// The greeting that worked last; unknown again when the next one has not.
    greeting: Option<Greeting>,
}

/// How a server is greeted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Greeting {
    /// `server/discover`; no session.
    Discover,
    /// `initialize`, then `notifications/initialized`; with a session if the server gives one.
    Initialize,
}

impl ReadClient {
    /// A client that has not connected yet.
    ///
    /// # Errors
    /// [`SetupError`] when this machine gives no TLS client.
    pub fn new(sign_in: Arc<SignIn>, policy: Arc<ToolPolicy>) -> Result<Self, SetupError> {
        let http = StrictHttp::new(Arc::clone(&sign_in)).ok_or(SetupError)?;
        Ok(Self {
            http,
            live: Mutex::default(),
            call_limit: CALL_LIMIT,
            policy,
            clock: sign_in.clock().clone(),
            sign_in,
            seen_devices: AtomicBool::new(false),
        })
    }

    /// The sign-in that it reads with.
    #[must_use]
    pub fn sign_in(&self) -> &Arc<SignIn> {
        &self.sign_in
    }

    /// The same client with a shorter wait for each call; 60 s is the most.
    #[must_use]
    pub fn with_call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit.min(CALL_LIMIT);
        self
    }

    /// The tool policy whose guard makes this client's tools.
    #[must_use]
    pub fn policy(&self) -> &ToolPolicy {
        &self.policy
    }

    /// Calls one read tool and gives its data. A dead session is opened again and the call repeated once, never more; so
    /// it is after one renewal of a sign-in that the server did not take. At most 60 s in all.
    ///
    /// # Errors
    /// [`ReadError`]: refused before anything is sent, not signed in, or failed.
    pub async fn call(&self, tool: &ReadTool, arguments: &Canonical) -> Result<ReadAnswer, ReadError> {
        check_read_arguments(tool, arguments).map_err(ReadError::NotPermitted)?;
        let Some(members) = arguments.value().as_object() else {
            let refusal = Refusal::new(RefusalCode::BadArguments, "arguments are an object");
            return Err(ReadError::NotPermitted(refusal));
        };
        match timeout(self.call_limit, self.call_signed_in(tool, members)).await {
            Ok(Ok(value)) => Ok(ReadAnswer(value)),
            Ok(Err(fault)) => Err(ReadError::of(tool.as_str(), fault)),
            Err(_) => {
                // Not waiting: whoever holds it is opening another session already.
                if let Ok(mut live) = self.live.try_lock() {
                    live.service = None;
                }
                Err(ReadError::failed(tool.as_str(), Why::Timeout))
            }
        }
        .inspect_err(|error| tracing::warn!("{error}"))
    }

    /// Ends the session, if there is one. The next call opens another.
    pub async fn close(&self) {
        self.live.lock().await.service = None;
    }

    // A sign-in that has run out is renewed before the call; one that the server does not take, once after it (issue
    // line 3.4). A write has no such way: nothing here is on its path.
    async fn call_signed_in(&self, tool: &ReadTool, members: &JsonObject) -> Result<Value, Fault> {
        let used = self.sign_in.ready_to_read().await?;
        let how = match self.call_or_reopen(tool, members).await {
            Err(Fault::NotSignedIn) => Denied::ByStatus,
            Err(Fault::SaysNotSignedIn) => Denied::InWords,
            done => return done,
        };
        if !self.sign_in.renewed_after_refusal(&used, how).await? {
            return Err(Fault::NotSignedIn);
        }
        // A session may belong to the token that opened it.
        self.close().await;
        self.call_or_reopen(tool, members).await
    }

    async fn call_or_reopen(&self, tool: &ReadTool, members: &JsonObject) -> Result<Value, Fault> {
        let (number, service) = self.session().await?;
        let first = call_once(&service, tool, members).await;
        match first {
            Err(fault) if fault.is_dead_session() => {
                drop(service);
                self.forget(number).await;
                let (number, service) = self.session().await?;
                let second = call_once(&service, tool, members).await;
                if matches!(second, Err(fault) if fault.is_dead_session()) {
                    self.forget(number).await;
                }
                second
            }
            done => done,
        }
    }

    // Whoever comes first opens the session; the others wait for it here.
    async fn session(&self) -> Result<(u64, Arc<Service>), Fault> {
        let mut live = self.live.lock().await;
        if let Some(service) = live.service.as_ref().filter(|service| !service.is_closed()) {
            return Ok((live.number, Arc::clone(service)));
        }
        let known = live.greeting.take();
        let opened = timeout(HANDSHAKE_LIMIT, open(self.sign_in.endpoint(), &self.http, known)).await;
        let (service, greeting) = opened.map_err(|_| Fault::Failed(Why::Timeout))??;
        let service = Arc::new(service);
        live.number += 1;
        live.service = Some(Arc::clone(&service));
        live.greeting = Some(greeting);
        Ok((live.number, service))
    }

    // Only if nobody has opened another one since.
    async fn forget(&self, number: u64) {
        let mut live = self.live.lock().await;
        if live.number == number {
            live.service = None;
        }
    }
}

impl fmt::Debug for ReadClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadClient").field("endpoint", self.sign_in.endpoint()).finish_non_exhaustive()
    }
}

// A wrong guess costs a greeting. What a new greeting can't mend is not greeted again.
async fn open(endpoint: &Endpoint, http: &StrictHttp, known: Option<Greeting>) -> Result<(Service, Greeting), Fault> {
    if known != Some(Greeting::Initialize) {
        let probed = timeout(PROBE_LIMIT, greet(endpoint, http, Greeting::Discover)).await;
        match probed {
            Ok(Ok(service)) => return Ok((service, Greeting::Discover)),
            Ok(Err(
                fault @ (Fault::NotSignedIn
                | Fault::SaysNotSignedIn
                | Fault::Failed(Why::Unreachable | Why::Redirected)),
            )) => return Err(fault),
            Ok(Err(Fault::Failed(_))) | Err(_) => {}
        }
    }
    greet(endpoint, http, Greeting::Initialize).await.map(|service| (service, Greeting::Initialize))
}

async fn greet(endpoint: &Endpoint, http: &StrictHttp, greeting: Greeting) -> Result<Service, Fault> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(endpoint.as_str())
        .max_concurrent_requests(AT_ONCE)
        .reinit_on_expired_session(false);
    config.retry_config = Arc::new(NeverRetry::default());
    let transport = StreamableHttpClientTransport::with_client(http.clone(), config);
    let who = Implementation::new("fleetwatch", env!("CARGO_PKG_VERSION"));
    // No capabilities: the server may ask us for nothing.
    let client =
        ClientConfig::new(ClientCapabilities::default(), who).with_protocol_version(HANDSHAKE_VERSIONS[0].clone());
    let lifecycle = match greeting {
        Greeting::Discover => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        Greeting::Initialize => ClientLifecycleMode::Initialize,
    };
    let served = serve_client_with_lifecycle(client, transport, lifecycle).await;
    let service = served.map_err(|error| opening_fault(&error))?;
    let chosen = service.peer_info().map(|info| info.protocol_version.clone());
    let spoken = match greeting {
        // The library took it from our own list.
        Greeting::Discover => true,
        Greeting::Initialize => chosen.is_some_and(|chosen| HANDSHAKE_VERSIONS.contains(&chosen)),
    };
    if spoken { Ok(service) } else { Err(Fault::Failed(Why::NotProtocol)) }
}

// Errors that the library may add one day are failed reads too.
#[expect(clippy::wildcard_enum_match_arm, reason = "the library's enums are open")]
fn opening_fault(error: &ClientInitializeError) -> Fault {
    match error {
        ClientInitializeError::TransportError { error, .. } => transport_fault(error.error.as_ref()),
        ClientInitializeError::JsonRpcError(data) if answer::is_of_sign_in_alone(&data.message) => {
            Fault::SaysNotSignedIn
        }
        ClientInitializeError::ConnectionClosed(_) => Fault::Failed(Why::Closed),
        _ => Fault::Failed(Why::NotProtocol),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the library's enums are open")]
async fn call_once(service: &Service, tool: &ReadTool, members: &JsonObject) -> Result<Value, Fault> {
    let params = CallToolRequestParams::new(tool.as_str().to_owned()).with_arguments(members.clone());
    let response = service.call_tool_once(params).await;
    match response.map_err(|error| service_fault(&error, tool))? {
        CallToolResponse::Complete(result) => answer::read(&result, tool.as_str()),
        CallToolResponse::InputRequired(_) => Err(Fault::Failed(Why::InputRequired)),
        _ => Err(Fault::Failed(Why::NotProtocol)),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the library's enums are open")]
fn service_fault(error: &ServiceError, tool: &ReadTool) -> Fault {
    match error {
        ServiceError::TransportSend(error) => transport_fault(error.error.as_ref()),
        ServiceError::TransportClosed => Fault::Failed(Why::Closed),
        ServiceError::McpError(data) if answer::ends_sign_in(&data.message, tool.as_str()) => Fault::SaysNotSignedIn,
        ServiceError::McpError(_) => Fault::Failed(Why::ErrorAnswer),
        _ => Fault::Failed(Why::NotProtocol),
    }
}

fn transport_fault(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Fault {
    match error.downcast_ref::<StreamableHttpError<HttpFault>>() {
        Some(StreamableHttpError::Client(fault)) => fault.0,
        Some(_) | None => Fault::Failed(Why::Closed),
    }
}

impl From<NoPass> for Fault {
    fn from(why: NoPass) -> Self {
        match why {
            NoPass::Dead | NoPass::Missing | NoPass::NotTaken => Self::NotSignedIn,
            NoPass::NotRenewed => Self::Failed(Why::NotRenewed),
        }
    }
}

/// This machine gives no TLS client: it has no certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetupError;

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no HTTPS client can be made here; install the system's certificates (package ca-certificates)")
    }
}

impl std::error::Error for SetupError {}
