use super::*;
use crate::testing::{self, Paper, Screen};
use host::link::Link;
use protocol::hello::{Hello, Reply, Request};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex};

const WAIT: Duration = Duration::from_secs(10);
const GOOD: &str = "https://login.example/authorize?state=s";

type Heard = Arc<Mutex<Vec<AskerSays>>>;

fn hosts() -> Hosts {
    Hosts::of(&hosts::Setting { hosts: Some("login.example".to_owned()), slot: None }).unwrap()
}

fn signed_in() -> SignedIn {
    SignedIn {
        scope: Some("devices".to_owned()),
        expires_in: Some(60),
        renewed: false,
        devices: None,
        notes: Vec::new(),
    }
}

// Waits until something was pasted, then has a sign-in. It hangs up where it should answer `hangs_up`.
fn assistant(run: &Path, (url, host): (&'static str, &'static str), hangs_up: Option<AskerSays>) -> Heard {
    host::files::ensure_private_dir(&run.join("ask")).unwrap();
    let listener = host::socket::bind(&run.join("ask/ask.sock"), 0o660, None).unwrap();
    let heard = Heard::default();
    let kept = Arc::clone(&heard);
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut link: Link<Reply<AssistantSays>, Request<AskerSays>> = Link::new(stream);
        let mut pasted = false;
        while let Ok(Some(request)) = link.recv(WAIT).await {
            kept.lock().unwrap().push(request.say.clone());
            if Some(&request.say) == hangs_up.as_ref() {
                return;
            }
            let say = match request.say {
                AskerSays::Login => {
                    AssistantSays::LoginLink(LoginLink { url: url.to_owned(), host: host.to_owned(), seconds: 300 })
                }
                AskerSays::LoginCallback { address } if address.expose() == "right" => {
                    pasted = true;
                    AssistantSays::LoginWaiting
                }
                AskerSays::LoginCallback { .. } => {
                    AssistantSays::Refused(Refusal::new(RefusalCode::SignInFailed, "not this one"))
                }
                AskerSays::LoginWait if pasted => AssistantSays::SignedIn(signed_in()),
                AskerSays::LoginWait => AssistantSays::LoginWaiting,
                AskerSays::Logout => AssistantSays::SignedOut { revoked: false },
                AskerSays::Ask { .. }
                | AskerSays::Capture
                | AskerSays::DeviceIds
                | AskerSays::Digest { .. }
                | AskerSays::Doctor { .. }
                | AskerSays::Draft { .. }
                | AskerSays::Hello(_)
                | AskerSays::History { .. }
                | AskerSays::Live
                | AskerSays::Offered
                | AskerSays::Propose { .. }
                | AskerSays::Read { .. }
                | AskerSays::Replay { .. }
                | AskerSays::ReplayPart { .. }
                | AskerSays::Standing { .. }
                | AskerSays::Status => AssistantSays::Hello(Hello::ours()),
            };
            let hello = matches!(say, AssistantSays::Hello(_));
            link.send(&Reply { id: request.id, say }, WAIT).await.unwrap();
            if !hello {
                link.send(&Reply { id: request.id, say: AssistantSays::Done }, WAIT).await.unwrap();
            }
        }
    });
    heard
}

