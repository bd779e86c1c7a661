//! Fleetwatch as its package leaves it, in a container, with people, settings and a simulated fleet.

use super::package::{INSIDE, Packages, everything, install};
use fleetwatch_tests::container::{Container, Stage};
use fleetwatch_tests::world::{must, some, until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::time::Duration;

/// The operator's.
pub(crate) const PIN: &str = "4711-0815-42";
/// The approval page.
pub(crate) const PAGE: &str = "http://127.0.0.1:8767/";

const FLEET: &str = "http://127.0.0.1:9101";
/// Where the fleet's sign-in page is.
const LINKS: &str = "FLEETWATCH_LOGIN_HOSTS=127.0.0.1";
const SOON: Duration = Duration::from_secs(30);
const POLICY: &str = "autonomy: propose\ndry_run: false\ntimezone: UTC\n";
/// Anna operates; the bot may only ask.
const PEOPLE: &str =
    "u anna -\nm anna fleetwatch-operators\nm anna fleetwatch-agents\nu bot -\nm bot fleetwatch-agents\n";
/// Shorter waits than in a real installation.
const QUICK: &str = "[Service]\nWatchdogSec=10s\nRestartSec=300ms\n";
const SIM: &str = "[Service]
ExecStart=/usr/libexec/fleetwatch/fleetwatch-sim --port 9101 --model-port 9102 --oauth --log /run/calls.jsonl \
--token-file-normal /etc/fleetwatch-sim/normal --token-file-sandbox /etc/fleetwatch-sim/sandbox
";

/// The container with everything in it; `fleetwatch.target` is not started.
#[derive(Debug)]
pub(crate) struct Installed {
    container: Container,
    _packages: Packages,
    /// Every path that was there before.
    pub(crate) before: BTreeSet<String>,
}

impl Deref for Installed {
    type Target = Container;

    fn deref(&self) -> &Container {
        &self.container
    }
}

impl Installed {
    /// Boots, installs, and starts the fleet.
    #[track_caller]
    pub(crate) fn boot() -> Self {
        let mut stage = Stage::default();
        let packages = Packages::build();
        for (package, inside) in packages.files.iter().zip(INSIDE) {
            stage.program(package, inside);
        }
        stage.file("/usr/lib/sysusers.d/people.conf", PEOPLE, 0o644);
        stage.file("/etc/systemd/system/fleetwatch-executor.service.d/quick.conf", QUICK, 0o644);
        stage.file("/etc/systemd/system/fleetwatch-sim.service", SIM, 0o644);
        for (name, mode) in [("normal", 0o600), ("sandbox", 0o600)] {
            stage.file(&format!("/etc/fleetwatch-sim/{name}"), &format!("{name}-token-of-this-test\n"), mode);
        }
        stage.file("/etc/credstore/fleetwatch-assistant.anthropic-api-key", "model-key-of-this-test\n", 0o600);
        let container = stage.boot();
        // Which any installed system has, and the container's boot has taken away.
        container.root(&["mkdir", "--parents", "/etc/systemd/system/multi-user.target.wants"]);
        let before = everything(&container);
        install(&container, 0);
        let installed = Self { container, _packages: packages, before };
        installed.set_up();
        installed
    }

    #[track_caller]
    fn set_up(&self) {
        assert_ne!(self.shown("fleetwatch.target", "ActiveState"), "active", "nobody asked for a start");
        self.root(&["systemd-sysusers", "people.conf"]);
        self.root(&["chmod", "0700", "/etc/credstore"]);
        self.write("/etc/fleetwatch/policy.yaml", POLICY);
        self.root(&["systemctl", "start", "fleetwatch-sim.service"]);
        let state = until(SOON, "the fleet", || self.fleet("/_sim/state"));
        let devices = some(state["devices"].as_array(), "the devices");
        let ids: Vec<_> = devices.iter().filter_map(|device| device["Id"].as_str()).collect();
        // So a unit that forbids a daemon to shut itself in is one that does not start.
        let both =
            format!("FLEETWATCH_SLOT=sim\nFLEETWATCH_EPIPHAN_MCP_URL={FLEET}/mcp\nFLEETWATCH_REQUIRE_SANDBOX=1\n");
        let executor = format!("{both}FLEETWATCH_WRITE_DEVICE_IDS={}\n", ids.join(","));
        self.write("/etc/fleetwatch/executor.env", &executor);
        self.write("/etc/fleetwatch/assistant.env", &format!("{both}FLEETWATCH_ANTHROPIC_URL=http://127.0.0.1:9102\n"));
        let anna = self.root(&["id", "-u", "anna"]);
        let people = format!("- name: anna\n  uid: {}\n  operator: true\n", anna.trim());
        self.write("/var/lib/fleetwatch-executor/principals.yaml", &people);
    }

    fn fleet(&self, path: &str) -> Option<Value> {
        let answer = self.helper(None, &["get", &format!("{FLEET}{path}"), "x-sim=1"]);
        serde_json::from_str(answer["body"].as_str()?).ok()
    }

    /// The id of the unit in this room.
    #[track_caller]
    pub(crate) fn room(&self, name: &str) -> String {
        let state = some(self.fleet("/_sim/state"), "the fleet");
        let devices = some(state["devices"].as_array(), "the devices");
        let found = devices.iter().find(|device| device["Name"] == name);
        some(found.and_then(|device| device["Id"].as_str()), name).to_owned()
    }

    /// Every call that reached the fleet and is no read.
    #[track_caller]
    pub(crate) fn writes(&self) -> Vec<Value> {
        let log = some(self.fleet("/_sim/log"), "the fleet's log");
        let calls = some(log.as_array(), "its calls");
        calls.iter().filter(|call| call["kind"] != "read").cloned().collect()
    }

    /// `fleetwatchctl` without a terminal: its exit code and its JSON.
    #[track_caller]
    pub(crate) fn ctl(&self, user: &str, words: &[&str]) -> (i32, Value) {
        let output = self.run(Some(user), &[&["setsid", "--wait", "/usr/bin/fleetwatchctl"], words].concat());
        let text = String::from_utf8_lossy(&output.stdout);
        let said = || format!("{words:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), must(serde_json::from_str(&text), &said()))
    }

    /// The same at a terminal, where a person types: its exit code and what stood there.
    #[track_caller]
    pub(crate) fn at_terminal(&self, user: &str, steps: &Value, words: &[&str]) -> (i64, String) {
        let steps = steps.to_string();
        let ended = self.helper(
            Some(user),
            &[&["terminal", &steps, "/usr/bin/env", LINKS, "/usr/bin/fleetwatchctl"], words].concat(),
        );
        let text = some(ended["text"].as_str(), "what stood there").to_owned();
        (ended["exit"].as_i64().unwrap_or(-1), text)
    }

    /// How often the service manager has started it again.
    #[track_caller]
    pub(crate) fn restarts(&self, unit: &str) -> u32 {
        must(self.shown(unit, "NRestarts").parse(), "a number")
    }

    /// Waits until the assistant has reached the executor.
    #[track_caller]
    pub(crate) fn reached(&self) {
        until(SOON, "an assistant that has reached the executor", || {
            let (_, status) = self.ctl("anna", &["status", "--json"]);
            (status["assistant"]["executor_reached"] == true).then_some(())
        });
    }
}
