//! Renewing: before it runs out, once after a refusal, by one process, and never for a bare bearer (issue lines 3.2, 3.4).

use crate::oauth::{Signing, Twist, client, form, hall, stored};
use crate::server::{Fake, Request, TEAM, arguments, data, http, raw_json, reply, team_call};
use protocol::refusal::RefusalCode;
use reader::error::{ReadError, Why};
use reader::token::{NoPass, SignIn, Trouble, Which};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn usual(_: &Request) -> Twist {
    Twist::Usual
}

fn renewals(server: &Signing) -> usize {
    server.asked("/token").iter().filter(|request| form(request, "grant_type") == "refresh_token").count()
}

#[tokio::test]
async fn a_sign_in_that_has_run_out_is_renewed_before_the_call_and_saved() {
    let server = Signing::start(usual).await;
    let reader = client(&server.signed_in().await);
    server.hand.advance(3_580);
    team_call(&reader).await.unwrap();
    assert_eq!(renewals(&server), 1);
    assert!(server.asked("/mcp").iter().all(|r| r.header("authorization") != Some("Bearer access-1-never-show")));
    let file = stored(&server.path());
    assert_eq!(
        (&file["refresh_token"], &file["issued_at"]),
        (&json!("refresh-2-never-show"), &json!(crate::oauth::NOW + 3_580))
    );
    // A new process takes it from there, with the saved token endpoint and nothing asked of the MCP host.
    server.hand.advance(3_600);
    let before = server.asked("/.well-known/oauth-authorization-server").len();
    team_call(&client(&server.load())).await.unwrap();
    assert_eq!(renewals(&server), 2);
    assert_eq!(server.asked("/.well-known/oauth-authorization-server").len(), before);
}

#[tokio::test]
async fn a_token_that_the_server_does_not_take_is_renewed_once_and_the_read_repeated_once() {
    let ended = Arc::new(AtomicUsize::new(0));
    let flag = Arc::clone(&ended);
    let server = Signing::start(move |request| {
        let old = request.header("authorization") == Some("Bearer access-1-never-show");
        if flag.load(Ordering::SeqCst) == 1 && old && request.path() == "/mcp" {
            return Twist::Reply(http("401 Unauthorized", "", b""));
        }
        Twist::Usual
    })
    .await;
    let reader = client(&server.signed_in().await);
    team_call(&reader).await.unwrap();
    ended.store(1, Ordering::SeqCst);
    assert_eq!(team_call(&reader).await.unwrap().value(), &hall());
    assert_eq!(renewals(&server), 1);
}

#[tokio::test]
async fn the_words_of_a_dead_sign_in_are_answered_by_one_renewal_and_one_repeat_then_given_up() {
    let server = Signing::start(|request| match request.rpc() {
        "tools/call" => Twist::Reply(failing(request, "Error: 401 Unauthorized")),
        _ => Twist::Usual,
    })
    .await;
    let sign_in = server.signed_in().await;
    let error = team_call(&client(&sign_in)).await.unwrap_err();
    assert!(matches!(error, ReadError::NotSignedIn { .. }), "{error}");
    assert_eq!((renewals(&server), server.fake.count("tools/call")), (1, 2));
    assert!(sign_in.facts().usable, "only the token endpoint ends a sign-in");
}

#[tokio::test]
async fn words_ask_for_one_renewal_a_minute_and_a_status_for_one_each_time() {
    let by_status = Arc::new(AtomicUsize::new(0));
    let flag = Arc::clone(&by_status);
    let server = Signing::start(move |request| match (request.rpc(), flag.load(Ordering::SeqCst)) {
        ("tools/call", 0) => Twist::Reply(failing(request, "401 Unauthorized")),
        ("tools/call", _) => Twist::Reply(http("401 Unauthorized", "", b"")),
        _ => Twist::Usual,
    })
    .await;
    let sign_in = server.signed_in().await;
    let reader = client(&sign_in);
    for (seconds, so_far) in [(0, 1), (1, 1), (58, 1), (1, 2), (59, 2)] {
        server.hand.advance(seconds);
        let error = team_call(&reader).await.unwrap_err();
        assert_eq!(error.refusal().code, RefusalCode::SignInDead, "{error}");
        assert_eq!(renewals(&server), so_far, "after {seconds} s more");
    }
    by_status.store(1, Ordering::SeqCst);
    team_call(&reader).await.unwrap_err();
    assert_eq!(renewals(&server), 3);
    // One that has run out is renewed whatever was said of it.
    server.hand.advance(3_600);
    by_status.store(0, Ordering::SeqCst);
    team_call(&reader).await.unwrap_err();
    assert_eq!(renewals(&server), 5, "once before the read, once for its words");
}

