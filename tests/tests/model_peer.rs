//! Both kinds of model against an independent double of their APIs (aimock), which somebody else wrote from the same
//! documentation: streams with thoughts and tools, rate limits, a stream that is cut (issue lines 3.7, 3.8).

use fleetwatch_tests::world::{Asking, World, answered, must, some};
use fleetwatch_tests::{target_folder, workspace_root};
use protocol::ask::AssistantSays;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

struct Peer {
    process: Child,
    // Kept open: the double writes a line for each request.
    _output: BufReader<ChildStdout>,
    address: String,
}

impl Peer {
    // A missing peer must fail the test, never skip it.
    fn start() -> Self {
        let program = target_folder().join("peers/node/node_modules/@copilotkit/aimock/dist/cli.js");
        assert!(program.is_file(), "the Node package @copilotkit/aimock is missing: run tests/install-peers");
        let started = Command::new("node")
            .arg(program)
            .args(["-p", "0", "-h", "127.0.0.1", "--validate-on-load", "--strict", "-f"])
            .arg(workspace_root().join("tests/peers/models.json"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = must(started, "node; run tests/install-peers");
        let mut output = BufReader::new(some(process.stdout.take(), "its output"));
        let lines = output.by_ref().lines().map_while(Result::ok);
        let address = lines.filter_map(|line| Some(line.split_once("http://")?.1.trim().to_owned())).next();
        Self { process, _output: output, address: some(address, "its address") }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    // A world whose assistant asks this double.
    fn world(&self, chat: bool) -> World {
        if chat {
            return World::builder().chat_model().assistant_setting("FLEETWATCH_OPENAI_URL", &self.url()).start();
        }
        World::builder().assistant_setting("FLEETWATCH_ANTHROPIC_URL", &self.url()).start()
    }

    // Every request that the double has kept.
    fn journal(&self) -> Vec<Value> {
        let answer = Asking::new(&self.address, "GET", "/__aimock/journal").send();
        let kept: Value = must(serde_json::from_str(&unchunked(&answer.body)), "JSON");
        some(kept.as_array().cloned(), "a list")
    }
}

// The double sends chunks; each has its length, in hexadecimal, on a line before it.
fn unchunked(body: &str) -> String {
    let mut bytes = body.as_bytes();
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let length = must(usize::from_str_radix(&String::from_utf8_lossy(&bytes[..end]), 16), "a chunk's length");
        whole.extend_from_slice(&bytes[end + 2..end + 2 + length]);
        bytes = bytes.get(end + 4 + length..).unwrap_or_default();
    }
    String::from_utf8_lossy(&whole).into_owned()
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pieces(said: &[AssistantSays]) -> Vec<String> {
    let text = |word: &AssistantSays| if let AssistantSays::Piece { text } = word { Some(text.clone()) } else { None };
    said.iter().filter_map(text).collect()
}

#[test]
fn thoughts_tools_and_pieces_go_through_either_api() {
    for chat in [false, true] {
        let peer = Peer::start();
        let world = peer.world(chat);
        let said = world.ask("Tell me which rooms are offline");
        let (text, by) = answered(&said);
        assert_eq!(text, "Hall A is fine. Hall B has no signal.\nThat is all. So it is.", "{by}");
        assert!(by.starts_with("model "), "{by}");
        let told = pieces(&said);
        assert_eq!(told.first().map(String::as_str), Some("Let me look."), "{told:?}");
        let last = told.get(1..).unwrap_or_default().concat();
        assert!(text.starts_with(&last) && last.starts_with("Hall A is fine. Hall B has no signal."), "{told:?}");
        let journal = peer.journal();
        assert_eq!(journal.len(), 2, "{journal:?}");
        let sent = must(serde_json::to_string(&journal), "JSON");
        assert!(sent.contains("<fleet_data>") && !sent.contains("never-show"), "readings went there, redacted");
    }
}

#[test]
fn a_rate_limit_is_waited_for_an_overload_ends_in_keywords_and_a_cut_stream_is_void() {
    for chat in [false, true] {
        let peer = Peer::start();
        let world = peer.world(chat);
        assert_eq!(answered(&world.ask("is it too much?")).0, "Now it works.");
        assert_eq!(peer.journal().len(), 2);
        let (_, by) = answered(&world.ask("overload, please"));
        assert!(by.contains("busy"), "{by}");
        let said = world.ask("cut it off");
        let void = said.iter().position(|word| *word == AssistantSays::PiecesVoid);
        assert!(!pieces(&said).is_empty() && void.is_some(), "{said:?}");
        let (text, by) = answered(&said);
        assert!(by.contains("hung up") && !text.contains("Hall A is recording. Hall B"), "{by}: {text}");
    }
}