// `login` of the normal slot: how it ended, and what stood on standard output.
async fn login_at(run: &Path, json: bool, terminal: Option<Terminal>) -> (Exit, String) {
    let (session, paper) = (testing::session(run), Paper::default());
    let mut out = paper.out();
    let mut voice = Voice { out: &mut out, json, language: session.language, sandbox: false };
    let exit = login_normal(&session, &mut voice, (&hosts(), terminal)).await;
    (exit, paper.text())
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_pasted_address_goes_to_the_daemon_and_a_wrong_one_is_asked_for_again() {
    let run = tempfile::tempdir().unwrap();
    let heard = assistant(run.path(), (GOOD, "login.example"), None);
    let screen = Screen::new();
    screen.answers(&[("ends at: ", "wrong\r"), ("ends at: ", "right\r")]);
    let (exit, text) = login_at(run.path(), false, Some(screen.terminal())).await;
    assert_eq!(exit, Exit::Done, "{text}");
    assert!(text.contains(GOOD) && text.contains("not this one"), "{text}");
    assert!(text.contains("Signed in. Granted: devices. The server gave nothing to renew it with"), "{text}");
    let pasted = heard.lock().unwrap().iter().filter(|say| matches!(say, AskerSays::LoginCallback { .. })).count();
    assert_eq!(pasted, 2);
}

#[tokio::test]
async fn as_json_the_link_is_an_object_of_its_own_and_the_end_the_last_line() {
    let run = tempfile::tempdir().unwrap();
    assistant(run.path(), (GOOD, "login.example"), None);
    let screen = Screen::new();
    screen.answers(&[("ends at: ", "wrong\r"), ("ends at: ", "right\r")]);
    let (exit, text) = login_at(run.path(), true, Some(screen.terminal())).await;
    let lines = lines(&text);
    let states: Vec<_> = lines.iter().map(|line| line["state"].as_str().unwrap()).collect();
    assert_eq!(
        (exit, states.as_slice()),
        (Exit::Done, ["link", "address_not_taken", "signed_in"].as_slice()),
        "{text}"
    );
    assert_eq!(
        (&lines[0]["url"], &lines[0]["slot"], &lines[0]["seconds"]),
        (&GOOD.into(), &"normal".into(), &300.into())
    );
    assert_eq!((&lines[2]["scope"], &lines[2]["renewed"]), (&"devices".into(), &false.into()));
}

#[tokio::test]
async fn ctrl_c_ends_the_wait() {
    for json in [false, true] {
        let run = tempfile::tempdir().unwrap();
        assistant(run.path(), (GOOD, "login.example"), None);
        let screen = Screen::new();
        screen.answer("ends at: ", "\u{3}");
        let (exit, text) = login_at(run.path(), json, Some(screen.terminal())).await;
        assert_eq!(exit, Exit::Wrong);
        assert_eq!(json, text.contains("\"refused\":\"cancelled\""), "{text}");
    }
}

#[tokio::test]
async fn a_link_to_a_host_that_no_setting_names_is_shown_nowhere_and_waited_for_by_nobody() {
    for (link, code) in [
        (("https://evil.test/authorize?state=never-show", "evil.test"), "unknown_login_host"),
        (("https://login.example@evil.test/?state=never-show", "login.example"), "odd_link"),
        (("https://evil.test/authorize?state=never-show", "login.example"), "odd_link"),
    ] {
        let run = tempfile::tempdir().unwrap();
        let heard = assistant(run.path(), link, None);
        let (exit, text) = login_at(run.path(), true, None).await;
        let all = lines(&text);
        assert_eq!((exit, all.len(), &all[0]["refused"]), (Exit::Wrong, 1, &code.into()), "{text}");
        assert!(!text.contains("never-show") && !text.contains("https://"), "{text}");
        assert!(!heard.lock().unwrap().contains(&AskerSays::LoginWait));
        let run = tempfile::tempdir().unwrap();
        assistant(run.path(), link, None);
        let (exit, text) = login_at(run.path(), false, None).await;
        assert_eq!((exit, text.as_str()), (Exit::Wrong, ""));
    }
}

#[tokio::test]
async fn a_setting_that_is_not_understood_asks_nobody() {
    let run = tempfile::tempdir().unwrap();
    let mut session = testing::session(run.path());
    session.login_hosts.hosts = Some("https://login.example".to_owned());
    let paper = Paper::default();
    assert_eq!(login(&session, &mut paper.out(), (false, true)).await, Exit::Usage);
    assert!(
        paper.text().contains("bad_setting") && paper.text().contains("FLEETWATCH_LOGIN_HOSTS"),
        "{}",
        paper.text()
    );
}

#[tokio::test]
async fn an_answer_that_is_lost_at_the_end_is_not_known() {
    let run = tempfile::tempdir().unwrap();
    assistant(run.path(), (GOOD, "login.example"), Some(AskerSays::LoginWait));
    let (exit, text) = login_at(run.path(), true, None).await;
    let last = lines(&text).pop().unwrap();
    assert_eq!((exit, &last["refused"]), (Exit::Unknown, &"lost".into()), "{text}");
    assert!(last["detail"].as_str().unwrap().ends_with("fleetwatchctl status"), "{text}");
    // Before anything was signed in it is a plain failure.
    let run = tempfile::tempdir().unwrap();
    assistant(run.path(), (GOOD, "login.example"), Some(AskerSays::Login));
    let (exit, text) = login_at(run.path(), true, None).await;
    assert!(exit == Exit::Wrong && lines(&text)[0]["error"].is_string(), "{text}");
}

#[tokio::test]
async fn a_sign_out_says_whether_the_server_confirmed_it_and_whether_it_is_known_at_all() {
    let out_of = |run: &Path, hangs_up| {
        assistant(run, (GOOD, "login.example"), hangs_up);
        testing::session(run)
    };
    let (run, paper) = (tempfile::tempdir().unwrap(), Paper::default());
    assert_eq!(logout(&out_of(run.path(), None), &mut paper.out(), (false, true)).await, Exit::Done);
    assert_eq!(lines(&paper.text()), [serde_json::json!({"state": "signed_out", "slot": "normal", "revoked": false})]);
    let (run, paper) = (tempfile::tempdir().unwrap(), Paper::default());
    let session = out_of(run.path(), Some(AskerSays::Logout));
    assert_eq!(logout(&session, &mut paper.out(), (false, true)).await, Exit::Unknown);
    assert_eq!(lines(&paper.text())[0]["refused"], "lost");
}

#[test]
fn what_is_compared_in_part_is_said_as_that() {
    let (en, es) = half_known(&Refusal::bare(RefusalCode::TooLarge));
    assert!(en.contains("only a part") && es.contains("solo una parte"), "{en} {es}");
    for code in [RefusalCode::ReadFailed, RefusalCode::SignInDead] {
        let (en, es) = half_known(&Refusal::bare(code));
        assert!(en.contains("listed before") && es.contains("mostró antes"), "{en} {es}");
    }
}

#[tokio::test]
async fn a_normal_sign_in_that_the_other_one_has_ended_is_noticed_behind_it() {
    let dead = Refusal::new(RefusalCode::SignInDead, "get_devices_in_my_team");
    for (say, ended) in [
        (AssistantSays::Refused(dead), true),
        (AssistantSays::Refused(Refusal::bare(RefusalCode::ReadFailed)), false),
        (AssistantSays::DeviceIds { ids: Vec::new(), unread: None }, false),
        (AssistantSays::DeviceIds { ids: Vec::new(), unread: Some(Refusal::bare(RefusalCode::SignInDead)) }, true),
    ] {
        let run = tempfile::tempdir().unwrap();
        host::files::ensure_private_dir(&run.path().join("ask")).unwrap();
        let listener = host::socket::bind(&run.path().join("ask/ask.sock"), 0o660, None).unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut link: Link<Reply<AssistantSays>, Request<AskerSays>> = Link::new(stream);
            for said in [vec![AssistantSays::Hello(Hello::ours())], vec![say, AssistantSays::Done]] {
                let id = link.recv(WAIT).await.unwrap().unwrap().id;
                for say in said {
                    link.send(&Reply { id, say }, WAIT).await.unwrap();
                }
            }
        });
        assert_eq!(ended_the_normal_one(&testing::session(run.path())).await, ended);
    }
    for (language, words) in
        [(Language::English, "has ended the normal one"), (Language::Spanish, "ha terminado el normal")]
    {
        let said = ended_words(language);
        assert!(said.contains(words) && said.contains("fleetwatchctl login"), "{said}");
    }
}
