use super::*;
use crate::fleet::{Fleet, Source};
use crate::watch::Watch;
use crate::watch::posts::testing::Taker;
use crate::watch::posts::{Channel, Sender};
use crate::watch::testing::{NOON, readings, rules, unit};
use host::clock::Clock;
use policy::call::Slot;
use policy::tool_policy::ToolPolicy;
use protocol::ask::{DEVICES, READINGS};
use protocol::shown::Language;
use reader::endpoint::Endpoint;
use reader::session::ReadClient;
use reader::token::SignIn;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn clock() -> Clock {
    Clock::dangerous_manual(NOON, 0, "boot").0
}

fn canned(files: &BTreeMap<String, Value>) -> Fleet {
    let known = READINGS.iter().filter_map(|tool| Some((*tool, files.get(*tool)?.clone()))).collect();
    Fleet::new(Source::Canned(known), clock())
}

// A fleet at this address, with the sign-in that this text is.
fn live(folder: &Path, address: &str, sign_in: &str) -> Fleet {
    let path = folder.join("token");
    host::files::write_private(&path, sign_in.as_bytes()).unwrap();
    let endpoint = Endpoint::parse(address, Slot::Sim).unwrap();
    let sign_in = SignIn::load(&path, Which::Normal, endpoint, clock()).unwrap();
    let client = ReadClient::new(sign_in, Arc::new(ToolPolicy::shipped().unwrap())).unwrap();
    Fleet::new(Source::Live(Box::new(client)), clock())
}

fn dead(address: &str) -> String {
    let record = json!({
        "version": 1, "slot": "normal", "access_token": "a-never-show", "refresh_token": "r-never-show",
        "expires_at": NOON + 3_600, "issued_at": NOON, "scope": null, "client_id": "c", "client_secret": null,
        "issuer": address, "token_endpoint": address, "revocation_endpoint": null, "resource": address,
        "server": address, "dead": "early",
    });
    record.to_string()
}

fn watch(folder: &Path, taker: &Taker, text: &str) -> Watch {
    Watch::new(rules(text), vec![Channel::Teams(Sender::for_test(&taker.address()))], folder)
}

async fn beat(watch: &Watch, fleet: &Fleet) {
    watch.beat(fleet, &ToolPolicy::shipped().unwrap(), Writing::Unknown, &clock()).await;
}

#[tokio::test]
async fn without_a_sign_in_a_channel_that_takes_nothing_is_tried_once_a_beat() {
    let (folder, taker) = (tempfile::tempdir().unwrap(), Taker::start(vec![500]).await);
    let watch = watch(folder.path(), &taker, "");
    beat(&watch, &canned(&readings())).await;
    let over = live(folder.path(), "http://127.0.0.1:9/mcp", &dead("http://127.0.0.1:9/mcp"));
    for beats in 2..5 {
        watch.beat(&over, &ToolPolicy::shipped().unwrap(), Writing::Over, &clock()).await;
        assert_eq!(taker.count(), beats);
    }
}

#[test]
fn the_writing_sign_ins_end_and_return_are_said_once_each_and_at_night_too() {
    let night = rules("quiet_hours: \"11:00-13:00\"\n");
    assert!(night.is_quiet(NOON));
    let mut spanish = rules("");
    spanish.language = Language::Spanish;
    for rules in [rules(""), night, spanish] {
        let mut state = State::default();
        let mut said = |now| {
            let post = writing(&mut state, now, &rules)?.post;
            Some(format!("{} | {}", post.title, post.lines.join(" ")))
        };
        assert_eq!((said(Writing::Good), said(Writing::Unknown)), (None, None));
        let (over, again, unknown) = (said(Writing::Over), said(Writing::Over), said(Writing::Unknown));
        let back = said(Writing::Good);
        let want = match rules.language {
            Language::English => (
                "Fleetwatch can propose nothing | Why: the server does not take the sandbox sign-in any more; run fleetwatchctl login --sandbox.",
                "Fleetwatch can propose again | The sandbox sign-in works.",
            ),
            Language::Spanish => (
                "Fleetwatch no puede proponer nada | Motivo: el servidor ya no acepta el inicio de sesión de pruebas; ejecute fleetwatchctl login --sandbox.",
                "Fleetwatch puede volver a proponer | El inicio de sesión de pruebas funciona.",
            ),
        };
        assert_eq!((over.as_deref(), back.as_deref()), (Some(want.0), Some(want.1)));
        assert_eq!((again, unknown, said(Writing::Good)), (None, None, None));
        assert!(said(Writing::Over).is_some(), "and over again");
    }
}

#[test]
fn the_executors_hello_tells_only_of_the_sign_in_when_nothing_stands_before_it() {
    assert_eq!(Writing::of_executor(Some(Proposing::On)), Writing::Good);
    assert_eq!(Writing::of_executor(Some(Proposing::Off(RefusalCode::SignInDead))), Writing::Over);
    for other in [None, Some(Proposing::Off(RefusalCode::Frozen)), Some(Proposing::Off(RefusalCode::NoSignIn))] {
        assert_eq!(Writing::of_executor(other), Writing::Unknown);
    }
}

