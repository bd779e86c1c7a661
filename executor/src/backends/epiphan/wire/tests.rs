//! The write against servers that are told what to answer, and against the official Python SDK, with either greeting.

use super::*;
use policy::call::Slot;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const BEARER: &str = "wire-bearer";
const ARGUMENTS: &str = r#"{"action":"start","device_ids":["20311112222-1"]}"#;

/// One request: on which connection, its head, its body as text.
#[derive(Debug, Clone)]
struct Seen {
    connection: usize,
    head: String,
    body: String,
}

impl Seen {
    fn rpc(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["method"].as_str().unwrap().to_owned()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        let first = values.next();
        assert_eq!(values.next(), None, "{name} stands there once");
        first
    }
}

/// An event stream that ends a while after its answer.
const LATE: &str = "transfer-encoding: chunked\r\nmcp-session-id: s1\r\n";
/// An event stream that does not end.
const ENDLESS: &str = "mcp-session-id: s1\r\ntransfer-encoding: chunked\r\n";

/// A status line's tail, headers and a body; an empty status closes without an answer.
type Answer = (&'static str, &'static str, String);

/// A server whose answers a function gives.
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    async fn start(script: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, script) = (Arc::clone(&seen), Arc::new(script));
        let accepting = tokio::spawn(async move {
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                tokio::spawn(serve(stream, connection, Arc::clone(&log), Arc::clone(&script)));
            }
        });
        Self { port, seen, accepting }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    fn methods(&self) -> Vec<String> {
        self.seen().iter().map(Seen::rpc).collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    log: Arc<Mutex<Vec<Seen>>>,
    script: Arc<impl Fn(&Seen) -> Answer>,
) -> Option<()> {
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
        let head = String::from_utf8(bytes.drain(..head_end).collect()).unwrap();
        let mut seen = Seen { connection, head, body: String::new() };
        let length: usize = seen.header("content-length").unwrap().parse().unwrap();
        while bytes.len() < length {
            if stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        }
        seen.body = String::from_utf8(bytes.drain(..length).collect()).unwrap();
        log.lock().unwrap().push(seen.clone());
        let (status, headers, body) = script(&seen);
        if status.is_empty() {
            return None;
        }
        if headers == LATE || headers == ENDLESS {
            let event = format!("data: {body}\n\n");
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\n{headers}\r\n{:x}\r\n{event}\r\n",
                event.len()
            );
            stream.write_all(answer.as_bytes()).await.ok()?;
            if headers == LATE {
                tokio::time::sleep(Duration::from_millis(50)).await;
                stream.write_all(b"0\r\n\r\n").await.ok()?;
            }
            continue;
        }
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await.ok()?;
    }
}

fn result(id: u64, result: &Value) -> Answer {
    ("200 OK", "", json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
}

fn error(status: &'static str, code: i64) -> Answer {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": "no" } });
    (status, "", body.to_string())
}

fn initialized() -> Answer {
    let (status, _, body) = result(1, &json!({ "protocolVersion": "2025-06-18", "capabilities": {} }));
    (status, "mcp-session-id: s1\r\n", body)
}

fn discovered() -> Answer {
    result(1, &json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {} }))
}

fn accepted() -> Answer {
    ("202 Accepted", "", String::new())
}

fn destination(port: u16) -> Destination {
    Destination::of(&Endpoint::parse(&format!("http://127.0.0.1:{port}/mcp"), Slot::Sim).unwrap()).unwrap()
}

async fn open(port: u16) -> Result<OpenSession, OpenError> {
    let bearer = HeaderValue::from_str(&format!("Bearer {BEARER}")).unwrap();
    OpenSession::open(&destination(port), &bearer).await
}

async fn write(port: u16) -> Sent {
    let arguments = Canonical::from_value(&serde_json::from_str(ARGUMENTS).unwrap()).unwrap();
    open(port).await.unwrap().prepare(Tool::Recording, &arguments).unwrap().send().await
}

