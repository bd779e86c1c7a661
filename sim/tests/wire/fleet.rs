//! The simulated fleet over the wire: MCP sessions, tools, faults, and the tests' control channel.

use std::io::{ErrorKind, Read};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{NORMAL, SANDBOX, Session, Sim, http, result};

fn record(id: &str) -> Value {
    json!({"action": "start", "device_ids": [id]})
}

fn hall_a(sim: &Sim) -> String {
    let id = sim.device("Hall A")["Id"].clone();
    format!("{}-1", id.as_str().expect("text"))
}

fn recorder(sim: &Sim) -> Value {
    sim.device("Hall A")["Channels"][0]["recording_status"]["state"].clone()
}

fn rooms(session: &Session<'_>) -> usize {
    let team = session.result("get_devices_in_my_team", &json!({}));
    let devices = team["structuredContent"]["devices"].as_array();
    devices.expect("a list").len()
}

#[test]
fn a_session_lists_35_tools_and_shows_write_arguments_only_when_signed_in() {
    let sim = Sim::start(&[]);
    let list = |token| {
        let answer = sim.session(token).post(2, "tools/list", &json!({}));
        result(&answer.expect("an answer"))["tools"].clone()
    };
    let (signed, anonymous) = (list(Some(NORMAL)), list(None));
    assert_eq!(signed.as_array().expect("a list").len(), 35);
    let tool = |tools: &Value| {
        let tools = tools.as_array().expect("a list").clone();
        let found = tools.into_iter().find(|tool| tool["name"] == "batch_reboot");
        found.expect("a tool")
    };
    assert_eq!(tool(&signed)["inputSchema"]["required"], json!(["device_ids"]));
    assert!(tool(&anonymous)["inputSchema"].get("properties").is_none());
}

#[test]
fn each_sign_in_sees_its_rooms_and_a_stranger_is_told_in_band() {
    let sim = Sim::start(&["--sandbox-rooms", "2"]);
    assert_eq!(rooms(&sim.session(Some(NORMAL))), 30);
    assert_eq!(rooms(&sim.session(Some(SANDBOX))), 2);
    for token in [None, Some("wrong")] {
        let answer = sim.session(token).result("get_devices_in_my_team", &json!({}));
        assert_eq!(answer["isError"], true);
        assert_eq!(answer["content"][0]["text"], "Error: 401 Unauthorized");
        let write = sim.session(token).result("batch_recording", &record("x"));
        assert_eq!(write["isError"], true);
    }
    let tokens: Vec<Value> = sim.log_file().iter().map(|e| e["token"].clone()).collect();
    assert_eq!(tokens, ["normal", "sandbox", "unknown", "unknown", "unknown", "unknown"]);
}

#[test]
fn structured_and_text_content_are_equal() {
    let sim = Sim::start(&[]);
    let session = sim.session(Some(SANDBOX));
    for tool in ["get_devices_in_my_team", "get_stream_endpoints"] {
        let answer = session.result(tool, &json!({}));
        let text = answer["content"][0]["text"].as_str().expect("text");
        let parsed: Value = serde_json::from_str(text).expect("json");
        assert_eq!(parsed, answer["structuredContent"], "{tool}");
        assert_eq!(answer["isError"], false);
    }
    let device = sim.device("Hall A")["Id"].clone();
    let picture =
        session.result("get_channel_image", &json!({"device_id": device, "channel_id": "1", "format": "binary"}));
    assert_eq!(picture["content"][1]["mimeType"], "image/png");
}

#[test]
fn a_write_is_logged_once_and_changes_the_fleet() {
    let sim = Sim::start(&[]);
    let session = sim.session(Some(SANDBOX));
    let id = hall_a(&sim);
    let answer = session.result("batch_recording", &record(&id));
    assert_eq!(answer["structuredContent"], json!({}));
    assert_eq!(recorder(&sim), "recording");
    let again = session.result("batch_recording", &record(&id));
    assert_eq!(again["structuredContent"], json!({id: "Device is busy"}));
    let refused = session.result("delete_stream_endpoint", &json!({"stream_id": "x"}));
    assert_eq!(refused["isError"], true);
    let odd = session.result("batch_reboot", &json!({"device_ids": "all"}));
    assert_eq!(odd["isError"], true);
    let log = sim.log_file();
    assert_eq!(log.len(), 4);
    assert_eq!(log[0]["seq"], 1);
    assert_eq!(
        (&log[0]["tool"], &log[0]["kind"], &log[0]["token"]),
        (&json!("batch_recording"), &json!("write"), &json!("sandbox"))
    );
    assert_eq!(sim.control("/_sim/log", None).json(), Value::from(log));
}

#[test]
fn the_stateless_mode_of_2026_07_28_answers_too() {
    let sim = Sim::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "kb_search", "arguments": {"query": "hdmi"}, "_meta": meta,
    }});
    let bearer = format!("Bearer {NORMAL}");
    let head = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "kb_search"),
    ];
    let answer = http(sim.port, "POST", "/mcp", &head, &body.to_string()).expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(result(&answer)["structuredContent"]["low_confidence"], false);
}

