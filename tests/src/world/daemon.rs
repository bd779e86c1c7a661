//! One child process. Its standard input is a pipe that only this test holds.

use super::must::{must, some};
use crate::places::binary;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The group of those who may ask, where the assistant has a user of its own.
pub(super) const AGENTS: u32 = 64_998;
/// The group of those who may decide, on a machine that has one.
pub(super) const OPERATORS: u32 = 64_999;

/// A user as whom a daemon runs: its numbers, and the one group that it is in besides.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) group: Option<u32>,
}

/// A running program of ours.
#[derive(Debug)]
pub struct Daemon {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts the binary `name` with this environment and nothing else of ours; its words go to the end of `log`.
    #[must_use]
    #[track_caller]
    pub fn start(name: &str, arguments: &[OsString], settings: &BTreeMap<String, OsString>, log: &Path) -> Self {
        Self::spawn(cleaned(&binary(name)), name, (arguments, settings), log)
    }

    /// The same where `/etc/group` is this file: in a mount namespace of its own, which only root can make.
    #[must_use]
    #[track_caller]
    pub(super) fn start_with_groups(
        name: &str,
        arguments: &[OsString],
        settings: &BTreeMap<String, OsString>,
        (groups, log): (&Path, &Path),
    ) -> Self {
        let mut command = cleaned(Path::new("unshare"));
        // Each of these replaces itself by the next, so that the process id stays the daemon's.
        command.args(["--mount", "sh", "-c", r#"mount --bind "$0" /etc/group && exec "$@""#]);
        command.arg(groups).arg(binary(name));
        Self::spawn(command, name, (arguments, settings), log)
    }

    /// The same where it may open so many files, as `prlimit` takes it.
    #[must_use]
    #[track_caller]
    pub(super) fn start_with_descriptors(
        name: &str,
        arguments: &[OsString],
        settings: &BTreeMap<String, OsString>,
        (limit, log): (&str, &Path),
    ) -> Self {
        // It replaces itself by the daemon, so that the process id stays.
        let mut command = cleaned(Path::new("prlimit"));
        command.arg(format!("--nofile={limit}")).arg(binary(name));
        Self::spawn(command, name, (arguments, settings), log)
    }

    /// The same as another user.
    #[must_use]
    #[track_caller]
    pub(super) fn start_as(
        user: User,
        name: &str,
        (arguments, settings): (&[OsString], &BTreeMap<String, OsString>),
        (groups, log): (&Path, &Path),
    ) -> Self {
        let mut command = cleaned(Path::new("unshare"));
        let bind = r#"mount --bind "$0" /etc/group && exec setpriv --reuid="$1" --regid="$2" "$3" "$4" "${@:5}""#;
        let group = user.group.map_or_else(|| "--clear-groups".to_owned(), |group| format!("--groups={group}"));
        command.args(["--mount", "bash", "-c", bind]).arg(groups);
        command.args([user.uid.to_string(), user.gid.to_string(), group]).arg(binary(name));
        Self::spawn(command, name, (arguments, settings), log)
    }

    #[track_caller]
    fn spawn(
        mut command: Command,
        name: &str,
        (arguments, settings): (&[OsString], &BTreeMap<String, OsString>),
        log: &Path,
    ) -> Self {
        let file = must(OpenOptions::new().create(true).append(true).open(log), "a log file");
        command.args(arguments).envs(settings).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        let child = must(command.spawn(), name);
        Self { name: name.to_owned(), child, log: log.to_owned() }
    }

    /// The first line that it prints.
    #[track_caller]
    pub fn first_line(&mut self) -> String {
        let stdout = some(self.child.stdout.take(), "its standard output");
        let mut line = String::new();
        must(BufReader::new(stdout).read_line(&mut line), "its first line");
        line
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has logged, earlier runs in the same world included.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Its exit code once it has ended; -1 after a signal.
    pub fn ended(&mut self) -> Option<i32> {
        self.child.try_wait().ok().flatten().map(|status| status.code().unwrap_or(-1))
    }

    /// The end of the test if it has ended, with what it said.
    #[track_caller]
    pub fn must_run(&mut self) {
        if let Some(code) = self.ended() {
            let why: Result<(), String> = Err(format!("exit code {code}\n{}", self.log()));
            must(why, &format!("{} has ended", self.name));
        }
    }

    /// Kills it as `kill -9` does and waits until it is gone.
    pub fn kill(&mut self) {
        // Gone already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Lets its standard input end and waits: a clean stop. Gives its exit code, or nothing if it had to be killed.
    pub fn stop(&mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        for _ in 0..500 {
            if let Some(code) = self.ended() {
                return Some(code);
            }
            sleep(Duration::from_millis(20));
        }
        self.kill();
        None
    }

    /// Sends it a signal by name, such as `CONT`.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(must(sent, "kill").success(), "{name} to {}", self.name);
    }

    /// Whether the system says that it is stopped, as it is at a barrier.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command in the environment that every test shares.
pub(super) fn cleaned(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir("/");
    for kept in ["PATH", "LANG"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command
}

/// Makes a file that only this user can read.
#[track_caller]
pub(super) fn private_file(path: &Path, text: &str) {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let made: std::io::Result<File> = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let mut file = must(made, &path.display().to_string());
    must(file.write_all(text.as_bytes()), &path.display().to_string());
}
