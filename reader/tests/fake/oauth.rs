//! A server that signs people in, gives rotating tokens, and lets whoever shows a live one read. A test may twist any of
//! its answers.

use crate::server::{Fake, Request, Speaks, data, greeted, http, raw_json};
use host::clock::{Clock, ManualClock};
use policy::call::Slot;
use policy::tool_policy::ToolPolicy;
use reader::endpoint::Endpoint;
use reader::oauth::{Attempt, OauthError};
use reader::session::ReadClient;
use reader::token::{NewSignIn, SignIn, Which};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The time at which every test begins.
pub(crate) const NOW: i64 = 1_900_000_000;

/// What a test makes of a request.
pub(crate) enum Twist {
    /// Nothing special.
    Usual,
    /// These bytes instead.
    Reply(Vec<u8>),
    /// No answer at all.
    Stall,
}

#[derive(Default)]
struct Book {
    given: usize,
    live_access: Option<String>,
    live_refresh: Option<String>,
}

/// The server with a slot's file and a clock that stands still.
pub(crate) struct Signing {
    pub(crate) fake: Fake,
    pub(crate) hand: ManualClock,
    clock: Clock,
    folder: tempfile::TempDir,
}

impl Signing {
    pub(crate) async fn start(twist: impl Fn(&Request) -> Twist + Send + Sync + 'static) -> Self {
        let book = Mutex::new(Book::default());
        let fake = Fake::answering(move |request, _, sessions| match twist(request) {
            Twist::Usual => Some(usual(request, sessions, &mut book.lock().unwrap())),
            Twist::Reply(reply) => Some(reply),
            Twist::Stall => None,
        })
        .await;
        let (clock, hand) = Clock::dangerous_manual(NOW, 5_000, "boot");
        Self { fake, hand, clock, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    pub(crate) fn load(&self) -> Arc<SignIn> {
        let endpoint = Endpoint::parse(&self.fake.url, Slot::Sim).unwrap();
        SignIn::load(&self.path(), Which::Normal, endpoint, self.clock.clone()).unwrap()
    }

    /// The same after a whole sign-in.
    pub(crate) async fn signed_in(&self) -> Arc<SignIn> {
        let sign_in = self.load();
        let mut attempt = sign_in.begin(0).await.unwrap();
        browse(&attempt, "code=the-code").await;
        let new = ended(&sign_in, &mut attempt).await.unwrap();
        sign_in.adopt(&new).await.unwrap();
        sign_in
    }

    pub(crate) fn asked(&self, path: &str) -> Vec<Request> {
        self.fake.requests().into_iter().filter(|request| request.path() == path).collect()
    }
}

pub(crate) fn client(sign_in: &Arc<SignIn>) -> ReadClient {
    ReadClient::new(Arc::clone(sign_in), Arc::new(ToolPolicy::shipped().unwrap())).unwrap()
}

pub(crate) async fn ended(sign_in: &SignIn, attempt: &mut Attempt) -> Result<NewSignIn, OauthError> {
    sign_in.signed(attempt, Duration::from_secs(20)).await.expect("an end")
}

pub(crate) fn stored(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// One parameter of the link, as it stands there.
pub(crate) fn parameter(link: &str, name: &str) -> String {
    let query = link.split_once('?').unwrap().1;
    let found = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found.unwrap_or_else(|| panic!("no {name} in {link}")).to_owned()
}

/// `127.0.0.1:PORT` of the callback.
pub(crate) fn place(attempt: &Attempt) -> String {
    let redirect = parameter(attempt.link(), "redirect_uri").replace("%3A", ":").replace("%2F", "/");
    redirect.strip_prefix("http://").unwrap().strip_suffix("/callback").unwrap().to_owned()
}

/// The browser comes back with the right state and this.
pub(crate) async fn browse(attempt: &Attempt, query: &str) -> String {
    let state = parameter(attempt.link(), "state");
    let place = place(attempt);
    ask(&place, &format!("GET /callback?state={state}&{query} HTTP/1.1\r\nHost: {place}\r\n\r\n")).await
}

pub(crate) async fn ask(place: &str, head: &str) -> String {
    let mut stream = TcpStream::connect(place).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

pub(crate) fn json_reply(value: &Value) -> Vec<u8> {
    raw_json(&value.to_string()).unwrap()
}

pub(crate) fn base(request: &Request) -> String {
    format!("http://{}", request.header("host").unwrap())
}

pub(crate) fn metadata(request: &Request) -> Value {
    let base = base(request);
    json!({
        "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"), "revocation_endpoint": format!("{base}/revoke"),
        "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"],
    })
}

pub(crate) fn hall() -> Value {
    json!({"devices": [{"Id": "20311112222", "Name": "Room 401 Unauthorized"}]})
}

pub(crate) fn form(request: &Request, name: &str) -> String {
    let found = request.text.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found.unwrap_or_default().to_owned()
}

fn usual(request: &Request, sessions: usize, book: &mut Book) -> Vec<u8> {
    let base = base(request);
    match (request.method.as_str(), request.path()) {
        ("GET", "/mcp") => {
            let named = format!("{base}/.well-known/oauth-protected-resource/mcp");
            http(
                "401 Unauthorized",
                &format!("www-authenticate: Bearer error=\"x, y\", resource_metadata=\"{named}\"\r\n"),
                b"",
            )
        }
        ("GET", "/.well-known/oauth-protected-resource/mcp") => {
            json_reply(&json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
        }
        ("GET", "/.well-known/oauth-authorization-server") => json_reply(&metadata(request)),
        ("POST", "/register") => {
            http("201 Created", "content-type: application/json\r\n", br#"{"client_id":"client-1"}"#)
        }
        ("POST", "/token") => tokens(request, book),
        ("POST", "/revoke") => http("200 OK", "", b""),
        ("POST", "/mcp") => {
            let live = book.live_access.as_ref().map(|token| format!("Bearer {token}"));
            if live.is_none() || request.header("authorization") != live.as_deref() {
                return http("401 Unauthorized", "", b"");
            }
            match request.rpc() {
                "initialize" | "server/discover" => greeted(request, sessions, Speaks::Sessions),
                "tools/call" => data(request, &hall()).unwrap(),
                _ => http("202 Accepted", "", b""),
            }
        }
        ("DELETE", _) => http("200 OK", "", b""),
        _ => http("404 Not Found", "", b""),
    }
}

fn tokens(request: &Request, book: &mut Book) -> Vec<u8> {
    let good = match form(request, "grant_type").as_str() {
        "authorization_code" => form(request, "code") == "the-code" && form(request, "code_verifier").len() == 43,
        "refresh_token" => Some(form(request, "refresh_token")) == book.live_refresh,
        _ => false,
    };
    if !good || form(request, "client_id") != "client-1" || form(request, "resource").is_empty() {
        // Somebody shows an old token: the whole family ends, as careful servers do.
        *book = Book { given: book.given, ..Book::default() };
        return http("400 Bad Request", "content-type: application/json\r\n", br#"{"error":"invalid_grant"}"#);
    }
    book.given += 1;
    let (access, refresh) = (format!("access-{}-never-show", book.given), format!("refresh-{}-never-show", book.given));
    (book.live_access, book.live_refresh) = (Some(access.clone()), Some(refresh.clone()));
    json_reply(&json!({"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh,
        "scope": "devices offline_access"}))
}
