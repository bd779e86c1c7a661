//! The browser's answer: an address with code and state, from a listener on 127.0.0.1 or pasted by a person.

use super::OauthError;
use host::secret::{SecretText, same};
use reqwest::Url;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

/// Largest head of a request, in bytes.
const LARGEST: usize = 8 * 1024;
/// Longest wait for a head.
const HEAD_WAIT: Duration = Duration::from_secs(5);
/// Most browsers at a time.
const AT_ONCE: usize = 8;
/// Longest code that is passed on.
const LONGEST_CODE: usize = 4_096;
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// What a good answer looks like.
pub(crate) struct Expected {
    pub(crate) state: SecretText,
    pub(crate) issuer: String,
    pub(crate) sends_iss: bool,
    /// The address that the server sends the browser to.
    pub(crate) redirect: String,
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expected(..)")
    }
}

/// How the wait ended: with a code, or with what went wrong.
pub(crate) type Heard = Result<SecretText, OauthError>;

/// Why an answer ends no wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotHeard {
    /// Not the callback's path.
    Elsewhere,
    /// No state or another one, or neither code nor error, or something twice.
    Not,
}

impl Expected {
    /// Judges one whole address. Without the right state nothing in it counts.
    ///
    /// # Errors
    /// [`NotHeard`]: go on waiting.
    pub(crate) fn judge(&self, address: &str) -> Result<Heard, NotHeard> {
        if address.len() > LARGEST {
            return Err(NotHeard::Not);
        }
        let url = Url::parse(address).map_err(|_| NotHeard::Not)?;
        let redirect = Url::parse(&self.redirect).map_err(|_| NotHeard::Not)?;
        if url.origin() != redirect.origin() || url.path() != redirect.path() {
            return Err(NotHeard::Elsewhere);
        }
        let state = SecretText::from(one(&url, "state")?.ok_or(NotHeard::Not)?);
        if !same(state.expose().as_bytes(), self.state.expose().as_bytes()) {
            return Err(NotHeard::Not);
        }
        let issuer = one(&url, "iss")?;
        if issuer.as_ref().is_some_and(|issuer| *issuer != self.issuer) || (self.sends_iss && issuer.is_none()) {
            return Ok(Err(OauthError::OtherIssuer));
        }
        match (one(&url, "code")?, one(&url, "error")?) {
            (None, Some(_)) => Ok(Err(OauthError::Denied)),
            (Some(code), None) if !code.is_empty() && code.len() <= LONGEST_CODE => Ok(Ok(SecretText::from(code))),
            (_, _) => Err(NotHeard::Not),
        }
    }
}

// The parameter of this name; twice is a trick.
fn one(url: &Url, name: &str) -> Result<Option<String>, NotHeard> {
    let mut values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let first = values.next();
    if values.next().is_some() { Err(NotHeard::Not) } else { Ok(first) }
}

/// Opens the callback's port; 0 takes a free one. Gives the listener and the callback's address.
pub(crate) async fn open(port: u16) -> Result<(TcpListener, String), OauthError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|_| OauthError::Port(port))?;
    let port = listener.local_addr().map_err(|_| OauthError::Port(port))?.port();
    Ok((listener, format!("http://127.0.0.1:{port}/callback")))
}

/// Serves browsers until it is dropped; what ends the wait goes to `heard`.
pub(crate) async fn serve(listener: TcpListener, expected: Arc<Expected>, heard: mpsc::Sender<Heard>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // A full house is hung up on; the browser's person can load the page again.
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else { continue };
        let (expected, heard) = (Arc::clone(&expected), heard.clone());
        tokio::spawn(async move {
            let _served = timeout(HEAD_WAIT, one_browser(stream, &expected, &heard)).await;
            drop(permit);
        });
    }
}

async fn one_browser(mut stream: TcpStream, expected: &Expected, heard: &mpsc::Sender<Heard>) -> std::io::Result<()> {
    let Some(head) = read_head(&mut stream).await? else {
        return answer(&mut stream, "400 Bad Request", NOT_THIS).await;
    };
    let (status, words, end) = match judge(&head, expected) {
        Ok(Ok(code)) => ("200 OK", DONE, Some(Ok(code))),
        Ok(Err(error)) => ("200 OK", ENDED, Some(Err(error))),
        Err(Answer(status)) => (status, NOT_THIS, None),
    };
    let answered = answer(&mut stream, status, words).await;
    if let Some(end) = end {
        // The first one counts; nobody hears another.
        let _heard = heard.try_send(end);
    }
    answered
}

struct Answer(&'static str);

fn judge(head: &str, expected: &Expected) -> Result<Heard, Answer> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some(version), None) = (method, target, version, words.next()) else {
        return Err(Answer("400 Bad Request"));
    };
    if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return Err(Answer("400 Bad Request"));
    }
    let base = expected.redirect.strip_suffix("/callback").unwrap_or(&expected.redirect);
    let hosts: Vec<&str> = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim())
        .collect();
    // A page of another name that resolves to this machine is not our browser window.
    if hosts != [base.trim_start_matches("http://")] {
        return Err(Answer("400 Bad Request"));
    }
    if target.split('?').next() != Some("/callback") {
        return Err(Answer("404 Not Found"));
    }
    if method != "GET" {
        return Err(Answer("405 Method Not Allowed"));
    }
    expected.judge(&format!("{base}{target}")).map_err(|why| match why {
        NotHeard::Elsewhere => Answer("404 Not Found"),
        NotHeard::Not => Answer("400 Bad Request"),
    })
}

async fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut part = [0_u8; 1_024];
    loop {
        let count = stream.read(&mut part).await?;
        head.extend_from_slice(part.get(..count).unwrap_or_default());
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            head.truncate(end);
            return Ok(String::from_utf8(head).ok());
        }
        if count == 0 || head.len() > LARGEST {
            return Ok(None);
        }
    }
}

const DONE: &str = "Fleetwatch has the answer. Go back to the terminal; this page can be closed. / \
                    Fleetwatch tiene la respuesta. Vuelva a la terminal; puede cerrar esta página.";
const ENDED: &str = "Not signed in. The terminal says why. / No se inició la sesión. La terminal dice por qué.";
const NOT_THIS: &str = "This is not what Fleetwatch waits for. / Esto no es lo que Fleetwatch espera.";

async fn answer(stream: &mut TcpStream, status: &str, words: &str) -> std::io::Result<()> {
    let body = format!("<!doctype html><meta charset=\"utf-8\"><title>Fleetwatch</title><p>{words}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
