//! A container that boots a real systemd from this machine's own files: for what only a service manager does. Only root can.
//!
//! The files of the container are those of this machine, changed by what is staged before it boots; every change is in memory.
//! It ends with the value, and with this process if that is killed.

#![expect(clippy::missing_panics_doc, reason = "a harness that fails is a test that fails, as in `world`")]

use crate::processes::{children_of, process, signal, wait_for};
use crate::world::{must, some};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const BOOT: &str = include_str!("container/boot.sh");
const INSIDE: &str = include_str!("container/inside.py");
/// Where the helper lies inside.
const HELPER: &str = "/usr/libexec/fleetwatch-tests/inside.py";
/// Debian's own: every user of the container may run it.
const PYTHON: &str = "/usr/bin/python3";
const PATIENCE: Duration = Duration::from_secs(60);
const PATHS: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The files that a container has more than this machine, before it boots.
#[derive(Debug)]
pub struct Stage {
    folder: TempDir,
    binds: Vec<String>,
}

impl Default for Stage {
    #[track_caller]
    fn default() -> Self {
        let folder = must(tempfile::Builder::new().prefix("fw-stage-").tempdir(), "a folder");
        let stage = Self { folder, binds: Vec::new() };
        stage.file(HELPER, INSIDE, 0o644);
        stage
    }
}

impl Stage {
    /// A file of root with this text and mode; its folders are root's, 0755.
    #[track_caller]
    pub fn file(&self, inside: &str, text: &str, mode: u32) {
        let path = self.folder.path().join(inside.trim_start_matches('/'));
        let folder = some(path.parent(), "its folder");
        must(fs::create_dir_all(folder), inside);
        for folder in folder.ancestors().take_while(|folder| *folder != self.folder.path()) {
            must(fs::set_permissions(folder, Permissions::from_mode(0o755)), inside);
        }
        must(fs::write(&path, text), inside);
        must(fs::set_permissions(&path, Permissions::from_mode(mode)), inside);
    }

    /// A file of this machine under another path, read only.
    pub fn program(&mut self, outside: &Path, inside: &str) {
        self.binds.push(format!("--bind-ro={}:{inside}", outside.display()));
    }

    /// Boots it and waits until its service manager says that all is up.
    #[must_use]
    #[track_caller]
    pub fn boot(self) -> Container {
        for (program, package) in [("systemd-nspawn", "systemd-container"), ("nsenter", "util-linux")] {
            let found = Command::new(program).arg("--version").stdout(Stdio::null()).status();
            assert!(
                found.is_ok_and(|status| status.success()),
                "no {program}: apt-get install {package}, or tests/install-peers"
            );
        }
        let work = must(tempfile::Builder::new().prefix("fw-container-").tempdir(), "a folder");
        let name = some(work.path().file_name().and_then(|name| name.to_str()), "its name").replace('_', "-");
        let log = must(tempfile::NamedTempFile::new(), "a log");
        let mut command = Command::new("setpriv");
        // If this process is killed, so is the container.
        command.args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            BOOT,
            "boot",
        ]);
        command.arg(work.path()).arg(self.folder.path()).arg(name).args(&self.binds);
        let output = || must(log.reopen(), "the log");
        let nspawn = command.stdin(Stdio::null()).stdout(output()).stderr(output()).spawn();
        let mut container = Container { nspawn: must(nspawn, "setpriv"), leader: 0, log, _work: work, _stage: self };
        container.wait();
        container
    }
}

/// A container that runs.
#[derive(Debug)]
pub struct Container {
    nspawn: Child,
    leader: u32,
    log: tempfile::NamedTempFile,
    _work: TempDir,
    _stage: Stage,
}

impl Container {
    #[track_caller]
    fn wait(&mut self) {
        let nspawn = self.nspawn.id();
        let first = || children_of(nspawn).into_iter().find(|child| child.name == "systemd" || child.name == "init");
        let leader = wait_for(PATIENCE, || match self.nspawn.try_wait() {
            Ok(None) => first().map(|child| Some(child.pid)),
            Ok(Some(_)) | Err(_) => Some(None),
        });
        let said = || fs::read_to_string(self.log.path()).unwrap_or_default();
        self.leader = some(leader.flatten(), &format!("the container's first process: {}", said()));
        let up = wait_for(PATIENCE, || {
            let state = self.run(None, &["systemctl", "is-system-running"]);
            let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
            ["running", "degraded"].contains(&state.as_str()).then_some(())
        });
        some(up, &format!("a service manager that is up: {}", said()));
    }

