//! Starts the real binary and speaks HTTP to it by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const NORMAL: &str = "normal-token";
pub(crate) const SANDBOX: &str = "sandbox-token";

/// A running simulator; it ends with the test.
pub(crate) struct Sim {
    child: Child,
    folder: TempDir,
    pub(crate) port: u16,
    pub(crate) model_port: u16,
}

/// One whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// The body is shorter than it promised.
    pub(crate) cut: bool,
}

impl Sim {
    /// Starts the binary with these extra arguments.
    pub(crate) fn start(extra: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("normal"), format!("{NORMAL}\n")).expect("a file");
        std::fs::write(path("sandbox"), format!("{SANDBOX}\n")).expect("a file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_fleetwatch-sim"))
            .arg("--token-file-normal")
            .arg(path("normal"))
            .arg("--token-file-sandbox")
            .arg(path("sandbox"))
            .arg("--log")
            .arg(path("log"))
            .arg("--stop-with-stdin")
            .args(extra)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("one line");
        let line: Value = serde_json::from_str(&line).expect("json");
        assert_eq!(line["pid"], json!(child.id()));
        Self { child, folder, port: port_of(&line["mcp"]), model_port: port_of(&line["model"]) }
    }

    /// The lines of the log file.
    pub(crate) fn log_file(&self) -> Vec<Value> {
        let path: PathBuf = self.folder.path().join("log");
        let text = std::fs::read_to_string(path).expect("the log");
        text.lines().map(|line| serde_json::from_str(line).expect("json")).collect()
    }

    /// How many write calls arrived.
    pub(crate) fn writes(&self) -> usize {
        let log = self.log_file();
        log.iter().filter(|entry| entry["kind"] == "write").count()
    }

    /// `GET` or `POST` below `/_sim/`.
    pub(crate) fn control(&self, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string);
        let method = if body.is_some() { "POST" } else { "GET" };
        let head = [("x-sim", "1")];
        let body = body.unwrap_or_default();
        http(self.port, method, path, &head, &body).expect("an answer")
    }

    /// The device with this name, as the state has it now.
    pub(crate) fn device(&self, name: &str) -> Value {
        let state: Value = serde_json::from_str(&self.control("/_sim/state", None).body).expect("json");
        let devices = state["devices"].as_array().expect("a list");
        let found = devices.iter().find(|device| device["Name"] == name);
        found.expect("a device").clone()
    }

    /// A legacy session with this token: its id.
    pub(crate) fn session(&self, token: Option<&str>) -> Session<'_> {
        let mut session = Session { sim: self, token: token.map(str::to_owned), id: None };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        });
        let answer = session.post(1, "initialize", &hello).expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
        session.id = Some(answer.header("mcp-session-id").expect("a session"));
        assert_eq!(result(&answer)["serverInfo"]["name"], "fleetwatch-sim");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let answer = session.send(&ready).expect("an answer");
        assert_eq!(answer.status, 202, "{answer:?}");
        session
    }

    /// One request to the model stand-in.
    pub(crate) fn ask(&self, body: &Value) -> Option<Answer> {
        let head = [("x-api-key", "test"), ("anthropic-version", "2023-06-01"), ("content-type", "application/json")];
        http(self.model_port, "POST", "/v1/messages", &head, &body.to_string())
    }

    /// Closes standard input and gives the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An MCP session over streamable HTTP.
pub(crate) struct Session<'s> {
    sim: &'s Sim,
    token: Option<String>,
    id: Option<String>,
}

impl Session<'_> {
    /// One tools/call; none if the connection closed without an answer.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Option<Answer> {
        let params = json!({"name": tool, "arguments": arguments});
        self.post(7, "tools/call", &params)
    }

    /// The result of a tools/call that must be answered.
    pub(crate) fn result(&self, tool: &str, arguments: &Value) -> Value {
        result(&self.call(tool, arguments).expect("an answer"))
    }

    /// One JSON-RPC request.
    pub(crate) fn post(&self, id: u64, method: &str, params: &Value) -> Option<Answer> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Sends one tools/call and leaves the answer unread.
    pub(crate) fn fire(&self, tool: &str, arguments: &Value) -> TcpStream {
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params});
        self.with_head(|head| dispatch(self.sim.port, "POST", "/mcp", head, &message.to_string()))
    }

    fn send(&self, message: &Value) -> Option<Answer> {
        self.with_head(|head| http(self.sim.port, "POST", "/mcp", head, &message.to_string()))
    }

    fn with_head<T>(&self, act: impl FnOnce(&[(&str, &str)]) -> T) -> T {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut head = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        if let Some(bearer) = &bearer {
            head.push(("authorization", bearer));
        }
        if let Some(id) = &self.id {
            head.push(("mcp-session-id", id));
            head.push(("mcp-protocol-version", "2025-06-18"));
        }
        act(&head)
    }
}

impl Answer {
    /// A header by its lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("json")
    }
}

/// The JSON-RPC result inside a JSON or SSE answer.
pub(crate) fn result(answer: &Answer) -> Value {
    let message = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .find_map(|data| serde_json::from_str::<Value>(data.trim()).ok())
        .unwrap_or_else(|| serde_json::from_str(&answer.body).expect("json"));
    message["result"].clone()
}

/// One request on its own connection; none if it closed without a byte.
pub(crate) fn http(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<Answer> {
    let mut stream = dispatch(port, method, path, headers, body);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    if bytes.is_empty() {
        return None;
    }
    Some(parse(&String::from_utf8_lossy(&bytes)))
}

fn dispatch(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a deadline");
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("sent");
    stream
}

fn parse(text: &str) -> Answer {
    let (head, rest) = text.split_once("\r\n\r\n").expect("a head");
    let mut answer = Answer {
        status: head[9..12].parse().expect("a status"),
        head: head.to_owned(),
        body: String::new(),
        cut: false,
    };
    let chunked = answer.header("transfer-encoding").as_deref() == Some("chunked");
    if chunked {
        answer.cut = !rest.ends_with("0\r\n\r\n");
        answer.body = dechunk(rest);
    } else {
        let length = answer.header("content-length");
        answer.cut = length.is_some_and(|length| length.parse() != Ok(rest.len()));
        answer.body = rest.to_owned();
    }
    answer
}

fn dechunk(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 || size > after.len() {
            break;
        }
        body.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    body
}

fn port_of(address: &Value) -> u16 {
    let address = address.as_str().expect("an address");
    let authority = address.trim_start_matches("http://").split('/').next();
    let port = authority.and_then(|text| text.split(':').nth(1));
    port.expect("a port").parse().expect("a number")
}
