//! A world that runs.

use super::Call;
use super::ask::AskClient;
use super::builder::Builder;
use super::control::ControlClient;
use super::daemon::{AGENTS, Daemon, OPERATORS, User, cleaned};
use super::must::{must, some, until};
use super::page::PageClient;
use super::propose::ProposeClient;
use super::proxy::Proxy;
use super::sim::Sim;
use crate::places::binary;
use protocol::ask::AssistantSays;
use protocol::hello::AuditHead;
use protocol::ids::ProposalNumber;
use protocol::propose::{LinkKind, News, ProposalState};
use protocol::refusal::Refusal;
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// For one daemon to get ready, on a busy machine.
const READY: Duration = Duration::from_secs(30);

/// Runs a command at a terminal of its own and types into it.
const TERMINAL: &str = include_str!("terminal.py");

/// The simulated fleet, both daemons, and their folder.
#[derive(Debug)]
pub struct World {
    // In the order in which they end.
    assistant: Option<Daemon>,
    executor: Option<Daemon>,
    /// The simulated fleet.
    pub sim: Sim,
    /// Before the fleet (for the executor) and before the model (for the assistant), when asked for.
    pub proxies: Option<(Proxy, Proxy)>,
    /// Which program the next [`World::start_executor`] starts.
    pub executor_binary: String,
    /// The environment of the next [`World::start_executor`].
    pub executor_settings: BTreeMap<String, OsString>,
    /// The environment of the next [`World::start_assistant`].
    pub assistant_settings: BTreeMap<String, OsString>,
    /// How many files the next executor may open, as `prlimit` takes it (`SOFT:HARD`); else what this process may.
    pub descriptors: Option<String>,
    pub(super) groups: Option<PathBuf>,
    /// The assistant's own user, where it has one.
    pub(super) agent: Option<u32>,
    /// The executor's own user, where it has one.
    pub(super) keeper: Option<u32>,
    pin: String,
    folder: TempDir,
}

