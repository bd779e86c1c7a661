//! The sign of life that the watchdog waits for: `ask.sock` was called and answered a hello (issue line 4.2).

use host::link::{Link, LinkError};
use host::socket::{self, SocketError};
use protocol::ask::{AskerSays, AssistantSays};
use protocol::hello::{Hello, Reply, Request};
use std::fmt;
use std::path::Path;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(5);

/// What did not live.
#[derive(Debug)]
pub(crate) enum Lifeless {
    /// The connection broke off.
    Link(LinkError),
    /// Nothing was said.
    Silent,
    /// Nobody took the call.
    Socket(SocketError),
}

impl fmt::Display for Lifeless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => write!(f, "ask.sock broke off: {error}"),
            Self::Silent => f.write_str("ask.sock said nothing"),
            Self::Socket(error) => write!(f, "ask.sock: {error}"),
        }
    }
}

/// Proves that there is life. Being turned away by a full house is an answer too.
///
/// # Errors
/// [`Lifeless`] with what did not answer.
pub(crate) async fn prove(path: &Path) -> Result<(), Lifeless> {
    let stream = socket::connect(path, None, SOON).await.map_err(Lifeless::Socket)?;
    let mut link: Link<Request<AskerSays>, Reply<AssistantSays>> = Link::new(stream);
    // A full house may have hung up already; what it said can still be read.
    let _unheard = link.send(&Request { id: 0, say: AskerSays::Hello(Hello::ours()) }, SOON).await;
    match link.recv(SOON).await.map_err(Lifeless::Link)? {
        Some(_) => Ok(()),
        None => Err(Lifeless::Silent),
    }
}
