//! The link to the executor: hello, then one draft at a time, then the end of the turn. It carries no word that decides.
//!
//! A turn's link is opened at its first draft. Dropped before [`Drafts::finish`] it ends without `TurnEnd`, and the
//! executor withdraws what the turn proposed (`seed 000, Fallback`).

use host::link::{Link, LinkError};
use host::socket::{self, SocketError};
use protocol::hello::{AuditHead, Hello, Reply, Request};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind, Origin, Propose, Proposing};
use protocol::refusal::{Refusal, RefusalCode};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(3);
const HELLO: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_secs(5);
/// The executor reads the fleet before it admits anything.
const ADMISSION: Duration = Duration::from_secs(75);
/// Waits between tries while the service manager's socket still shows root.
const BACK_OFF: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(300), Duration::from_secs(1)];

/// Under which label this assistant's own turns go.
pub(crate) const ASSISTANT: &str = "assistant";
/// Under which label the changes go that another agent drafts as one of the people's users; see [`crate::front::label`].
pub(crate) const FRONT: &str = "front";

/// Where the executor listens, and who it must be.
#[derive(Debug, Clone)]
pub(crate) struct Executor {
    /// The socket.
    pub(crate) path: PathBuf,
    /// The executor's uid; another listener is refused without a word.
    pub(crate) uid: u32,
}

/// What was tried with the executor and did not work.
#[derive(Debug)]
pub(crate) enum ExecutorError {
    /// It answered with a word that does not fit.
    Confused,
    /// The link failed.
    Link(LinkError),
    /// It hung up.
    HungUp,
    /// A request id could not be made, which would be our own mistake.
    NoLabel,
    /// It said no.
    Refused(Refusal),
    /// Nobody fitting listens.
    Socket(SocketError),
    /// It speaks another wire version.
    Version,
}

impl fmt::Display for ExecutorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confused => {
                f.write_str("the executor answered with a word that does not fit; are both daemons of one build?")
            }
            Self::Link(error) => write!(f, "the link to the executor: {error}"),
            Self::HungUp => f.write_str("the executor hung up; is it running as the expected user?"),
            Self::NoLabel => f.write_str("the assistant could not name a request"),
            Self::Refused(refusal) => write!(f, "the executor refused: {refusal}"),
            Self::Socket(error) => write!(f, "{error}"),
            Self::Version => {
                f.write_str("the executor speaks another wire version; restart both daemons from one build")
            }
        }
    }
}

impl std::error::Error for ExecutorError {}

impl From<LinkError> for ExecutorError {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

impl ExecutorError {
    /// What an asker or the model may know of it.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal.clone(),
            Self::Version => Refusal::bare(RefusalCode::WireVersion),
            Self::Confused | Self::Link(_) | Self::HungUp | Self::NoLabel | Self::Socket(_) => {
                Refusal::new(RefusalCode::ConnectionLost, "the executor does not answer; nothing was proposed")
            }
        }
    }
}

/// An open link, greeted on both sides.
#[derive(Debug)]
pub(crate) struct ExecutorLink {
    link: Link<Request<AssistantSays>, Reply<ExecutorSays>>,
    next_id: u32,
    proposing: Proposing,
}

impl ExecutorLink {
    /// Connects, checks the executor's uid before the first byte, and says hello with the newest audit head we hold.
    ///
    /// # Errors
    /// [`ExecutorError`] when nobody fitting answers.
    pub(crate) async fn open(
        executor: &Executor,
        kind: LinkKind,
        witness: Option<AuditHead>,
    ) -> Result<Self, ExecutorError> {
        Self::open_as(ASSISTANT, executor, kind, witness).await
    }

    /// The same under another label; each label has its own news, limits and pauses.
    ///
    /// # Errors
    /// [`ExecutorError`] when nobody fitting answers.
    pub(crate) async fn open_as(
        label: &str,
        executor: &Executor,
        kind: LinkKind,
        witness: Option<AuditHead>,
    ) -> Result<Self, ExecutorError> {
        let stream = connect(executor).await?;
        let mut link =
            Self { link: Link::new(stream), next_id: 1, proposing: Proposing::Off(RefusalCode::NotPermitted) };
        let agent = Label::new(label).ok_or(ExecutorError::NoLabel)?;
        let hello = AssistantSays::Hello { hello: Hello::ours(), kind, agent, witness };
        match link.exchange(hello, HELLO).await? {
            ExecutorSays::Hello { hello, .. } if !hello.speaks_ours() => Err(ExecutorError::Version),
            ExecutorSays::Hello { proposing, .. } => {
                link.proposing = proposing;
                Ok(link)
            }
            ExecutorSays::Refused(refusal) => Err(ExecutorError::Refused(refusal)),
            ExecutorSays::Acked
            | ExecutorSays::Admitted { .. }
            | ExecutorSays::Changeable { .. }
            | ExecutorSays::Live(_)
            | ExecutorSays::News { .. }
            | ExecutorSays::Standing(_)
            | ExecutorSays::TurnEnded => Err(ExecutorError::Confused),
        }
    }

    /// Whether the executor would admit anything now, by its hello.
    pub(crate) fn proposing(&self) -> Proposing {
        self.proposing
    }

    /// Says one thing and waits for its answer.
    ///
    /// # Errors
    /// [`ExecutorError`] when the link fails; it is of no use afterwards.
    pub(crate) async fn exchange(
        &mut self,
        say: AssistantSays,
        deadline: Duration,
    ) -> Result<ExecutorSays, ExecutorError> {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.link.send(&Request { id, say }, SHORT).await?;
        match self.link.recv(deadline).await? {
            None => Err(ExecutorError::HungUp),
            Some(reply) if reply.id == id => Ok(reply.say),
            Some(_) => Err(ExecutorError::Confused),
        }
    }

