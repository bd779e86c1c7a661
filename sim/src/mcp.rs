//! The MCP server: 35 tools over the simulated fleet. Who calls was decided in `front`.

use std::sync::Arc;

use hyper::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};

use crate::clock;
use crate::config::Caller;
use crate::faults::ReadFault;
use crate::fleet::ToolError;
use crate::fleet::effects::Write;
use crate::shapes::Read;
use crate::tools::{self, Kind, TOOLS, Tool};
use crate::world::World;

/// A picture of one grey pixel.
const PIXEL_PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
const UNAUTHORIZED: &str = "Error: 401 Unauthorized";

/// One MCP server; every session shares the same world.
#[derive(Clone, Debug)]
pub(crate) struct FleetServer {
    world: Arc<World>,
}

impl FleetServer {
    /// A server for this world.
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self { world }
    }

    fn run(&self, caller: Caller, tool: &Tool, given: &Map<String, Value>) -> CallToolResult {
        if caller == Caller::Unknown {
            return failed(UNAUTHORIZED);
        }
        if let Err(words) = tool.check(given) {
            return failed(&format!("Error: {words}"));
        }
        let now_ms = clock::now_ms();
        let answer = match tool.kind {
            Kind::Read => Read { caller, tool: tool.name, arguments: given, now_ms }.run(&mut self.world.state()),
            Kind::Write => Write { caller, tool: tool.name, arguments: given, now_ms }.run(&mut self.world.state()),
        };
        match answer {
            Ok(value) if tool.name == "get_channel_image" => picture(value),
            Ok(value) => CallToolResult::structured(value),
            Err(ToolError(words)) => failed(&words),
        }
    }

    fn read_fault(&self, tool: &str) -> Option<ReadFault> {
        self.world.read_faults().get(tool).copied()
    }
}

impl ServerHandler for FleetServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("fleetwatch-sim", env!("CARGO_PKG_VERSION")))
            .with_instructions("A simulated fleet. No device exists.")
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let signed_in = caller_of(&context) != Caller::Unknown;
        let tools = TOOLS.iter().map(|tool| listed(tool, signed_in)).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::find(&request.name) else {
            return Err(ErrorData::invalid_params("there is no such tool", None));
        };
        let given = request.arguments.unwrap_or_default();
        let result = self.run(caller_of(&context), tool, &given);
        let result = match self.read_fault(tool.name) {
            None => result,
            Some(fault) => spoiled(fault, result).await,
        };
        Ok(result.into())
    }
}

fn caller_of(context: &RequestContext<RoleServer>) -> Caller {
    context
        .extensions
        .get::<Parts>()
        .and_then(|parts| parts.extensions.get::<Caller>())
        .copied()
        .unwrap_or(Caller::Unknown)
}

fn listed(tool: &Tool, signed_in: bool) -> rmcp::model::Tool {
    let hints = ToolAnnotations::new().read_only(tool.kind == Kind::Read);
    rmcp::model::Tool::new(tool.name, tool.about, tool.input_schema(signed_in)).with_annotations(hints)
}

fn failed(words: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(words)])
}

fn picture(facts: Value) -> CallToolResult {
    let mut result = CallToolResult::structured(facts);
    result.content.push(ContentBlock::image(PIXEL_PNG, "image/png"));
    result
}

async fn spoiled(fault: ReadFault, result: CallToolResult) -> CallToolResult {
    match fault {
        ReadFault::Error => failed("Error: the service is not available"),
        ReadFault::Unauthorized => failed(UNAUTHORIZED),
        ReadFault::Text => CallToolResult::success(vec![ContentBlock::text("All is well.")]),
        ReadFault::Empty => CallToolResult::structured(json!({})),
        ReadFault::Mismatch => {
            let mut result = result;
            result.content = vec![ContentBlock::text("{\"devices\":[]}")];
            result
        }
        ReadFault::Stalls => std::future::pending().await,
    }
}
