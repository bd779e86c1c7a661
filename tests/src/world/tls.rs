//! A TLS front before a plain server: the sandbox slot speaks https only, and a test must see what goes through.

use super::must::{must, some};
use crate::places::workspace_root;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running front with a certificate for 127.0.0.1 and the authority that signed it.
#[derive(Debug)]
pub struct TlsFront {
    process: Child,
    port: String,
    folder: tempfile::TempDir,
}

impl TlsFront {
    /// Starts it; where it leads is told by [`Self::lead_to`].
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        let folder = must(tempfile::tempdir(), "a folder");
        certificates(folder.path());
        let script = workspace_root().join("tests/peers/tls_front.py");
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

    /// The fleet's address behind it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}/mcp", self.port)
    }

    /// A file in its folder; `ca.pem` is the authority.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// From now on it passes on to `address`, a plain `127.0.0.1:PORT`.
    #[track_caller]
    pub fn lead_to(&self, address: &str) {
        must(std::fs::write(self.file("upstream"), address), "upstream");
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// An authority of this test's own, and a leaf for 127.0.0.1.
#[track_caller]
pub fn certificates(folder: &Path) {
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