    async fn propose(&mut self, draft: Propose) -> Result<ProposalNumber, ExecutorError> {
        match self.exchange(AssistantSays::Propose(draft), ADMISSION).await? {
            ExecutorSays::Admitted { number } => Ok(number),
            ExecutorSays::Refused(refusal) => Err(ExecutorError::Refused(refusal)),
            ExecutorSays::Acked
            | ExecutorSays::Changeable { .. }
            | ExecutorSays::Hello { .. }
            | ExecutorSays::Live(_)
            | ExecutorSays::News { .. }
            | ExecutorSays::Standing(_)
            | ExecutorSays::TurnEnded => Err(ExecutorError::Confused),
        }
    }

    async fn end_turn(&mut self) -> Result<(), ExecutorError> {
        match self.exchange(AssistantSays::TurnEnd, SHORT).await? {
            ExecutorSays::TurnEnded => Ok(()),
            ExecutorSays::Refused(refusal) => Err(ExecutorError::Refused(refusal)),
            ExecutorSays::Acked
            | ExecutorSays::Admitted { .. }
            | ExecutorSays::Changeable { .. }
            | ExecutorSays::Hello { .. }
            | ExecutorSays::Live(_)
            | ExecutorSays::News { .. }
            | ExecutorSays::Standing(_) => Err(ExecutorError::Confused),
        }
    }
}

// A client that is queued before the executor called listen() itself still sees root: close without a word, wait, try again.
async fn connect(executor: &Executor) -> Result<tokio::net::UnixStream, ExecutorError> {
    for wait in BACK_OFF {
        match socket::connect(&executor.path, Some(executor.uid), CONNECT).await {
            Ok(stream) => return Ok(stream),
            Err(SocketError::WrongPeer { found: 0, .. }) => tokio::time::sleep(wait).await,
            Err(error) => return Err(ExecutorError::Socket(error)),
        }
    }
    socket::connect(&executor.path, Some(executor.uid), CONNECT).await.map_err(ExecutorError::Socket)
}

/// One drafted change before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// Who drafted it.
    pub(crate) origin: Origin,
    /// The tool's name.
    pub(crate) tool: String,
    /// The arguments as JSON text.
    pub(crate) arguments: Vec<u8>,
    /// Why.
    pub(crate) reason: String,
}

/// How a turn's proposals stand at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// None was made.
    Nothing,
    /// They wait for a person.
    Waiting,
    /// The executor went away, so they are withdrawn.
    Withdrawn,
}

/// The proposals of one turn.
#[derive(Debug)]
pub(crate) struct Drafts {
    label: String,
    executor: Executor,
    witness: Option<AuditHead>,
    link: Opened,
    admitted: Vec<ProposalNumber>,
}

#[derive(Debug)]
enum Opened {
    NotYet,
    Open(Box<ExecutorLink>),
    Lost,
}

impl Drafts {
    /// No link and no proposal yet. Denials of what goes under this label pause it and no other.
    pub(crate) fn new(label: &str, executor: Executor, witness: Option<AuditHead>) -> Self {
        Self { label: label.to_owned(), executor, witness, link: Opened::NotYet, admitted: Vec::new() }
    }

    /// The numbers admitted in this turn.
    pub(crate) fn admitted(&self) -> &[ProposalNumber] {
        &self.admitted
    }

    /// Sends one draft; opens the turn's link when it is the first.
    ///
    /// # Errors
    /// The executor's [`Refusal`], or one that says that it does not answer. A lost link is not opened again: the turn
    /// is over for the executor.
    pub(crate) async fn propose(&mut self, draft: Draft) -> Result<ProposalNumber, Refusal> {
        let tried = self.try_propose(draft).await;
        let lost = matches!(&tried, Err(error) if !matches!(error, ExecutorError::Refused(_)));
        if let (true, Err(error)) = (lost, &tried) {
            tracing::warn!(%error, "a draft could not be handed over");
            self.link = Opened::Lost;
        }
        let number = tried.map_err(|error| error.refusal())?;
        self.admitted.push(number);
        Ok(number)
    }

    async fn try_propose(&mut self, draft: Draft) -> Result<ProposalNumber, ExecutorError> {
        if matches!(self.link, Opened::NotYet) {
            let opened = ExecutorLink::open_as(&self.label, &self.executor, LinkKind::Turn, self.witness).await?;
            self.link = Opened::Open(Box::new(opened));
        }
        let Opened::Open(link) = &mut self.link else { return Err(ExecutorError::HungUp) };
        let request = Label::new(&uuid::Uuid::now_v7().to_string()).ok_or(ExecutorError::NoLabel)?;
        let Draft { origin, tool, arguments, reason } = draft;
        link.propose(Propose { request, origin, tool, arguments, reason }).await
    }

    /// Says that the turn is complete, so that its proposals may wait for a person.
    pub(crate) async fn finish(mut self) -> Ending {
        let ended = match &mut self.link {
            Opened::NotYet => return Ending::Nothing,
            Opened::Open(link) => link.end_turn().await,
            Opened::Lost => Err(ExecutorError::HungUp),
        };
        match ended {
            _ if self.admitted.is_empty() => Ending::Nothing,
            Ok(()) => Ending::Waiting,
            Err(error) => {
                tracing::warn!(%error, "the turn could not be ended; its proposals are withdrawn");
                Ending::Withdrawn
            }
        }
    }
}
