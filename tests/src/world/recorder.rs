//! A recorder before one of our sockets: it takes the socket's place, passes everything on, and keeps what the server says.

use super::must::{must, until};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
const PIECE: usize = 64 * 1024;

/// Everything that one of our servers says, from now on, to whoever connects to its socket.
#[derive(Debug)]
pub struct Recorder {
    said: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    /// Stands before the server that listens at `path`. The server keeps its socket under another name.
    #[must_use]
    #[track_caller]
    pub fn before(path: &Path) -> Self {
        let real = path.with_extension("behind");
        must(std::fs::rename(path, &real), "the server's socket");
        let listener = must(UnixListener::bind(path), "the recorder's socket");
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        // It ends with the test's process; what comes after the server's end is closed at once.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                serve(&client, &real, &kept);
            }
        });
        Self { said }
    }

    /// Every byte that the server has said so far.
    #[must_use]
    pub fn said(&self) -> Vec<u8> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the server has said this.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let there = || self.said().windows(text.len()).any(|part| part == text.as_bytes());
        until(SOON, text, || there().then_some(()));
    }
}

fn serve(client: &UnixStream, real: &PathBuf, kept: &Arc<Mutex<Vec<u8>>>) {
    let Ok(server) = UnixStream::connect(real) else { return };
    let (Ok(from), Ok(to)) = (client.try_clone(), server.try_clone()) else { return };
    thread::spawn(move || pass(from, to, None));
    let Ok(client) = client.try_clone() else { return };
    let kept = Arc::clone(kept);
    thread::spawn(move || pass(server, client, Some(&kept)));
}

fn pass(mut from: UnixStream, mut to: UnixStream, kept: Option<&Mutex<Vec<u8>>>) {
    let mut bytes = vec![0; PIECE];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let part = bytes.get(..count).unwrap_or_default();
        if let Some(kept) = kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(part);
        }
        if to.write_all(part).is_err() {
            break;
        }
    }
    // Either end is the end of both; a side that is closed already is as good.
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
