//! The chat's own parts, without a terminal. `tests/tests/chat.rs` has the whole on one.

use super::*;
use crate::testing::{self, Paper, number};
use control::message::OperatorSays;
use protocol::propose::ProposalState;

fn chat(session: &Session) -> Chat<'_> {
    Chat { session, keys: Keys::open().unwrap(), line: Line::default(), prompt: PROMPT, watch: Watch::default() }
}

#[tokio::test]
async fn nothing_typed_in_the_chat_approves_or_thaws() {
    let run = tempfile::tempdir().unwrap();
    let heard = testing::executor(run.path(), |_| None);
    let (session, paper) = (testing::session(run.path()), Paper::default());
    let mut interrupts = Interrupts::watch().unwrap();
    let mut chat = chat(&session);
    for (line, command) in [("/approve 7", "fleetwatchctl approvals approve 7"), ("/thaw", "fleetwatchctl thaw")] {
        let word = Word::of(line).unwrap();
        assert_eq!(chat.command(&word, &mut interrupts, &mut paper.out()).await, None);
        assert!(paper.text().contains(command), "{}", paper.text());
    }
    assert_eq!(*heard.lock().unwrap(), []);
}

#[tokio::test]
async fn a_denial_here_is_told_once() {
    let run = tempfile::tempdir().unwrap();
    let news = testing::news(7, ProposalState::Denied);
    let heard = testing::executor(run.path(), move |_| Some(control::message::ExecutorSays::Ended(news.clone())));
    let (session, paper) = (testing::session(run.path()), Paper::default());
    let mut interrupts = Interrupts::watch().unwrap();
    let mut chat = chat(&session);
    chat.watch.add([number(7)].into_iter());
    let word = Word::of("/deny 7").unwrap();
    assert_eq!(chat.command(&word, &mut interrupts, &mut paper.out()).await, None);
    assert!(paper.text().contains("Proposal 7: denied."), "{}", paper.text());
    assert_eq!(*heard.lock().unwrap(), [OperatorSays::Deny { number: number(7) }]);
    let quiet = tokio::time::timeout(std::time::Duration::from_secs(2), chat.watch.next(&session)).await;
    quiet.unwrap_err();
}

#[tokio::test]
async fn a_question_that_is_too_long_goes_nowhere() {
    let run = tempfile::tempdir().unwrap();
    let (session, paper) = (testing::session(run.path()), Paper::default());
    let mut interrupts = Interrupts::watch().unwrap();
    let long = "q".repeat(MAX_QUESTION + 1);
    assert_eq!(chat(&session).turn(&long, &mut interrupts, &mut paper.out()).await, None);
    assert_eq!(paper.text(), "");
}
