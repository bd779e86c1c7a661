//! The sandbox slot speaks https only: reads and the one write over TLS, against a certificate that the machine trusts and
//! one that it does not. `SSL_CERT_FILE` is how this machine is told whom to trust.

use fleetwatch_tests::world::{World, must, recording, some};
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

struct Front {
    process: Child,
    port: String,
    folder: tempfile::TempDir,
}

impl Front {
    fn start() -> Self {
        let folder = must(tempfile::tempdir(), "a folder");
        certificates(folder.path());
        let script = fleetwatch_tests::workspace_root().join("tests/peers/tls_front.py");
        let at = |name: &str| folder.path().join(name);
        let mut process = must(
            Command::new("python3")
                .arg(script)
                .args([at("leaf.pem"), at("leaf.key"), at("upstream")])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn(),
            "python3",
        );
        let mut port = String::new();
        let out = some(process.stdout.take(), "its output");
        must(BufReader::new(out).read_line(&mut port), "its port");
        Self { process, port: port.trim().to_owned(), folder }
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}/mcp", self.port)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// An authority of this test's own, and a leaf for 127.0.0.1.
fn certificates(folder: &Path) {
    let openssl = |arguments: &str| {
        let done = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
        let done = must(done, "openssl; run tests/install-peers");
        assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {new} -keyout ca.key -out ca.pem -days 2 -subj /CN=test-authority"));
    openssl(&format!("req {new} -keyout leaf.key -out leaf.csr -subj /CN=front"));
    must(
        std::fs::write(folder.join("leaf.ext"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n"),
        "leaf.ext",
    );
    openssl("x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out leaf.pem -days 2 -extfile leaf.ext");
}

fn world(front: &Front, trusted: &str) -> World {
    let trusted = front.file(trusted).display().to_string();
    let world = World::builder()
        .slot("sandbox")
        .without_assistant()
        .executor_setting("FLEETWATCH_EPIPHAN_MCP_URL", &front.url())
        .executor_setting("SSL_CERT_FILE", &trusted)
        .start();
    must(std::fs::write(front.file("upstream"), world.sim.address()), "upstream");
    world
}

#[test]
fn reads_and_the_one_write_go_over_tls() {
    let front = Front::start();
    let world = world(&front, "ca.pem");
    let hall = world.room("Hall A");
    let mut turn = world.turn("agent");
    let number = must(turn.propose("batch_recording", &recording("start", &hall, 1)), "admitted");
    turn.end();
    let news = must(world.approve(number), "run");
    assert_eq!(news.state, ProposalState::Ok, "{}", news.detail);
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_server_that_the_machine_does_not_trust_is_not_even_read() {
    let front = Front::start();
    // A file of roots that holds another authority.
    certificates(&{
        let other = front.file("other");
        must(std::fs::create_dir(&other), "a folder");
        other
    });
    let world = world(&front, "other/ca.pem");
    let hall = world.room("Hall A");
    let refusal = world.turn("agent").propose("batch_recording", &recording("start", &hall, 1)).err();
    assert_eq!(refusal.map(|refusal| refusal.code), Some(RefusalCode::ReadFailed));
    assert!(world.writes().is_empty());
}
