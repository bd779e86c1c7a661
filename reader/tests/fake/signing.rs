//! Signing in and out: what is asked, what is believed, and what is not (issue lines 3.1, 3.2, 3.6; facts 1.2).

use crate::oauth::{Signing, Twist, ask, base, browse, client, ended, json_reply, metadata, parameter, place, stored};
use crate::server::{Request, http, team_call};
use policy::call::Slot;
use reader::endpoint::Endpoint;
use reader::oauth::OauthError;
use reader::token::{SignIn, SignInError, SignedOut, Trouble, Which};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

fn usual(_: &Request) -> Twist {
    Twist::Usual
}

#[tokio::test]
async fn a_sign_in_is_made_kept_private_and_used_without_a_restart() {
    let server = Signing::start(usual).await;
    let sign_in = server.load();
    let reader = client(&sign_in);
    assert_eq!(sign_in.facts().trouble, Some(Trouble::Missing(Which::Normal)));
    team_call(&reader).await.unwrap_err();
    assert_eq!(server.asked("/mcp").len(), 0, "nothing is sent without a sign-in");

    let mut attempt = sign_in.begin(0).await.unwrap();
    let link = attempt.link().to_owned();
    assert!(link.starts_with(&server.fake.url.replace("/mcp", "/authorize?")), "{link}");
    assert_eq!(attempt.host(), "127.0.0.1");
    for (name, value) in [("response_type", "code"), ("client_id", "client-1"), ("code_challenge_method", "S256")] {
        assert_eq!(parameter(&link, name), value);
    }
    assert!(!link.contains("scope="), "nothing asks for a scope");
    assert_eq!(parameter(&link, "resource"), server.fake.url.replace(':', "%3A").replace('/', "%2F"));
    assert!(sign_in.signed(&mut attempt, Duration::from_millis(20)).await.is_none());
    let page = browse(&attempt, "code=the-code").await;
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("no-store"), "{page}");
    let new = ended(&sign_in, &mut attempt).await.unwrap();
    assert!(!sign_in.facts().usable, "not before it is kept");
    sign_in.adopt(&new).await.unwrap();

    assert_eq!(server.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let file = stored(&server.path());
    assert_eq!((&file["slot"], &file["expires_at"]), (&json!("normal"), &json!(crate::oauth::NOW + 3_600)));
    team_call(&reader).await.unwrap();
    let facts = sign_in.facts();
    assert_eq!((facts.usable, facts.renewed, facts.scope.as_deref()), (true, true, Some("devices offline_access")));
    let about = &server.asked("/register")[0].body;
    assert_eq!((&about["client_name"], &about["token_endpoint_auth_method"]), (&json!("fleetwatch"), &json!("none")));
    assert_eq!(about["application_type"], "native");
    for printed in [format!("{sign_in:?}"), format!("{attempt:?}"), format!("{facts:?}"), format!("{reader:?}")] {
        assert!(!printed.contains("never-show") && !printed.contains(&parameter(&link, "state")), "{printed}");
    }
    // Another process finds it.
    team_call(&client(&server.load())).await.unwrap();
}

