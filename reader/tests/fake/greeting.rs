//! Both greetings: the newer one is tried first, costs one quick request where it is not known, and what worked is
//! remembered. A greeting that fails is a failed read.

use crate::server::{
    BEARER, Fake, Handshake, Request, Speaks, TEAM, arguments, data, discovered, greeted, http, raw_json, reply,
    team_call,
};
use reader::error::{ReadError, Why};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn hall() -> Value {
    json!({"devices": [{"Id": "20311112222", "Name": "Hall"}]})
}

fn failed(why: Why) -> ReadError {
    ReadError::Failed { tool: TEAM.to_owned(), why }
}

fn handshake(speaks: Speaks) -> Handshake {
    Arc::new(Mutex::new(speaks))
}

// How often each was asked: discover, initialize, tools/call.
fn asked(fake: &Fake) -> (usize, usize, usize) {
    (fake.count("server/discover"), fake.count("initialize"), fake.count("tools/call"))
}

#[tokio::test]
async fn a_server_that_knows_the_newer_greeting_is_read_without_a_session() {
    for speaks in [Speaks::Stateless, Speaks::Both] {
        let fake = Fake::speaking(&handshake(speaks), |request, _| data(request, &hall())).await;
        let client = fake.client();
        let (a, b) = tokio::join!(team_call(&client), team_call(&client));
        assert_eq!((a.unwrap().value(), b.unwrap().value()), (&hall(), &hall()));
        client.close().await;
        assert_eq!(team_call(&client).await.unwrap().value(), &hall());
        assert_eq!(asked(&fake), (2, 0, 3));
        assert_eq!(fake.requests().len(), 5, "no ready message, no goodbye, no standing stream");
    }
}

#[tokio::test]
async fn without_a_session_each_request_says_what_the_revision_asks_for() {
    let fake = Fake::speaking(&handshake(Speaks::Stateless), |request, _| data(request, &hall())).await;
    team_call(&fake.client()).await.unwrap();
    for request in fake.requests() {
        let meta = &request.body["params"]["_meta"];
        assert_eq!((&meta[VERSION], &meta[CAPABILITIES]), (&json!("2026-07-28"), &json!({})), "{meta}");
        assert_eq!(meta[CLIENT]["name"], "fleetwatch");
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), Some(request.rpc()));
        assert_eq!(request.header("mcp-name"), (request.rpc() == "tools/call").then_some(TEAM));
        assert_eq!(request.header("mcp-session-id"), None);
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {BEARER}")));
        assert!(!request.body.to_string().contains(BEARER));
        for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
            let lines = request.head.lines().filter(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
            assert!(lines.count() <= 1, "{name}");
        }
    }
}

