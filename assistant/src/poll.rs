//! Every five seconds the executor is asked what became of earlier proposals. Its newest audit head is kept here and in a
//! private file, and goes back with the next hello as a witness against a restored database.

use crate::propose::{Executor, ExecutorError, ExecutorLink};
use host::files::{self, FileError, Owner};
use protocol::hello::AuditHead;
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind, News, Proposing};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the executor is asked.
const EVERY: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(5);
/// News that later questions can be told of.
const KEPT: usize = 50;
/// As many news as one answer holds; then more may wait.
const FULL: usize = 100;
/// Most answers fetched at one poll.
const ROUNDS: usize = 5;
const FILE: &str = "witness.json";

/// What the last poll found.
#[derive(Debug, Default)]
struct Found {
    head: Option<AuditHead>,
    // What the file holds, as far as we know.
    written: Option<AuditHead>,
    // A head that this run was given is in memory and in the file.
    kept: bool,
    proposing: Option<Proposing>,
    // Empty when the executor answered.
    trouble: Option<String>,
    witness_trouble: Option<String>,
    news: VecDeque<News>,
    drafts: VecDeque<Drafted>,
}

/// Whose proposals' outcomes an asker is told. Who decides about all of them may hear of all; anybody else hears what
/// became of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hears {
    /// Everybody's; the asker is this user.
    All(u32),
    /// Those that this user asked for.
    Own(u32),
}

impl Hears {
    /// The asker's user.
    pub(crate) fn uid(self) -> u32 {
        match self {
            Self::All(uid) | Self::Own(uid) => uid,
        }
    }

    // Nobody knows who asked for what an earlier run drafted.
    fn tells(self, draft: Option<&Drafted>) -> bool {
        match self {
            Self::All(_) => true,
            Self::Own(uid) => draft.is_some_and(|draft| draft.by == uid),
        }
    }
}

/// A draft of ours that was admitted, so that news of it can be explained.
#[derive(Debug, Clone)]
pub(crate) struct Drafted {
    /// The user who asked for it.
    pub(crate) by: u32,
    /// Its number.
    pub(crate) number: protocol::ids::ProposalNumber,
    /// The tool's name.
    pub(crate) tool: String,
    /// The arguments as sent.
    pub(crate) arguments: String,
}

/// The background poll and what it remembers.
#[derive(Debug)]
pub(crate) struct Poll {
    executor: Executor,
    file: PathBuf,
    found: Mutex<Found>,
    // One poll at a time.
    turn: tokio::sync::Mutex<()>,
}

impl Poll {
    /// Loads the head that an earlier run kept in `state_dir`. An unreadable one is reported and not used: then the
    /// executor is `unwitnessed` until the first poll.
    pub(crate) fn new(executor: Executor, state_dir: &Path) -> Self {
        let file = state_dir.join(FILE);
        let mut found = Found::default();
        match load(&file) {
            Ok(head) => (found.head, found.written) = (head, head),
            Err(words) => {
                tracing::error!(words, "the kept audit head cannot be used");
                found.witness_trouble = Some(words);
            }
        }
        Self { executor, file, found: Mutex::new(found), turn: tokio::sync::Mutex::new(()) }
    }

