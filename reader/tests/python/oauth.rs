//! Signing in against the authorization server of the official Python MCP SDK (issue line 3.6).

use crate::peer::Peer;
use host::clock::Clock;
use policy::call::Slot;
use policy::tool_policy::ToolPolicy;
use reader::endpoint::Endpoint;
use reader::session::ReadClient;
use reader::token::{SignIn, SignedOut, Which};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn server() -> Peer {
    Peer::start("python_oauth_server.py", &[]).await
}

fn load(peer: &Peer, path: &Path) -> Arc<SignIn> {
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{}/mcp", peer.port), Slot::Sim).unwrap();
    SignIn::load(path, Which::Normal, endpoint, Clock::system().unwrap()).unwrap()
}

// One GET; gives the whole answer.
async fn get(url: &str) -> String {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

// Where the server sends the browser, for a person who says yes at once.
async fn sent_to(link: &str) -> String {
    let sent = get(link).await;
    let to = sent.lines().find_map(|line| line.strip_prefix("location: "));
    to.unwrap_or_else(|| panic!("{sent}")).to_owned()
}

fn stored(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn signing_in_renewing_and_signing_out_with_the_python_sdk() {
    let peer = server().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let sign_in = load(&peer, &path);
    let mut attempt = sign_in.begin(0).await.unwrap();
    assert!(get(&sent_to(attempt.link()).await).await.starts_with("HTTP/1.1 200 OK"));
    let new = sign_in.signed(&mut attempt, Duration::from_secs(20)).await.unwrap().unwrap();
    sign_in.adopt(&new).await.unwrap();
    assert_eq!(sign_in.facts().scope.as_deref(), Some("rooms"));

    let reader = ReadClient::new(Arc::clone(&sign_in), Arc::new(ToolPolicy::shipped().unwrap())).unwrap();
    let team = reader.team().await.unwrap();
    assert_eq!(team.devices[0].name, "Room 401 Unauthorized");
    let first = stored(&path);
    // Its tokens live for three seconds.
    tokio::time::sleep(Duration::from_secs(4)).await;
    reader.team().await.unwrap();
    let second = stored(&path);
    assert_ne!(first["access_token"], second["access_token"]);
    assert_ne!(first["refresh_token"], second["refresh_token"]);

    // A process that still holds the old refresh token finds the newer one on the disk.
    let other = ReadClient::new(load(&peer, &path), Arc::new(ToolPolicy::shipped().unwrap())).unwrap();
    other.team().await.unwrap();
    assert_eq!(sign_in.sign_out().await.unwrap(), SignedOut::Revoked);
    assert!(!path.exists());
    reader.team().await.unwrap_err();
}

#[tokio::test]
async fn the_python_sdk_ends_a_sign_in_whose_refresh_token_is_used_twice() {
    let peer = server().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let sign_in = load(&peer, &path);
    let mut attempt = sign_in.begin(0).await.unwrap();
    attempt.paste(&sent_to(attempt.link()).await).unwrap();
    let new = sign_in.signed(&mut attempt, Duration::from_secs(20)).await.unwrap().unwrap();
    sign_in.adopt(&new).await.unwrap();
    let old = std::fs::read(&path).unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    sign_in.pass(30).await.unwrap();
    // Somebody puts an old copy back: its refresh token was used.
    host::files::write_private(&path, &old).unwrap();
    let copy = load(&peer, &path);
    copy.pass(30).await.unwrap_err();
    assert!(copy.facts().is_dead());
    assert_eq!(stored(&path)["dead"], "refused");
}