#[tokio::test]
async fn only_the_callback_with_its_state_and_a_code_ends_the_wait() {
    let server = Signing::start(usual).await;
    let sign_in = server.load();
    let mut attempt = sign_in.begin(0).await.unwrap();
    let (state, place) = (parameter(attempt.link(), "state"), place(&attempt));
    for (target, host, status) in [
        ("/".to_owned(), place.as_str(), "404"),
        (format!("/callback/x?code=the-code&state={state}"), &place, "404"),
        ("/callback".to_owned(), &place, "400"),
        ("/callback?code=the-code".to_owned(), &place, "400"),
        (format!("/callback?state={state}"), &place, "400"),
        (format!("/callback?state={state}&code="), &place, "400"),
        ("/callback?error=access_denied".to_owned(), &place, "400"),
        (format!("/callback?code=the-code&state={state}x"), &place, "400"),
        (format!("/callback?code=the-code&state={state}&state={state}"), &place, "400"),
        (format!("/callback?code=the-code&code=other&state={state}"), &place, "400"),
        (format!("/callback?code=the-code&error=x&state={state}"), &place, "400"),
        (format!("/callback?code=the-code&state={state}"), "evil.example", "400"),
    ] {
        let answer = ask(&place, &format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
    }
    let post = format!("POST /callback?code=the-code&state={state} HTTP/1.1\r\nHost: {place}\r\n\r\n");
    assert!(ask(&place, &post).await.starts_with("HTTP/1.1 405 "));
    let long = format!("GET /callback?{} HTTP/1.1\r\n", "x".repeat(9_000));
    assert!(ask(&place, &long).await.starts_with("HTTP/1.1 400 "));
    assert!(sign_in.signed(&mut attempt, Duration::from_millis(50)).await.is_none(), "still waiting");
    browse(&attempt, "code=the-code").await;
    ended(&sign_in, &mut attempt).await.unwrap();
}

#[tokio::test]
async fn a_no_in_the_browser_ends_the_wait_in_our_own_words() {
    let server = Signing::start(usual).await;
    let sign_in = server.load();
    let mut attempt = sign_in.begin(0).await.unwrap();
    let page = browse(&attempt, "error=access_denied&error_description=%3Cb%3Ehurry%3C%2Fb%3E").await;
    assert!(!page.contains("hurry"), "{page}");
    let error = ended(&sign_in, &mut attempt).await.unwrap_err();
    assert_eq!(error, OauthError::Denied);
    assert!(!error.to_string().contains("hurry"));
    assert!(server.asked("/token").is_empty() && !server.path().exists());
}

#[tokio::test]
async fn the_issuer_of_the_callback_is_checked_when_it_is_there_or_promised() {
    for (promised, query, good) in [
        (false, "code=the-code&iss=BASE", true),
        (false, "code=the-code&iss=http%3A%2F%2F127.0.0.1%3A1", false),
        (true, "code=the-code&iss=BASE", true),
        (true, "code=the-code", false),
        (true, "error=access_denied", false),
    ] {
        let server = Signing::start(move |request| match request.path() {
            "/.well-known/oauth-authorization-server" if promised => {
                let mut said = metadata(request);
                said["authorization_response_iss_parameter_supported"] = json!(true);
                Twist::Reply(json_reply(&said))
            }
            _ => Twist::Usual,
        })
        .await;
        let sign_in = server.load();
        let mut attempt = sign_in.begin(0).await.unwrap();
        let issuer = server.fake.url.replace("/mcp", "").replace(':', "%3A").replace('/', "%2F");
        browse(&attempt, &query.replace("BASE", &issuer)).await;
        let end = ended(&sign_in, &mut attempt).await;
        if good {
            end.unwrap();
        } else {
            assert_eq!(end.unwrap_err(), OauthError::OtherIssuer, "{promised} {query}");
            assert!(server.asked("/token").is_empty());
        }
    }
}

#[tokio::test]
async fn a_pasted_address_counts_only_with_this_sign_ins_place_and_state() {
    let server = Signing::start(usual).await;
    let sign_in = server.load();
    let mut attempt = sign_in.begin(0).await.unwrap();
    let (state, place) = (parameter(attempt.link(), "state"), place(&attempt));
    for bad in [
        "the-code".to_owned(),
        format!("http://{place}/callback?code=the-code"),
        format!("http://{place}/callback?code=the-code&state=x{state}"),
        format!("http://127.0.0.1:1/callback?code=the-code&state={state}"),
        format!("https://evil.example/callback?code=the-code&state={state}"),
        format!("http://{place}/callback?code=the-code&state={state}{}", "x".repeat(9_000)),
    ] {
        assert_eq!(attempt.paste(&bad), Err(OauthError::NotThisCallback), "{bad}");
    }
    attempt.paste(&format!("  http://{place}/callback?code=the-code&state={state}\n")).unwrap();
    ended(&sign_in, &mut attempt).await.unwrap();
}

#[tokio::test]
async fn a_server_that_answers_no_get_is_asked_who_signs_people_in_for_it_with_a_question() {
    let server = Signing::start(|request| match (request.method.as_str(), request.path()) {
        ("GET", "/mcp") => Twist::Reply(http("405 Method Not Allowed", "", b"")),
        ("POST", "/mcp") if request.header("authorization").is_none() => {
            let named = format!("resource_metadata=\"{}/elsewhere\"", base(request));
            let head = format!("www-authenticate: Bearer scope=\"rooms\", {named}\r\n");
            Twist::Reply(http("401 Unauthorized", &head, b""))
        }
        ("GET", "/elsewhere") => Twist::Reply(json_reply(
            &json!({"resource": format!("{}/mcp", base(request)), "authorization_servers": [base(request)]}),
        )),
        (_, _) => Twist::Usual,
    })
    .await;
    let attempt = server.load().begin(0).await.unwrap();
    assert_eq!(parameter(attempt.link(), "scope"), "rooms");
    assert_eq!((server.asked("/elsewhere").len(), server.asked("/mcp")[1].rpc()), (1, "server/discover"));
}

#[tokio::test]
async fn a_secret_goes_where_the_server_wants_it_for_tokens_renewal_and_revocation() {
    for (method, header, secret) in
        [("client_secret_basic", Some("Basic Y2xpZW50LTE6YSUyQmI="), ""), ("client_secret_post", None, "a%2Bb")]
    {
        let server = Signing::start(move |request| match request.path() {
            "/register" => Twist::Reply(json_reply(
                &json!({"client_id": "client-1", "client_secret": "a+b", "token_endpoint_auth_method": method}),
            )),
            "/token" => Twist::Reply(json_reply(
                &json!({"access_token": "never-show", "token_type": "Bearer", "expires_in": 60, "refresh_token": "r"}),
            )),
            _ => Twist::Usual,
        })
        .await;
        server.signed_in().await;
        server.hand.advance(59);
        // Another process, from the file.
        let sign_in = server.load();
        sign_in.pass(30).await.unwrap();
        assert_eq!(sign_in.sign_out().await.unwrap(), SignedOut::Revoked);
        let asked: Vec<_> = ["/token", "/revoke"].into_iter().flat_map(|path| server.asked(path)).collect();
        assert_eq!(asked.len(), 4, "two for tokens, two to end them");
        for request in asked {
            assert_eq!(request.header("authorization"), header, "{method}");
            let form = |name| crate::oauth::form(&request, name);
            assert_eq!((form("client_id").as_str(), form("client_secret").as_str()), ("client-1", secret), "{method}");
        }
    }
}

type Case = (&'static str, fn(&Request) -> Vec<u8>);

fn without(request: &Request, name: &str, value: Value) -> Vec<u8> {
    let mut said = metadata(request);
    said[name] = value;
    json_reply(&said)
}

#[tokio::test]
async fn a_server_that_misbehaves_is_not_signed_in_to() {
    const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
    const SERVER: &str = "/.well-known/oauth-authorization-server";
    let cases: [Case; 20] = [
        ("/mcp", |_| {
            http("401 Unauthorized", "www-authenticate: Bearer resource_metadata=\"http://127.0.0.1:1/x\"\r\n", b"")
        }),
        (RESOURCE, |_| json_reply(&json!({"resource": "http://127.0.0.1:1/mcp", "authorization_servers": ["x"]}))),
        (RESOURCE, |r| json_reply(&json!({"resource": format!("{}/mc", base(r)), "authorization_servers": [base(r)]}))),
        (RESOURCE, |r| json_reply(&json!({"resource": format!("{}/mcp", base(r)), "authorization_servers": []}))),
        (RESOURCE, |r| {
            json_reply(
                &json!({"resource": format!("{}/mcp", base(r)), "authorization_servers": ["http://198.51.100.7"]}),
            )
        }),
        (RESOURCE, |_| http("307 Temporary Redirect", "location: http://127.0.0.1:1/\r\n", b"")),
        (RESOURCE, |_| http("404 Not Found", "", b"")),
        (RESOURCE, |_| json_reply(&json!("x".repeat(70_000)))),
        (SERVER, |r| without(r, "issuer", json!("http://127.0.0.1:1"))),
        (SERVER, |r| without(r, "token_endpoint", json!("http://198.51.100.7/token"))),
        (SERVER, |r| without(r, "authorization_endpoint", json!("javascript:alert(1)"))),
        (SERVER, |r| without(r, "revocation_endpoint", json!("http://user@127.0.0.1/x"))),
        (SERVER, |r| without(r, "code_challenge_methods_supported", json!(["plain"]))),
        (SERVER, |r| without(r, "registration_endpoint", Value::Null)),
        (SERVER, |_| http("200 OK", "content-type: application/json\r\n", br#"{"issuer":"a","issuer":"b"}"#)),
        ("/register", |_| http("400 Bad Request", "", b"never-show")),
        ("/register", |_| json_reply(&json!({"client_id": "c", "token_endpoint_auth_method": "private_key_jwt"}))),
        ("/register", |_| json_reply(&json!({"client_id": "c", "token_endpoint_auth_method": "client_secret_basic"}))),
        ("/register", |_| json_reply(&json!({"client_id": "c", "token_endpoint_auth_method": "client_secret_post"}))),
        ("/register", |_| {
            json_reply(
                &json!({"client_id": "c", "client_secret": "", "token_endpoint_auth_method": "client_secret_post"}),
            )
        }),
    ];
    for (nth, (path, reply)) in cases.into_iter().enumerate() {
        let server = Signing::start(move |request| {
            let hit = request.path() == path && (path != "/mcp" || request.method == "GET");
            if hit { Twist::Reply(reply(request)) } else { Twist::Usual }
        })
        .await;
        let error = server.load().begin(0).await.unwrap_err();
        assert!(matches!(error, OauthError::Misbehaved(_)), "case {nth}, {path}: {error:?}");
        assert!(!error.to_string().contains("never-show"));
        assert!(server.asked("/token").is_empty());
    }
}

#[tokio::test]
async fn tokens_of_a_kind_not_known_are_not_taken() {
    let good = |kind: &str, access: &str| json!({"access_token": access, "token_type": kind}).to_string();
    for (status, body) in [
        ("200 OK", good("mac", "never-show")),
        ("200 OK", good("Bearer", "never show")),
        ("200 OK", good("Bearer", &"x".repeat(9_000))),
        ("200 OK", r#"{"access_token":"never-show","access_token":"b","token_type":"Bearer"}"#.to_owned()),
        ("200 OK", "never-show".to_owned()),
        ("307 Temporary Redirect", String::new()),
        ("400 Bad Request", "never-show".to_owned()),
        ("500 Internal Server Error", "never-show".to_owned()),
    ] {
        let reply =
            http(status, "content-type: application/json\r\nlocation: http://127.0.0.1:1/\r\n", body.as_bytes());
        let server = Signing::start(move |request| match request.path() {
            "/token" => Twist::Reply(reply.clone()),
            _ => Twist::Usual,
        })
        .await;
        let sign_in = server.load();
        let mut attempt = sign_in.begin(0).await.unwrap();
        browse(&attempt, "code=the-code").await;
        let error = ended(&sign_in, &mut attempt).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("never-show"), "{error:?}");
        assert!(!server.path().exists(), "{status}");
    }
}

#[tokio::test]
async fn a_server_that_keeps_silent_is_not_waited_for_long() {
    let server = Signing::start(|request| match request.path() {
        "/register" => Twist::Stall,
        _ => Twist::Usual,
    })
    .await;
    let sign_in = server.load();
    let waited = tokio::time::timeout(Duration::from_secs(15), sign_in.begin(0)).await.unwrap();
    assert_eq!(waited.unwrap_err(), OauthError::Unreachable);
}

#[tokio::test]
async fn a_server_that_keeps_silent_on_a_get_is_asked_with_a_question_too() {
    let server = Signing::start(|request| match (request.method.as_str(), request.path()) {
        ("GET", "/mcp") => Twist::Stall,
        ("POST", "/mcp") => Twist::Reply(http("401 Unauthorized", "www-authenticate: Bearer scope=\"rooms\"\r\n", b"")),
        (_, _) => Twist::Usual,
    })
    .await;
    let begun = tokio::time::timeout(Duration::from_secs(25), server.load().begin(0)).await.unwrap();
    assert_eq!(parameter(begun.unwrap().link(), "scope"), "rooms");
}

#[tokio::test]
async fn one_sign_in_at_a_time_and_a_busy_port_is_named() {
    let server = Signing::start(usual).await;
    let sign_in = server.load();
    let first = sign_in.begin(0).await.unwrap();
    assert_eq!(sign_in.begin(0).await.unwrap_err(), OauthError::Busy);
    let port = place(&first).split(':').nth(1).unwrap().parse().unwrap();
    assert_eq!(server.load().begin(port).await.unwrap_err(), OauthError::Port(port));
    drop(first);
    // The port is free again once the dropped attempt's task is gone.
    tokio::time::sleep(Duration::from_millis(50)).await;
    sign_in.begin(port).await.unwrap();
}

#[tokio::test]
async fn signing_out_takes_the_refresh_token_back_first_and_forgets_in_any_case() {
    for (status, said) in [
        ("200 OK", SignedOut::Revoked),
        ("500 Internal Server Error", SignedOut::NotRevoked),
        ("307 Temporary Redirect", SignedOut::NotRevoked),
    ] {
        let server = Signing::start(move |request| match request.path() {
            "/revoke" => Twist::Reply(http(status, "location: /elsewhere\r\n", b"")),
            _ => Twist::Usual,
        })
        .await;
        let sign_in = server.signed_in().await;
        assert_eq!(sign_in.sign_out().await.unwrap(), said, "{status}");
        let asked = server.asked("/revoke");
        let kinds: Vec<_> = asked.iter().map(|request| crate::oauth::form(request, "token_type_hint")).collect();
        assert_eq!(kinds, ["refresh_token", "access_token"]);
        assert!(asked.iter().all(|request| request.header("authorization").is_none()));
        assert!(server.asked("/elsewhere").is_empty(), "no redirect is followed");
        assert!(!server.path().exists());
        assert_eq!(sign_in.facts().trouble, Some(Trouble::Missing(Which::Normal)));
        assert_eq!(sign_in.sign_out().await.unwrap(), SignedOut::Nothing);
    }
}

#[tokio::test]
async fn a_new_sign_in_that_cannot_be_stored_can_still_be_taken_back() {
    let server = Signing::start(usual).await;
    let sign_in = server.load();
    let mut attempt = sign_in.begin(0).await.unwrap();
    browse(&attempt, "code=the-code").await;
    let new = ended(&sign_in, &mut attempt).await.unwrap();
    // A folder where the file should be.
    std::fs::create_dir(server.path()).unwrap();
    sign_in.adopt(&new).await.unwrap_err();
    assert!(!sign_in.facts().usable);
    assert_eq!(new.forget().await, SignedOut::Revoked);
    assert_eq!(server.asked("/revoke").len(), 2);
}

async fn until(what: &str, met: impl Fn() -> bool) {
    for _ in 0..500 {
        if met() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

#[tokio::test]
async fn tokens_that_nobody_waits_for_any_more_are_taken_back_at_the_server() {
    let server = Signing::start(usual).await;
    let sign_in = server.load();
    // Dropped before the browser came back: there is nothing to take back, and the turn is free again.
    drop(sign_in.begin(0).await.unwrap());
    let attempt = begun(&sign_in).await;
    browse(&attempt, "code=the-code").await;
    until("the code is exchanged", || server.asked("/token").len() == 1).await;
    // Dropped while the tokens are on their way, or have just come.
    drop(attempt);
    until("both tokens are taken back", || server.asked("/revoke").len() == 2).await;

    // Dropped while somebody looks at what the new sign-in reaches.
    let mut attempt = begun(&sign_in).await;
    browse(&attempt, "code=the-code").await;
    let new = ended(&sign_in, &mut attempt).await.unwrap();
    team_call(&client(new.looks())).await.unwrap();
    drop((new, attempt));
    until("both tokens are taken back", || server.asked("/revoke").len() == 4).await;
    let kinds: Vec<_> = server.asked("/revoke").iter().map(|r| crate::oauth::form(r, "token_type_hint")).collect();
    assert_eq!(kinds[2..], ["refresh_token", "access_token"]);
    assert!(!sign_in.facts().usable && !server.path().exists(), "nothing was kept");

    // Kept: nothing is taken back when it is dropped.
    let mut attempt = begun(&sign_in).await;
    browse(&attempt, "code=the-code").await;
    let new = ended(&sign_in, &mut attempt).await.unwrap();
    sign_in.adopt(&new).await.unwrap();
    drop((new, attempt));
    team_call(&client(&sign_in)).await.unwrap();
    assert_eq!(server.asked("/revoke").len(), 4);
}

// The turn may still be held by a sign-in that is being taken back.
async fn begun(sign_in: &SignIn) -> reader::oauth::Attempt {
    for _ in 0..500 {
        match sign_in.begin(0).await {
            Ok(attempt) => return attempt,
            Err(OauthError::Busy) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the turn is never free");
}

#[tokio::test]
async fn a_sign_in_is_used_by_its_own_slot_at_its_own_server_only() {
    let server = Signing::start(usual).await;
    server.signed_in().await;
    let clock = || host::clock::Clock::system().unwrap();
    let here = Endpoint::parse(&server.fake.url, Slot::Sim).unwrap();
    let error = SignIn::load(&server.path(), Which::Sandbox, here, clock()).unwrap_err();
    assert!(matches!(error, SignInError::OtherSlot { .. }), "{error}");
    let other = Signing::start(usual).await;
    let there = Endpoint::parse(&other.fake.url, Slot::Sim).unwrap();
    let sign_in = SignIn::load(&server.path(), Which::Normal, there, clock()).unwrap();
    assert_eq!(sign_in.facts().trouble, Some(Trouble::Foreign(Which::Normal)));
    team_call(&client(&sign_in)).await.unwrap_err();
    assert!(other.fake.requests().is_empty(), "the token stays here");
}