    /// Polls for ever.
    pub(crate) async fn run(&self) {
        loop {
            self.refresh().await;
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Polls once, now.
    pub(crate) async fn refresh(&self) {
        let _one_at_a_time = self.turn.lock().await;
        let outcome = self.ask().await;
        let mut found = self.found();
        match outcome {
            Ok(()) => {
                if found.trouble.take().is_some() {
                    tracing::info!("the executor answers again");
                }
            }
            Err(error) => {
                let words = error.to_string();
                if found.trouble.as_ref() != Some(&words) {
                    tracing::warn!(%error, "the executor cannot be polled");
                }
                found.trouble = Some(words);
                found.proposing = None;
            }
        }
    }

    async fn ask(&self) -> Result<(), ExecutorError> {
        let mut link = ExecutorLink::open(&self.executor, LinkKind::Poll, self.head()).await?;
        self.found().proposing = Some(link.proposing());
        for _ in 0..ROUNDS {
            let (head, items) = match link.exchange(AssistantSays::Poll, ANSWER).await? {
                ExecutorSays::News { head, items } if items.len() <= FULL => (head, items),
                ExecutorSays::Refused(refusal) => return Err(ExecutorError::Refused(refusal)),
                ExecutorSays::Acked
                | ExecutorSays::Admitted { .. }
                | ExecutorSays::Changeable { .. }
                | ExecutorSays::Hello { .. }
                | ExecutorSays::Live(_)
                | ExecutorSays::News { .. }
                | ExecutorSays::Standing(_)
                | ExecutorSays::TurnEnded => return Err(ExecutorError::Confused),
            };
            self.keep(head);
            if items.is_empty() {
                break;
            }
            let numbers = items.iter().map(|item| item.number).collect();
            let more = items.len() == FULL;
            self.remember(items);
            match link.exchange(AssistantSays::Ack { numbers }, ANSWER).await? {
                ExecutorSays::Acked => {}
                ExecutorSays::Refused(refusal) => return Err(ExecutorError::Refused(refusal)),
                ExecutorSays::Admitted { .. }
                | ExecutorSays::Changeable { .. }
                | ExecutorSays::Hello { .. }
                | ExecutorSays::Live(_)
                | ExecutorSays::News { .. }
                | ExecutorSays::Standing(_)
                | ExecutorSays::TurnEnded => {
                    return Err(ExecutorError::Confused);
                }
            }
            if !more {
                break;
            }
        }
        Ok(())
    }

    // The hello of this very link carried the old head, so the executor has judged it before this one replaces it.
    fn keep(&self, head: AuditHead) {
        let (before, written) = {
            let found = self.found();
            (found.head, found.written)
        };
        if before.is_some_and(|before| before.sequence > head.sequence) {
            tracing::warn!("the executor's audit is shorter than the one we held; was an old database restored?");
        }
        let outcome = if written == Some(head) { Ok(()) } else { self.write(head) };
        if let Err(words) = &outcome {
            tracing::error!(words, "the audit head could not be kept");
        }
        let mut found = self.found();
        found.head = Some(head);
        if outcome.is_ok() {
            (found.written, found.kept) = (Some(head), true);
        }
        found.witness_trouble = outcome.err();
    }

    fn write(&self, head: AuditHead) -> Result<(), String> {
        let text = serde_json::to_vec(&head).map_err(|error| error.to_string())?;
        files::write_private(&self.file, &text).map_err(|error| error.to_string())
    }

    fn remember(&self, items: Vec<News>) {
        let mut found = self.found();
        for item in items {
            found.news.retain(|known| known.number != item.number);
            found.news.push_back(item);
        }
        while found.news.len() > KEPT {
            found.news.pop_front();
        }
    }

    /// Remembers what a number stands for.
    pub(crate) fn remember_draft(&self, draft: Drafted) {
        let mut found = self.found();
        found.drafts.push_back(draft);
        while found.drafts.len() > KEPT {
            found.drafts.pop_front();
        }
    }

    /// The newest head.
    pub(crate) fn head(&self) -> Option<AuditHead> {
        self.found().head
    }

    /// Whether proposing is possible, by the executor's last hello; nothing when it does not answer.
    pub(crate) fn proposing(&self) -> Option<Proposing> {
        self.found().proposing
    }

    /// What is wrong with the executor or the kept head, with what to do.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let found = self.found();
        let executor = found.trouble.as_ref().map(|words| format!("the executor does not answer: {words}"));
        let witness = found.witness_trouble.as_ref().map(|words| format!("the audit witness cannot be kept: {words}"));
        executor.into_iter().chain(witness).collect()
    }

    /// Whether the executor answered the last poll and a head of this run is in memory and in the file: from then on the
    /// executor has a witness.
    pub(crate) fn reached(&self) -> bool {
        let found = self.found();
        found.trouble.is_none() && found.proposing.is_some() && found.kept
    }

    /// The news that are remembered and that this asker is told, oldest first, each with our draft when we know it.
    pub(crate) fn news(&self, hears: Hears) -> Vec<(News, Option<Drafted>)> {
        let found = self.found();
        let draft = |news: &News| found.drafts.iter().find(|draft| draft.number == news.number).cloned();
        let all = found.news.iter().map(|news| (news.clone(), draft(news)));
        all.filter(|(_, draft)| hears.tells(draft.as_ref())).collect()
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load(file: &Path) -> Result<Option<AuditHead>, String> {
    let text = match files::read_secret(file, Owner::Me) {
        Ok(text) => text,
        Err(FileError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let head = serde_json::from_str(text.expose());
    head.map(Some).map_err(|_| format!("{} does not hold an audit head; remove it", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ExecutorDouble, Heard, World};

    fn witnesses(executor: &ExecutorDouble) -> Vec<Option<u64>> {
        let witness = |heard: Heard| match heard {
            Heard::Said(_, AssistantSays::Hello { witness, .. }) => Some(witness.map(|head| head.sequence)),
            Heard::Said(..) | Heard::Closed(_) => None,
        };
        executor.heard(LinkKind::Poll).into_iter().filter_map(witness).collect()
    }

    #[tokio::test]
    async fn the_head_is_kept_in_memory_and_on_disk_and_goes_back_as_a_witness() {
        let world = World::new(Vec::new()).await;
        assert!(!world.desk.poll.reached());
        world.desk.poll.refresh().await;
        world.desk.poll.refresh().await;
        assert!(world.desk.poll.reached() && world.desk.poll.troubles().is_empty());
        // A new process finds it again.
        let again = Poll::new(world.desk.executor.clone(), world.folder.path());
        assert_eq!(again.head().map(|head| head.sequence), Some(7));
        again.refresh().await;
        assert_eq!(witnesses(&world.executor), [None, Some(7), Some(7)]);
        files::read_secret(&world.folder.path().join(FILE), Owner::Me).unwrap();
    }

    #[tokio::test]
    async fn the_executor_counts_as_reached_only_once_a_head_is_in_the_file() {
        let world = World::new(Vec::new()).await;
        let state = world.folder.path().join("state");
        let poll = Poll::new(world.desk.executor.clone(), &state);
        // There is no such folder, so the head cannot be written.
        poll.refresh().await;
        assert!(poll.proposing().is_some() && poll.head().is_some() && !poll.reached());
        assert!(poll.troubles()[0].contains("witness cannot be kept"), "{:?}", poll.troubles());
        // The same head is tried again at the next poll.
        files::ensure_private_dir(&state).unwrap();
        poll.refresh().await;
        assert!(poll.reached() && poll.troubles().is_empty(), "{:?}", poll.troubles());
        // A head of an earlier run is a witness, but says nothing about this run's executor.
        let again = Poll::new(world.desk.executor.clone(), &state);
        assert!(again.head().is_some() && !again.reached());
        again.refresh().await;
        assert!(again.reached());
    }

    #[test]
    fn an_asker_hears_of_its_own_proposals_and_an_operator_of_all() {
        let folder = tempfile::tempdir().unwrap();
        let executor = Executor { path: folder.path().join("none.sock"), uid: host::socket::my_uid() };
        let poll = Poll::new(executor, folder.path());
        let number = |number| protocol::ids::ProposalNumber::new(number).unwrap();
        let state = protocol::propose::ProposalState::Denied;
        let news = |of| News { number: number(of), state, refusal: None, detail: String::new() };
        poll.remember(vec![news(1), news(2), news(3)]);
        for (of, by) in [(1, 1_001), (2, 1_002)] {
            let (tool, arguments) = ("batch_reboot".to_owned(), "{}".to_owned());
            poll.remember_draft(Drafted { by, number: number(of), tool, arguments });
        }
        let told = |hears| poll.news(hears).iter().map(|(news, _)| news.number.get()).collect::<Vec<_>>();
        assert_eq!(told(Hears::Own(1_001)), [1]);
        assert_eq!(told(Hears::Own(1_002)), [2]);
        assert_eq!(told(Hears::Own(1_003)), [0; 0]);
        // Number 3 was drafted before this run.
        assert_eq!(told(Hears::All(1_001)), [1, 2, 3]);
    }

    #[tokio::test]
    async fn an_absent_executor_and_a_spoilt_witness_are_told() {
        let folder = tempfile::tempdir().unwrap();
        files::write_private(&folder.path().join(FILE), b"{}").unwrap();
        let executor = Executor { path: folder.path().join("none.sock"), uid: host::socket::my_uid() };
        let poll = Poll::new(executor, folder.path());
        poll.refresh().await;
        let troubles = poll.troubles();
        assert!(troubles[0].contains("executor does not answer") && troubles[1].contains("remove it"), "{troubles:?}");
        assert!(poll.head().is_none() && poll.proposing().is_none() && !poll.reached());
    }
}
