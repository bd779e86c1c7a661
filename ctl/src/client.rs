//! The links to both daemons: one connection, hello first, numbered questions, a deadline on every answer.

use crate::exit::Exit;
use control::card::Card;
use control::message::{ExecutorSays, OperatorSays};
use control::status::{ExecutorDoctor, ExecutorStatus};
use host::files::{self, FileError, Owner};
use host::link::{Link, LinkError};
use host::socket::{self, SocketError};
use protocol::ask::{AskerSays, AssistantDoctor, AssistantSays, AssistantStatus};
use protocol::hello::{Hello, Reply, Request};
use protocol::ids::ProposalNumber;
use protocol::refusal::Refusal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// To connect, and for answers that need no device.
const QUICK: Duration = Duration::from_secs(10);
/// For a decision: the executor may be busy with a write to its disk or with a run.
const CHANGE: Duration = Duration::from_secs(30);
/// For a card: the executor reads the fleet first.
const CARD: Duration = Duration::from_secs(90);
/// For an approval: the executor answers when the run has ended.
const RUN: Duration = Duration::from_secs(240);
/// Between two words of the assistant within a turn.
const TURN: Duration = Duration::from_secs(150);

/// Where the daemons listen, and as whom.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The folder of the sockets' folders.
    pub(crate) run: PathBuf,
    /// The executor must be this user, if set.
    pub(crate) executor: Option<u32>,
    /// The assistant must be this user, if set.
    pub(crate) assistant: Option<u32>,
}

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Daemon {
    /// Answers questions and drafts.
    Assistant,
    /// Shows cards, takes decisions, runs.
    Executor,
}

impl Daemon {
    /// The program's name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Assistant => "fleetwatch-assistant",
            Self::Executor => "fleetwatch-executor",
        }
    }

    /// Its socket.
    pub(crate) fn socket(self, places: &Places) -> PathBuf {
        match self {
            Self::Assistant => places.run.join("ask").join("ask.sock"),
            Self::Executor => places.run.join("control").join("control.sock"),
        }
    }

    /// The group whose members may connect, where the daemons have users of their own.
    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Assistant => "fleetwatch-agents",
            Self::Executor => "fleetwatch-operators",
        }
    }

    fn user(self, places: &Places) -> Option<u32> {
        match self {
            Self::Assistant => places.assistant,
            Self::Executor => places.executor,
        }
    }
}