#[tokio::test]
async fn a_server_with_sessions_is_greeted_once_and_gets_the_older_call() {
    let server = Server::start(|seen| match seen.rpc().as_str() {
        "initialize" => initialized(),
        "tools/call" => result(2, &json!({ "structuredContent": {} })),
        _ => accepted(),
    })
    .await;
    assert!(matches!(write(server.port).await, Sent::Answered(_)));
    assert_eq!(server.methods(), ["initialize", "notifications/initialized", "tools/call"]);
    let seen = server.seen();
    assert!(seen.iter().all(|seen| seen.connection == 0 && seen.header("mcp-method").is_none()));
    let greeting: Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(greeting["params"]["capabilities"], json!({}), "nothing is offered to the server");
    assert_eq!(seen[0].header("mcp-protocol-version"), None);
    let call = &seen[2];
    assert_eq!((call.header("mcp-protocol-version"), call.header("mcp-session-id")), (Some("2025-06-18"), Some("s1")));
    let head = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"batch_recording","arguments":"#;
    assert_eq!(call.body, format!("{head}{ARGUMENTS}}}}}"));
}

#[tokio::test]
async fn a_server_without_sessions_costs_one_greeting_and_gets_the_newer_call() {
    for refusal in [
        error("200 OK", -32601),
        error("400 Bad Request", -32602),
        error("400 Bad Request", -32022),
        error("404 Not Found", -32601),
        ("405 Method Not Allowed", "", String::new()),
    ] {
        let no = refusal.clone();
        let server = Server::start(move |seen| match seen.rpc().as_str() {
            "initialize" => no.clone(),
            "server/discover" => discovered(),
            _ => result(2, &json!({ "resultType": "complete", "structuredContent": {} })),
        })
        .await;
        assert!(matches!(write(server.port).await, Sent::Answered(_)), "{refusal:?}");
        assert_eq!(server.methods(), ["initialize", "server/discover", "tools/call"], "{refusal:?}");
        let seen = server.seen();
        let connections: Vec<_> = seen.iter().map(|seen| seen.connection).collect();
        assert_eq!(connections, [0, 1, 1], "nothing but the newer greeting goes before the call");
        for (seen, name) in seen.iter().skip(1).zip([None, Some("batch_recording")]) {
            assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
            assert_eq!(seen.header("mcp-method"), Some(&*seen.rpc()));
            assert_eq!(seen.header("mcp-name"), name);
            assert_eq!(seen.header("mcp-session-id"), None);
            assert_eq!(seen.header("authorization"), Some(&*format!("Bearer {BEARER}")));
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let meta = &body["params"]["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "fleetwatch");
            assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
        }
        let call = &seen[2].body;
        let head = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"batch_recording","arguments":"#;
        assert!(call.starts_with(&format!(r#"{head}{ARGUMENTS},"_meta":{{"#)), "{call}");
    }
}

#[tokio::test]
async fn only_a_whole_no_to_the_older_greeting_leads_to_the_newer_one() {
    let rows: [(&str, Answer, &str); 9] = [
        ("closes", ("", "", String::new()), "closed"),
        ("401", ("401 Unauthorized", "", String::new()), "status 401"),
        ("403", ("403 Forbidden", "", String::new()), "status 403"),
        ("307", ("307 Temporary Redirect", "location: /other\r\n", String::new()), "status 307"),
        ("500", error("500 Internal Server Error", -32603), "status 500"),
        ("another's", result(9, &json!({ "protocolVersion": "2025-06-18" })), "another question"),
        ("rubbish", ("200 OK", "", "{".to_owned()), "not JSON"),
        ("newer version", result(1, &json!({ "protocolVersion": "2026-07-28" })), "do not speak"),
        ("unknown version", result(1, &json!({ "protocolVersion": "2031-01-01" })), "do not speak"),
    ];
    for (name, answer, words) in rows {
        let server = Server::start(move |_| answer.clone()).await;
        let error = open(server.port).await.unwrap_err();
        assert!(error.to_string().contains(words), "{name}: {error}");
        assert_eq!(server.methods(), ["initialize"], "{name}");
    }
}

#[tokio::test]
async fn a_newer_greeting_that_fails_opens_nothing_and_calls_nothing() {
    let rows: [(&str, Answer, &str); 6] = [
        ("refused", error("400 Bad Request", -32022), "status 404, then status 400"),
        ("401", ("401 Unauthorized", "", String::new()), "status 401"),
        ("closes", ("", "", String::new()), "closed"),
        ("old versions", result(1, &json!({ "supportedVersions": ["2025-11-25"] })), "do not speak"),
        ("no versions", result(1, &json!({})), "do not speak"),
        ("not a list", result(1, &json!({ "supportedVersions": "2026-07-28" })), "do not speak"),
    ];
    for (name, answer, words) in rows {
        let server = Server::start(move |seen| match seen.rpc().as_str() {
            "initialize" => error("404 Not Found", -32601),
            _ => answer.clone(),
        })
        .await;
        let error = open(server.port).await.unwrap_err();
        assert!(error.to_string().contains(words), "{name}: {error}");
        assert_eq!(server.methods(), ["initialize", "server/discover"], "{name}");
    }
}

#[tokio::test]
async fn without_a_session_whatever_is_no_plain_answer_is_lost_after_one_call() {
    let question = json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "x" });
    let rows: [(&str, Answer, Option<&str>); 7] = [
        ("closes", ("", "", String::new()), Some("closed before an answer")),
        ("400", error("400 Bad Request", -32020), Some("unexpected status")),
        ("404", error("404 Not Found", -32601), Some("unexpected status")),
        ("401", ("401 Unauthorized", "", String::new()), Some("sign-in")),
        ("307", ("307 Temporary Redirect", "location: /mcp\r\n", String::new()), Some("redirect")),
        ("502", ("502 Bad Gateway", "", String::new()), Some("server error")),
        ("question", result(2, &question), None),
    ];
    for (name, answer, words) in rows {
        let server = Server::start(move |seen| match seen.rpc().as_str() {
            "initialize" => error("404 Not Found", -32601),
            "server/discover" => discovered(),
            _ => answer.clone(),
        })
        .await;
        match (write(server.port).await, words) {
            (Sent::Lost(why), Some(words)) => assert!(why.contains(words), "{name}: {why}"),
            (Sent::Answered(found), None) => {
                let outcome = crate::backends::epiphan::answer::outcome_of(&[], &found);
                assert!(matches!(outcome, crate::store::Outcome::Unknown(_)), "{name}: {outcome:?}");
            }
            (sent, _) => panic!("{name}: {sent:?}"),
        }
        assert_eq!(server.methods(), ["initialize", "server/discover", "tools/call"], "{name}");
    }
}

#[tokio::test]
async fn a_greeting_answered_on_a_stream_leaves_the_call_a_free_connection() {
    for (stream, newest, connections) in
        [(LATE, false, [0, 0, 0]), (ENDLESS, false, [0, 1, 1]), (LATE, true, [0, 1, 1]), (ENDLESS, true, [0, 1, 2])]
    {
        let server = Server::start(move |seen| match seen.rpc().as_str() {
            "initialize" if newest => error("404 Not Found", -32601),
            "initialize" => (initialized().0, stream, initialized().2),
            "server/discover" => (discovered().0, stream, discovered().2),
            "tools/call" => result(2, &json!({ "structuredContent": {} })),
            _ => accepted(),
        })
        .await;
        let sent = write(server.port).await;
        assert!(matches!(sent, Sent::Answered(_)), "{stream} {newest}: {sent:?}");
        let seen = server.seen();
        assert_eq!(seen.iter().map(|seen| seen.connection).collect::<Vec<_>>(), connections, "{stream} {newest}");
        assert_eq!(seen.iter().filter(|seen| seen.rpc() == "tools/call").count(), 1);
        let call = seen.last().unwrap();
        assert_eq!(call.header("mcp-session-id"), (!newest).then_some("s1"));
    }
}

// `issue line 2.23`: an answer to the write that is too large or too deep is none, and nobody asks again.
#[tokio::test]
async fn an_answer_to_the_write_that_is_too_large_or_too_deep_is_lost() {
    const MOST: usize = 1024 * 1024;
    let around = r#"{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{"a":""}}}"#;
    let long = |length: usize| around.replace(r#":"""#, &format!(r#":"{}""#, "x".repeat(length - around.len())));
    // The answer, its result and the content are three levels; the reader takes 48.
    let deep = |depth: usize| {
        let inner = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        around.replace(r#":"""#, &format!(":{inner}"))
    };
    let event = |body: String| (LATE, body);
    let plain = |body: String| ("", body);
    let rows: [(&str, (&'static str, String), bool); 6] = [
        ("as long as may be", plain(long(MOST)), true),
        ("one byte more", plain(long(MOST + 1)), false),
        ("an event stream that is too long", event(long(MOST + 1)), false),
        ("as deep as may be", plain(deep(45)), true),
        ("one level more", plain(deep(46)), false),
        ("an event that is too deep", event(deep(46)), false),
    ];
    for (name, (headers, body), answered) in rows {
        let server = Server::start(move |seen| match seen.rpc().as_str() {
            "initialize" => initialized(),
            "tools/call" => ("200 OK", headers, body.clone()),
            _ => accepted(),
        })
        .await;
        match write(server.port).await {
            Sent::Answered(_) => assert!(answered, "{name}"),
            Sent::Lost(why) => assert!(!answered, "{name}: {why}"),
            sent @ Sent::Unwritten => panic!("{name}: {sent:?}"),
        }
        assert_eq!(server.methods().iter().filter(|method| *method == "tools/call").count(), 1, "{name}");
    }
}

/// A server of the official Python SDK.
struct Peer {
    child: Child,
    port: u16,
    log: tempfile::NamedTempFile,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    async fn start(words: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let named = std::env::var_os("FLEETWATCH_PEERS_PYTHON").map(PathBuf::from);
        let python = named.unwrap_or_else(|| root.join("target/peers/venv/bin/python"));
        assert!(python.exists(), "no Python with the MCP SDK at {}: run tests/install-peers", python.display());
        // Somebody else may take the port between the look and the start; then another is tried.
        for _ in 0..5 {
            let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let log = tempfile::NamedTempFile::new().unwrap();
            let child = Command::new(&python)
                .arg(root.join("tests/peers/python_mcp_server.py"))
                .args([&port.to_string(), BEARER])
                .args(words)
                .stdin(Stdio::piped())
                .stdout(Stdio::from(log.reopen().unwrap()))
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut peer = Self { child, port, log };
            if peer.is_up().await {
                return peer;
            }
        }
        panic!("the Python server does not start: run tests/install-peers");
    }

    async fn is_up(&mut self) -> bool {
        for _ in 0..600 {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if TcpStream::connect(("127.0.0.1", self.port)).await.is_ok() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }
}

#[tokio::test]
async fn the_python_sdk_takes_the_call_with_each_handshake() {
    for (words, greetings, version) in [
        (&["sessions"][..], 2, "2025-11-25"),
        (&["json", "sessionless"], 2, "2025-11-25"),
        (&["stateless"], 2, "2026-07-28"),
        (&["json", "stateless"], 2, "2026-07-28"),
        (&[], 2, "2025-11-25"),
    ] {
        let peer = Peer::start(words).await;
        let Sent::Answered(answer) = write(peer.port).await else { panic!("{words:?}: no answer") };
        let want = json!({ "20311112222-1": "asked to start" });
        assert_eq!(answer["structuredContent"], want, "{words:?}: {answer}");
        let heard = std::fs::read_to_string(peer.log.path()).unwrap();
        let lines: Vec<_> = heard.lines().collect();
        assert_eq!(lines.len(), greetings + 1, "{words:?}: {heard}");
        assert_eq!(lines[0], "- - -", "{words:?}: the older greeting comes first");
        assert!(lines[2].starts_with(version), "{words:?}: {heard}");
        let newest = version == "2026-07-28";
        assert_eq!(lines[2].contains("tools/call"), newest, "{words:?}: {heard}");
        assert_eq!(lines[1].contains("server/discover"), newest, "{words:?}: {heard}");
    }
}
