//! One GET to the simulator's own channel on this machine. No library: one request, one answer, then closed.

use serde_json::Value;
use std::fmt;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const DEADLINE: Duration = Duration::from_secs(10);
const LARGEST: u64 = 16 * 1024 * 1024;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum HttpError {
    /// The connection failed.
    Io(io::Error),
    /// It is no 200 with a JSON body of the length it names.
    Odd(&'static str),
    /// It took too long.
    Timeout,
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Odd(what) => f.write_str(what),
            Self::Timeout => f.write_str("no answer in 10 s"),
        }
    }
}

impl std::error::Error for HttpError {}

impl From<io::Error> for HttpError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The JSON at `path` of the server at `address` (`127.0.0.1:PORT`).
///
/// # Errors
/// [`HttpError`]
pub(crate) async fn get(address: &str, path: &str) -> Result<Value, HttpError> {
    let answer = tokio::time::timeout(DEADLINE, fetch(address, path)).await;
    body(&answer.map_err(|_| HttpError::Timeout)??)
}

async fn fetch(address: &str, path: &str) -> Result<Vec<u8>, HttpError> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nx-sim: 1\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LARGEST).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn body(answer: &[u8]) -> Result<Value, HttpError> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or(HttpError::Odd("no whole head"))?;
    let head = std::str::from_utf8(&answer[..end]).map_err(|_| HttpError::Odd("a head that is no text"))?;
    let mut lines = head.split("\r\n");
    if !lines.next().is_some_and(|line| line.starts_with("HTTP/1.1 200 ")) {
        return Err(HttpError::Odd("not a 200"));
    }
    let length = lines.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok()).flatten()
    });
    let body = &answer[end + 4..];
    if length != Some(body.len()) {
        return Err(HttpError::Odd("a body of another length"));
    }
    serde_json::from_slice(body).map_err(|_| HttpError::Odd("a body that is no JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::net::TcpListener;

    #[test]
    fn only_a_whole_200_with_json_counts() {
        let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(body(ok).unwrap(), json!({}));
        for bad in [
            &b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\n{}"[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{",
            b"HTTP/1.1 200 OK\r\n",
            b"",
        ] {
            assert!(body(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[tokio::test]
    async fn the_request_carries_the_simulators_header() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 1024];
            let count = stream.read(&mut head).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]").await.unwrap();
            String::from_utf8_lossy(&head[..count]).into_owned()
        });
        assert_eq!(get(&address, "/_sim/log").await.unwrap(), json!([]));
        let head = server.await.unwrap();
        assert!(head.starts_with("GET /_sim/log HTTP/1.1\r\n") && head.contains("x-sim: 1\r\n"), "{head}");
    }
}