/// Why a daemon did not do what was asked.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// Its socket lies where others could have put it.
    Folder(Daemon, FileError),
    /// It hung up before it answered.
    HungUp(Daemon),
    /// The connection failed on the way.
    Lost(Daemon, LinkError),
    /// Nobody could be reached.
    NotReached(Daemon, SocketError),
    /// It answered something that was not asked.
    OutOfOrder(Daemon),
    /// It is another version.
    OtherVersion(Daemon, Hello),
    /// It said no.
    Refused(Refusal),
    /// A change was sent to it, and no answer to that came: it may have been done.
    Unanswered(Box<Self>),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(daemon, error) => write!(f, "{} is not asked: {error}", daemon.as_str()),
            Self::HungUp(daemon) => write!(
                f,
                "{} hung up without an answer; its log says why (are you allowed to ask it?)",
                daemon.as_str()
            ),
            Self::Lost(daemon, error) => write!(f, "{} was lost: {error}", daemon.as_str()),
            Self::NotReached(daemon, SocketError::Io { path, source, .. })
                if source.kind() == ErrorKind::PermissionDenied =>
            {
                write!(
                    f,
                    "you may not speak to {}: {} is for the group {}",
                    daemon.as_str(),
                    path.display(),
                    daemon.group()
                )
            }
            Self::NotReached(daemon, error) => write!(
                f,
                "{} does not answer: {error}, or say where it listens with --run-dir or FLEETWATCH_RUN_DIR",
                daemon.as_str()
            ),
            Self::OutOfOrder(daemon) => {
                write!(f, "{} answered something else than was asked; install one version of both", daemon.as_str())
            }
            Self::OtherVersion(daemon, theirs) => write!(
                f,
                "{} speaks wire version {} ({}), this command speaks {} ({}); install one version of both",
                daemon.as_str(),
                theirs.wire,
                crate::render::safe(&theirs.build),
                protocol::hello::WIRE_VERSION,
                protocol::hello::BUILD
            ),
            Self::Refused(refusal) => {
                write!(f, "refused: {}", crate::render::refusal(refusal, protocol::shown::Language::English))
            }
            Self::Unanswered(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {}

impl ClientError {
    /// The same when it was sent to change something: it may have been done.
    pub(crate) fn of_a_change(self) -> Self {
        Self::Unanswered(Box::new(self))
    }

    /// How the command ends.
    pub(crate) fn exit(&self) -> Exit {
        if let Self::Refused(refusal) = self { Exit::of_refusal(refusal) } else { Exit::Wrong }
    }

    /// For `--json`.
    pub(crate) fn json(&self) -> Value {
        if let Self::Refused(refusal) = self {
            return crate::render::refusal_json(refusal);
        }
        serde_json::json!({ "error": self.to_string() })
    }
}

/// One connection with numbered questions.
#[derive(Debug)]
struct Line<Q, A> {
    link: Link<Request<Q>, Reply<A>>,
    daemon: Daemon,
    // Whose process listens there.
    server: u32,
    last: u32,
}

impl<Q: Serialize, A: DeserializeOwned> Line<Q, A> {
    async fn open(places: &Places, daemon: Daemon) -> Result<Self, ClientError> {
        let path = daemon.socket(places);
        let reached = socket::connect(&path, daemon.user(places), QUICK).await;
        let stream = reached.map_err(|error| ClientError::NotReached(daemon, error))?;
        let server = socket::peer_uid(&stream).map_err(|error| ClientError::NotReached(daemon, error))?;
        check_folder(&path, server).map_err(|error| ClientError::Folder(daemon, error))?;
        Ok(Self { link: Link::new(stream), daemon, server, last: 0 })
    }

    async fn say(&mut self, say: Q) -> Result<(), ClientError> {
        self.last = self.last.wrapping_add(1);
        let sent = self.link.send(&Request { id: self.last, say }, QUICK).await;
        sent.map_err(|error| ClientError::Lost(self.daemon, error))
    }

    async fn hear(&mut self, deadline: Duration) -> Result<A, ClientError> {
        let heard = self.link.recv(deadline).await.map_err(|error| ClientError::Lost(self.daemon, error))?;
        let reply = heard.ok_or(ClientError::HungUp(self.daemon))?;
        if reply.id == self.last { Ok(reply.say) } else { Err(ClientError::OutOfOrder(self.daemon)) }
    }

    // A peer that hung up while nothing was asked; then a new question was certainly not heard.
    async fn gone(&mut self) -> bool {
        tokio::time::timeout(Duration::ZERO, self.link.closed()).await.is_ok()
    }
}

// The folder decides who can put a socket there: root, me, or the server itself.
fn check_folder(path: &Path, server: u32) -> Result<(), FileError> {
    let folder = path.parent().unwrap_or(path);
    files::check_dir(folder, Owner::Uid(server), 0o755).or_else(|_| files::check_dir(folder, Owner::RootOrMe, 0o755))
}

fn welcome(daemon: Daemon, hello: Hello) -> Result<(), ClientError> {
    if hello.speaks_ours() { Ok(()) } else { Err(ClientError::OtherVersion(daemon, hello)) }
}

fn deadline(say: &OperatorSays) -> Duration {
    match say {
        OperatorSays::Approve(_) => RUN,
        // A long audit is walked row by row.
        OperatorSays::AuditVerify
        | OperatorSays::Backup { .. }
        | OperatorSays::Doctor
        // The executor asks the server first.
        | OperatorSays::Login { .. }
        | OperatorSays::LoginWait
        | OperatorSays::Logout { .. }
        | OperatorSays::ProposeUndo { .. }
        | OperatorSays::Restore { .. }
        | OperatorSays::Show { .. } => CARD,
        OperatorSays::AgentResume { .. }
        | OperatorSays::Deny { .. }
        | OperatorSays::DenyAll
        | OperatorSays::Freeze
        | OperatorSays::PinSet { .. }
        | OperatorSays::Thaw { .. } => CHANGE,
        OperatorSays::AuditRows { .. }
        | OperatorSays::Hello(_)
        | OperatorSays::History { .. }
        | OperatorSays::List
        | OperatorSays::LoginCallback { .. }
        | OperatorSays::PageCode { .. }
        | OperatorSays::Status => QUICK,
    }
}

/// Whether the executor may have done something when its answer does not come.
fn changes(say: &OperatorSays) -> bool {
    match say {
        OperatorSays::AgentResume { .. }
        | OperatorSays::Approve(_)
        | OperatorSays::Deny { .. }
        | OperatorSays::DenyAll
        | OperatorSays::Freeze
        // The answer may be that the sign-in is made.
        | OperatorSays::LoginWait
        | OperatorSays::Logout { .. }
        | OperatorSays::PinSet { .. }
        | OperatorSays::ProposeUndo { .. }
        | OperatorSays::Restore { .. }
        | OperatorSays::Thaw { .. } => true,
        OperatorSays::AuditRows { .. }
        | OperatorSays::AuditVerify
        | OperatorSays::Backup { .. }
        | OperatorSays::Doctor
        | OperatorSays::Hello(_)
        | OperatorSays::History { .. }
        | OperatorSays::List
        | OperatorSays::Login { .. }
        | OperatorSays::LoginCallback { .. }
        | OperatorSays::PageCode { .. }
        | OperatorSays::Show { .. }
        | OperatorSays::Status => false,
    }
}

/// The operator's connection to the executor.
#[derive(Debug)]
pub(crate) struct Control {
    line: Line<OperatorSays, ExecutorSays>,
}

impl Control {
    /// Connects and says hello.
    ///
    /// # Errors
    /// [`ClientError`] when nobody is there, or not the right one.
    pub(crate) async fn open(places: &Places) -> Result<Self, ClientError> {
        let mut control = Self { line: Line::open(places, Daemon::Executor).await? };
        let ExecutorSays::Hello(hello) = control.ask(OperatorSays::Hello(Hello::ours())).await? else {
            return Err(Self::surprise());
        };
        welcome(Daemon::Executor, hello)?;
        Ok(control)
    }

    /// Asks one thing and waits for its answer; a refusal is an error.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Unanswered`] when a change was sent and no answer came.
    pub(crate) async fn ask(&mut self, say: OperatorSays) -> Result<ExecutorSays, ClientError> {
        let (deadline, changes) = (deadline(&say), changes(&say));
        self.line.say(say).await?;
        let reply =
            self.line.hear(deadline).await.map_err(|error| if changes { error.of_a_change() } else { error })?;
        if let ExecutorSays::Refused(refusal) = reply { Err(ClientError::Refused(refusal)) } else { Ok(reply) }
    }

    /// A fresh card with a ticket.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn card(&mut self, number: ProposalNumber) -> Result<Card, ClientError> {
        let ExecutorSays::Card(card) = self.ask(OperatorSays::Show { number }).await? else {
            return Err(Self::surprise());
        };
        if card.facts.number == number { Ok(*card) } else { Err(Self::surprise()) }
    }

    /// How the executor is.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn status(&mut self) -> Result<ExecutorStatus, ClientError> {
        let ExecutorSays::Status(status) = self.ask(OperatorSays::Status).await? else {
            return Err(Self::surprise());
        };
        Ok(*status)
    }

    /// What the executor finds when it looks at itself, and the uid that it runs as.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn doctor(&mut self) -> Result<(ExecutorDoctor, u32), ClientError> {
        let ExecutorSays::Doctor(found) = self.ask(OperatorSays::Doctor).await? else {
            return Err(Self::surprise());
        };
        Ok((*found, self.line.server))
    }

    /// Whether the executor hung up while nothing was asked.
    pub(crate) async fn gone(&mut self) -> bool {
        self.line.gone().await
    }

    /// An answer of another kind than the question's.
    pub(crate) fn surprise() -> ClientError {
        ClientError::OutOfOrder(Daemon::Executor)
    }

    /// The same after a change: it may have been done.
    pub(crate) fn surprise_of_a_change() -> ClientError {
        Self::surprise().of_a_change()
    }
}

