//! Server scenarios of the MCP conformance suite, by name, against `fleetwatchctl mcp` behind a bridge from HTTP to its
//! standard input and output (issue line 3.16).

use super::{cleaned, front_of};
use fleetwatch_tests::conformance::{expected, judge, outcomes, run};
use fleetwatch_tests::world::{World, must, some};
use fleetwatch_tests::{peers_python, workspace_root};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;

/// The running bridge. It ends with this.
struct Bridge {
    child: Child,
    url: String,
}

impl Bridge {
    fn start(world: &World) -> Self {
        let mut command = cleaned(&peers_python());
        command.arg(workspace_root().join("tests/peers/stdio_bridge.py")).args(front_of(world));
        let mut child = must(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn(), "the bridge");
        let mut port = String::new();
        let said = some(child.stdout.take(), "its output");
        must(BufReader::new(said).read_line(&mut port), "its port");
        Self { child, url: format!("http://127.0.0.1:{}/mcp", port.trim()) }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // The servers behind it end with its pipes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_conformance_suite_finds_the_front_as_listed_at_each_revision() {
    let world = World::builder().start();
    let revisions = ["2025-11-25", "2026-07-28"].map(|revision| (revision, expected("server", revision)));
    let folder = must(tempfile::tempdir(), "a folder");
    // Each has a front of its own: two that ask one front without a session would give their questions the same numbers.
    thread::scope(|scope| {
        let world = &world;
        for (revision, expected) in &revisions {
            let folder = folder.path().join(revision);
            for scenario in expected.keys() {
                let folder = folder.clone();
                scope.spawn(move || {
                    let bridge = Bridge::start(world);
                    let words = ["server", "--url", &bridge.url, "--scenario", scenario, "--spec-version", revision];
                    run(&words, &folder);
                });
            }
        }
    });
    for (revision, expected) in &revisions {
        judge(expected, &outcomes(&folder.path().join(revision)));
    }
    assert_eq!(world.writes(), [], "nothing but a person's yes writes");
}
