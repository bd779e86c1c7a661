//! One request's head, understood strictly: what two parsers could read in two ways is refused.

use httparse::{EMPTY_HEADER, Request, Status};

/// Longest head, in bytes.
pub(super) const HEAD_MOST: usize = 8 * 1024;
/// Longest body, in bytes.
pub(super) const BODY_MOST: usize = 4 * 1024;
/// Most headers.
const HEADERS_MOST: usize = 64;
/// Headers that the page needs. Everything else stays outside.
const KEPT: [&str; 7] =
    ["accept-language", "content-length", "content-type", "cookie", "host", "origin", "sec-fetch-site"];
/// Adds the peer's uid for the page; nobody outside can send it, since it is not in [`KEPT`].
pub(in super::super) const PEER_HEADER: &str = "x-fleetwatch-peer-uid";

/// Why a request is not passed on, with the status that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: u16,
    pub(super) words: &'static str,
}

const fn refused(status: u16, words: &'static str) -> Refused {
    Refused { status, words }
}

pub(super) const BAD: Refused = refused(400, "This is not a request that the page understands.");
pub(super) const BUSY: Refused = refused(503, "The page is busy. Try again in a few seconds.");
pub(super) const FOREIGN: Refused = refused(403, "Open the page by the address that Fleetwatch printed.");
pub(super) const LATE: Refused = refused(408, "The request took longer than 3 seconds.");
pub(super) const LONG_HEAD: Refused = refused(431, "The request has too many or too long headers.");
pub(super) const NOBODY: Refused = refused(403, "The system does not say which user asks.");
const BODY_KIND: Refused = refused(415, "Only the page's own forms are accepted.");
const EXPECT: Refused = refused(417, "Expect is not supported.");
const LARGE: Refused = refused(413, "The form is longer than 4 KiB.");
const METHOD: Refused = refused(405, "Only GET, HEAD and POST are supported.");
const NO_LENGTH: Refused = refused(411, "A POST needs a Content-Length.");
const PREFETCH: Refused = refused(403, "This page is not to be fetched ahead.");
const TRANSFER: Refused = refused(501, "Transfer-Encoding is not supported.");
const VERSION: Refused = refused(505, "Only HTTP/1.1 is supported.");

/// A head that was understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    method: &'static str,
    target: String,
    kept: Vec<(String, String)>,
    /// Length of the body, in bytes.
    pub(super) body: usize,
}

/// Where the head ends, once it is all there.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Refuses at once what no whole head can begin with: a byte that is not visible ASCII, a bare CR or LF, no method.
pub(super) fn check_bytes(head: &[u8]) -> Result<(), Refused> {
    if head.first().is_some_and(|byte| !byte.is_ascii_uppercase()) {
        return Err(BAD);
    }
    for (at, byte) in head.iter().enumerate() {
        let fits = match byte {
            b'\r' => head.get(at + 1).is_none_or(|next| *next == b'\n'),
            b'\n' => at > 0 && head[at - 1] == b'\r',
            byte => (0x20..=0x7e).contains(byte),
        };
        if !fits {
            return Err(BAD);
        }
    }
    Ok(())
}

impl Head {
    /// Reads a whole head, from the request line to the empty line, for the page on `port`.
    pub(super) fn read(bytes: &[u8], port: u16) -> Result<Self, Refused> {
        check_bytes(bytes)?;
        let mut room = [EMPTY_HEADER; HEADERS_MOST];
        let mut request = Request::new(&mut room);
        match request.parse(bytes) {
            Ok(Status::Complete(used)) if used == bytes.len() => {}
            Ok(Status::Complete(_) | Status::Partial) => return Err(BAD),
            Err(httparse::Error::TooManyHeaders) => return Err(LONG_HEAD),
            Err(_) => return Err(BAD),
        }
        if request.version != Some(1) {
            return Err(VERSION);
        }
        let method = match request.method {
            Some("GET") => "GET",
            Some("HEAD") => "HEAD",
            Some("POST") => "POST",
            Some(_) | None => return Err(METHOD),
        };
        let target = request.path.unwrap_or_default();
        if !target.starts_with('/') || target.contains('#') {
            return Err(BAD);
        }
        let headers = collect(request.headers)?;
        check_host(&headers, port)?;
        let body = check_body(method, &headers)?;
        let kept = headers.into_iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
        Ok(Self { method, target: target.to_owned(), kept: kept.collect(), body })
    }

