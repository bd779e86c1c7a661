//! A real server on this machine: one of the scripts in `tests/peers`, under the Python that `tests/install-peers` makes.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::net::TcpStream;

/// The running server. It ends with this.
pub(crate) struct Peer {
    child: Child,
    pub(crate) port: u16,
    log: tempfile::NamedTempFile,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn python() -> PathBuf {
    let named = std::env::var_os("FLEETWATCH_PEERS_PYTHON").map(PathBuf::from);
    let path = named.unwrap_or_else(|| root().join("target/peers/venv/bin/python"));
    assert!(path.exists(), "no Python with the MCP SDK at {}: run tests/install-peers", path.display());
    path
}

impl Peer {
    /// Starts a script with a free port and these words.
    pub(crate) async fn start(script: &str, words: &[&str]) -> Self {
        // Somebody else may take the port between the look and the start; then another is tried.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let log = tempfile::NamedTempFile::new().unwrap();
            let child = Command::new(python())
                .arg(root().join("tests/peers").join(script))
                .arg(port.to_string())
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

    /// What it has written so far.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.log.path()).unwrap()
    }
}
