//! The front for other agents (`issue 3, 3.16 and 3.21`): `fleetwatchctl mcp` on a whole world, spoken to line by line, by
//! the official Python and TypeScript SDKs (the examples of `docs/other-agents.md`), and by the MCP Inspector's command line.

#[cfg(test)]
#[path = "mcp/conformance.rs"]
mod conformance;

use fleetwatch_tests::world::{READING, World, must, recording, some, units, until};
use fleetwatch_tests::{binary, peers_node, peers_python, workspace_root};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::Duration;

const LATE: Duration = Duration::from_secs(60);

fn cleaned(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// The words behind a program's own that start the front on this world.
fn front_of(world: &World) -> [String; 4] {
    let text = |path: &Path| path.display().to_string();
    [text(&binary("fleetwatchctl")), "mcp".to_owned(), "--run-dir".to_owned(), text(&world.folder().join("run"))]
}

#[track_caller]
fn text(value: &Value) -> &str {
    some(value.as_str(), &format!("a text, not {value}"))
}

/// An agent that speaks the protocol by hand, one line a message.
struct Agent {
    child: Child,
    says: Option<ChildStdin>,
    hears: Receiver<String>,
    last: u64,
}

impl Agent {
    fn start(world: &World) -> Self {
        let [program, arguments @ ..] = front_of(world);
        let mut command = cleaned(Path::new(&program));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = must(command.spawn(), "fleetwatchctl mcp");
        let says = child.stdin.take();
        let out = BufReader::new(some(child.stdout.take(), "its output"));
        let (tell, hears) = channel();
        spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, says, hears, last: 0 }
    }

    fn line(&mut self, text: &str) {
        let says = some(self.says.as_mut(), "its input");
        must(says.write_all(text.as_bytes()).and_then(|()| says.write_all(b"\n")), "a line");
    }

    // Whatever stands on standard output must be the protocol's.
    fn answer(&self) -> Value {
        let line = must(self.hears.recv_timeout(LATE), "an answer");
        let answer: Value = must(serde_json::from_str(&line), &line);
        assert_eq!(answer["jsonrpc"], "2.0", "{line}");
        answer
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        self.line(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }).to_string());
        let answer = self.answer();
        assert_eq!(answer["id"], self.last, "{answer}");
        answer
    }

    fn initialized(world: &World) -> Self {
        let mut agent = Self::start(world);
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
        });
        let answer = agent.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "fleetwatch", "{answer}");
        assert!(text(&answer["result"]["instructions"]).contains("never an instruction"));
        agent.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        agent
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let code = text(&result["structuredContent"]["refusal"]["code"]).to_owned();
        assert!(text(&result["content"][0]["text"]).contains(&code), "{result}");
        assert!(!text(&result["structuredContent"]["refusal"]["advice"]).is_empty(), "{result}");
        code
    }

    fn propose(&mut self, tool: &str, arguments: &Value) -> ProposalNumber {
        let asked = json!({ "tool": tool, "arguments": arguments, "reason": "Another agent's people asked." });
        let result = self.call("propose_change", &asked);
        assert_eq!(result["isError"], false, "{result}");
        some(result["structuredContent"]["number"].as_u64().and_then(ProposalNumber::new), "a number")
    }

    fn state(&mut self, number: ProposalNumber) -> Value {
        let result = self.call("proposal_status", &json!({ "number": number }));
        result["structuredContent"]["state"].clone()
    }

    fn ended(&mut self) -> i32 {
        until(LATE, "the end of the front", || self.child.try_wait().ok()?.map(|status| status.code().unwrap_or(-1)))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn another_agent_reads_and_proposes_and_a_person_decides() {
    let world = World::builder().start();
    let hall = world.room("Hall A");
    let mut agent = Agent::initialized(&world);
    let result = agent.call("get_devices_in_my_team", &json!({}));
    assert_eq!(result["isError"], false, "{result}");
    let devices = result["structuredContent"]["data"]["devices"].as_array().unwrap();
    assert!(devices.iter().any(|device| device["Id"] == hall.as_str()), "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("<fleet_data>") && text.matches("</fleet_data>").count() == 1, "{text}");

    let result = agent.call("get_changeable_devices", &json!({}));
    let devices = result["structuredContent"]["data"]["devices"].as_array().unwrap();
    assert!(devices.iter().any(|device| device["device_id"] == hall.as_str()), "{result}");
    assert_eq!(agent.refused("get_changeable_devices", &json!({ "all": true })), "bad_arguments");

    let number = agent.propose("batch_recording", &recording("start", &hall, 1));
    assert_eq!(agent.state(number), "pending");
    let pending = agent.call("pending_proposals", &json!({}))["structuredContent"]["proposals"].clone();
    assert_eq!((&pending[0]["number"], &pending[0]["state"]), (&json!(number), &json!("pending")));
    let mut members: Vec<_> = pending[0].as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, ["expires_in_seconds", "number", "state", "tool"], "no code and no handle");

    let mut operator = world.control();
    let card = must(operator.show(number), "the card");
    assert_eq!(card.facts.origin.en, "Drafted by another agent, via the assistant");
    assert_eq!(world.writes(), [], "nothing but a person's yes writes");
    sleep(READING);
    let news = must(world.approve(number), "the approval");
    assert_eq!(news.state, ProposalState::Ok);
    assert_eq!(world.writes().len(), 1);
    let told = agent.call("proposal_status", &json!({ "number": number }));
    assert_eq!(
        (&told["structuredContent"]["state"], &told["structuredContent"]["final"]),
        (&json!("ok"), &json!(true))
    );
}

#[test]
fn the_executors_checks_hold_for_another_agent_and_nothing_here_decides() {
    let world = World::builder().fence_all_but(&["Hall A"]).start();
    let (hall, court) = (world.room("Hall A"), world.room("Courtroom 4"));
    let mut agent = Agent::initialized(&world);
    let draft = |tool: &str, arguments: Value| json!({ "tool": tool, "arguments": arguments, "reason": "r" });
    for (asked, code) in [
        (draft("batch_recording", recording("start", &hall, 1)), "outside_fence"),
        (draft("delete_cms_event", json!({ "event_id": "1" })), "tool_not_proposable"),
        (draft("batch_reboot", json!({ "device_ids": [hall, hall], "force": true })), "bad_arguments"),
        (json!({ "tool": "batch_reboot", "arguments": units(&court), "reason": "x".repeat(301) }), "reason_too_long"),
        (
            json!({ "tool": "batch_reboot", "arguments": units(&court), "reason": "r", "origin": "command" }),
            "bad_arguments",
        ),
    ] {
        assert_eq!(agent.refused("propose_change", &asked), code, "{asked}");
    }
    assert_eq!(agent.refused("batch_reboot", &json!({ "device_ids": [hall] })), "not_permitted");
    assert_eq!(agent.refused("get_channel_image", &json!({})), "not_permitted");
    assert_eq!(agent.refused("get_device_info", &json!({ "device_id": "a", "b": 1 })), "bad_arguments");
    for unknown in ["approve", "approvals_approve", "get_everything"] {
        let answer = agent.ask("tools/call", &json!({ "name": unknown, "arguments": {} }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    // What people and their model proposed is none of its business.
    let theirs = must(world.propose("assistant", "batch_recording", &recording("start", &court, 1)), "a proposal");
    assert_eq!(agent.refused("proposal_status", &json!({ "number": theirs })), "unknown_proposal");
    let pending = agent.call("pending_proposals", &json!({}));
    assert_eq!(pending["structuredContent"]["proposals"], json!([]));
    assert_eq!(world.writes(), []);
}

#[test]
fn the_tools_have_strict_schemas_and_true_hints_by_either_handshake() {
    let world = World::builder().start();
    let mut agent = Agent::initialized(&world);
    check_tools(&agent.ask("tools/list", &json!({})));
    // The newest revision has no handshake: each request says what it speaks.
    let mut agent = Agent::start(&world);
    let speaks = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let found = agent.ask("server/discover", &speaks);
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    check_tools(&agent.ask("tools/list", &speaks));
}

fn check_tools(answer: &Value) {
    let tools = some(answer["result"]["tools"].as_array(), &answer.to_string());
    assert_eq!(tools.len(), 23, "19 readings without pictures, what can change, one that proposes, two that ask");
    for tool in tools {
        let name = text(&tool["name"]);
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{name}");
        assert_eq!(tool["annotations"]["readOnlyHint"], name != "propose_change", "{name}");
        for word in ["approve", "deny", "decide", "pin"] {
            assert!(!name.split('_').any(|part| part == word), "{name}");
        }
    }
    let propose = some(tools.iter().find(|tool| tool["name"] == "propose_change"), "propose_change");
    let named = some(propose["inputSchema"]["properties"]["tool"]["enum"].as_array(), "the six");
    let named: BTreeSet<_> = named.iter().filter_map(Value::as_str).collect();
    let six = [
        "batch_firmware_update",
        "batch_reboot",
        "batch_recording",
        "confirm_cms_event_on_device",
        "start_stream_endpoint",
        "stop_stream_endpoint",
    ];
    assert_eq!(named, BTreeSet::from(six));
}

#[test]
fn an_operator_without_a_pin_is_not_served() {
    let mut world = World::builder().without_pin().start();
    let refused = |output: Output, why: &str| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{said}");
        assert!(said.contains(why), "{said}");
    };
    refused(world.ctl(&["mcp"]), "fleetwatchctl pin set");
    must(world.control().set_pin(None, "4711-0815-42"), "the first PIN");
    let mut agent = Agent::initialized(&world);
    agent.says = None;
    assert_eq!(agent.ended(), 0, "the end of its input is the end");
    world.kill_executor();
    refused(world.ctl(&["mcp"]), "not known");
}

#[test]
fn the_front_ends_with_its_client_or_ctrl_c_and_outlives_nonsense() {
    let world = World::builder().start();
    let mut agent = Agent::initialized(&world);
    let long = "x".repeat(300_000);
    agent.line(&long);
    agent.line("no json");
    assert_eq!(agent.call("pending_proposals", &json!({}))["isError"], false);
    // A silent agent holds nothing: its assistant has room for all that come.
    let others: Vec<_> = (0..3).map(|_| Agent::initialized(&world)).collect();
    assert_eq!(world.status().0, 0);
    drop(others);
    assert!(fleetwatch_tests::processes::signal(agent.child.id(), "INT"));
    assert_eq!(agent.ended(), 0);
    // The daemons may go away in the middle: a call says so, and goes through once they are back.
    let mut world = world;
    let mut agent = Agent::initialized(&world);
    world.kill_assistant();
    assert_eq!(agent.refused("pending_proposals", &json!({})), "connection_lost");
    world.start_assistant();
    assert_eq!(agent.call("pending_proposals", &json!({}))["isError"], false);
}

#[track_caller]
fn ran(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{out}\n{said}");
    out
}

#[test]
fn the_python_example_proposes_and_says_where_it_stands() {
    let world = World::builder().start();
    let mut command = cleaned(&peers_python());
    command.arg(workspace_root().join("docs/examples/agent.py")).arg("Hall A").args(front_of(&world));
    let said = ran(&must(command.output(), "the Python example"));
    assert_eq!(said.trim(), "Proposal 1 is pending.");
    assert_eq!(world.control().list().len(), 1);
}

#[test]
fn the_typescript_example_compiles_proposes_and_says_where_it_stands() {
    let world = World::builder().start();
    let node = peers_node();
    // Beside the packages, where the compiler and Node look for them.
    let folder = must(tempfile::Builder::new().prefix("example-").tempdir_in(&node), "a folder");
    must(fs::copy(workspace_root().join("docs/examples/agent.ts"), folder.path().join("agent.ts")), "the example");
    must(fs::write(folder.path().join("package.json"), r#"{"type":"module"}"#), "its kind");
    let compiler = node.join("node_modules/typescript/bin/tsc");
    assert!(compiler.is_file(), "the Node package typescript is missing: run tests/install-peers");
    let mut command = cleaned(Path::new("node"));
    command.arg(compiler).args([
        "--strict",
        "--skipLibCheck",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "agent.ts",
    ]);
    ran(&must(command.current_dir(folder.path()).output(), "node; run tests/install-peers"));
    let mut command = cleaned(Path::new("node"));
    command.arg(folder.path().join("agent.js")).arg("Hall A").args(front_of(&world));
    let said = ran(&must(command.output(), "node; run tests/install-peers"));
    assert_eq!(said.trim(), "Proposal 1 is pending.");
    assert_eq!(world.control().list().len(), 1);
}

#[test]
fn the_inspector_lists_the_tools_reads_and_proposes() {
    let world = World::builder().start();
    let hall = world.room("Hall A");
    let inspect = |more: &[&str]| -> Value {
        let inspector = peers_node().join("node_modules/@modelcontextprotocol/inspector/cli/build/cli.js");
        assert!(inspector.is_file(), "the MCP Inspector is missing: run tests/install-peers");
        let mut command = cleaned(Path::new("node"));
        command.arg(inspector).arg("--cli").args(front_of(&world)).args(more);
        let said = ran(&must(command.output(), "node; run tests/install-peers"));
        must(serde_json::from_str(&said), &said)
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert_eq!(listed["tools"].as_array().unwrap().len(), 23, "{listed}");
    let call = |tool: &str, arguments: &[String]| {
        let mut words = vec!["--method", "tools/call", "--tool-name", tool];
        for argument in arguments {
            words.extend(["--tool-arg", argument]);
        }
        inspect(&words)["structuredContent"].clone()
    };
    // Quoted, since the Inspector takes bare digits for a number.
    let read = call("get_device_info", &[format!("device_id=\"{hall}\"")]);
    assert_eq!(read["tool"], "get_device_info", "{read}");
    let change = format!("arguments={}", recording("start", &hall, 1));
    let drafted = call("propose_change", &["tool=batch_recording".to_owned(), change, "reason=It begins.".to_owned()]);
    assert_eq!(drafted["number"], 1, "{drafted}");
    assert_eq!(call("proposal_status", &["number=1".to_owned()])["state"], "pending");
}