#[tokio::test]
async fn only_the_device_lists_words_say_that_a_sign_in_is_over() {
    let server = Signing::start(|request| match (request.rpc(), request.tool()) {
        ("tools/call", "kb_search") => {
            let query = request.body["params"]["arguments"]["query"].as_str().unwrap();
            Twist::Reply(failing(request, query))
        }
        ("tools/call", TEAM) => Twist::Reply(data(request, &hall()).unwrap()),
        ("tools/call", _) => Twist::Reply(
            raw_json(
                &json!({"jsonrpc": "2.0", "id": request.body["id"],
            "error": {"code": -32000, "message": "invalid_token"}})
                .to_string(),
            )
            .unwrap(),
        ),
        _ => Twist::Usual,
    })
    .await;
    let sign_in = server.signed_in().await;
    let reader = client(&sign_in);
    let ids = json!({"device_ids": ["20311112222"]});
    for (tool, given) in [
        ("kb_search", json!({"query": "401 Unauthorized"})),
        ("kb_search", json!({"query": "token expired"})),
        ("get_recorder_status_for_devices", ids),
    ] {
        let call = reader.policy().guard(tool).unwrap();
        let error = reader.call(&call, &arguments(&given)).await.unwrap_err();
        assert!(matches!(error, ReadError::Failed { why: Why::ErrorAnswer, .. }), "{tool}: {error}");
    }
    team_call(&reader).await.unwrap();
    assert_eq!((renewals(&server), server.fake.count("tools/call")), (0, 4));
}

// A tool's error with this text.
fn failing(request: &Request, text: &str) -> Vec<u8> {
    let content = json!([{"type": "text", "text": text}]);
    reply(request, &json!({"content": content, "isError": true})).unwrap()
}

#[tokio::test]
async fn a_device_named_after_an_error_renews_nothing() {
    let server = Signing::start(usual).await;
    let reader = client(&server.signed_in().await);
    assert_eq!(team_call(&reader).await.unwrap().value(), &hall());
    assert!(hall().to_string().contains("401 Unauthorized"));
    assert_eq!((renewals(&server), server.fake.count("tools/call")), (0, 1));
}

#[tokio::test]
async fn a_bare_bearer_is_never_renewed_nor_repeated() {
    let fake = Fake::start(|_, _| Some(http("401 Unauthorized", "", b""))).await;
    assert!(matches!(team_call(&fake.client()).await, Err(ReadError::NotSignedIn { .. })));
    assert_eq!(fake.count("tools/call"), 1);
    assert!(fake.requests().iter().all(|request| request.path() == "/mcp"));
}

#[tokio::test]
async fn a_refused_renewal_ends_the_sign_in_on_disk_and_nothing_is_sent_any_more() {
    for status in ["400 Bad Request", "401 Unauthorized"] {
        let server = Signing::start(move |request| match form(request, "grant_type").as_str() {
            "refresh_token" => Twist::Reply(http(status, "", b"never-show")),
            _ => Twist::Usual,
        })
        .await;
        let sign_in = server.signed_in().await;
        let reader = client(&sign_in);
        server.hand.advance(3_600);
        assert!(matches!(team_call(&reader).await, Err(ReadError::NotSignedIn { .. })));
        assert_eq!(stored(&server.path())["dead"], "refused");
        assert_eq!(sign_in.facts().trouble, Some(Trouble::Over(Which::Normal)));
        assert!(sign_in.facts().is_dead());
        let sent = server.fake.requests().len();
        team_call(&reader).await.unwrap_err();
        assert_eq!(sign_in.pass(60).await.unwrap_err(), NoPass::Dead);
        let again = server.load();
        assert!(again.facts().is_dead());
        team_call(&client(&again)).await.unwrap_err();
        assert_eq!(server.fake.requests().len(), sent, "a dead sign-in asks nobody");
        // A new sign-in through another process is found without a restart.
        server.signed_in().await;
        assert!(sign_in.facts().usable);
    }
}

