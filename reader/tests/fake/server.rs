//! A hand-written MCP server that does as a test tells it, byte by byte, and keeps what it was sent.

use host::clock::Clock;
use policy::call::Slot;
use policy::tool_policy::ToolPolicy;
use protocol::canonical::Canonical;
use reader::endpoint::Endpoint;
use reader::error::ReadError;
use reader::session::{ReadAnswer, ReadClient, SetupError};
use reader::token::{SignIn, Which};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) const BEARER: &str = "bearer-never-show";
pub(crate) const TEAM: &str = "get_devices_in_my_team";

/// One request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) head: String,
    pub(crate) body: Value,
    /// The body as it came.
    pub(crate) text: String,
}

impl Request {
    /// The JSON-RPC method.
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// The path with its query.
    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// The tool of a call.
    pub(crate) fn tool(&self) -> &str {
        self.body["params"]["name"].as_str().unwrap_or_default()
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// What a test does with a request: the bytes of the reply, or nothing at all for a stall.
type Script = dyn Fn(&Request, usize, usize) -> Option<Vec<u8>> + Send + Sync;

/// Which greetings the server knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// `initialize`, with sessions.
    Sessions,
    /// `server/discover`.
    Stateless,
    /// Either.
    Both,
    /// Neither.
    Nothing,
}

/// What the server's handshake is, which a test may change under way.
pub(crate) type Handshake = Arc<Mutex<Speaks>>;

pub(crate) struct Fake {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<Request>>>,
    accepting: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Fake {
    /// Starts one with sessions. The script answers tool calls, counted from 1; the handshake is answered for it.
    pub(crate) async fn start(script: impl Fn(&Request, usize) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self::speaking(&Arc::new(Mutex::new(Speaks::Sessions)), script).await
    }

    /// The same with this handshake.
    pub(crate) async fn speaking(
        handshake: &Handshake,
        script: impl Fn(&Request, usize) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let handshake = Arc::clone(handshake);
        Self::answering(move |request, calls, greetings| match request.rpc() {
            "initialize" | "server/discover" => Some(greeted(request, greetings, *handshake.lock().unwrap())),
            "tools/call" => script(request, calls),
            _ if request.method == "POST" => Some(http("202 Accepted", "", b"")),
            _ => Some(http("405 Method Not Allowed", "", b"")),
        })
        .await
    }

    /// Starts one whose every answer is the script's, which is told the number of tool calls and of `initialize` so far.
    pub(crate) async fn answering(
        script: impl Fn(&Request, usize, usize) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Script> = Arc::new(script);
        let kept = Arc::clone(&log);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept), Arc::clone(&script)));
            }
        });
        Self { url, log, accepting }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, rpc: &str) -> usize {
        self.requests().iter().filter(|request| request.rpc() == rpc).count()
    }

    pub(crate) fn client(&self) -> ReadClient {
        client_for(&self.url, Slot::Sim).unwrap()
    }
}

/// A client with the test's bearer.
pub(crate) fn client_for(url: &str, slot: Slot) -> Result<ReadClient, SetupError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sign-in");
    fs::write(&path, BEARER).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let endpoint = Endpoint::parse(url, slot).unwrap();
    let policy = Arc::new(ToolPolicy::shipped().unwrap());
    ReadClient::new(SignIn::load(&path, Which::Normal, endpoint, Clock::system().unwrap()).unwrap(), policy)
}

async fn serve(mut stream: TcpStream, log: Arc<Mutex<Vec<Request>>>, script: Arc<Script>) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        let head_end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
        let mut request =
            Request { method: head.split(' ').next()?.to_owned(), head, body: Value::Null, text: String::new() };
        let length: usize = request.header("content-length").map_or(0, |n| n.parse().unwrap());
        while bytes.len() < head_end + length {
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        }
        request.body = serde_json::from_slice(&bytes[head_end..head_end + length]).unwrap_or(Value::Null);
        request.text = String::from_utf8_lossy(&bytes[head_end..head_end + length]).into_owned();
        bytes.drain(..head_end + length);
        let (nth, session) = {
            let mut log = log.lock().unwrap();
            log.push(request.clone());
            let count = |rpc: &str| log.iter().filter(|request| request.rpc() == rpc).count();
            (count("tools/call"), count("initialize"))
        };
        let reply = script(&request, nth, session);
        let Some(reply) = reply else {
            std::future::pending::<()>().await;
            return None;
        };
        stream.write_all(&reply).await.ok()?;
        // A reply without a length is one that ends with the connection.
        if !reply.windows(16).any(|part| part.eq_ignore_ascii_case(b"content-length: ")) {
            return None;
        }
    }
}

/// The answer of a server that knows these greetings.
pub(crate) fn greeted(request: &Request, session: usize, speaks: Speaks) -> Vec<u8> {
    let id = &request.body["id"];
    match (request.rpc(), speaks) {
        ("initialize", Speaks::Sessions | Speaks::Both) => {
            let result = json!({"protocolVersion": request.body["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "fake", "version": "1"}});
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
            let headers = format!("content-type: application/json\r\nmcp-session-id: s{session}\r\n");
            http("200 OK", &headers, answer.as_bytes())
        }
        ("server/discover", Speaks::Stateless | Speaks::Both) => discovered(request, &["2026-07-28"]),
        ("server/discover", _) => {
            let answer = json!({"jsonrpc": "2.0", "id": "server-error",
                "error": {"code": -32600, "message": "Bad Request: Missing session ID"}});
            http("400 Bad Request", "content-type: application/json\r\n", answer.to_string().as_bytes())
        }
        _ => {
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}});
            http("404 Not Found", "content-type: application/json\r\n", answer.to_string().as_bytes())
        }
    }
}

/// The answer to `server/discover` that names these versions.
pub(crate) fn discovered(request: &Request, versions: &[&str]) -> Vec<u8> {
    let result = json!({"resultType": "complete", "supportedVersions": versions, "capabilities": {"tools": {}},
        "ttlMs": 0, "cacheScope": "private"});
    let answer = json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result}).to_string();
    http("200 OK", "content-type: application/json\r\n", answer.as_bytes())
}

/// A reply with a length.
pub(crate) fn http(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut reply = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n").into_bytes();
    reply.extend_from_slice(body);
    reply
}

/// A JSON reply with this raw text.
pub(crate) fn raw_json(body: &str) -> Option<Vec<u8>> {
    Some(http("200 OK", "content-type: application/json\r\n", body.as_bytes()))
}

/// The JSON-RPC reply to a request.
pub(crate) fn reply(request: &Request, result: &Value) -> Option<Vec<u8>> {
    raw_json(&json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result}).to_string())
}

/// The same with data in both parts of a tool's result.
pub(crate) fn data(request: &Request, value: &Value) -> Option<Vec<u8>> {
    let text = json!([{"type": "text", "text": value.to_string()}]);
    reply(request, &json!({"content": text, "structuredContent": value, "isError": false}))
}

/// An event stream that ends when its text does.
pub(crate) fn events(text: &str) -> Option<Vec<u8>> {
    Some(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{text}").into_bytes())
}

pub(crate) fn arguments(value: &Value) -> Canonical {
    Canonical::from_value(value).unwrap()
}

pub(crate) async fn team_call(client: &ReadClient) -> Result<ReadAnswer, ReadError> {
    let tool = client.policy().guard(TEAM).unwrap();
    client.call(&tool, &arguments(&json!({}))).await
}