    /// Whether the answer has no body.
    pub(super) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// The head as the page's server gets it.
    pub(super) fn rewritten(&self, uid: Option<u32>) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.kept {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(uid) = uid {
            text.push_str(&format!("{PEER_HEADER}: {uid}\r\n"));
        }
        text.push_str("connection: close\r\n\r\n");
        text
    }
}

type Headers = Vec<(String, String)>;

fn collect(raw: &[httparse::Header<'_>]) -> Result<Headers, Refused> {
    let mut headers = Headers::new();
    for header in raw {
        let name = header.name.to_ascii_lowercase();
        let value = std::str::from_utf8(header.value).map_err(|_| BAD)?.trim_matches(' ');
        if headers.iter().any(|(known, _)| *known == name) {
            return Err(BAD);
        }
        headers.push((name, value.to_owned()));
    }
    Ok(headers)
}

fn get<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn check_host(headers: &Headers, port: u16) -> Result<(), Refused> {
    let host = get(headers, "host").ok_or(BAD)?;
    if host != format!("127.0.0.1:{port}") && host != format!("localhost:{port}") {
        return Err(FOREIGN);
    }
    // A browser that fetches ahead shows nobody anything, but would mark a card as seen.
    let ahead = ["sec-purpose", "purpose"].iter().filter_map(|name| get(headers, name));
    if ahead.into_iter().any(|purpose| purpose.contains("prefetch") || purpose.contains("prerender")) {
        return Err(PREFETCH);
    }
    Ok(())
}

// The length of the body.
fn check_body(method: &str, headers: &Headers) -> Result<usize, Refused> {
    if get(headers, "transfer-encoding").is_some() {
        return Err(TRANSFER);
    }
    if get(headers, "expect").is_some() {
        return Err(EXPECT);
    }
    let Some(length) = get(headers, "content-length") else {
        return if method == "POST" { Err(NO_LENGTH) } else { Ok(0) };
    };
    if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BAD);
    }
    let length = length.parse().ok().filter(|length| *length <= BODY_MOST).ok_or(LARGE)?;
    if method != "POST" {
        return if length == 0 { Ok(0) } else { Err(BAD) };
    }
    let kind = get(headers, "content-type").unwrap_or_default().to_ascii_lowercase();
    let charset = kind.strip_prefix("application/x-www-form-urlencoded").ok_or(BODY_KIND)?;
    if charset.is_empty() || charset.replace(' ', "") == ";charset=utf-8" { Ok(length) } else { Err(BODY_KIND) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

    fn read(text: &str) -> Result<Head, Refused> {
        Head::read(text.as_bytes(), 8767)
    }

    fn post(lines: &str) -> String {
        format!("POST /login HTTP/1.1\r\nHost: 127.0.0.1:8767\r\n{lines}\r\n")
    }

    #[test]
    fn a_browsers_request_keeps_only_what_the_page_needs() {
        let head = read(&post(&format!(
            "User-Agent: x\r\nCookie: a=b\r\nX-Fleetwatch-Peer-Uid: 0\r\nConnection: keep-alive, Upgrade\r\nTE: trailers\r\n\
             Origin: http://127.0.0.1:8767\r\nAccept-Language: es\r\n{FORM}Content-Length: 12\r\n"
        )))
        .unwrap();
        assert_eq!(head.body, 12);
        assert_eq!(
            head.rewritten(Some(1001)),
            "POST /login HTTP/1.1\r\nhost: 127.0.0.1:8767\r\ncookie: a=b\r\norigin: http://127.0.0.1:8767\r\n\
             accept-language: es\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 12\r\n\
             x-fleetwatch-peer-uid: 1001\r\nconnection: close\r\n\r\n"
        );
        assert!(!head.rewritten(None).contains(PEER_HEADER));
    }

    #[test]
    fn heads_that_two_parsers_could_read_in_two_ways_are_refused() {
        let get = |lines: &str| format!("GET / HTTP/1.1\r\nHost: localhost:8767\r\n{lines}\r\n");
        for (head, status) in [
            (get("A : b\r\n"), 400),
            (get("A: b\r\n folded\r\n"), 400),
            (get("A: b\r\nA: c\r\n"), 400),
            (get("a: b\r\nA: b\r\n"), 400),
            (get("A: caf\u{e9}\r\n"), 400),
            (get("A: \tb\r\n"), 400),
            (get("A: b\rc\r\n"), 400),
            (get("A: b\nc: d\r\n"), 400),
            (get("no colon\r\n"), 400),
            (get("Content-Length: 1\r\n"), 400),
            (get("Host: localhost:8767\r\n"), 400),
            (get("Transfer-Encoding: identity\r\n"), 501),
            (get("Expect: 100-continue\r\n"), 417),
            (get("Sec-Purpose: prefetch;prerender\r\n"), 403),
            (get("Purpose: prefetch\r\n"), 403),
            (get("A: b\r\nAA: c\r\n"), 0),
            (get(&(0..70).map(|n| format!("h{n}: x\r\n")).collect::<String>()), 431),
            ("GET / HTTP/1.1\r\n\r\n".into(), 400),
            ("GET / HTTP/1.1\r\nHost: evil.example:8767\r\n\r\n".into(), 403),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".into(), 403),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:8767@evil\r\n\r\n".into(), 403),
            ("GET / HTTP/1.1\r\nHost: LOCALHOST:8767\r\n\r\n".into(), 403),
            ("GET / HTTP/1.0\r\nHost: localhost:8767\r\n\r\n".into(), 505),
            ("GET http://localhost:8767/ HTTP/1.1\r\nHost: localhost:8767\r\n\r\n".into(), 400),
            ("OPTIONS * HTTP/1.1\r\nHost: localhost:8767\r\n\r\n".into(), 405),
            ("CONNECT localhost:8767 HTTP/1.1\r\nHost: localhost:8767\r\n\r\n".into(), 405),
            ("PUT / HTTP/1.1\r\nHost: localhost:8767\r\n\r\n".into(), 405),
            ("GET /#a HTTP/1.1\r\nHost: localhost:8767\r\n\r\n".into(), 400),
            ("GET  / HTTP/1.1\r\nHost: localhost:8767\r\n\r\n".into(), 400),
            ("\r\nGET / HTTP/1.1\r\nHost: localhost:8767\r\n\r\n".into(), 400),
            ("get / HTTP/1.1\r\nHost: localhost:8767\r\n\r\n".into(), 400),
        ] {
            let found = read(&head).map_or_else(|refused| refused.status, |_| 0);
            assert_eq!(found, status, "{head:?}");
        }
    }

    #[test]
    fn a_post_says_its_length_in_digits_and_is_a_form() {
        for (lines, status) in [
            (format!("{FORM}Content-Length: 4096\r\n"), 0),
            ("Content-Type: application/x-www-form-urlencoded; charset=UTF-8\r\nContent-Length: 1\r\n".into(), 0),
            (FORM.to_owned(), 411),
            (format!("{FORM}Content-Length: 4097\r\n"), 413),
            (format!("{FORM}Content-Length: 9000000000000000000\r\n"), 413),
            (format!("{FORM}Content-Length: 99999999999999999999999\r\n"), 413),
            (format!("{FORM}Content-Length: +5\r\n"), 400),
            (format!("{FORM}Content-Length: -5\r\n"), 400),
            (format!("{FORM}Content-Length: 0x5\r\n"), 400),
            (format!("{FORM}Content-Length: 5, 5\r\n"), 400),
            (format!("{FORM}Content-Length: \r\n"), 400),
            (format!("{FORM}Content-Length: 5\r\nContent-Length: 5\r\n"), 400),
            (format!("{FORM}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 501),
            ("Content-Length: 5\r\n".into(), 415),
            ("Content-Type: text/plain\r\nContent-Length: 5\r\n".into(), 415),
            ("Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5\r\n".into(), 415),
            ("Content-Type: application/json\r\nContent-Length: 5\r\n".into(), 415),
            ("Content-Type: application/x-www-form-urlencodedx\r\nContent-Length: 5\r\n".into(), 415),
        ] {
            let found = read(&post(&lines)).map_or_else(|refused| refused.status, |_| 0);
            assert_eq!(found, status, "{lines:?}");
        }
    }
}