impl World {
    /// The settings of a new world.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn new(folder: TempDir, sim: Sim, proxies: Option<(Proxy, Proxy)>, pin: &str) -> Self {
        Self {
            assistant: None,
            executor: None,
            sim,
            proxies,
            executor_binary: String::new(),
            executor_settings: BTreeMap::new(),
            assistant_settings: BTreeMap::new(),
            descriptors: None,
            groups: None,
            agent: None,
            keeper: None,
            pin: pin.to_owned(),
            folder,
        }
    }

    /// The folder of everything: `run`, `executor`, `assistant`, `policy`, `logs`, `secrets`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// One of the sockets: `control`, `propose` or `ask`.
    #[must_use]
    pub fn socket(&self, name: &str) -> PathBuf {
        self.folder().join("run").join(name).join(format!("{name}.sock"))
    }

    /// The operator's PIN.
    #[must_use]
    pub fn pin(&self) -> &str {
        &self.pin
    }

    /// Starts the executor and waits until `control.sock` answers; then the page is up too.
    #[track_caller]
    pub fn start_executor(&mut self) {
        self.give_to_executor();
        let log = self.folder().join("logs/fleetwatch-executor.log");
        let mut daemon = self.executor_daemon(&log);
        until(READY, "control.sock", || {
            daemon.must_run();
            ControlClient::open(&self.socket("control"), &self.pin).ok()
        });
        self.executor = Some(daemon);
        if let (Some(uid), Some(_)) = (self.agent, self.keeper) {
            self.give_to_assistant(uid);
        }
    }

    /// Starts the executor that stops itself at this barrier before anything listens (`tests/run` builds it), and waits until
    /// it has.
    #[track_caller]
    pub fn start_executor_stopped_at(&mut self, barrier: &str) {
        "fleetwatch-executor-barriers".clone_into(&mut self.executor_binary);
        self.executor_settings.insert("FLEETWATCH_BARRIER".to_owned(), barrier.into());
        let log = self.folder().join("logs/fleetwatch-executor.log");
        let mut daemon = self.executor_daemon(&log);
        until(READY, barrier, || {
            daemon.must_run();
            daemon.is_stopped().then_some(())
        });
        self.executor = Some(daemon);
    }

    #[track_caller]
    fn executor_daemon(&self, log: &Path) -> Daemon {
        let stop = [OsString::from("--stop-with-stdin")];
        let (name, settings) = (&self.executor_binary, &self.executor_settings);
        let user = self.keeper.map(|uid| User { uid, gid: uid, group: Some(OPERATORS) });
        match (&self.groups, user, &self.descriptors) {
            (Some(groups), Some(user), _) => Daemon::start_as(user, name, (&stop, settings), (groups, log)),
            (Some(groups), None, _) => Daemon::start_with_groups(name, &stop, settings, (groups, log)),
            (None, _, Some(limit)) => Daemon::start_with_descriptors(name, &stop, settings, (limit, log)),
            (None, _, None) => Daemon::start(name, &stop, settings, log),
        }
    }

    /// Starts the executor and gives its exit code and log when it ends by itself, as it must with a bad setting.
    #[track_caller]
    pub fn executor_that_ends(&self) -> (i32, String) {
        let log = self.folder().join("logs/executor-that-ends.log");
        let mut daemon = self.executor_daemon(&log);
        let code = until(READY, "the end of the executor", || daemon.ended());
        (code, daemon.log())
    }

    /// Starts the assistant and waits until it has reached the executor, or, when none runs, until it answers.
    #[track_caller]
    pub fn start_assistant(&mut self) {
        let log = self.folder().join("logs/fleetwatch-assistant.log");
        let mut daemon = self.assistant_daemon(&log);
        let alone = self.executor.is_none();
        until(READY, "ask.sock", || {
            daemon.must_run();
            let mut asker = AskClient::open(&self.socket("ask")).ok()?;
            (alone || asker.status().executor_reached).then_some(())
        });
        self.assistant = Some(daemon);
    }

    #[track_caller]
    fn assistant_daemon(&self, log: &Path) -> Daemon {
        let stop = [OsString::from("--stop-with-stdin")];
        let (name, settings) = ("fleetwatch-assistant", &self.assistant_settings);
        match (self.agent, &self.groups) {
            (Some(uid), Some(groups)) => {
                let user = User { uid, gid: AGENTS, group: None };
                Daemon::start_as(user, name, (&stop, settings), (groups, log))
            }
            (Some(_), None) | (None, _) => Daemon::start(name, &stop, settings, log),
        }
    }

    /// Starts the assistant and gives its exit code and log when it ends by itself, as it must with a bad setting.
    #[track_caller]
    pub fn assistant_that_ends(&self) -> (i32, String) {
        let log = self.folder().join("logs/assistant-that-ends.log");
        let mut daemon = self.assistant_daemon(&log);
        let code = until(READY, "the end of the assistant", || daemon.ended());
        (code, daemon.log())
    }

    // Folders, files and socket as an installation gives them to a user of their own.
    #[track_caller]
    pub(super) fn give_to_assistant(&self, uid: u32) {
        let set = |path: &str, mode: u32| {
            let path = self.folder().join(path);
            must(std::fs::set_permissions(&path, Permissions::from_mode(mode)), &path.display().to_string());
        };
        let give = |path: &Path| must(chown(path, Some(uid), Some(AGENTS)), &path.display().to_string());
        for (path, mode) in [
            ("", 0o755),
            ("run", 0o755),
            ("run/propose", 0o755),
            ("run/control", 0o755),
            ("secrets", 0o755),
            ("policy", 0o755),
        ] {
            set(path, mode);
        }
        for (path, mode) in [("run/ask", 0o755), ("assistant", 0o700)] {
            set(path, mode);
            give(&self.folder().join(path));
        }
        set("policy/policy.yaml", 0o644);
        set("policy/tool_policy.yaml", 0o644);
        give(&self.sim.normal);
        give(&self.folder().join("secrets/model-key"));
        if self.socket("propose").exists() {
            give(&self.socket("propose"));
        }
        self.lock_operators_folder();
    }

    // The executor's own, where it has a user; a socket of an earlier start that was given away is taken back.
    #[track_caller]
    fn give_to_executor(&self) {
        let Some(uid) = self.keeper else { return };
        // A socket that nobody made yet is as good as one that is gone.
        let _ = std::fs::remove_file(self.socket("propose"));
        let place = |path: &str| self.folder().join(path);
        let own = |path: &Path| must(chown(path, Some(uid), Some(uid)), &path.display().to_string());
        for (path, mode) in [("", 0o755), ("run", 0o755), ("run/propose", 0o755), ("secrets", 0o755), ("policy", 0o755)]
        {
            must(std::fs::set_permissions(place(path), Permissions::from_mode(mode)), path);
        }
        for file in ["policy/policy.yaml", "policy/tool_policy.yaml"] {
            must(std::fs::set_permissions(place(file), Permissions::from_mode(0o644)), file);
        }
        for path in ["executor", "executor/principals.yaml", "run/propose", "secrets/sandbox-token"] {
            own(&place(path));
        }
        self.lock_operators_folder();
    }

    // Where the executor has a user, nobody but the operators comes near `control.sock`.
    #[track_caller]
    fn lock_operators_folder(&self) {
        if let Some(uid) = self.keeper {
            let folder = self.folder().join("run/control");
            must(chown(&folder, Some(uid), Some(OPERATORS)), "run/control");
            must(std::fs::set_permissions(&folder, Permissions::from_mode(0o750)), "run/control");
        }
    }

    /// The executor's process.
    #[track_caller]
    pub fn executor(&mut self) -> &mut Daemon {
        some(self.executor.as_mut(), "an executor that runs")
    }

    /// The assistant's process.
    #[track_caller]
    pub fn assistant(&mut self) -> &mut Daemon {
        some(self.assistant.as_mut(), "an assistant that runs")
    }

    /// Ends the executor as `kill -9` does.
    pub fn kill_executor(&mut self) {
        self.executor = None;
    }

    /// Ends the executor in order and gives its exit code.
    #[track_caller]
    pub fn stop_executor(&mut self) -> Option<i32> {
        let code = self.executor().stop();
        self.executor = None;
        code
    }

    /// Ends the assistant as `kill -9` does.
    pub fn kill_assistant(&mut self) {
        self.assistant = None;
    }

    /// What the executor has logged so far.
    #[must_use]
    pub fn executor_log(&self) -> String {
        std::fs::read_to_string(self.folder().join("logs/fleetwatch-executor.log")).unwrap_or_default()
    }

    /// What the assistant has logged so far.
    #[must_use]
    pub fn assistant_log(&self) -> String {
        std::fs::read_to_string(self.folder().join("logs/fleetwatch-assistant.log")).unwrap_or_default()
    }

    /// A new connection of the operator.
    #[must_use]
    #[track_caller]
    pub fn control(&self) -> ControlClient {
        must(ControlClient::open(&self.socket("control"), &self.pin), "control.sock")
    }

    /// A new connection of an assistant. Each agent label has its own small allowance of requests.
    #[must_use]
    #[track_caller]
    pub fn propose_link(&self, agent: &str, kind: LinkKind) -> ProposeClient {
        must(ProposeClient::open(&self.socket("propose"), agent, kind, None), "propose.sock")
    }

    /// A new turn of an assistant.
    #[must_use]
    #[track_caller]
    pub fn turn(&self, agent: &str) -> ProposeClient {
        self.propose_link(agent, LinkKind::Turn)
    }

    /// A new poll of an assistant that shows this audit head as its witness.
    #[must_use]
    #[track_caller]
    pub fn witness(&self, agent: &str, head: Option<AuditHead>) -> ProposeClient {
        must(ProposeClient::open(&self.socket("propose"), agent, LinkKind::Poll, head), "propose.sock")
    }

    /// One proposal in a turn of its own that has ended: it waits.
    ///
    /// # Errors
    /// The executor's refusal.
    #[track_caller]
    pub fn propose(&self, agent: &str, tool: &str, arguments: &Value) -> Result<ProposalNumber, Refusal> {
        let mut turn = self.turn(agent);
        let number = turn.propose(tool, arguments)?;
        turn.end();
        Ok(number)
    }

    /// A new connection of somebody who asks.
    #[must_use]
    #[track_caller]
    pub fn asker(&self) -> AskClient {
        must(AskClient::open(&self.socket("ask")), "ask.sock")
    }

    /// Asks one question and gives everything that was said.
    #[must_use]
    #[track_caller]
    pub fn ask(&self, question: &str) -> Vec<AssistantSays> {
        self.asker().ask(question)
    }

    /// Shows the card, reads for 2.1 s, says yes with PIN and room, and gives the outcome.
    ///
    /// # Errors
    /// The executor's refusal of the card or of the yes.
    #[track_caller]
    pub fn approve(&self, number: ProposalNumber) -> Result<News, Refusal> {
        self.control().approve(number)
    }

    /// Where a proposal stands.
    #[must_use]
    #[track_caller]
    pub fn state_of(&self, number: ProposalNumber) -> ProposalState {
        self.control().row(number).state
    }

    /// The page's launch secret, from its file.
    #[must_use]
    #[track_caller]
    pub fn page_secret(&self) -> String {
        let path = self.folder().join("executor/page-secret");
        must(std::fs::read_to_string(&path), "the page's secret").trim().to_owned()
    }

    /// A browser that is not signed in.
    #[must_use]
    #[track_caller]
    pub fn stranger_page(&self) -> PageClient {
        PageClient::new(&some(self.control().status().page, "the page's address"))
    }

    /// A browser that is signed in.
    #[must_use]
    #[track_caller]
    pub fn page(&self) -> PageClient {
        let mut page = self.stranger_page();
        let answer = page.log_in(&self.page_secret(), &self.pin);
        assert_eq!(answer.status, 303, "sign in: {}", answer.body);
        page
    }

    /// The id of the unit in this room.
    #[must_use]
    #[track_caller]
    pub fn room(&self, name: &str) -> String {
        self.sim.room(name)
    }

    /// Every `tools/call` that reached the fleet.
    #[must_use]
    #[track_caller]
    pub fn sim_log(&self) -> Vec<Value> {
        self.sim.log()
    }

    /// Every write that reached the fleet.
    #[must_use]
    #[track_caller]
    pub fn writes(&self) -> Vec<Call> {
        self.sim.writes()
    }

    /// Moves the fleet under a proposal.
    #[track_caller]
    pub fn sim_set(&self, wish: &Value) {
        self.sim.set(wish);
    }

    /// The executor's database, opened beside the executor.
    #[must_use]
    #[track_caller]
    pub fn database(&self) -> Connection {
        let connection = must(Connection::open(self.folder().join("executor/store.db")), "store.db");
        must(connection.busy_timeout(Duration::from_secs(5)), "a busy timeout");
        connection
    }

    /// The audit's rows of one kind: principal, surface and detail.
    #[must_use]
    #[track_caller]
    pub fn audit(&self, kind: &str) -> Vec<(String, String, Value)> {
        let connection = self.database();
        let sql = "SELECT principal, surface, detail FROM audit WHERE kind = ? ORDER BY sequence";
        let mut statement = must(connection.prepare(sql), "the audit");
        let rows = statement.query_map([kind], |row| {
            let detail: String = row.get(2)?;
            Ok((row.get(0)?, row.get(1)?, serde_json::from_str(&detail).unwrap_or_default()))
        });
        let rows: Result<Vec<_>, _> = must(rows, "the audit").collect();
        must(rows, "the audit")
    }

    /// Runs `fleetwatchctl` on this world, without any terminal, and waits for it.
    #[must_use]
    #[track_caller]
    pub fn ctl(&self, arguments: &[&str]) -> Output {
        // In a session of its own, or it would find the terminal of whoever runs the tests.
        let mut command = cleaned(Path::new("setsid"));
        command
            .arg("--wait")
            .arg(binary("fleetwatchctl"))
            .arg("--run-dir")
            .arg(self.folder().join("run"))
            .args(arguments);
        must(command.output(), "fleetwatchctl")
    }

    /// The same with this text on its standard input, as a script pipes it.
    #[must_use]
    #[track_caller]
    pub fn ctl_piped(&self, arguments: &[&str], text: &str) -> Output {
        let mut command = cleaned(Path::new("setsid"));
        command.arg("--wait").arg(binary("fleetwatchctl")).arg("--run-dir").arg(self.folder().join("run"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = must(command.spawn(), "fleetwatchctl");
        // One that does not read what is piped may have ended before it came.
        let _unread = child.stdin.take().map(|mut pipe| pipe.write_all(text.as_bytes()));
        must(child.wait_with_output(), "fleetwatchctl")
    }

    /// Runs `fleetwatchctl` on this world at a terminal where a person types: each step waits for a text, reads for so
    /// many seconds, and types a line. Gives the exit code and everything that stood on the terminal.
    #[must_use]
    #[track_caller]
    pub fn ctl_at_terminal(&self, arguments: &[&str], steps: &[(&str, f64, &str)]) -> (i32, String) {
        let steps = must(serde_json::to_string(steps), "the steps");
        let mut command = cleaned(Path::new("python3"));
        command.args(["-c", TERMINAL, &steps]).arg(binary("fleetwatchctl"));
        command.arg("--run-dir").arg(self.folder().join("run")).args(arguments);
        let output = must(command.output(), "python3");
        let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
        (output.status.code().unwrap_or(-1), text + &String::from_utf8_lossy(&output.stderr))
    }

    /// `fleetwatchctl status --json`: its exit code and what it printed.
    #[must_use]
    #[track_caller]
    pub fn status(&self) -> (i32, Value) {
        let output = self.ctl(&["status", "--json"]);
        let value = must(serde_json::from_slice(&output.stdout), "the JSON of status");
        (output.status.code().unwrap_or(-1), value)
    }
}