#[tokio::test]
async fn a_broken_token_endpoint_ends_nothing() {
    let broken = Arc::new(AtomicUsize::new(1));
    let flag = Arc::clone(&broken);
    let server = Signing::start(move |request| match form(request, "grant_type").as_str() {
        "refresh_token" if flag.load(Ordering::SeqCst) == 1 => {
            Twist::Reply(http("503 Service Unavailable", "retry-after: 1\r\n", b""))
        }
        "refresh_token" if flag.load(Ordering::SeqCst) == 2 => {
            Twist::Reply(http("307 Temporary Redirect", "location: /token\r\n", b""))
        }
        "refresh_token" if flag.load(Ordering::SeqCst) == 3 => Twist::Reply(raw_json("{}").unwrap()),
        _ => Twist::Usual,
    })
    .await;
    let sign_in = server.signed_in().await;
    let reader = client(&sign_in);
    server.hand.advance(3_600);
    for kind in 1..=3 {
        broken.store(kind, Ordering::SeqCst);
        let error = team_call(&reader).await.unwrap_err();
        assert!(matches!(error, ReadError::Failed { why: Why::NotRenewed, .. }), "{kind}: {error}");
        assert!(sign_in.facts().usable);
    }
    assert_eq!(renewals(&server), 3, "each call asks once");
    broken.store(0, Ordering::SeqCst);
    team_call(&reader).await.unwrap();
}

#[tokio::test]
async fn a_sign_in_that_ends_before_its_time_is_explained() {
    let server = Signing::start(|request| match (request.path(), request.rpc()) {
        ("/mcp", "tools/call") => Twist::Reply(http("401 Unauthorized", "", b"")),
        _ if form(request, "grant_type") == "refresh_token" => Twist::Reply(http("400 Bad Request", "", b"")),
        _ => Twist::Usual,
    })
    .await;
    let sign_in = server.signed_in().await;
    team_call(&client(&sign_in)).await.unwrap_err();
    let trouble = sign_in.facts().trouble.unwrap();
    assert_eq!(trouble, Trouble::EndedEarly(Which::Normal));
    assert!(
        trouble.words().en.contains("one account per slot") && trouble.words().es.contains("una cuenta por ranura")
    );
    assert_eq!(stored(&server.path())["dead"], "early");
}

async fn signed_in_without_a_refresh_token(server: &Signing) -> Arc<SignIn> {
    server.signed_in().await;
    let mut file = stored(&server.path());
    file["refresh_token"] = Value::Null;
    std::fs::write(server.path(), file.to_string()).unwrap();
    server.load()
}