#[tokio::test]
async fn whatever_an_older_server_says_to_the_newer_greeting_the_older_one_follows_at_once() {
    type Row = (&'static str, fn(&Request) -> Option<Vec<u8>>);
    let rows: [Row; 12] = [
        ("missing session", |r| Some(greeted(r, 0, Speaks::Sessions))),
        ("unknown method", |r| {
            raw_json(
                &json!({"jsonrpc": "2.0", "id": r.body["id"], "error": {"code": -32601, "message": "x"}}).to_string(),
            )
        }),
        ("old versions", |r| {
            raw_json(
                &json!({"jsonrpc": "2.0", "id": r.body["id"],
                "error": {"code": -32022, "message": "x", "data": {"supported": ["2025-11-25"], "requested": "y"}}})
                .to_string(),
            )
        }),
        ("discovers old versions", |r| Some(discovered(r, &["2025-11-25", "2025-06-18"]))),
        ("discovers newer ones", |r| Some(discovered(r, &["2031-01-01"]))),
        ("empty result", |r| reply(r, &json!({}))),
        ("accepted", |_| Some(http("202 Accepted", "", b""))),
        ("plain 400", |_| Some(http("400 Bad Request", "content-type: text/plain\r\n", b"no"))),
        ("404", |_| Some(http("404 Not Found", "", b""))),
        ("403", |_| Some(http("403 Forbidden", "", b""))),
        ("500", |_| Some(http("500 Internal Server Error", "", b""))),
        ("closes", |_| Some(Vec::new())),
    ];
    for (name, probe) in rows {
        let fake = Fake::answering(move |request, _, greetings| match request.rpc() {
            "server/discover" => probe(request),
            "initialize" => Some(greeted(request, greetings, Speaks::Sessions)),
            "tools/call" => data(request, &hall()),
            _ => Some(http("202 Accepted", "", b"")),
        })
        .await;
        let client = fake.client();
        let quick = tokio::time::timeout(Duration::from_millis(1500), team_call(&client)).await;
        assert_eq!(quick.expect(name).unwrap().value(), &hall(), "{name}");
        client.close().await;
        assert_eq!(team_call(&client).await.unwrap().value(), &hall(), "{name}");
        assert_eq!(asked(&fake), (1, 2, 2), "{name}: the older greeting is remembered");
        for call in fake.requests().iter().filter(|request| request.rpc() == "tools/call") {
            assert_eq!(call.header("mcp-protocol-version"), Some("2025-11-25"), "{name}");
            assert!(call.header("mcp-session-id").is_some() && call.header("mcp-method").is_none(), "{name}");
            assert_eq!(call.body["params"]["_meta"][VERSION], Value::Null, "{name}");
        }
    }
}

#[tokio::test]
async fn a_server_that_keeps_silent_costs_two_seconds_once() {
    let fake = Fake::answering(|request, _, greetings| match request.rpc() {
        "server/discover" => None,
        "initialize" => Some(greeted(request, greetings, Speaks::Sessions)),
        "tools/call" => data(request, &hall()),
        _ => Some(http("202 Accepted", "", b"")),
    })
    .await;
    let client = fake.client();
    let quick = tokio::time::timeout(Duration::from_secs(5), team_call(&client)).await;
    assert_eq!(quick.unwrap().unwrap().value(), &hall());
    client.close().await;
    let quick = tokio::time::timeout(Duration::from_millis(1500), team_call(&client)).await;
    assert_eq!(quick.unwrap().unwrap().value(), &hall());
    assert_eq!(asked(&fake), (1, 2, 2));
}

#[tokio::test]
async fn a_dead_sign_in_or_a_redirect_ends_the_greeting_there() {
    let rows: [(&[u8], ReadError); 2] = [
        (b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n", ReadError::NotSignedIn { tool: TEAM.to_owned() }),
        (b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n", failed(Why::Redirected)),
    ];
    for (answer, want) in rows {
        let fake = Fake::answering(move |_, _, _| Some(answer.to_vec())).await;
        assert_eq!(team_call(&fake.client()).await, Err(want));
        assert_eq!(fake.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_greeting_that_fails_both_ways_is_a_failed_read_and_nothing_is_called() {
    let fake = Fake::speaking(&handshake(Speaks::Nothing), |request, _| data(request, &hall())).await;
    let client = fake.client();
    assert_eq!(team_call(&client).await, Err(failed(Why::Status(404))));
    assert_eq!(asked(&fake), (1, 1, 0));
    assert_eq!(team_call(&client).await, Err(failed(Why::Status(404))));
    assert_eq!(asked(&fake), (2, 2, 0), "nothing worked, so nothing is remembered");
}

#[tokio::test]
async fn a_server_that_changes_its_greeting_is_met_again() {
    let speaks = handshake(Speaks::Stateless);
    let fake = Fake::speaking(&speaks, |request, _| data(request, &hall())).await;
    let client = fake.client();
    team_call(&client).await.unwrap();
    *speaks.lock().unwrap() = Speaks::Sessions;
    client.close().await;
    team_call(&client).await.expect("the older greeting follows in the same read");
    assert_eq!(asked(&fake), (2, 1, 2));
    *speaks.lock().unwrap() = Speaks::Stateless;
    client.close().await;
    assert_eq!(team_call(&client).await, Err(failed(Why::Status(404))));
    team_call(&client).await.expect("what was remembered is forgotten with the failed read");
    assert_eq!(asked(&fake), (3, 2, 3));
}

#[tokio::test]
async fn without_a_session_the_protocols_error_to_a_call_is_an_error_answer_and_asked_once() {
    type Row = (&'static str, &'static str, fn(&Request) -> Value, ReadError, usize);
    let error = |r: &Request| json!({"jsonrpc": "2.0", "id": r.body["id"], "error": {"code": -32602, "message": "no"}});
    let dead = ReadError::NotSignedIn { tool: TEAM.to_owned() };
    let rows: [Row; 6] = [
        ("no such tool", "404 Not Found", error, failed(Why::ErrorAnswer), 1),
        ("bad arguments", "400 Bad Request", error, failed(Why::ErrorAnswer), 1),
        (
            "sign-in",
            "400 Bad Request",
            |r| json!({"jsonrpc": "2.0", "id": r.body["id"], "error": {"code": -1, "message": "invalid_token"}}),
            dead,
            1,
        ),
        (
            "a result is none",
            "400 Bad Request",
            |r| json!({"jsonrpc": "2.0", "id": r.body["id"], "result": {"content": []}}),
            failed(Why::Status(400)),
            2,
        ),
        (
            "nobody's",
            "400 Bad Request",
            |_| json!({"jsonrpc": "2.0", "id": null, "error": {"code": -1, "message": "no"}}),
            failed(Why::Status(400)),
            2,
        ),
        ("another status", "422 Unprocessable Content", error, failed(Why::Status(422)), 1),
    ];
    for (name, status, body, want, calls) in rows {
        let fake = Fake::speaking(&handshake(Speaks::Stateless), move |request, _| {
            Some(http(status, "content-type: application/json\r\n", body(request).to_string().as_bytes()))
        })
        .await;
        assert_eq!(team_call(&fake.client()).await, Err(want), "{name}");
        assert_eq!(fake.count("tools/call"), calls, "{name}");
    }
}

#[tokio::test]
async fn without_a_session_a_question_back_is_never_answered() {
    let fake = Fake::speaking(&handshake(Speaks::Stateless), |request, _| {
        reply(request, &json!({"resultType": "input_required", "inputRequests": {}, "requestState": "x"}))
    })
    .await;
    let client = fake.client();
    let tool = client.policy().guard(TEAM).unwrap();
    assert_eq!(client.call(&tool, &arguments(&json!({}))).await, Err(failed(Why::InputRequired)));
    assert_eq!(asked(&fake), (1, 0, 1));
}

#[tokio::test]
async fn the_older_greeting_takes_the_versions_that_have_it_and_no_others() {
    for (version, is_spoken) in
        [("2025-11-25", true), ("2024-11-05", true), ("2026-07-28", false), ("2023-01-01", false), ("", false)]
    {
        let fake = Fake::answering(move |request, _, _| match request.rpc() {
            "initialize" => {
                assert_eq!(request.body["params"]["protocolVersion"], "2025-11-25");
                reply(
                    request,
                    &json!({"protocolVersion": version, "capabilities": {},
                    "serverInfo": {"name": "fake", "version": "1"}}),
                )
            }
            "tools/call" => data(request, &hall()),
            "server/discover" => Some(http("404 Not Found", "", b"")),
            _ => Some(http("202 Accepted", "", b"")),
        })
        .await;
        let answer = team_call(&fake.client()).await.map(|answer| answer.into_value());
        assert_eq!(answer, if is_spoken { Ok(hall()) } else { Err(failed(Why::NotProtocol)) }, "{version}");
        assert_eq!(fake.count("tools/call"), usize::from(is_spoken), "{version}");
    }
}