#[tokio::test]
async fn a_sign_in_that_is_over_is_told_once_and_nobody_is_asked() {
    let (folder, taker) = (tempfile::tempdir().unwrap(), Taker::start(vec![200]).await);
    let watch = watch(folder.path(), &taker, "quiet_hours: \"11:00-13:00\"\n");
    let files = readings();
    // Nobody could be asked there: the port is closed, and a call would say so.
    let over = live(folder.path(), "http://127.0.0.1:9/mcp", &dead("http://127.0.0.1:9/mcp"));
    beat(&watch, &over).await;
    assert_eq!(taker.count(), 0, "nothing was ever seen");
    beat(&watch, &canned(&files)).await;
    let first = taker.count();
    for _ in 0..3 {
        beat(&watch, &over).await;
    }
    let body = taker.last().body;
    assert_eq!(taker.count(), first + 1, "{body}");
    assert!(body.contains("does not see the fleet") && body.contains("run fleetwatchctl login"), "{body}");
    assert!(body.contains("one account per slot") && !body.contains("never-show"), "{body}");
    let refusal = over.over_refusal(Language::Spanish).unwrap();
    assert!(refusal.code == RefusalCode::SignInDead && refusal.detail.contains("una cuenta por ranura"), "{refusal}");
    beat(&watch, &canned(&files)).await;
    assert!(taker.count() == first + 2 && taker.last().body.contains("sees the fleet again"), "{}", taker.last().body);
    beat(&watch, &canned(&files)).await;
    assert_eq!(taker.count(), first + 2);
}

#[tokio::test]
async fn three_looks_in_a_row_that_did_not_work_are_told_once_and_a_good_one_counts_anew() {
    let (folder, taker) = (tempfile::tempdir().unwrap(), Taker::start(vec![200]).await);
    let mut files = readings();
    let first = watch(folder.path(), &taker, "");
    unit(&mut files, 0, &json!({"Status": "offline"}));
    let (good, bad) = (canned(&files), canned(&BTreeMap::from([(DEVICES.to_owned(), json!({}))])));
    beat(&first, &good).await;
    for looks in [2, 2] {
        for _ in 0..looks {
            beat(&first, &bad).await;
        }
        beat(&first, &good).await;
    }
    assert_eq!(taker.count(), 1, "two in a row are no news");
    for _ in 0..5 {
        beat(&first, &bad).await;
    }
    let body = taker.last().body;
    assert!(taker.count() == 2 && body.contains("The last 3 looks did not work"), "{body}");
    // A restart does not say it again.
    let second = watch(folder.path(), &taker, "");
    for _ in 0..4 {
        beat(&second, &bad).await;
    }
    assert_eq!(taker.count(), 2);
    beat(&second, &good).await;
    let body = taker.last().body;
    assert!(taker.count() == 3 && body.contains("sees the fleet again") && !body.contains("esolved"), "{body}");
}

#[tokio::test]
async fn the_look_after_one_that_did_not_work_begins_with_a_new_session() {
    let (folder, taker) = (tempfile::tempdir().unwrap(), Taker::start(vec![200]).await);
    let watch = watch(folder.path(), &taker, "");
    let server = Server::start().await;
    let fleet = live(folder.path(), &server.url, "static-bearer");
    for _ in 0..2 {
        beat(&watch, &fleet).await;
    }
    let heard = server.heard.lock().unwrap().clone();
    let count = |method: &str| heard.iter().filter(|one| *one == method).count();
    // A 503 alone ends no session.
    assert_eq!((count("initialize"), count("tools/call")), (2, 2), "{heard:?}");
}

// Speaks MCP with sessions, and answers every call with 503.
struct Server {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&log)));
            }
        });
        Self { url, heard }
    }
}

// One request for each connection.
async fn serve(mut stream: TcpStream, log: Arc<Mutex<Vec<String>>>) {
    let (mut bytes, mut part) = (Vec::new(), [0; 4_096]);
    let body = loop {
        let Ok(count @ 1..) = stream.read(&mut part).await else { return };
        bytes.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0_usize) {
            break serde_json::from_str::<Value>(body).unwrap_or(Value::Null);
        }
    };
    let method = body["method"].as_str().unwrap_or_default().to_owned();
    log.lock().unwrap().push(method.clone());
    let (status, said) = match method.as_str() {
        "initialize" => {
            let version = &body["params"]["protocolVersion"];
            let result = json!({"protocolVersion": version, "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"}});
            ("200 OK", json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string())
        }
        "tools/call" => ("503 Service Unavailable", String::new()),
        "server/discover" => {
            let error = json!({"code": -32_601, "message": "Method not found"});
            ("404 Not Found", json!({"jsonrpc": "2.0", "id": body["id"], "error": error}).to_string())
        }
        _ => ("202 Accepted", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        said.len()
    );
    stream.write_all(format!("{head}{said}").as_bytes()).await.ok();
}
