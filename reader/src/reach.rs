//! Whether a server can be reached: a TCP connection and, for https, a TLS handshake. Not one byte of a request.

use reqwest::Url;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use rustls_platform_verifier::ConfigVerifierExt;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// For the connection, and again for the whole handshake, however many bytes it comes in.
const PATIENCE: Duration = Duration::from_secs(4);

/// Why a server is not reached. Never holds the address's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotReached {
    /// No TCP connection.
    Connect(String),
    /// The address has no host or port.
    NoHost,
    /// No TLS handshake with a certificate that this machine trusts.
    Tls(String),
}

impl fmt::Display for NotReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(why) => write!(f, "no connection: {why}"),
            Self::NoHost => f.write_str("the address has no host"),
            Self::Tls(why) => write!(f, "no TLS: {why}"),
        }
    }
}

impl std::error::Error for NotReached {}

/// `host:port` of an address, for people.
pub(crate) fn place_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

/// Connects to the host of an http or https address, shakes hands for https, and closes.
///
/// # Errors
/// [`NotReached`] with what the system said.
pub(crate) async fn reach(address: &str) -> Result<(), NotReached> {
    reach_within(address, PATIENCE).await
}

async fn reach_within(address: &str, patience: Duration) -> Result<(), NotReached> {
    let url = Url::parse(address).map_err(|_| NotReached::NoHost)?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(NotReached::NoHost);
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let late = || format!("no answer within {} s", patience.as_secs());
    let connecting = timeout(patience, TcpStream::connect((host.as_str(), port))).await;
    let stream =
        connecting.map_err(|_| NotReached::Connect(late()))?.map_err(|error| NotReached::Connect(error.to_string()))?;
    if url.scheme() != "https" {
        return Ok(());
    }
    // The machine's certificates are read from files.
    let made = tokio::task::spawn_blocking(move || connection(host)).await;
    let mut tls = made.unwrap_or_else(|error| Err(NotReached::Tls(error.to_string())))?;
    let shaken = timeout(patience, shake(&mut tls, &stream)).await;
    shaken.map_err(|_| NotReached::Tls(late()))?.map_err(|error| NotReached::Tls(error.to_string()))
}

fn connection(host: String) -> Result<ClientConnection, NotReached> {
    // The process default is what the verifier's config uses; a second install only says that one is there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = ClientConfig::with_platform_verifier().map_err(|error| NotReached::Tls(error.to_string()))?;
    let name = ServerName::try_from(host).map_err(|error| NotReached::Tls(error.to_string()))?;
    ClientConnection::new(Arc::new(config), name).map_err(|error| NotReached::Tls(error.to_string()))
}

async fn shake(tls: &mut ClientConnection, stream: &TcpStream) -> io::Result<()> {
    let mut socket = Socket(stream);
    while tls.is_handshaking() || tls.wants_write() {
        if tls.wants_write() {
            stream.writable().await?;
            ready(tls.write_tls(&mut socket))?;
            continue;
        }
        stream.readable().await?;
        if ready(tls.read_tls(&mut socket))? == Some(0) {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server hung up in the handshake"));
        }
        tls.process_new_packets().map_err(io::Error::other)?;
    }
    Ok(())
}

/// What was done; nothing when the socket has to be waited for again.
fn ready(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// The stream for rustls, which never waits on it.
struct Socket<'a>(&'a TcpStream);

impl Read for Socket<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(into)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_listener_is_reached_without_a_byte_and_a_closed_port_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await.unwrap();
            all
        };
        let (all, reached) = tokio::join!(server, reach(&address));
        assert_eq!((all, reached), (Vec::new(), Ok(())));
        drop(listener);
        assert!(matches!(reach(&address).await, Err(NotReached::Connect(_))));
        assert_eq!(place_of(&address).unwrap(), address[7..address.len() - 4]);
    }

    #[tokio::test]
    async fn https_needs_a_handshake() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}/mcp", listener.local_addr().unwrap());
        let server = async {
            let (stream, _) = listener.accept().await.unwrap();
            drop(stream);
        };
        let ((), reached) = tokio::join!(server, reach(&address));
        assert!(matches!(reached, Err(NotReached::Tls(_))), "{reached:?}");
    }

    #[tokio::test]
    async fn a_server_that_drips_its_handshake_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}/mcp", listener.local_addr().unwrap());
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            // The head of a record of 16,384 bytes, then one byte of it at a time for as long as anybody listens.
            stream.write_all(&[0x16, 3, 3, 0x40, 0]).await.unwrap();
            let mut sent = 0;
            while stream.write_all(&[2]).await.is_ok() {
                sent += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            sent
        };
        let all = async { tokio::join!(server, reach_within(&address, Duration::from_millis(500))) };
        let (sent, reached) = timeout(Duration::from_secs(20), all).await.unwrap();
        assert!(matches!(&reached, Err(NotReached::Tls(why)) if why.contains("no answer within")), "{reached:?}");
        assert!(sent > 3, "it went on dripping: {sent}");
    }
}
