use super::*;
use crate::testing::{LATE, Scripted, World, says, uses, uses_for};
use protocol::ask::AnsweredBy;
use protocol::propose::AssistantSays as Word;
use serde_json::json;
use std::path::PathBuf;

type Asker = Link<Request<AskerSays>, Reply<AssistantSays>>;

async fn served(script: Vec<Scripted>) -> (PathBuf, crate::testing::ExecutorDouble, tempfile::TempDir) {
    let World { folder, executor, model: _, desk } = World::new(script).await;
    let path = folder.path().join("ask").join("ask.sock");
    let listener = crate::desk::ask_socket(&path, host::socket::my_uid(), None).unwrap();
    tokio::spawn(serve(listener, Arc::new(desk)));
    (path, executor, folder)
}

async fn connect(path: &PathBuf) -> Asker {
    Link::new(UnixStream::connect(path).await.unwrap())
}

async fn greeted(path: &PathBuf) -> Asker {
    let mut asker = connect(path).await;
    asker.send(&Request { id: 1, say: AskerSays::Hello(Hello::ours()) }, LATE).await.unwrap();
    let reply = asker.recv(LATE).await.unwrap().unwrap();
    assert_eq!(reply, Reply { id: 1, say: AssistantSays::Hello(Hello::ours()) });
    asker
}

async fn request(asker: &mut Asker, id: u32, say: AskerSays) -> Vec<AssistantSays> {
    asker.send(&Request { id, say }, LATE).await.unwrap();
    let mut heard = Vec::new();
    loop {
        let reply = asker.recv(LATE).await.unwrap().unwrap();
        assert_eq!(reply.id, id);
        if reply.say == AssistantSays::Done {
            return heard;
        }
        heard.push(reply.say);
    }
}

fn refused(heard: &[AssistantSays]) -> Option<RefusalCode> {
    if let [AssistantSays::Refused(refusal)] = heard { Some(refusal.code) } else { None }
}

#[tokio::test]
async fn questions_and_status_are_answered_on_one_connection() {
    let (path, _executor, _folder) = served(vec![says("fine")]).await;
    let mut asker = greeted(&path).await;
    let heard = request(&mut asker, 2, AskerSays::Ask { question: "hello".to_owned() }).await;
    let by = AnsweredBy::Model { name: "test-model".to_owned() };
    assert_eq!(heard, [AssistantSays::Answer { text: "fine".to_owned(), by }]);
    let heard = request(&mut asker, 3, AskerSays::Status).await;
    let [AssistantSays::Status(status)] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!((status.model.as_deref(), status.model_host.as_deref()), (Some("asked-model"), Some("127.0.0.1")));
    assert!(status.sign_in && status.last_read_seconds.is_none() && !status.executor_reached);
}

#[tokio::test]
async fn words_before_the_hello_and_other_versions_are_not_served() {
    let (path, _executor, _folder) = served(Vec::new()).await;
    let mut asker = connect(&path).await;
    asker.send(&Request { id: 5, say: AskerSays::Status }, LATE).await.unwrap();
    let reply = asker.recv(LATE).await.unwrap().unwrap();
    assert!(matches!(reply.say, AssistantSays::Refused(refusal) if refusal.code == RefusalCode::NotPermitted));
    assert!(asker.recv(LATE).await.unwrap().is_none());
    let mut asker = connect(&path).await;
    let old = Hello { wire: 0, build: "old".to_owned() };
    asker.send(&Request { id: 1, say: AskerSays::Hello(old) }, LATE).await.unwrap();
    assert!(matches!(asker.recv(LATE).await.unwrap().unwrap().say, AssistantSays::Hello(_)));
    assert!(asker.recv(LATE).await.unwrap().is_none());
}

#[tokio::test]
async fn empty_endless_and_hostile_questions_are_refused() {
    let (path, _executor, _folder) = served(Vec::new()).await;
    let mut asker = greeted(&path).await;
    for (question, code) in [
        (" \n", RefusalCode::BadArguments),
        (&"x".repeat(1_001)[..], RefusalCode::TooLarge),
        ("which \u{1b}[2Jrooms", RefusalCode::BadArguments),
        ("which rooms\0", RefusalCode::BadArguments),
        ("which \u{202e}smoor", RefusalCode::BadArguments),
        ("which \u{2067}rooms\u{2069}", RefusalCode::BadArguments),
        ("which \u{9b}2J", RefusalCode::BadArguments),
    ] {
        let heard = request(&mut asker, 2, AskerSays::Ask { question: question.to_owned() }).await;
        assert_eq!(refused(&heard), Some(code), "{question:?}");
    }
    for text in ["which\trooms\r\nare ready?", "¿está «Aula\u{a0}3» lista? \u{1f469}\u{200d}\u{1f3eb}"] {
        assert_eq!(fitting(text), Ok(text));
    }
    let heard = request(&mut asker, 4, AskerSays::Hello(Hello::ours())).await;
    assert_eq!(refused(&heard), Some(RefusalCode::NotPermitted));
}

#[tokio::test]
async fn an_asker_who_hangs_up_takes_the_turn_with_it() {
    let record = json!({"tool": "batch_recording", "arguments": {"action": "start", "device_ids": ["19012341234-1"]}, "reason": "r"});
    let script = vec![
        uses(&[(crate::tools::DEVICES, json!({}))]),
        uses_for(&[(crate::tools::PROPOSE, record)], 11),
        Scripted::Hang,
    ];
    let (path, executor, _folder) = served(script).await;
    let mut asker = greeted(&path).await;
    asker
        .send(&Request { id: 2, say: AskerSays::Ask { question: "Start recording in Hall A".to_owned() } }, LATE)
        .await
        .unwrap();
    while !matches!(asker.recv(LATE).await.unwrap().unwrap().say, AssistantSays::Proposed { .. }) {}
    drop(asker);
    let turn = executor.turn().await;
    assert!(matches!(turn.as_slice(), [Word::Propose(_)]), "{turn:?}");
}

#[tokio::test]
async fn one_too_many_askers_is_turned_away() {
    let (path, _executor, _folder) = served(Vec::new()).await;
    let mut askers = Vec::new();
    for _ in 0..crate::seats::PEOPLE {
        askers.push(greeted(&path).await);
    }
    let mut late = connect(&path).await;
    let reply = late.recv(LATE).await.unwrap().unwrap();
    let AssistantSays::Refused(refusal) = reply.say else { panic!("not turned away") };
    assert_eq!(refusal.code, RefusalCode::TooManyRequests);
    assert!(refusal.detail.contains("your user has 16 connections"), "{refusal}");
    askers.pop();
    // The seat is free as soon as the hang-up was noticed; until then nobody reads what is sent.
    for _ in 0..500 {
        let mut next = connect(&path).await;
        let _ = next.send(&Request { id: 1, say: AskerSays::Hello(Hello::ours()) }, LATE).await;
        if next.recv(LATE).await.unwrap().is_some_and(|reply| reply.say == AssistantSays::Hello(Hello::ours())) {
            return;
        }
    }
    panic!("the seat is never free");
}
