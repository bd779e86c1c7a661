//! One HTTP/1.1 connection by hand: hyper's `client::conn` has no pool, no retry and no redirect to switch off.

use super::Destination;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::http::response::Parts;
use hyper::rt::{Read, Write};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The machine's own roots and nothing else; made once at start.
///
/// # Errors
/// Words, when the machine has no usable roots.
pub(super) fn tls_config() -> Result<Arc<ClientConfig>, String> {
    // The process default is what the verifier's config uses; a second install only says that one is there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    ClientConfig::with_platform_verifier().map(Arc::new).map_err(|e| e.to_string())
}

/// Largest answer that is read, in bytes.
const MAX_ANSWER: usize = 1024 * 1024;
/// How long the end of a greeting's event stream is waited for, so that the connection can be used again.
const STREAM_END: Duration = Duration::from_millis(250);

/// Why a call has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendError {
    /// It may have left.
    Lost,
    /// Not a byte of it was written.
    NotSent,
}

pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: tokio::task::JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// A fresh TCP (and TLS) connection.
    pub(super) async fn open(to: &Destination) -> Result<Self, String> {
        let tcp = TcpStream::connect((to.host.as_str(), to.port)).await.map_err(|e| e.to_string())?;
        tcp.set_nodelay(true).map_err(|e| e.to_string())?;
        let Some(config) = &to.tls else { return Self::start(TokioIo::new(tcp)).await };
        let name = ServerName::try_from(to.host.clone()).map_err(|e| e.to_string())?;
        let tls = TlsConnector::from(config.clone()).connect(name, tcp).await.map_err(|e| e.to_string())?;
        Self::start(TokioIo::new(tls)).await
    }

    async fn start<T: Read + Write + Unpin + Send + 'static>(io: T) -> Result<Self, String> {
        let (sender, connection) = handshake(io).await.map_err(|e| e.to_string())?;
        let driver = tokio::spawn(async move {
            // Its error reaches the sender, which reports it.
            let _ = connection.await;
        });
        Ok(Self { sender, driver })
    }

    /// One exchange of the greeting.
    pub(super) async fn greet(&mut self, request: Request<Full<Bytes>>) -> Result<(Parts, Vec<u8>), String> {
        self.sender.ready().await.map_err(|_| "the connection closed".to_owned())?;
        let response = self.sender.send_request(request).await.map_err(|_| "the connection closed".to_owned())?;
        let (head, body, stream) = read(response).await.map_err(|()| "the answer broke off".to_owned())?;
        if let Some(mut stream) = stream {
            let rest = async { while let Some(Ok(_)) = stream.frame().await {} };
            // Not over in time: the connection is not free, and whoever needs it asks.
            let _ = tokio::time::timeout(STREAM_END, rest).await;
        }
        Ok((head, body))
    }

    /// Whether another message can be sent; not so after a stream that goes on behind its answer.
    pub(super) async fn is_free(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// The one call. `NotSent` only when hyper hands the request back unwritten.
    pub(super) async fn send_once(mut self, request: Request<Full<Bytes>>) -> Result<(Parts, Vec<u8>), SendError> {
        if self.sender.ready().await.is_err() {
            return Err(SendError::NotSent);
        }
        let response = match self.sender.try_send_request(request).await {
            Ok(response) => response,
            Err(mut error) => {
                let unwritten = error.take_message().is_some();
                return Err(if unwritten { SendError::NotSent } else { SendError::Lost });
            }
        };
        let (head, body, _) = read(response).await.map_err(|()| SendError::Lost)?;
        Ok((head, body))
    }
}

/// The answer, and the event stream behind it if there is one.
type Answer = (Parts, Vec<u8>, Option<Incoming>);

async fn read(response: Response<Incoming>) -> Result<Answer, ()> {
    let (head, body) = response.into_parts();
    let streams = head
        .headers
        .get(hyper::header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|v| v.starts_with("text/event-stream"));
    if streams {
        return read_stream(head, body).await;
    }
    let bytes = Limited::new(body, MAX_ANSWER).collect().await.map_err(|_| ())?.to_bytes();
    Ok((head, bytes.to_vec(), None))
}

/// An event stream may stay open after the answer: reading stops at the first whole event that is a JSON-RPC answer. Only
/// events that have become whole since the last look are parsed.
async fn read_stream(head: Parts, mut body: Incoming) -> Result<Answer, ()> {
    let mut seen = Vec::new();
    let mut looked = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ())?;
        if let Some(data) = frame.data_ref() {
            seen.extend_from_slice(data);
        }
        if seen.len() > MAX_ANSWER {
            return Err(());
        }
        let end = super::reply::end_of_events(&seen, looked);
        if end > looked {
            if super::reply::has_answer(seen.get(looked..end).unwrap_or_default()) {
                seen.truncate(end);
                seen.drain(..looked);
                return Ok((head, seen, Some(body)));
            }
            looked = end;
        }
    }
    Err(())
}