#[test]
fn a_fault_after_the_effect_gives_no_good_answer_but_the_write_happened() {
    for (fault, status) in [
        ("executes-then-closes", None),
        ("executes-then-404", Some(404)),
        ("executes-then-401", Some(401)),
        ("executes-then-502", Some(502)),
        ("malformed-json", Some(200)),
    ] {
        let sim = Sim::start(&["--fault", fault]);
        let session = sim.session(Some(SANDBOX));
        assert_eq!(rooms(&session), 30, "reads are not touched");
        let answer = session.call("batch_recording", &record(&hall_a(&sim)));
        assert_eq!(answer.as_ref().map(|a| a.status), status, "{fault}");
        if let Some(answer) = answer {
            assert_eq!(serde_json::from_str::<Value>(&answer.body).ok(), None);
        }
        assert_eq!(recorder(&sim), "recording", "{fault}");
        assert_eq!(sim.writes(), 1, "{fault}");
    }
}

#[test]
fn a_redirect_and_a_question_have_no_effect() {
    let sim = Sim::start(&["--fault", "redirects-307"]);
    let session = sim.session(Some(SANDBOX));
    let id = hall_a(&sim);
    let answer = session.call("batch_recording", &record(&id)).expect("one");
    assert_eq!(answer.status, 307);
    let address = format!("http://127.0.0.1:{}/mcp", sim.port);
    assert_eq!(answer.header("location"), Some(address));
    assert_eq!(recorder(&sim), "stopped");
    session.result("batch_recording", &record(&id));
    assert_eq!(recorder(&sim), "recording");
    assert_eq!(sim.writes(), 2);

    let sim = Sim::start(&["--fault", "input-required"]);
    let session = sim.session(Some(SANDBOX));
    let answer = session.result("batch_recording", &record(&hall_a(&sim)));
    assert_eq!(answer["resultType"], "input_required");
    assert_eq!(recorder(&sim), "stopped");
}

#[test]
fn a_fault_that_is_armed_once_meets_the_first_write_only() {
    let sim = Sim::start(&["--fault", "executes-then-closes", "--fault-once"]);
    let session = sim.session(Some(SANDBOX));
    let id = hall_a(&sim);
    assert!(session.call("batch_recording", &record(&id)).is_none());
    let again = session.result("batch_recording", &record(&id));
    assert_eq!(again["structuredContent"], json!({id: "Device is busy"}));
}

#[test]
fn the_control_channel_moves_the_world_and_asks_for_its_header() {
    let sim = Sim::start(&[]);
    let bare = http(sim.port, "GET", "/_sim/state", &[], "").expect("an answer");
    assert_eq!(bare.status, 403);
    let id = sim.device("Hall A")["Id"].clone();
    let wish = json!({"device": id, "recording": {"channel": "1", "state": "starting"}});
    assert_eq!(sim.control("/_sim/set", Some(&wish)).status, 200);
    assert_eq!(recorder(&sim), "starting");
    let odd = json!({"device": id, "colour": "red"});
    assert_eq!(sim.control("/_sim/set", Some(&odd)).status, 400);
    let fault = json!({"read_fault": {"tool": "get_stream_endpoints", "kind": "unauthorized"}});
    assert_eq!(sim.control("/_sim/set", Some(&fault)).status, 200);
    let answer = sim.session(Some(NORMAL)).result("get_stream_endpoints", &json!({}));
    assert_eq!(answer["isError"], true);
}

#[test]
fn five_thousand_rooms_stay_below_the_size_that_clients_read() {
    let sim = Sim::start(&["--rooms", "5000"]);
    let session = sim.session(Some(NORMAL));
    let answer = session.call("get_devices_in_my_team", &json!({})).expect("an answer");
    assert!(answer.body.len() < 12 * 1024 * 1024, "{}", answer.body.len());
    let team = result(&answer);
    let devices = team["structuredContent"]["devices"].as_array();
    assert_eq!(devices.expect("a list").len(), 5000);
}

#[test]
fn a_stalled_write_has_its_effect_no_answer_and_does_not_keep_the_process() {
    let sim = Sim::start(&["--fault", "stalls"]);
    let id = hall_a(&sim);
    let mut waiting = sim.session(Some(SANDBOX)).fire("batch_recording", &record(&id));
    waiting.set_read_timeout(Some(Duration::from_millis(300))).expect("a deadline");
    let silence = waiting.read(&mut [0]).expect_err("no byte");
    assert_eq!(silence.kind(), ErrorKind::WouldBlock);
    assert_eq!(recorder(&sim), "recording");
    assert_eq!(sim.writes(), 1);
    assert_eq!(sim.end(), Some(0));
}
