//! An operator on `control.sock`.

#![expect(clippy::wildcard_enum_match_arm, reason = "any other word is the end of the test")]

use super::READING;
use super::link::{Asker, Frames};
use super::must::{must, some};
use control::card::{Card, HistoryRow, Waiting};
use control::message::{Approve, AuditReport, ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use control::status::ExecutorStatus;
use protocol::hello::Hello;
use protocol::ids::ProposalNumber;
use protocol::propose::News;
use protocol::refusal::Refusal;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::thread::sleep;

/// One connection, greeted. Tickets belong to it.
#[derive(Debug)]
pub struct ControlClient {
    link: Asker<OperatorSays, ExecutorSays>,
    pin: String,
}

impl ControlClient {
    /// Connects and says hello. `pin` is what [`Self::yes_to`] will type.
    ///
    /// # Errors
    /// What the system says, or that the executor hung up.
    pub fn open(socket: &Path, pin: &str) -> io::Result<Self> {
        let mut link: Asker<OperatorSays, ExecutorSays> = Asker::new(Frames::connect(socket)?);
        match link.ask(OperatorSays::Hello(Hello::ours())) {
            Some(ExecutorSays::Hello(_)) => Ok(Self { link, pin: pin.to_owned() }),
            other => Err(io::Error::other(format!("no hello but {other:?}"))),
        }
    }

    /// One question, one answer.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn ask(&mut self, say: OperatorSays) -> Result<ExecutorSays, Refusal> {
        let said = self.link.ask(say);
        match some(said, "the executor's answer") {
            ExecutorSays::Refused(refusal) => Err(refusal),
            answer => Ok(answer),
        }
    }

    /// Sends a question and leaves at once.
    #[track_caller]
    pub fn say_and_leave(mut self, say: OperatorSays) {
        self.link.say(say);
    }

    /// The connection below.
    pub fn frames(&mut self) -> &mut Frames {
        &mut self.link.frames
    }

    /// A fresh card with its ticket.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn show(&mut self, number: ProposalNumber) -> Result<Card, Refusal> {
        match self.ask(OperatorSays::Show { number })? {
            ExecutorSays::Card(card) => Ok(*card),
            other => surprise(&other),
        }
    }

    /// The yes to this card, with the right PIN and the rooms named as the card wants them.
    #[must_use]
    pub fn yes_to(&self, card: &Card) -> Approve {
        Approve {
            number: card.facts.number,
            ticket: card.ticket.clone(),
            digest: card.digest,
            pin: pin(&self.pin),
            confirm: card.facts.confirm.clone(),
        }
    }

    /// Says this yes now. The answer comes when the run has ended.
    ///
    /// # Errors
    /// The executor's refusal; then nothing ran.
    #[track_caller]
    pub fn decide(&mut self, yes: Approve) -> Result<News, Refusal> {
        match self.ask(OperatorSays::Approve(yes))? {
            ExecutorSays::Ended(news) => Ok(news),
            other => surprise(&other),
        }
    }

    /// Shows the card, reads for 2.1 s, says yes.
    ///
    /// # Errors
    /// The executor's refusal of the card or of the yes.
    #[track_caller]
    pub fn approve(&mut self, number: ProposalNumber) -> Result<News, Refusal> {
        let card = self.show(number)?;
        sleep(READING);
        self.decide(self.yes_to(&card))
    }

    /// Denies one.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn deny(&mut self, number: ProposalNumber) -> Result<News, Refusal> {
        match self.ask(OperatorSays::Deny { number })? {
            ExecutorSays::Ended(news) => Ok(news),
            other => surprise(&other),
        }
    }

    /// Denies all that waits and gives their numbers.
    #[track_caller]
    pub fn deny_all(&mut self) -> Vec<ProposalNumber> {
        match must(self.ask(OperatorSays::DenyAll), "deny all") {
            ExecutorSays::DeniedAll { numbers } => numbers,
            other => surprise(&other),
        }
    }

    /// What waits, oldest first.
    #[track_caller]
    pub fn list(&mut self) -> Vec<Waiting> {
        match must(self.ask(OperatorSays::List), "list") {
            ExecutorSays::Waiting(waiting) => waiting,
            other => surprise(&other),
        }
    }

    /// All proposals, newest first.
    #[track_caller]
    pub fn history(&mut self) -> Vec<HistoryRow> {
        match must(self.ask(OperatorSays::History { most: 200, search: None }), "history") {
            ExecutorSays::History(rows) => rows,
            other => surprise(&other),
        }
    }

    /// How one proposal stands.
    #[track_caller]
    pub fn row(&mut self, number: ProposalNumber) -> HistoryRow {
        some(self.history().into_iter().find(|row| row.number == number), "the proposal's row")
    }

    /// How the executor is.
    #[track_caller]
    pub fn status(&mut self) -> ExecutorStatus {
        match must(self.ask(OperatorSays::Status), "status") {
            ExecutorSays::Status(status) => *status,
            other => surprise(&other),
        }
    }

    /// Whether the audit holds.
    #[track_caller]
    pub fn audit(&mut self) -> AuditReport {
        match must(self.ask(OperatorSays::AuditVerify), "audit") {
            ExecutorSays::Audit(report) => report,
            other => surprise(&other),
        }
    }

    /// A code that opens one session of the page, where people and assistant have users of their own.
    #[track_caller]
    pub fn page_code(&mut self) -> String {
        match must(self.ask(OperatorSays::PageCode { pin: pin(&self.pin) }), "a page code") {
            ExecutorSays::PageCode { code, .. } => code,
            other => surprise(&other),
        }
    }

    /// Sets the operator's PIN; the first time there is no old one.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn set_pin(&mut self, old: Option<&str>, new: &str) -> Result<(), Refusal> {
        self.ask(OperatorSays::PinSet { old: old.map(pin), new: pin(new) }).map(drop)
    }
}

/// A typed PIN.
#[track_caller]
pub(super) fn pin(text: &str) -> PinEntry {
    must(serde_json::from_value(Value::from(text)), "a PIN")
}

#[track_caller]
fn surprise<T>(said: &ExecutorSays) -> T {
    must(Err(format!("{said:?}")), "the executor answered something else than was asked")
}