/// Anybody's connection to the assistant.
#[derive(Debug)]
pub(crate) struct Asking {
    line: Line<AskerSays, AssistantSays>,
}

impl Asking {
    /// Connects and says hello.
    ///
    /// # Errors
    /// [`ClientError`] when nobody is there, or not the right one.
    pub(crate) async fn open(places: &Places) -> Result<Self, ClientError> {
        let mut line: Line<AskerSays, AssistantSays> = Line::open(places, Daemon::Assistant).await?;
        line.say(AskerSays::Hello(Hello::ours())).await?;
        let reply = line.hear(QUICK).await?;
        if let AssistantSays::Refused(refusal) = reply {
            return Err(ClientError::Refused(refusal));
        }
        let AssistantSays::Hello(hello) = reply else { return Err(Self::surprise()) };
        welcome(Daemon::Assistant, hello)?;
        Ok(Self { line })
    }

    /// Starts a turn. Dropping the connection drops the turn.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn say(&mut self, say: AskerSays) -> Result<(), ClientError> {
        self.line.say(say).await
    }

    /// The next word of the turn.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn hear(&mut self) -> Result<AssistantSays, ClientError> {
        self.line.hear(TURN).await
    }

    /// What a word means that was not asked for: a refusal, or an assistant out of order.
    pub(crate) fn unexpected(say: AssistantSays) -> ClientError {
        if let AssistantSays::Refused(refusal) = say { ClientError::Refused(refusal) } else { Self::surprise() }
    }

    /// How the assistant is.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn status(&mut self) -> Result<AssistantStatus, ClientError> {
        self.line.say(AskerSays::Status).await?;
        let reply = self.line.hear(QUICK).await?;
        if let AssistantSays::Refused(refusal) = reply {
            return Err(ClientError::Refused(refusal));
        }
        let AssistantSays::Status(status) = reply else { return Err(Self::surprise()) };
        Ok(*status)
    }

    /// What the assistant finds when it looks at itself and tries these paths, and the uid that it runs as.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn doctor(&mut self, closed: Vec<String>) -> Result<(AssistantDoctor, u32), ClientError> {
        self.line.say(AskerSays::Doctor { closed }).await?;
        let reply = self.line.hear(CARD).await?;
        if let AssistantSays::Refused(refusal) = reply {
            return Err(ClientError::Refused(refusal));
        }
        let AssistantSays::Doctor(found) = reply else { return Err(Self::surprise()) };
        Ok((*found, self.line.server))
    }

    /// An answer of another kind than the question's.
    pub(crate) fn surprise() -> ClientError {
        ClientError::OutOfOrder(Daemon::Assistant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_changes_something_is_waited_for_longer_than_a_look() {
        let number = ProposalNumber::new(7).unwrap();
        for say in [OperatorSays::Deny { number }, OperatorSays::DenyAll, OperatorSays::Freeze] {
            assert!(changes(&say) && deadline(&say) >= Duration::from_secs(30), "{say:?}");
        }
        for say in [OperatorSays::List, OperatorSays::Status, OperatorSays::Show { number }] {
            assert!(!changes(&say), "{say:?}");
        }
    }
}
