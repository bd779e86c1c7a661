//! The few HTTP pieces that both listeners share. They listen on 127.0.0.1 and nowhere else.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// Longest request body, in bytes.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A whole or streamed answer.
pub(crate) type Reply = Response<BoxBody<Bytes, io::Error>>;

/// The connection closes without an answer.
#[derive(Debug)]
pub(crate) struct Hangup;

impl fmt::Display for Hangup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is closed without an answer")
    }
}

impl std::error::Error for Hangup {}

/// Opens a port on 127.0.0.1; 0 takes a free one.
///
/// # Errors
/// The port is taken.
pub(crate) async fn open(port: u16) -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Serves every connection until the task is dropped.
pub(crate) async fn serve<F, R>(listener: TcpListener, answer: F)
where
    F: Fn(Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Result<Reply, Hangup>> + Send + 'static,
{
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        tokio::spawn(async move {
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            // A client that goes away is not a fault of the simulator.
            let _ = connection.await;
        });
    }
}

/// The whole body of a request, or the answer that it is too long.
pub(crate) async fn read_body(body: Incoming) -> Result<Bytes, Reply> {
    match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(_) => Err(text(StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than 4 MiB or was cut")),
    }
}

/// An answer in plain text.
pub(crate) fn text(status: StatusCode, words: &str) -> Reply {
    bytes(status, "text/plain; charset=utf-8", words.to_owned().into())
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, value: &Value) -> Reply {
    bytes(status, "application/json", value.to_string().into())
}

/// An answer of these bytes.
pub(crate) fn bytes(status: StatusCode, kind: &'static str, body: Bytes) -> Reply {
    typed(status, kind, whole(body))
}

/// An answer with this body.
pub(crate) fn typed(status: StatusCode, kind: &'static str, body: BoxBody<Bytes, io::Error>) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    reply
}

fn whole(body: Bytes) -> BoxBody<Bytes, io::Error> {
    Full::new(body).map_err(|never| match never {}).boxed()
}

/// A body whose pieces come through a channel; an error piece cuts the connection.
#[derive(Debug)]
pub(crate) struct Pieces(mpsc::Receiver<io::Result<Bytes>>);

impl Pieces {
    /// A body and the end that feeds it.
    pub(crate) fn new() -> (mpsc::Sender<io::Result<Bytes>>, Self) {
        let (sender, receiver) = mpsc::channel(4);
        (sender, Self(receiver))
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
