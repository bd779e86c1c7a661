//! The simulated fleet: its process, its log of calls, and the channel that moves the world under a proposal.

use super::Call;
use super::daemon::{Daemon, private_file};
use super::http::Asking;
use super::must::{must, some};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A running simulator.
#[derive(Debug)]
pub struct Sim {
    /// The process.
    pub daemon: Daemon,
    /// The fleet's MCP address.
    pub mcp: String,
    /// The model stand-in's base address.
    pub model: String,
    /// File with the normal sign-in's token.
    pub normal: PathBuf,
    /// File with the sandbox sign-in's token.
    pub sandbox: PathBuf,
    channel: String,
}

impl Sim {
    /// Starts it with its token files and logs in `folder`.
    #[must_use]
    #[track_caller]
    pub(super) fn start(folder: &Path, extra: &[OsString], sandbox_token: &str) -> Self {
        let (normal, sandbox) = (folder.join("secrets/normal-token"), folder.join("secrets/sandbox-token"));
        private_file(&normal, "normal-token-of-this-test\n");
        private_file(&sandbox, &format!("{sandbox_token}\n"));
        let mut arguments: Vec<OsString> = vec!["--stop-with-stdin".into()];
        arguments.extend([
            "--token-file-normal".into(),
            (&normal).into(),
            "--token-file-sandbox".into(),
            (&sandbox).into(),
        ]);
        arguments.extend(["--log".into(), folder.join("logs/calls.jsonl").into()]);
        arguments.extend_from_slice(extra);
        let log = folder.join("logs/fleetwatch-sim.log");
        let mut daemon = Daemon::start("fleetwatch-sim", &arguments, &BTreeMap::new(), &log);
        let line = daemon.first_line();
        let said: Value = must(serde_json::from_str(&line), "the simulator's first line");
        let text = |key: &str| some(said[key].as_str(), key).to_owned();
        let mcp = text("mcp");
        let channel = mcp.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let channel = some(channel, "the simulator's address").to_owned();
        Self { daemon, model: text("model"), mcp, normal, sandbox, channel }
    }

    /// `127.0.0.1:PORT` of the fleet.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.channel
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let answer = Asking::new(&self.channel, "GET", path).set("x-sim", "1").send();
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        must(serde_json::from_str(&answer.body), path)
    }

    /// Moves the world; see the simulator's `/_sim/set`.
    #[track_caller]
    pub fn set(&self, wish: &Value) {
        let asking = Asking::new(&self.channel, "POST", "/_sim/set").set("x-sim", "1");
        let answer = asking.set("content-type", "application/json").body(&wish.to_string()).send();
        assert_eq!(answer.status, 200, "{wish}: {}", answer.body);
    }

    /// Devices, events, streams and the time, as the normal sign-in reads them.
    #[must_use]
    #[track_caller]
    pub fn state(&self) -> Value {
        self.get("/_sim/state")
    }

    /// The accounts that are signed in at its authorization server.
    #[must_use]
    #[track_caller]
    pub fn sign_ins(&self) -> Vec<String> {
        must(serde_json::from_value(self.get("/_sim/sign-ins")), "the sign-ins")
    }

    /// Every request that the model stand-in took.
    #[must_use]
    #[track_caller]
    pub fn model_requests(&self) -> Vec<Value> {
        some(self.get("/_sim/model").as_array().cloned(), "the model's requests")
    }

    /// Every `tools/call` that arrived, as the simulator logged it before it had any effect.
    #[must_use]
    #[track_caller]
    pub fn log(&self) -> Vec<Value> {
        some(self.get("/_sim/log").as_array().cloned(), "the log")
    }

    /// The calls in the log that are no reads, in order.
    #[must_use]
    #[track_caller]
    pub fn writes(&self) -> Vec<Call> {
        let text = |call: &Value, key: &str| some(call[key].as_str(), key).to_owned();
        let is_write = |call: &&Value| call["kind"] != "read";
        let call = |call: &Value| Call {
            tool: text(call, "tool"),
            arguments: call["arguments"].clone(),
            token: text(call, "token"),
        };
        self.log().iter().filter(is_write).map(call).collect()
    }

    /// The id of the unit in the room of this name.
    #[must_use]
    #[track_caller]
    pub fn room(&self, name: &str) -> String {
        let state = self.state();
        let devices = some(state["devices"].as_array(), "the devices");
        let found = devices.iter().find(|device| device["Name"] == name);
        some(found.and_then(|device| device["Id"].as_str()), name).to_owned()
    }
}
