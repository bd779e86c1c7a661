//! The way to the page's own server and back.

use super::head::Refused;
use crate::page::headers::STRICT;
use crate::page::request::Kind;
use httparse::{EMPTY_HEADER, Response, Status};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// Longest answer, in bytes.
const ANSWER_MOST: usize = 1024 * 1024;
/// Longest wait for an answer: an approval runs the write.
const ANSWER_WAIT: Duration = Duration::from_secs(120);
const STEP: usize = 16 * 1024;
const HEADERS_MOST: usize = 32;
/// Headers of the server that are ours to say, or nobody's business.
const DROPPED: [&str; 6] = ["connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"];

const NO_SERVER: Refused =
    Refused { status: 502, words: "The page's server gave no answer. Look at fleetwatchctl status." };
const NO_ANSWER: Refused = Refused {
    status: 504,
    words: "There is no answer yet. Look at the history before anything else: the change may have run.",
};

/// Hands one whole request over and gives the whole answer, ready to send.
pub(super) async fn relay(backend: &Path, request: &[u8], is_head: bool) -> Result<Vec<u8>, Refused> {
    match tokio::time::timeout(ANSWER_WAIT, exchange(backend, request, is_head)).await {
        Ok(answer) => answer.ok_or(NO_SERVER),
        Err(_late) => Err(NO_ANSWER),
    }
}

async fn exchange(backend: &Path, request: &[u8], is_head: bool) -> Option<Vec<u8>> {
    let mut stream = UnixStream::connect(backend).await.ok()?;
    stream.write_all(request).await.ok()?;
    let mut bytes = Vec::with_capacity(STEP);
    loop {
        let have = bytes.len();
        if have > ANSWER_MOST {
            return None;
        }
        bytes.resize(have + STEP, 0);
        let read = stream.read(&mut bytes[have..]).await.ok()?;
        bytes.truncate(have + read);
        if let Some(answer) = finished(&bytes, is_head)? {
            return Some(answer);
        }
        if read == 0 {
            return None;
        }
    }
}

// Nothing: the answer is broken. Some of nothing: there is more to come.
fn finished(bytes: &[u8], is_head: bool) -> Option<Option<Vec<u8>>> {
    let mut room = [EMPTY_HEADER; HEADERS_MOST];
    let mut response = Response::new(&mut room);
    let Status::Complete(head) = response.parse(bytes).ok()? else {
        return Some(None);
    };
    let named = |name: &str| response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    if named("transfer-encoding").is_some() {
        return None;
    }
    let length = std::str::from_utf8(named("content-length")?.value).ok()?;
    let length: usize = length.parse().ok().filter(|length| *length <= ANSWER_MOST)?;
    let body = if is_head { 0 } else { length };
    if bytes.len() < head + body {
        return Some(None);
    }
    let mut answer = status_line(response.code?);
    for header in response.headers.iter() {
        if !DROPPED.contains(&header.name.to_ascii_lowercase().as_str()) {
            answer.push_str(&format!("{}: {}\r\n", header.name, std::str::from_utf8(header.value).ok()?));
        }
    }
    answer.push_str(&format!("Content-Length: {length}\r\nConnection: close\r\n\r\n"));
    let mut answer = answer.into_bytes();
    answer.extend_from_slice(&bytes[head..head + body]);
    Some(Some(answer))
}

/// The gate's own answer.
pub(super) fn own_answer(refused: Refused) -> Vec<u8> {
    let mut text = status_line(refused.status);
    for (name, value) in STRICT {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if refused.status == 405 {
        text.push_str("Allow: GET, HEAD, POST\r\n");
    }
    text.push_str(&format!(
        "Content-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}\n",
        Kind::Text.content_type(),
        refused.words.len() + 1,
        refused.words
    ));
    text.into_bytes()
}

fn status_line(code: u16) -> String {
    let words = match code {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Answer",
    };
    format!("HTTP/1.1 {code} {words}\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_name_stays_inside_and_the_connection_ends() {
        let raw = b"HTTP/1.1 200 OK\r\nServer: x\r\nDate: y\r\nX-Frame-Options: DENY\r\nContent-Length: 2\r\n\r\nhi";
        let text = String::from_utf8(finished(raw, false).unwrap().unwrap()).unwrap();
        assert_eq!(
            text,
            "HTTP/1.1 200 OK\r\nX-Frame-Options: DENY\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
        );
    }

    #[test]
    fn a_half_answer_waits_and_a_broken_one_is_refused() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(finished(&head.as_bytes()[..10], false), Some(None));
        assert_eq!(finished(format!("{head}hell").as_bytes(), false), Some(None));
        assert!(finished(head.as_bytes(), true).unwrap().is_some());
        for broken in [
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
            "garbage\r\n\r\n",
        ] {
            assert_eq!(finished(broken.as_bytes(), false), None, "{broken}");
        }
    }
}