    /// A file of the container as this process sees it.
    #[must_use]
    pub fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.leader))
    }

    /// The text of a file of the container.
    #[must_use]
    #[track_caller]
    pub fn read(&self, inside: &str) -> String {
        must(fs::read_to_string(self.path(inside)), inside)
    }

    /// Writes a file of the container, as root.
    #[track_caller]
    pub fn write(&self, inside: &str, text: &str) {
        must(fs::write(self.path(inside), text), inside);
    }

    fn command(&self, user: Option<&str>, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.leader.to_string(), "-m", "-u", "-i", "-n", "-p", "--", "/usr/bin/env", "-i", PATHS]);
        command.arg("LANG=C.UTF-8");
        if let Some(user) = user {
            command.args(["setpriv", "--reuid", user, "--regid", user, "--init-groups", "--"]);
        }
        command.args(words).current_dir("/").stdin(Stdio::null());
        command
    }

    /// Runs a command inside, as root or as this user, and waits for it.
    #[must_use]
    #[track_caller]
    pub fn run(&self, user: Option<&str>, words: &[&str]) -> Output {
        must(self.command(user, words).output(), words[0])
    }

    /// What a command that works says, as root.
    #[track_caller]
    pub fn root(&self, words: &[&str]) -> String {
        let output = self.run(None, words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{words:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }

    /// One command of the helper (`container/inside.py`), as root or as this user.
    #[must_use]
    #[track_caller]
    pub fn helper(&self, user: Option<&str>, words: &[&str]) -> Value {
        answer(&self.run(user, &[&[PYTHON, "-I", HELPER], words].concat()))
    }

    /// The same without waiting; its answer is [`Waiting::answer`].
    #[must_use]
    #[track_caller]
    pub fn helper_later(&self, user: Option<&str>, words: &[&str]) -> Waiting {
        let mut command = self.command(user, &[&[PYTHON, "-I", HELPER], words].concat());
        Waiting(must(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn(), "nsenter"))
    }

    /// A property of a unit, as `systemctl show` says it.
    #[must_use]
    #[track_caller]
    pub fn shown(&self, unit: &str, property: &str) -> String {
        self.root(&["systemctl", "show", "--value", "--property", property, unit]).trim().to_owned()
    }

    /// What a unit has logged.
    #[must_use]
    #[track_caller]
    pub fn journal(&self, unit: &str) -> String {
        // The journal is written by a process of its own, which may be behind.
        self.root(&["journalctl", "--sync"]);
        self.root(&["journalctl", "--no-pager", "--output", "cat", "--unit", unit])
    }

    /// Sends a signal to a process of the container by the id that it has inside.
    #[track_caller]
    pub fn signal(&self, pid: &str, name: &str) {
        self.root(&["kill", "-s", name, pid]);
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if self.leader != 0 && process(self.leader).is_some() {
            // In order, so that nothing of it is left in /run of this machine; if it does not, it is killed.
            let _asked = self.command(None, &["systemctl", "--no-block", "poweroff"]).output();
            let _ended = wait_for(Duration::from_secs(10), || self.nspawn.try_wait().ok().flatten());
        }
        if matches!(self.nspawn.try_wait(), Ok(None)) {
            let _killed = signal(self.nspawn.id(), "KILL");
        }
        let _waited = self.nspawn.wait();
    }
}

/// A command of the helper that runs.
#[derive(Debug)]
pub struct Waiting(Child);

impl Waiting {
    /// What it says at its end.
    #[must_use]
    #[track_caller]
    pub fn answer(self) -> Value {
        answer(&must(self.0.wait_with_output(), "the helper"))
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

#[track_caller]
fn answer(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    must(serde_json::from_str(&text), &format!("{}: {text}{error}", output.status))
}