#[tokio::test]
async fn words_end_no_sign_in_that_cannot_be_renewed_and_a_rooms_name_says_nothing_of_it() {
    let said = Arc::new(AtomicUsize::new(1));
    let flag = Arc::clone(&said);
    let server = Signing::start(move |request| match (request.rpc(), flag.load(Ordering::SeqCst)) {
        ("tools/call", 1) => Twist::Reply(failing(request, "Room 401 Unauthorized is busy")),
        ("tools/call", 2) => Twist::Reply(failing(request, "Error: 401 Unauthorized")),
        _ => Twist::Usual,
    })
    .await;
    let sign_in = signed_in_without_a_refresh_token(&server).await;
    let reader = client(&sign_in);
    let error = team_call(&reader).await.unwrap_err();
    assert!(matches!(error, ReadError::Failed { why: Why::ErrorAnswer, .. }), "{error}");
    // Nothing else is named: a new sign-in is what helps then, and no waiting does.
    said.store(2, Ordering::SeqCst);
    let error = team_call(&reader).await.unwrap_err();
    assert_eq!(error.refusal().code, RefusalCode::SignInDead, "{error}");
    assert!(error.to_string().contains("sign in to this account again"), "{error}");
    let told = sign_in.facts_after(true);
    assert!(!told.usable && told.trouble.unwrap().words().es.contains("ejecute fleetwatchctl login"), "{told:?}");
    assert_eq!((renewals(&server), server.fake.count("tools/call")), (0, 2));
    assert!(sign_in.facts().usable && server.load().facts().usable, "it goes on, after a restart too");
    said.store(0, Ordering::SeqCst);
    assert_eq!(team_call(&reader).await.unwrap().value(), &hall());
    // Its last seconds are no end yet; the end is.
    server.hand.advance(3_590);
    assert_eq!(sign_in.pass(60).await.unwrap_err(), NoPass::NotRenewed);
    assert!(sign_in.facts().usable);
    server.hand.advance(10);
    assert!(matches!(team_call(&reader).await, Err(ReadError::NotSignedIn { .. })));
    assert_eq!(stored(&server.path())["dead"], "ran_out");
}

#[tokio::test]
async fn a_real_401_ends_a_sign_in_that_cannot_be_renewed() {
    let server = Signing::start(|request| match (request.path(), request.rpc()) {
        ("/mcp", "tools/call") => Twist::Reply(http("401 Unauthorized", "", b"")),
        _ => Twist::Usual,
    })
    .await;
    let sign_in = signed_in_without_a_refresh_token(&server).await;
    assert!(matches!(team_call(&client(&sign_in)).await, Err(ReadError::NotSignedIn { .. })));
    assert_eq!(stored(&server.path())["dead"], "early");
    assert!(sign_in.facts().is_dead());
}

#[tokio::test]
async fn many_at_once_and_two_processes_renew_once() {
    let server = Signing::start(usual).await;
    let first = server.signed_in().await;
    let second = server.load();
    let (a, b) = (client(&first), client(&second));
    server.hand.advance(3_600);
    let all = tokio::join!(team_call(&a), team_call(&b), team_call(&a), team_call(&b), team_call(&a));
    for answer in [all.0, all.1, all.2, all.3, all.4] {
        answer.unwrap();
    }
    assert_eq!(renewals(&server), 1);
    assert_eq!((first.generation() > 0, second.generation() > 0), (true, true));
}

#[tokio::test]
async fn a_caller_that_goes_away_loses_no_tokens() {
    let server = Signing::start(usual).await;
    let sign_in = server.signed_in().await;
    server.hand.advance(3_600);
    let mut pass = Box::pin(sign_in.pass(60));
    // Begun and dropped at its first wait.
    tokio::select! {
        biased;
        _ = &mut pass => panic!("it can't be done yet"),
        () = tokio::task::yield_now() => {}
    }
    drop(pass);
    for _ in 0..200 {
        if stored(&server.path())["access_token"] == "access-2-never-show" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(stored(&server.path())["refresh_token"], "refresh-2-never-show");
    sign_in.pass(60).await.unwrap();
    assert_eq!(renewals(&server), 1);
}

#[tokio::test]
async fn a_write_is_given_a_token_that_lasts() {
    let server = Signing::start(usual).await;
    let sign_in = server.signed_in().await;
    server.hand.advance(3_530);
    let before = sign_in.generation();
    assert_eq!(sign_in.pass(60).await.unwrap().0.as_bytes(), b"Bearer access-1-never-show");
    assert_eq!(sign_in.generation(), before);
    server.hand.advance(20);
    assert_eq!(sign_in.pass(60).await.unwrap().0.as_bytes(), b"Bearer access-2-never-show");
    assert!(sign_in.generation() > before);
    assert!(!format!("{:?}", sign_in.pass(60).await.unwrap()).contains("never-show"));
}
