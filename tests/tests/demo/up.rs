//! `up` and `down` on the real programs, as an ordinary user (issue line 4.10). Where root runs the tests that user is one
//! that the machine does not know.

use fleetwatch_tests::binary;
use fleetwatch_tests::demo::PATIENCE;
use fleetwatch_tests::processes::{Process, process, signal, wait_for, wait_for_ends};
use fleetwatch_tests::terminal::{CTRL_C, Terminal};
use fleetwatch_tests::world::{Daemon, READING, must, recording, some};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// No user of any machine.
const NOBODY: u32 = 64_321;
const PIN: &str = "4711-0815-42";
const HALL_A: &str = "20301000003";
const DAEMONS: [&str; 2] = ["fleetwatch-assistant", "fleetwatch-executor"];

/// A home with settings for a simulated fleet.
struct Home {
    folder: TempDir,
    sim: Daemon,
    sim_folder: TempDir,
}

impl Home {
    #[track_caller]
    fn new() -> Self {
        let (folder, sim_folder) = (must(tempfile::tempdir(), "a home"), must(tempfile::tempdir(), "a folder"));
        let mut arguments: Vec<OsString> = vec!["--stop-with-stdin".into()];
        for name in ["normal", "sandbox"] {
            let path = sim_folder.path().join(name);
            must(fs::write(&path, format!("{name}-token-of-this-test\n")), "a token");
            must(fs::set_permissions(&path, fs::Permissions::from_mode(0o600)), "a token");
            arguments.extend([format!("--token-file-{name}").into(), path.into()]);
        }
        arguments.extend(["--log".into(), sim_folder.path().join("calls.jsonl").into()]);
        let log = sim_folder.path().join("sim.log");
        let mut sim = Daemon::start("fleetwatch-sim", &arguments, &BTreeMap::new(), &log);
        let said: Value = must(serde_json::from_str(&sim.first_line()), "the simulator's first line");
        let url = some(said["mcp"].as_str(), "its address").to_owned();
        let home = Self { folder, sim, sim_folder };
        home.settle(&url);
        home
    }

