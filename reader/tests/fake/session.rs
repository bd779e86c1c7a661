//! One session, one POST per call, at most one repeat, and nothing that the server says can change that.

use crate::server::{
    BEARER, Fake, Request, TEAM, arguments, client_for, data, events, http, raw_json, reply, team_call,
};
use policy::call::Slot;
use protocol::refusal::RefusalCode;
use reader::error::{ReadError, Why};
use serde_json::{Value, json};
use std::time::Duration;

fn hall() -> Value {
    json!({"devices": [{"Id": "20311112222", "Name": "Room 401 Unauthorized"}]})
}

fn failed(why: Why) -> ReadError {
    ReadError::Failed { tool: TEAM.to_owned(), why }
}

async fn calls_of(
    script: impl Fn(&Request, usize) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (Result<Value, ReadError>, Fake) {
    let fake = Fake::start(script).await;
    let client = fake.client();
    let answer = team_call(&client).await.map(|answer| answer.into_value());
    (answer, fake)
}

#[tokio::test]
async fn calls_side_by_side_share_one_session_and_every_request_carries_the_sign_in() {
    let fake = Fake::start(|request, _| data(request, &hall())).await;
    let client = fake.client();
    let (a, b, c) = tokio::join!(team_call(&client), team_call(&client), team_call(&client));
    for answer in [a, b, c] {
        assert_eq!(answer.unwrap().value(), &hall());
    }
    client.close().await;
    assert_eq!((fake.count("initialize"), fake.count("tools/call")), (1, 3));
    for request in fake.requests() {
        assert_ne!(request.method, "GET", "no standing stream is opened");
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {BEARER}")));
        assert!(!request.body.to_string().contains(BEARER));
    }
    let requests = fake.requests();
    let hello = requests.iter().find(|request| request.rpc() == "initialize").unwrap();
    assert_eq!(hello.body["params"]["capabilities"], json!({}), "nothing is offered to the server");
}

#[tokio::test]
async fn a_lost_session_is_opened_again_and_the_read_repeated_once() {
    let (answer, fake) = calls_of(|request, nth| match nth {
        1 => Some(http("404 Not Found", "", b"")),
        _ => data(request, &hall()),
    })
    .await;
    assert_eq!(answer, Ok(hall()));
    assert_eq!((fake.count("initialize"), fake.count("tools/call")), (2, 2));
    let sessions: Vec<_> = fake
        .requests()
        .iter()
        .filter(|r| r.rpc() == "tools/call")
        .map(|r| r.header("mcp-session-id").unwrap().to_owned())
        .collect();
    assert_eq!(sessions, ["s1", "s2"]);
}

#[tokio::test]
async fn a_session_that_stays_lost_is_given_up_after_one_repeat() {
    let (answer, fake) = calls_of(|_, _| Some(http("404 Not Found", "", b""))).await;
    assert_eq!(answer, Err(failed(Why::Closed)));
    assert_eq!((fake.count("initialize"), fake.count("tools/call")), (2, 2));
    let (answer, fake) = calls_of(|_, _| Some(Vec::new())).await;
    assert_eq!(answer, Err(failed(Why::Closed)));
    assert_eq!(fake.count("tools/call"), 2);
}

#[tokio::test]
async fn what_no_new_session_can_mend_is_asked_once_only() {
    type Row = (&'static str, fn(&Request) -> Option<Vec<u8>>, ReadError);
    let dead = || ReadError::NotSignedIn { tool: TEAM.to_owned() };
    let rows: [Row; 9] = [
        (
            "redirect",
            |r| {
                Some(http(
                    "307 Temporary Redirect",
                    &format!("location: http://{}/other\r\n", r.header("host").unwrap()),
                    b"",
                ))
            },
            failed(Why::Redirected),
        ),
        ("401", |_| Some(http("401 Unauthorized", "www-authenticate: Bearer\r\n", b"")), dead()),
        (
            "401 inside",
            |r| reply(r, &json!({"content": [{"type": "text", "text": "Error: 401 Unauthorized"}], "isError": true})),
            dead(),
        ),
        (
            "401 as an error",
            |r| {
                raw_json(
                    &json!({"jsonrpc": "2.0", "id": r.body["id"],
            "error": {"code": -32000, "message": "invalid_token"}})
                    .to_string(),
                )
            },
            dead(),
        ),
        ("403", |_| Some(http("403 Forbidden", "", b"")), failed(Why::Forbidden)),
        ("503", |_| Some(http("503 Service Unavailable", "retry-after: 0\r\n", b"")), failed(Why::Status(503))),
        (
            "input",
            |r| reply(r, &json!({"resultType": "input_required", "inputRequests": {}, "requestState": "x"})),
            failed(Why::InputRequired),
        ),
        ("text", |_| Some(http("200 OK", "content-type: text/html\r\n", b"<p>401</p>")), failed(Why::NotProtocol)),
        ("rubbish", |_| raw_json("{\"jsonrpc\":"), failed(Why::NotProtocol)),
    ];
    for (name, script, want) in rows {
        let (answer, fake) = calls_of(move |request, _| script(request)).await;
        assert_eq!(answer, Err(want), "{name}");
        assert_eq!((fake.count("initialize"), fake.count("tools/call")), (1, 1), "{name}");
        assert!(fake.requests().iter().all(|r| r.method == "POST" && r.head.contains(" /mcp ")), "{name}");
    }
}

#[tokio::test]
async fn a_member_named_twice_fails_the_read_in_a_body_and_in_an_event() {
    let twice = |r: &Request| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[],"structuredContent":{{"devices":[],"devices":[{{"Id":"20311112222"}}]}}}}}}"#,
            r.body["id"]
        )
    };
    let (answer, _fake) = calls_of(move |r, _| raw_json(&twice(r))).await;
    assert_eq!(answer, Err(failed(Why::DuplicateKey)));
    let (answer, _fake) = calls_of(move |r, _| events(&format!("data: {}\n\n", twice(r)))).await;
    assert_eq!(answer, Err(failed(Why::DuplicateKey)));
}

