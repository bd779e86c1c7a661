//! The fleet's listener: who calls, what is logged, what goes wrong, and then the MCP server.

use std::io;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use hyper::{Request, StatusCode};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;

use crate::clock;
use crate::config::Caller;
use crate::control;
use crate::faults::Fault;
use crate::log::ToolCall;
use crate::mcp::FleetServer;
use crate::oauth;
use crate::tools::Kind;
use crate::web::{self, Hangup, Reply};
use crate::world::World;

type Mcp = StreamableHttpService<FleetServer, LocalSessionManager>;

/// Answers everything on the fleet's port.
#[derive(Clone)]
pub(crate) struct Front {
    world: Arc<World>,
    mcp: Mcp,
}

impl Front {
    /// A front for this world.
    pub(crate) fn new(world: Arc<World>) -> Self {
        let server = FleetServer::new(Arc::clone(&world));
        let mcp = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::default(),
            StreamableHttpServerConfig::default().with_allowed_hosts(["127.0.0.1", "localhost"]),
        );
        Self { world, mcp }
    }

    /// Answers one request.
    ///
    /// # Errors
    /// A fault that closes the connection.
    pub(crate) async fn answer(self, request: Request<Incoming>) -> Result<Reply, Hangup> {
        let path = request.uri().path();
        if path.starts_with("/_sim/") {
            return Ok(control::answer(&self.world, request).await);
        }
        let request = match oauth::answer(&self.world, request, clock::now_ms()).await {
            Ok(reply) => return Ok(reply),
            Err(request) => request,
        };
        if request.uri().path() != "/mcp" {
            return Ok(web::text(StatusCode::NOT_FOUND, "the MCP server is at /mcp"));
        }
        let (mut parts, body) = request.into_parts();
        let body = match web::read_body(body).await {
            Ok(body) => body,
            Err(reply) => return Ok(reply),
        };
        let caller = self.world.caller(header(&parts.headers, AUTHORIZATION), clock::now_ms());
        parts.extensions.insert(caller);
        let fault = match ToolCall::from_body(&body) {
            None => None,
            Some(call) => match self.arrived(caller, &call) {
                Ok(fault) => fault.map(|fault| (fault, call)),
                Err(_) => {
                    return Ok(web::text(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "the call log can't be written, so nothing was done",
                    ));
                }
            },
        };
        let host = header(&parts.headers, HOST).unwrap_or_default().to_owned();
        let request = Request::from_parts(parts, Full::new(body));
        match fault {
            Some((fault, call)) => self.with_fault(fault, &call, &host, request).await,
            None => Ok(self.pass(request).await),
        }
    }

    /// Logs the call, and only then says which fault a write meets.
    fn arrived(&self, caller: Caller, call: &ToolCall) -> io::Result<Option<Fault>> {
        self.world.log().record(caller, call, clock::now_ms())?;
        Ok(match call.kind() {
            Kind::Read => None,
            Kind::Write => self.world.faults().next(),
        })
    }

    async fn pass(&self, request: Request<Full<Bytes>>) -> Reply {
        self.mcp.handle(request).await.map(|body| body.map_err(|never| match never {}).boxed())
    }

    async fn with_fault(
        &self,
        fault: Fault,
        call: &ToolCall,
        host: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<Reply, Hangup> {
        match fault {
            Fault::Redirects307 => return Ok(redirect(host)),
            Fault::InputRequired => return Ok(input_required(call)),
            Fault::Closes
            | Fault::Status404
            | Fault::Status401
            | Fault::Status502
            | Fault::MalformedJson
            | Fault::Stalls => {}
        }
        // The answer is read to its end, so the effect has happened, and thrown away.
        let _ = self.pass(request).await.into_body().collect().await;
        match fault {
            Fault::Status404 => Ok(web::text(StatusCode::NOT_FOUND, "Not Found: Session not found")),
            Fault::Status401 => Ok(unauthorized()),
            Fault::Status502 => Ok(web::text(StatusCode::BAD_GATEWAY, "Bad Gateway")),
            Fault::MalformedJson => Ok(web::bytes(
                StatusCode::OK,
                "application/json",
                Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"content":["#),
            )),
            Fault::Stalls => std::future::pending().await,
            Fault::Closes | Fault::Redirects307 | Fault::InputRequired => Err(Hangup),
        }
    }
}

fn header(headers: &HeaderMap, name: hyper::header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn unauthorized() -> Reply {
    let mut reply = web::text(StatusCode::UNAUTHORIZED, "Unauthorized");
    reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    reply
}

fn redirect(host: &str) -> Reply {
    let mut reply = web::text(StatusCode::TEMPORARY_REDIRECT, "");
    if let Ok(address) = HeaderValue::from_str(&format!("http://{host}/mcp")) {
        reply.headers_mut().insert(LOCATION, address);
    }
    reply
}

fn input_required(call: &ToolCall) -> Reply {
    let question = json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Are you sure?",
            "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}},
        },
    });
    let body = json!({
        "jsonrpc": "2.0",
        "id": call.id,
        "result": {
            "resultType": "input_required",
            "inputRequests": {"sure": question},
            "requestState": "sim",
        },
    });
    web::json(StatusCode::OK, &body)
}