    #[track_caller]
    fn settle(&self, url: &str) {
        for path in ["", ".config", ".config/fleetwatch"] {
            let path = self.path(path);
            must(fs::create_dir_all(&path), "a folder");
            must(fs::set_permissions(&path, fs::Permissions::from_mode(0o700)), "a folder");
            own(&path);
        }
        let shared = format!("FLEETWATCH_SLOT=sim\nFLEETWATCH_EPIPHAN_MCP_URL={url}\n");
        let token = |name: &str| self.path(name).display().to_string();
        let executor = format!(
            "{shared}FLEETWATCH_SANDBOX_TOKEN_FILE={}\nFLEETWATCH_WRITE_DEVICE_IDS={HALL_A}\nFLEETWATCH_APPROVE_PORT=0\n",
            token("sandbox")
        );
        self.write(".config/fleetwatch/executor.env", &executor);
        self.write(".config/fleetwatch/assistant.env", &format!("{shared}FLEETWATCH_TOKEN_FILE={}\n", token("normal")));
        self.write(".config/fleetwatch/policy.yaml", "autonomy: propose\ndry_run: false\ntimezone: UTC\n");
        for name in ["normal", "sandbox"] {
            self.write(name, &format!("{name}-token-of-this-test\n"));
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn state(&self, name: &str) -> PathBuf {
        self.path(".local/state/fleetwatch").join(name)
    }

    #[track_caller]
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        must(fs::write(&path, text), name);
        must(fs::set_permissions(&path, fs::Permissions::from_mode(0o600)), name);
        own(&path);
    }

    /// The program and its first words for this user.
    fn words(&self, arguments: &[&str]) -> (PathBuf, Vec<String>) {
        let ctl = binary("fleetwatchctl");
        let mut words: Vec<String> = Vec::new();
        let program = if is_root() {
            words.extend([
                "setpriv".to_owned(),
                format!("--reuid={NOBODY}"),
                format!("--regid={NOBODY}"),
                "--clear-groups".to_owned(),
            ]);
            words.push(ctl.display().to_string());
            // Found by its name, and replaced by what follows.
            "/usr/bin/env".into()
        } else {
            ctl
        };
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        (program, words)
    }

    /// A command of this user without a terminal, in an environment that means no good.
    fn command(&self, arguments: &[&str]) -> Command {
        let (program, words) = self.words(arguments);
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(program).args(words).env_clear().current_dir("/").stdin(Stdio::null());
        command.env("PATH", "/usr/bin:/bin").env("LANG", "C.UTF-8").env("HOME", self.folder.path());
        command.envs([("XDG_STATE_HOME", "elsewhere"), ("XDG_CONFIG_HOME", ""), ("XDG_RUNTIME_DIR", "/nonexistent")]);
        command.envs([
            ("FLEETWATCH_SLOT", "sandbox"),
            ("FLEETWATCH_POLICY_DIR", "/"),
            ("FLEETWATCH_WRITE_DEVICE_IDS", "1"),
        ]);
        command.envs([("FLEETWATCH_APPROVE_PORT", "1"), ("FLEETWATCH_EPIPHAN_MCP_URL", "http://127.0.0.1:1/mcp")]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        told(&must(self.command(arguments).output(), "fleetwatchctl"))
    }

    /// `up --pin-stdin --json` with the PIN in the pipe.
    #[track_caller]
    fn start(&self) -> Child {
        let mut command = self.command(&["up", "--pin-stdin", "--json"]);
        let mut child = must(command.stdin(Stdio::piped()).spawn(), "fleetwatchctl up");
        // One that needs no PIN may have ended before it came.
        let _unread = child.stdin.take().map(|mut pipe| pipe.write_all(format!("{PIN}\n").as_bytes()));
        child
    }

    /// The same to its end, which must be good; gives what it found: `started`, `repaired` or `runs`.
    #[track_caller]
    fn up(&self) -> String {
        let (code, said) = told(&must(self.start().wait_with_output(), "fleetwatchctl up"));
        assert_eq!(code, 0, "{said}");
        let value: Value = must(serde_json::from_str(&said), &said);
        assert_eq!((&value["isolation"], &value["missing"]), (&json!("none"), &json!([])), "{said}");
        assert!(some(value["page"].as_str(), "a page").starts_with("http://127.0.0.1:"), "{said}");
        some(value["up"].as_str(), "what it did").to_owned()
    }

    #[track_caller]
    fn down(&self) -> Value {
        let (code, said) = self.run(&["down", "--json"]);
        assert_eq!(code, 0, "{said}");
        must(serde_json::from_str(&said), &said)
    }

    /// Every daemon of this home, by name: the parents of those who keep its logs. A daemon's own environment may be closed
    /// to everybody.
    #[track_caller]
    fn daemons(&self) -> Vec<(String, u32)> {
        let entries = must(fs::read_dir("/proc"), "/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let home = self.folder.path().display().to_string();
        let keeper = |found: &Process| match found.arguments.as_slice() {
            [verb, log] => verb == "keep-log" && log.starts_with(&home),
            _ => false,
        };
        let keepers = pids.filter_map(process).filter(keeper);
        let parents = keepers.filter_map(|keeper| process(parent_of(keeper.pid)?)).map(|found| (found.name, found.pid));
        let mut found: Vec<_> = parents.filter(|(name, _)| DAEMONS.contains(&name.as_str())).collect();
        found.sort();
        found
    }

    #[track_caller]
    fn both(&self) -> [u32; 2] {
        let found = self.daemons();
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), DAEMONS, "{found:?}");
        [found[0].1, found[1].1]
    }

    #[track_caller]
    fn writes(&self) -> usize {
        let text = must(fs::read_to_string(self.sim_folder.path().join("calls.jsonl")), "the calls");
        let calls = text.lines().map(|line| must(serde_json::from_str::<Value>(line), line));
        calls.filter(|call| call["kind"] != "read").count()
    }

    #[track_caller]
    fn propose(&self, action: &str) -> (i32, String) {
        let arguments = recording(action, HALL_A, 1).to_string();
        self.run(&["propose", "batch_recording", "--arguments", &arguments, "--reason", "a test", "--json"])
    }

    #[track_caller]
    fn terminal(&self, arguments: &[&str]) -> Terminal {
        let (program, words) = self.words(arguments);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let unset = Path::new("");
        let settings = [("HOME", self.folder.path()), ("XDG_STATE_HOME", unset), ("XDG_CONFIG_HOME", unset)];
        must(Terminal::start(&program, &words, &settings), "a terminal")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for (_, pid) in self.daemons() {
            let _ended = signal(pid, "KILL");
        }
        self.sim.kill();
    }
}

fn parent_of(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn is_root() -> bool {
    must(fs::metadata("/proc/self"), "/proc/self").uid() == 0
}

#[track_caller]
fn own(path: &Path) {
    if is_root() {
        must(chown(path, Some(NOBODY), Some(NOBODY)), "give a file away");
    }
}

fn told(output: &Output) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code().unwrap_or(-1), text + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn one_ordinary_user_starts_proposes_approves_with_the_pin_and_stops() {
    let home = Home::new();
    // Without a terminal there is nobody to choose a PIN, and none is made up.
    let (code, said) = home.run(&["up"]);
    assert!(code == 1 && said.contains("the first start sets your PIN"), "{said}");
    assert_eq!(home.daemons(), []);
    assert_eq!(home.up(), "started");
    let pids = home.both();

    // Every command finds it by itself.
    let (code, said) = home.run(&["status"]);
    assert!(code == 0 && said.contains("none") && said.contains("Nothing is wrong."), "{said}");
    let (code, said) = home.run(&["ask", "Which rooms aren't ready?"]);
    assert!(code == 0 && said.contains("Aula 102"), "{said}");
    let (code, said) = home.propose("start");
    assert_eq!(code, 0, "{said}");
    let mut terminal = home.terminal(&["approvals", "approve", "1"]);
    let card = terminal.wait_for("Your PIN approves exactly this card", PATIENCE).unwrap();
    assert!(card.contains("isolation: none"), "{card}");
    sleep(READING);
    terminal.press(&format!("{PIN}\n")).unwrap();
    assert_eq!(terminal.wait_for_end(PATIENCE), Ok(0), "{}", terminal.shown());
    assert_eq!(home.writes(), 1);

    assert_eq!(home.up(), "runs");
    assert_eq!(home.both(), pids);
    for (name, mode) in [("", 0o700), ("run/control", 0o700), ("logs/executor.log", 0o600), ("up/executor.pid", 0o600)]
    {
        assert_eq!(fs::metadata(home.state(name)).unwrap().mode() & 0o7777, mode, "{name}");
    }
    let (code, said) = home.propose("stop");
    assert_eq!(code, 0, "{said}");
    assert_eq!(home.down(), json!({ "down": "stopped", "withdrawn": [2] }));
    assert_eq!(wait_for_ends(&pids, Duration::ZERO), Vec::<u32>::new());
    assert_eq!(home.down(), json!({ "down": "nothing_ran", "withdrawn": [] }));

    // The second start asks for no PIN, and nothing of the first is alive.
    let (code, said) = home.run(&["up"]);
    assert!(code == 0 && said.contains("ISOLATION: NONE") && said.contains("page-secret"), "{said}");
    let (code, said) = home.run(&["approvals", "list"]);
    assert!(code == 0 && said.contains("Nothing waits."), "{said}");
    assert_eq!(home.down()["down"], "stopped");
    assert_eq!(home.writes(), 1);
}

#[test]
fn what_was_killed_is_started_again_whoever_was_killed_and_when() {
    let home = Home::new();
    // `up` itself, at moments that nobody chose; what it had started goes on or not.
    for wait in [0, 25, 60, 110, 250, 600] {
        let mut child = home.start();
        sleep(Duration::from_millis(wait));
        // `setsid` has put the command in its own place.
        child.kill().unwrap();
        child.wait().unwrap();
    }
    home.up();
    let [assistant, executor] = home.both();
    assert!(signal(assistant, "KILL"));
    assert_eq!(wait_for_ends(&[assistant], PATIENCE), Vec::<u32>::new());
    assert_eq!(home.up(), "repaired");
    let [again, same] = home.both();
    assert!(again != assistant && same == executor);
    assert!(signal(executor, "KILL"));
    assert_eq!(wait_for_ends(&[executor], PATIENCE), Vec::<u32>::new());
    assert_eq!(home.up(), "repaired");
    for pid in home.both() {
        assert!(signal(pid, "KILL"));
    }
    wait_for(PATIENCE, || home.daemons().is_empty().then_some(())).unwrap();
    assert_eq!(home.down()["down"], "nothing_ran");
    assert_eq!(home.up(), "started");
    let pids = home.both();
    assert_eq!(home.down()["down"], "stopped");
    assert_eq!(wait_for_ends(&pids, Duration::ZERO), Vec::<u32>::new());
}

#[test]
fn several_at_once_start_one_and_a_start_that_fails_or_is_ended_leaves_nothing() {
    let home = Home::new();
    let children = [home.start(), home.start(), home.start()];
    let mut found: Vec<_> = children
        .into_iter()
        .map(|child| {
            let (code, said) = told(&child.wait_with_output().unwrap());
            assert_eq!(code, 0, "{said}");
            serde_json::from_str::<Value>(&said).unwrap()["up"].as_str().unwrap().to_owned()
        })
        .collect();
    found.sort();
    assert_eq!(found, ["runs", "runs", "started"]);
    home.both();
    assert_eq!(home.down()["down"], "stopped");

    // Ended by a signal while it starts.
    let mut terminal = home.terminal(&["up"]);
    let record = home.state("up/executor.pid");
    wait_for(PATIENCE, || record.exists().then_some(())).unwrap();
    terminal.press(CTRL_C).unwrap();
    let code = terminal.wait_for_end(PATIENCE).unwrap();
    // It may just have been done.
    assert!((code == 1 && terminal.shown().contains("was stopped")) || code == 0, "{}", terminal.shown());
    assert_eq!(home.daemons().is_empty(), code == 1);
    home.down();

    // One of the two cannot start: neither runs, and the log's last words are shown.
    home.write(".config/fleetwatch/assistant.env", "FLEETWATCH_SLOT=sim\nFLEETWATCH_EPIPHAN_MCP_URL=no address\n");
    let (code, said) = home.run(&["up"]);
    assert!(code == 1 && said.contains("fleetwatch-assistant ended by itself"), "{said}");
    assert!(said.contains("address") || said.contains("URL"), "{said}");
    assert_eq!(home.daemons(), []);
    home.write(".config/fleetwatch/assistant.env", "LD_PRELOAD=/x.so\n");
    let (code, said) = home.run(&["up"]);
    assert!(code == 1 && said.contains("assistant.env:1: only settings whose names begin with"), "{said}");
    assert_eq!(home.daemons(), []);
}

#[test]
fn on_a_terminal_the_pin_is_typed_twice_and_root_is_sent_away() {
    let home = Home::new();
    let mut terminal = home.terminal(&["up", "--lang", "es"]);
    terminal.wait_for("at least 8 characters: ", PATIENCE).unwrap();
    sleep(Duration::from_secs(1));
    terminal.press(CTRL_C).unwrap();
    assert_eq!(terminal.wait_for_end(PATIENCE), Ok(1), "{}", terminal.shown());
    assert_eq!(home.daemons(), []);
    let mut terminal = home.terminal(&["up", "--lang", "es"]);
    for prompt in ["at least 8 characters: ", "The new PIN again: "] {
        terminal.wait_for(prompt, PATIENCE).unwrap();
        // What is typed while a question appears does not count.
        sleep(Duration::from_secs(1));
        terminal.press(&format!("{PIN}\n")).unwrap();
    }
    assert_eq!(terminal.wait_for_end(PATIENCE), Ok(0), "{}", terminal.shown());
    assert!(terminal.shown().contains("Fleetwatch está en marcha") && !terminal.shown().contains(PIN));
    // The terminal is gone, and they run on.
    drop(terminal);
    home.both();
    let (code, said) = home.run(&["down", "--lang", "es"]);
    assert!(code == 0 && said.contains("Detenido."), "{said}");
    if is_root() {
        let root = Command::new(binary("fleetwatchctl")).arg("up").env("HOME", home.folder.path()).output().unwrap();
        let (code, said) = told(&root);
        assert!(code == 1 && said.contains("for an ordinary user, and you are root"), "{said}");
        assert_eq!(home.daemons(), []);
    }
}