#[tokio::test]
async fn an_answer_in_an_event_stream_is_found_among_what_is_not_listened_to() {
    let (answer, fake) = calls_of(|r, _| {
        let id = r.body["id"].as_u64().unwrap();
        let result = json!({"content": [{"type": "text", "text": hall().to_string()}]});
        events(&format!(
            ": hello\n\ndata: {}\n\nevent: message\ndata: {}\n\ndata: {}\n\ndata: {}\n\n",
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}),
            json!({"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage", "params": {}}),
            json!({"jsonrpc": "2.0", "id": id + 7, "result": {"content": [{"type": "text", "text": "{}"}]}}),
            json!({"jsonrpc": "2.0", "id": id, "result": result}),
        ))
    })
    .await;
    assert_eq!(answer, Ok(hall()));
    assert!(fake.requests().iter().all(|r| r.rpc() != "" || r.method == "DELETE"), "no reply is sent to the server");
}

#[tokio::test]
async fn a_stream_that_ends_early_is_never_resumed() {
    let (answer, fake) = calls_of(|_, _| events("id: 7\nretry: 1\ndata: \n\n")).await;
    assert_eq!(answer, Err(failed(Why::Closed)));
    assert_eq!(fake.count("tools/call"), 2);
    assert!(fake.requests().iter().all(|r| r.method != "GET"));
}

#[tokio::test]
async fn an_answer_beyond_the_cap_is_refused_in_a_body_and_in_a_stream() {
    let large = "x".repeat(9 * 1024 * 1024);
    let body = large.clone();
    let (answer, _fake) = calls_of(move |r, _| data(r, &json!({ "devices": body }))).await;
    assert_eq!(answer, Err(failed(Why::TooLarge)));
    let stream = format!(": {large}\n\n");
    let (answer, fake) = calls_of(move |_, _| events(&stream)).await;
    assert_eq!(answer, Err(failed(Why::TooLarge)));
    assert_eq!(fake.count("tools/call"), 1);
}

#[tokio::test]
async fn a_stalled_call_ends_and_the_next_one_gets_a_new_session() {
    let fake = Fake::start(|r, nth| if nth == 1 { None } else { data(r, &hall()) }).await;
    let client = fake.client().with_call_limit(Duration::from_millis(300));
    assert_eq!(team_call(&client).await, Err(failed(Why::Timeout)));
    assert_eq!(team_call(&client).await.unwrap().value(), &hall());
    assert_eq!((fake.count("initialize"), fake.count("tools/call")), (2, 2));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failed_read() {
    let client = {
        let fake = Fake::start(|_, _| None).await;
        let client = fake.client();
        drop(fake);
        tokio::task::yield_now().await;
        client
    };
    assert_eq!(team_call(&client).await, Err(failed(Why::Unreachable)));
}

#[tokio::test]
async fn the_guard_and_the_argument_check_say_no_before_anything_is_sent() {
    let fake = Fake::start(|r, _| data(r, &hall())).await;
    let client = fake.client();
    for name in ["batch_reboot", "batch_recording", "update_stream_endpoint", "reboot_everything", ""] {
        assert!(client.policy().guard(name).is_err(), "{name}");
    }
    let tool = client.policy().guard("get_device_info").unwrap();
    for bad in [json!({}), json!({"device_id": "../x y"}), json!({"device_id": "a", "action": "stop"}), json!([])] {
        let error = client.call(&tool, &arguments(&bad)).await.unwrap_err();
        assert_eq!(error.refusal().code, RefusalCode::BadArguments, "{bad}");
    }
    assert!(fake.requests().is_empty());
}

#[tokio::test]
async fn nothing_of_an_answer_or_the_sign_in_is_in_an_error() {
    for script in [
        (|r: &Request, _: usize| {
            reply(r, &json!({"content": [{"type": "text", "text": "never-show <x>"}], "isError": true}))
        }) as fn(&Request, usize) -> _,
        |r, _| data(r, &json!({"devices": {"never-show": BEARER}})),
        |_, _| Some(http("500 never-show", "", b"never-show")),
        |_, _| raw_json("never-show"),
    ] {
        let fake = Fake::start(script).await;
        let client = fake.client();
        let error = client.team().await.unwrap_err();
        let words = format!("{error} {error:?} {} {client:?}", error.refusal());
        assert!(!words.contains("never-show"), "{words}");
        assert_eq!(error.refusal().code, RefusalCode::ReadFailed);
        assert!(error.refusal().detail.starts_with(TEAM));
    }
}

#[tokio::test]
async fn a_client_for_a_real_team_can_be_made_and_speaks_tls_only() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}/mcp", listener.local_addr().unwrap());
    let first_byte = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncReadExt::read_u8(&mut stream).await.unwrap()
    });
    // A machine without certificates gives no client, which is also right.
    if let Ok(client) = client_for(&address, Slot::Sandbox) {
        assert_eq!(team_call(&client).await, Err(failed(Why::Unreachable)));
        assert_eq!(first_byte.await.unwrap(), 0x16, "the first byte is a TLS handshake");
    }
}
