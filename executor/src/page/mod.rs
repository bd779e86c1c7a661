//! The approval page behind its front door (`seed 000, The approval page`).
//!
//! A request goes through [`gate`] (bounded, strict, alone on the TCP port), over a private socket to [`post`] (the page's
//! server), into [`routes`] (origin, session, token), to the desk. What a person sees is made in [`render`] without any
//! script; every fact on it was worded by code.

mod door;
mod form;
mod gate;
mod headers;
mod origin;
mod post;
mod render;
mod request;
mod routes;
mod session;

use crate::desk::Desk;
use door::Door;
use gate::Gate;
use host::clock::Clock;
use host::files::{FileError, ensure_private_dir};
use host::secret::RandomError;
use host::socket::{SocketError, bind};
use post::Post;
use routes::Site;
use session::{LaunchSecret, SecretError, Sessions, Waits};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// The private folder of the page's server, in the state folder, and its socket.
const FOLDER: &str = "page";
const SOCKET: &str = "http.sock";

/// What the page needs to start.
#[derive(Debug, Clone)]
pub(crate) struct PageSettings {
    /// Port on 127.0.0.1; 0 takes any.
    pub(crate) port: u16,
    /// The executor's state folder: the launch secret's file and the private socket go there.
    pub(crate) state_dir: PathBuf,
    /// The clock.
    pub(crate) clock: Clock,
}

/// The running page.
#[derive(Debug)]
pub(crate) struct Page {
    /// Where it listens, such as `http://127.0.0.1:8767/`.
    pub(crate) address: String,
    gate: Gate,
    post: Post,
    site: Arc<Site>,
}

impl Page {
    /// Resolves when the page can serve no more. The process should then end; the service manager starts it again.
    pub(crate) async fn failed(&mut self) -> PageError {
        PageError::Ended(self.post.failed().await)
    }

    /// A clean stop: the port is closed, answers under way get a few seconds, the launch secret's file and the socket
    /// are removed.
    pub(crate) async fn stopped(self) {
        self.gate.stop().await;
        self.post.stop().await;
        self.site.secret.remove();
    }
}

/// Starts the page on 127.0.0.1, on a listener that was handed over or on the port of its settings.
///
/// # Errors
/// [`PageError`] saying what was in the way and what to do.
pub(crate) async fn start(desk: Desk, settings: PageSettings, handed: Option<StdListener>) -> Result<Page, PageError> {
    open_on(Door::Desk(desk), settings, handed).await
}

#[cfg(test)]
async fn open(door: Door, settings: PageSettings) -> Result<Page, PageError> {
    open_on(door, settings, None).await
}

async fn open_on(door: Door, settings: PageSettings, handed: Option<StdListener>) -> Result<Page, PageError> {
    let PageSettings { port, state_dir, clock } = settings;
    // The port first: a second executor must not replace the running one's launch secret.
    let taken = |source| PageError::Port { port, source };
    let listener = match handed {
        Some(listener) => {
            listener.set_nonblocking(true).map_err(taken)?;
            TcpListener::from_std(listener).map_err(taken)?
        }
        None => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(taken)?,
    };
    let port = listener.local_addr().map_err(taken)?.port();
    let folder = state_dir.join(FOLDER);
    ensure_private_dir(&folder).map_err(PageError::Folder)?;
    let path = folder.join(SOCKET);
    let private = bind(&path, 0o600, None).map_err(PageError::Socket)?;
    let private = private.into_std().map_err(PageError::Server)?;
    private.set_nonblocking(false).map_err(PageError::Server)?;
    let site = Arc::new(Site {
        door,
        sessions: Sessions::new(clock.clone()),
        secret: LaunchSecret::make(&state_dir)?,
        waits: Mutex::new(Waits::default()),
        turn: tokio::sync::Mutex::new(()),
        clock,
        port,
    });
    // Its place, never the secret itself.
    tracing::info!(file = %site.secret.path().display(), "the approval page's launch secret is in this file");
    let post = Post::start(private, path.clone(), Arc::clone(&site)).map_err(PageError::Server)?;
    let gate = Gate::start(listener, port, path, site.door.clone());
    Ok(Page { address: format!("http://127.0.0.1:{port}/"), gate, post, site })
}

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum PageError {
    /// The running page cannot serve any more.
    Ended(io::Error),
    /// The private folder is not fit.
    Folder(FileError),
    /// The port cannot be used.
    Port {
        /// Which one.
        port: u16,
        /// What the system says.
        source: io::Error,
    },
    /// No random bytes for the launch secret.
    Random(RandomError),
    /// The launch secret's file cannot be written.
    SecretFile(FileError),
    /// The server cannot be started.
    Server(io::Error),
    /// The private socket cannot be made.
    Socket(SocketError),
    /// The last start's secret file cannot be removed.
    StaleSecret {
        /// Where it is.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl From<SecretError> for PageError {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::File(error) => Self::SecretFile(error),
            SecretError::Random(error) => Self::Random(error),
            SecretError::Stale(path, source) => Self::StaleSecret { path, source },
        }
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(error) => write!(f, "the approval page cannot serve any more: {error}"),
            Self::Folder(error) => write!(f, "the approval page's private folder: {error}"),
            Self::Port { port, source } => write!(
                f,
                "the approval page cannot listen on 127.0.0.1:{port}: {source}; end the program that uses the port, or set another one"
            ),
            Self::Random(error) => write!(f, "no launch secret for the approval page: {error}"),
            Self::SecretFile(error) => write!(f, "the approval page's launch secret: {error}"),
            Self::Server(error) => write!(f, "the approval page's server cannot start: {error}"),
            Self::Socket(error) => write!(f, "the approval page's private socket: {error}"),
            Self::StaleSecret { path, source } => write!(
                f,
                "cannot remove the last launch secret {}: {source}; remove it and start again",
                path.display()
            ),
        }
    }
}

impl std::error::Error for PageError {}
