//! An assistant on `propose.sock`, as the executor sees one: a test may say what no assistant of ours would.

#![expect(clippy::wildcard_enum_match_arm, reason = "any other word is the end of the test")]

use super::link::{Asker, Frames};
use super::must::{must, some};
use protocol::hello::{AuditHead, Hello};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind, News, Origin, Propose, Proposing};
use protocol::refusal::Refusal;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Request ids are new for every draft of this test process.
static REQUESTS: AtomicU64 = AtomicU64::new(1);

/// One connection, greeted: a turn, or polling. Dropping it hangs up.
#[derive(Debug)]
pub struct ProposeClient {
    link: Asker<AssistantSays, ExecutorSays>,
    /// The audit head of the executor's hello.
    pub head: AuditHead,
    /// Whether proposing is possible, by the executor's hello.
    pub proposing: Proposing,
}

impl ProposeClient {
    /// Connects and says hello.
    ///
    /// # Errors
    /// What the system says, or that the executor hung up.
    pub fn open(socket: &Path, agent: &str, kind: LinkKind, witness: Option<AuditHead>) -> io::Result<Self> {
        let mut link: Asker<AssistantSays, ExecutorSays> = Asker::new(Frames::connect(socket)?);
        let agent = Label::new(agent).ok_or_else(|| io::Error::other("not a label"))?;
        match link.ask(AssistantSays::Hello { hello: Hello::ours(), kind, agent, witness }) {
            Some(ExecutorSays::Hello { head, proposing, .. }) => Ok(Self { link, head, proposing }),
            other => Err(io::Error::other(format!("no hello but {other:?}"))),
        }
    }

    /// One question, one answer.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn ask(&mut self, say: AssistantSays) -> Result<ExecutorSays, Refusal> {
        let said = self.link.ask(say);
        match some(said, "the executor's answer") {
            ExecutorSays::Refused(refusal) => Err(refusal),
            answer => Ok(answer),
        }
    }

    /// The connection below.
    pub fn frames(&mut self) -> &mut Frames {
        &mut self.link.frames
    }

    /// Proposes under a new request id with a plain reason.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn propose(&mut self, tool: &str, arguments: &Value) -> Result<ProposalNumber, Refusal> {
        self.draft(draft(tool, arguments.to_string().as_bytes(), "A test asked for it."))
    }

    /// Proposes this draft.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn draft(&mut self, draft: Propose) -> Result<ProposalNumber, Refusal> {
        match self.ask(AssistantSays::Propose(draft))? {
            ExecutorSays::Admitted { number } => Ok(number),
            other => surprise(&other),
        }
    }

    /// Ends the turn, so that its proposals may wait.
    #[track_caller]
    pub fn end(mut self) {
        match must(self.ask(AssistantSays::TurnEnd), "the end of a turn") {
            ExecutorSays::TurnEnded => {}
            other => surprise(&other),
        }
    }

    /// What ended since the last ack, and the newest audit head.
    #[track_caller]
    pub fn poll(&mut self) -> (AuditHead, Vec<News>) {
        match must(self.ask(AssistantSays::Poll), "a poll") {
            ExecutorSays::News { head, items } => (head, items),
            other => surprise(&other),
        }
    }

    /// What could be changed, from a connection that polls.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn changeable(&mut self) -> Result<Value, Refusal> {
        match self.ask(AssistantSays::Changeable)? {
            ExecutorSays::Changeable { json } => Ok(must(serde_json::from_slice(&json), "the list")),
            other => surprise(&other),
        }
    }

    /// These news have arrived.
    #[track_caller]
    pub fn ack(&mut self, numbers: Vec<ProposalNumber>) {
        match must(self.ask(AssistantSays::Ack { numbers }), "an ack") {
            ExecutorSays::Acked => {}
            other => surprise(&other),
        }
    }
}

/// A draft under a new request id, as a model makes it.
#[must_use]
#[track_caller]
pub fn draft(tool: &str, arguments: &[u8], reason: &str) -> Propose {
    let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
    Propose {
        request: some(Label::new(&format!("test-{number}")), "a label"),
        origin: Origin::Model,
        tool: tool.to_owned(),
        arguments: arguments.to_vec(),
        reason: reason.to_owned(),
    }
}

#[track_caller]
fn surprise<T>(said: &ExecutorSays) -> T {
    must(Err(format!("{said:?}")), "the executor answered something else than was asked")
}
