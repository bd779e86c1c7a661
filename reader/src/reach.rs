//! Whether a server can be reached: a TCP connection and, for https, a TLS handshake. Not one byte of a request.

use reqwest::Url;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// For the connection, and again for the handshake.
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
    let url = Url::parse(address).map_err(|_| NotReached::NoHost)?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(NotReached::NoHost);
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let connecting = tokio::time::timeout(PATIENCE, TcpStream::connect((host.as_str(), port))).await;
    let stream = connecting
        .map_err(|_| NotReached::Connect("no answer within 4 s".to_owned()))?
        .map_err(|error| NotReached::Connect(error.to_string()))?;
    if url.scheme() != "https" {
        return Ok(());
    }
    let shaken = tokio::task::spawn_blocking(move || shake(stream, host)).await;
    shaken.unwrap_or_else(|error| Err(NotReached::Tls(error.to_string())))
}

fn shake(stream: TcpStream, host: String) -> Result<(), NotReached> {
    // The process default is what the verifier's config uses; a second install only says that one is there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = rustls::ClientConfig::with_platform_verifier().map_err(|error| NotReached::Tls(error.to_string()))?;
    let name = ServerName::try_from(host).map_err(|error| NotReached::Tls(error.to_string()))?;
    let mut tls = ClientConnection::new(Arc::new(config), name).map_err(|error| NotReached::Tls(error.to_string()))?;
    let mut stream = blocking(stream).map_err(|error| NotReached::Connect(error.to_string()))?;
    while tls.is_handshaking() {
        tls.complete_io(&mut stream).map_err(|error| NotReached::Tls(error.to_string()))?;
    }
    Ok(())
}

fn blocking(stream: TcpStream) -> std::io::Result<std::net::TcpStream> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;
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
}
