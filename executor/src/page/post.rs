//! The page's own server: `tiny_http` on a private Unix socket, reachable through the gate alone. No type of it leaves
//! this file.

use super::gate::PEER_HEADER;
use super::headers::STRICT;
use super::request::{Method, PageAnswer, PageRequest, language_of};
use super::routes::Site;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tiny_http::{Header, Request, Response, Server};
use tokio::sync::{mpsc, oneshot};
use zeroize::Zeroizing;

/// Longest body. The gate has let no longer one through.
const BODY_MOST: u64 = 4 * 1024;
/// Requests that may wait between the server's thread and the page.
const QUEUE: usize = 16;

/// One request on its way in, with the way back.
struct Arrived {
    request: PageRequest,
    reply: Request,
}

/// The running server.
pub(super) struct Post {
    server: Arc<Server>,
    thread: JoinHandle<()>,
    stopping: Arc<AtomicBool>,
    ended: Option<oneshot::Receiver<io::Error>>,
    path: PathBuf,
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Post({})", self.path.display())
    }
}

impl Post {
    /// Serves `listener`, whose socket file is `path`, with the answers of `site`.
    pub(super) fn start(listener: UnixListener, path: PathBuf, site: Arc<Site>) -> io::Result<Self> {
        let server = Server::from_listener(listener, None).map_err(|error| io::Error::other(error.to_string()))?;
        let server = Arc::new(server);
        let stopping = Arc::new(AtomicBool::new(false));
        let (into, arrivals) = mpsc::channel(QUEUE);
        let (failed, ended) = oneshot::channel();
        let hall = (Arc::clone(&server), Arc::clone(&stopping));
        let thread = std::thread::Builder::new().name("page".to_owned()).spawn(move || {
            let (server, stopping) = hall;
            if let Err(error) = receive(&server, &into)
                && !stopping.load(Ordering::Relaxed)
            {
                // Nobody listens any more only when the page is being stopped.
                let _unheard = failed.send(error);
            }
        })?;
        tokio::spawn(answer(arrivals, site));
        Ok(Self { server, thread, stopping, ended: Some(ended), path })
    }

    /// Resolves when the server can serve no more, which is fatal.
    pub(super) async fn failed(&mut self) -> io::Error {
        let heard = match &mut self.ended {
            Some(ended) => ended.await.ok(),
            None => None,
        };
        // Its word comes once.
        self.ended = None;
        heard.unwrap_or_else(|| io::Error::other("the page's server has ended"))
    }

    /// Ends the server and its thread, and removes its socket.
    pub(super) async fn stop(self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.server.unblock();
        let ended = tokio::task::spawn_blocking(move || {
            let joined = self.thread.join();
            drop(self.server);
            // Its accepting thread ends with the next connection.
            let _last = UnixStream::connect(&self.path);
            let _gone = std::fs::remove_file(&self.path);
            joined.is_ok()
        });
        if !matches!(ended.await, Ok(true)) {
            tracing::warn!("the page's server did not end in order");
        }
    }
}

// Returns only when the server cannot receive any more.
fn receive(server: &Server, into: &mpsc::Sender<Arrived>) -> io::Result<()> {
    loop {
        let mut reply = server.recv()?;
        let Some(request) = understand(&mut reply) else {
            write(reply, &PageAnswer::text(400, "This is not a request that the page understands."));
            continue;
        };
        if into.blocking_send(Arrived { request, reply }).is_err() {
            return Ok(());
        }
    }
}

async fn answer(mut arrivals: mpsc::Receiver<Arrived>, site: Arc<Site>) {
    while let Some(Arrived { request, reply }) = arrivals.recv().await {
        let site = Arc::clone(&site);
        // A slow approval must not keep anybody from denying. The gate's seats bound how many there are.
        tokio::spawn(async move {
            let answer = site.answer(request).await;
            let written = tokio::task::spawn_blocking(move || write(reply, &answer));
            // A panic ends the process; nothing else can go wrong here.
            let _done = written.await;
        });
    }
}

fn understand(raw: &mut Request) -> Option<PageRequest> {
    let method = match raw.method().as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        _ => return None,
    };
    let mut body = Zeroizing::new(Vec::with_capacity(BODY_MOST as usize + 1));
    raw.as_reader().take(BODY_MOST + 1).read_to_end(&mut body).ok()?;
    if body.len() as u64 > BODY_MOST {
        return None;
    }
    let get = |name: &'static str| {
        let found = raw.headers().iter().find(|header| header.field.equiv(name));
        found.map(|header| header.value.as_str().to_owned())
    };
    let peer_uid = match get(PEER_HEADER) {
        Some(uid) => Some(uid.parse().ok()?),
        None if cfg!(target_os = "linux") => return None,
        None => None,
    };
    let (path, query) = match raw.url().split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (raw.url().to_owned(), None),
    };
    Some(PageRequest {
        method,
        path,
        query,
        host: get("host")?,
        cookie: get("cookie").map(Zeroizing::new),
        origin: get("origin"),
        sec_fetch_site: get("sec-fetch-site"),
        language: language_of(get("accept-language").as_deref()),
        peer_uid,
        body,
    })
}

fn write(reply: Request, answer: &PageAnswer) {
    let mut response = Response::from_data(answer.body.as_bytes())
        .with_status_code(answer.status)
        // The gate wants a length, never chunks.
        .with_chunked_threshold(usize::MAX);
    let ours = STRICT.iter().copied().chain([("Content-Type", answer.kind.content_type())]);
    let extra = answer.extra.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in ours.chain(extra) {
        match Header::from_bytes(name, value) {
            Ok(header) => response.add_header(header),
            // A page without one of its headers is no page. Dropping the request answers 500.
            Err(()) => return,
        }
    }
    // Whoever asked may have left.
    let _left = reply.respond(response);
}
