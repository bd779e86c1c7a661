//! What became of what was proposed in this chat, told when it happens. Looked up at `control.sock`; where that is not
//! this person's to ask, nothing is told and `/help` says where to look.

use crate::client::{ClientError, Control};
use crate::render;
use crate::session::Session;
use control::card::HistoryRow;
use control::message::{ExecutorSays, OperatorSays};
use protocol::ids::ProposalNumber;
use protocol::propose::{News, ProposalState};
use protocol::refusal::Refusal;
use std::collections::BTreeSet;
use std::time::Duration;

/// Between two looks.
const AGAIN: Duration = Duration::from_secs(1);
/// Proposals that are followed at once. More than may wait, and than an hour admits.
const MOST: usize = 20;
/// Rows of the history that are looked at.
const ROWS: u16 = 100;

/// The proposals that are followed.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    open: BTreeSet<ProposalNumber>,
    /// Whether the executor ever answered: then one that does not is restarting.
    answered: bool,
}

impl Watch {
    /// Follows these, the newest at most.
    pub(crate) fn add(&mut self, numbers: impl Iterator<Item = ProposalNumber>) {
        self.open.extend(numbers);
        while self.open.len() > MOST {
            self.open.pop_first();
        }
    }

    /// Its end is known already.
    pub(crate) fn forget(&mut self, number: ProposalNumber) {
        self.open.remove(&number);
    }

    /// Waits, then looks once; gives what ended since, ready to show. Never ready while nothing is followed. Dropping
    /// the future loses nothing.
    pub(crate) async fn next(&mut self, session: &Session) -> Vec<String> {
        if self.open.is_empty() {
            return std::future::pending().await;
        }
        tokio::time::sleep(AGAIN).await;
        match rows(session).await {
            Ok(rows) => {
                self.answered = true;
                self.ended(&rows, session)
            }
            Err(ClientError::HungUp(_) | ClientError::NotReached(..)) if self.answered => Vec::new(),
            // Not this person's to ask, or another version: asking again would say the same.
            Err(
                ClientError::Folder(..)
                | ClientError::HungUp(_)
                | ClientError::NotReached(..)
                | ClientError::OtherVersion(..)
                | ClientError::OutOfOrder(_)
                | ClientError::Refused(_),
            ) => {
                self.open.clear();
                Vec::new()
            }
            Err(ClientError::Lost(..) | ClientError::Unanswered(_)) => Vec::new(),
        }
    }

    fn ended(&mut self, rows: &[HistoryRow], session: &Session) -> Vec<String> {
        let over: Vec<_> = rows.iter().filter(|row| self.open.contains(&row.number) && row.state.is_final()).collect();
        over.into_iter()
            .map(|row| {
                self.open.remove(&row.number);
                told(row, session)
            })
            .collect()
    }
}

async fn rows(session: &Session) -> Result<Vec<HistoryRow>, ClientError> {
    let mut control = Control::open(&session.places).await?;
    let say = OperatorSays::History { most: ROWS, search: None };
    let ExecutorSays::History(rows) = control.ask(say).await? else { return Err(Control::surprise()) };
    Ok(rows)
}

fn told(row: &HistoryRow, session: &Session) -> String {
    let news =
        News { number: row.number, state: row.state, refusal: row.code.map(Refusal::bare), detail: row.detail.clone() };
    let text = render::news(&news, session.language);
    let mut page = render::page::Page::new(session.columns);
    for line in text.lines() {
        page.line(line);
    }
    if row.undoable && row.state == ProposalState::Ok {
        let how = render::pick(session.language, "To propose its undo", "Para proponer deshacerlo");
        page.line(&format!("{how}: {}", session.say(&format!("approvals undo {}", row.number))));
    }
    session.paint.strong(page.into_text().trim_end()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, number, sample_row};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn an_outcome_is_told_once_when_it_happens_and_never_for_others() {
        let run = tempfile::tempdir().unwrap();
        let looks = AtomicUsize::new(0);
        testing::executor(run.path(), move |_| {
            let state =
                if looks.fetch_add(1, Ordering::SeqCst) == 0 { ProposalState::Pending } else { ProposalState::Ok };
            Some(ExecutorSays::History(vec![sample_row(8), HistoryRow { state, undoable: true, ..sample_row(7) }]))
        });
        let session = testing::session(run.path());
        let mut watch = Watch::default();
        watch.add([number(7)].into_iter());
        assert_eq!(watch.next(&session).await, Vec::<String>::new());
        let news = watch.next(&session).await;
        assert_eq!(news.len(), 1);
        assert!(news[0].contains("Proposal 7: ok.") && news[0].contains("recorder: recording"), "{news:?}");
        assert!(news[0].contains("fleetwatchctl approvals undo 7"), "{news:?}");
        let quiet = tokio::time::timeout(Duration::from_secs(2), watch.next(&session)).await;
        quiet.unwrap_err();
    }

    #[test]
    fn a_hostile_receipt_moves_nothing_and_stays_in_the_width() {
        let run = tempfile::tempdir().unwrap();
        let mut session = testing::session(run.path());
        session.columns = 60;
        let detail = format!("a\u{1b}[2J\u{202e}\u{9b}1m\r\n{}", "word ".repeat(40));
        let text = told(&HistoryRow { detail, ..sample_row(7) }, &session);
        assert!(text.contains("\\u{1b}[2J\\u{202e}"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }

    #[tokio::test]
    async fn who_may_not_ask_the_executor_is_told_nothing() {
        let run = tempfile::tempdir().unwrap();
        let mut watch = Watch::default();
        watch.add([number(7)].into_iter());
        assert_eq!(watch.next(&testing::session(run.path())).await, Vec::<String>::new());
        assert!(watch.open.is_empty());
    }

    #[tokio::test]
    async fn an_executor_that_answered_and_is_gone_is_asked_again() {
        let run = tempfile::tempdir().unwrap();
        let mut watch = Watch { answered: true, ..Watch::default() };
        watch.add([number(7)].into_iter());
        assert_eq!(watch.next(&testing::session(run.path())).await, Vec::<String>::new());
        assert!(watch.open.contains(&number(7)));
    }

    #[test]
    fn only_so_many_are_followed() {
        let mut watch = Watch::default();
        watch.add((1..=50).map(number));
        assert_eq!(watch.open.len(), MOST);
        assert!(watch.open.contains(&number(50)));
        watch.forget(number(50));
        assert!(!watch.open.contains(&number(50)));
    }
}
