//! A small TCP proxy before an HTTP server. It sees each whole request before the server does, and a rule of the test
//! decides what becomes of it: so a test can break exactly one connection at exactly one moment.

use super::must::must;
use std::fmt;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(90);
/// As much of a request as is looked at without taking it off the socket.
const PEEKED: usize = 64 * 1024;

/// One request as it came to the proxy.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Which connection, counted from 1 as they came.
    pub connection: usize,
    /// Request line and headers.
    pub head: String,
    /// The body.
    pub body: String,
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is answered with these bytes and the connection closed; the server never sees it.
    Answer(String),
    /// It is read and the connection closed without an answer; the server never sees it.
    Close,
    /// It is passed on, and the connection closed right behind the answer.
    CloseAfterAnswer,
    /// It is kept until [`Proxy::release`], then passed on.
    Hold,
    /// It is passed on.
    Pass,
    /// It is passed on after this long.
    PassAfter(Duration),
    /// The connection is reset while most of it is unread; the server never sees it. Only for requests that fit one read.
    Reset,
}

type Rule = Box<dyn FnMut(&Seen) -> Fate + Send>;

struct Inner {
    upstream: String,
    rule: Mutex<Rule>,
    seen: Mutex<Vec<Seen>>,
    released: AtomicBool,
    over: AtomicBool,
}

/// The running proxy. It passes everything on until it is told otherwise.
pub struct Proxy {
    address: String,
    inner: Arc<Inner>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Proxy {
    /// Listens before the server at `upstream`, an `address:port`.
    #[must_use]
    #[track_caller]
    pub fn start(upstream: &str) -> Self {
        let listener = must(TcpListener::bind("127.0.0.1:0"), "a port for the proxy");
        let address = must(listener.local_addr(), "the proxy's address").to_string();
        let inner = Arc::new(Inner {
            upstream: upstream.to_owned(),
            rule: Mutex::new(Box::new(|_: &Seen| Fate::Pass)),
            seen: Mutex::default(),
            released: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        let shared = Arc::clone(&inner);
        std::thread::spawn(move || {
            for (place, client) in listener.incoming().enumerate() {
                if shared.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                if let Ok(client) = client {
                    std::thread::spawn(move || shared.serve(place + 1, &client));
                }
            }
        });
        Self { address, inner }
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// From now on this decides, request by request.
    pub fn rule(&self, rule: impl FnMut(&Seen) -> Fate + Send + 'static) {
        *lock(&self.inner.rule) = Box::new(rule);
    }

    /// Lets go what is held, now and later.
    pub fn release(&self) {
        self.inner.released.store(true, Ordering::SeqCst);
    }

    /// Every request so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.inner.seen).clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.inner.over.store(true, Ordering::SeqCst);
        // Wakes the accepting thread up; what is under way ends with its connections.
        let _ = TcpStream::connect(&self.address);
    }
}

impl Inner {
    fn serve(self: Arc<Self>, number: usize, client: &TcpStream) {
        let Ok(server) = TcpStream::connect(&self.upstream) else { return };
        let last = Arc::new(AtomicBool::new(false));
        if let (Ok(from), Ok(to)) = (server.try_clone(), client.try_clone()) {
            let last = Arc::clone(&last);
            std::thread::spawn(move || answers(&from, &to, &last));
        } else {
            return;
        }
        if self.requests(number, client, &server, &last).is_none() {
            // Only the server's side: closing the client's with bytes unread is what resets it.
            let _ = server.shutdown(Shutdown::Both);
        }
    }

    // Nothing when the connection is over.
    fn requests(&self, number: usize, client: &TcpStream, server: &TcpStream, last: &AtomicBool) -> Option<()> {
        client.set_read_timeout(Some(PATIENCE)).ok()?;
        let (mut reader, mut writer) = (client, server);
        loop {
            let peeked = peek(client)?;
            let bytes = match whole(&peeked) {
                Some(length) => peeked.get(..length)?.to_vec(),
                None => read_whole(client)?,
            };
            let seen = seen(number, &bytes);
            lock(&self.seen).push(seen.clone());
            let fate = (lock(&self.rule))(&seen);
            match fate {
                Fate::Reset => {
                    reader.read_exact(&mut [0]).ok()?;
                    return None;
                }
                Fate::Hold => {
                    while !self.released.load(Ordering::SeqCst) && !self.over.load(Ordering::SeqCst) {
                        sleep(MOMENT);
                    }
                }
                Fate::CloseAfterAnswer => last.store(true, Ordering::SeqCst),
                Fate::PassAfter(wait) => sleep(wait),
                Fate::Answer(_) | Fate::Close | Fate::Pass => {}
            }
            if whole(&peeked).is_some() {
                reader.read_exact(&mut vec![0; bytes.len()]).ok()?;
            }
            if let Fate::Answer(answer) = &fate {
                writer = client;
                writer.write_all(answer.as_bytes()).ok()?;
            }
            if matches!(fate, Fate::Answer(_) | Fate::Close) {
                client.shutdown(Shutdown::Both).ok()?;
                return None;
            }
            writer.write_all(&bytes).ok()?;
        }
    }
}

// The server's bytes, as they come.
fn answers(mut server: &TcpStream, mut client: &TcpStream, last: &AtomicBool) {
    let mut bytes = vec![0; PEEKED];
    while let Ok(count @ 1..) = server.read(&mut bytes) {
        if client.write_all(bytes.get(..count).unwrap_or_default()).is_err() {
            return;
        }
        if last.load(Ordering::SeqCst) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
            return;
        }
    }
    let _ = client.shutdown(Shutdown::Write);
}

// What lies on the socket, once it is a whole request or does not grow any more.
fn peek(client: &TcpStream) -> Option<Vec<u8>> {
    let mut bytes = vec![0; PEEKED];
    let mut before = 0;
    for _ in 0..40 {
        let count = client.peek(&mut bytes).ok().filter(|count| *count > 0)?;
        let got = bytes.get(..count)?;
        if whole(got).is_some() || (count == before && count == PEEKED) {
            return Some(got.to_vec());
        }
        before = count;
        sleep(MOMENT);
    }
    bytes.truncate(before);
    Some(bytes)
}

fn read_whole(mut client: &TcpStream) -> Option<Vec<u8>> {
    let (mut bytes, mut part) = (Vec::new(), vec![0; PEEKED]);
    while whole(&bytes).is_none() {
        let count = client.read(&mut part).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(part.get(..count)?);
    }
    Some(bytes)
}

// The length of the first request, once it is all there.
fn whole(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(bytes.get(..head)?).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let end = head + length.unwrap_or(0_usize);
    (bytes.len() >= end).then_some(end)
}

fn seen(connection: usize, bytes: &[u8]) -> Seen {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    Seen { connection, head: head.to_owned(), body: body.to_owned() }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
