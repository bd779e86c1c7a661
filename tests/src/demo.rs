//! `fleetwatchctl demo` at its prompt, on a terminal and with a folder for temporary files of its own.

use crate::binary;
use crate::processes::{self, Process};
use crate::terminal::Terminal;
use crate::world::{must, some};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// What the prompt looks like.
pub const PROMPT: &str = "fleetwatch> ";
/// Longer than any step of a demo takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

const DAEMONS: [&str; 3] = ["fleetwatch-assistant", "fleetwatch-executor", "fleetwatch-sim"];

/// A demo that stands at its prompt.
#[derive(Debug)]
pub struct Demo {
    /// Its terminal. It goes first: the demo ends with it.
    pub terminal: Terminal,
    /// The approval page's address.
    pub page: String,
    /// The page's launch secret.
    pub secret: String,
    /// The operator's PIN.
    pub pin: String,
    temporary: TempDir,
}

impl Demo {
    /// Starts one with these further arguments and waits for its prompt.
    #[must_use]
    #[track_caller]
    pub fn start(arguments: &[&str]) -> Self {
        let temporary = must(tempfile::tempdir(), "a folder");
        let words: Vec<_> = ["demo"].iter().chain(arguments).copied().collect();
        let settings = [("TMPDIR", temporary.path())];
        let mut terminal = must(Terminal::start(&binary("fleetwatchctl"), &words, &settings), "a terminal");
        let welcome = must(terminal.wait_for(PROMPT, PATIENCE), "the demo's prompt");
        let printed = |label: &str| {
            let line = welcome.lines().find_map(|line| line.trim().strip_prefix(label));
            some(line, label).trim().to_owned()
        };
        let (page, secret, pin) = (printed("Approval page"), printed("Launch secret"), printed("PIN"));
        Self { terminal, page, secret, pin, temporary }
    }

    /// Types one line and gives all that is shown until the prompt is back.
    #[track_caller]
    pub fn enter(&mut self, line: &str) -> String {
        must(self.terminal.press(&format!("{line}\n")), "the terminal");
        must(self.terminal.wait_for(PROMPT, PATIENCE), line)
    }

    /// Types one line that ends the demo, and gives its exit code.
    #[track_caller]
    pub fn leave(&mut self, keys: &str) -> i32 {
        must(self.terminal.press(keys), "the terminal");
        must(self.terminal.wait_for_end(PATIENCE), "the demo's end")
    }

    /// The sim and the two daemons.
    ///
    /// # Panics
    /// When these are not what runs.
    #[must_use]
    #[track_caller]
    pub fn daemons(&self) -> Vec<Process> {
        let children = processes::children_of(self.terminal.pid()).into_iter();
        let mut found: Vec<_> = children.filter(|child| DAEMONS.contains(&child.name.as_str())).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        let names: Vec<_> = found.iter().map(|daemon| daemon.name.as_str()).collect();
        assert_eq!(names, DAEMONS, "the demo's daemons");
        found
    }

    /// The demo's own folder.
    ///
    /// # Panics
    /// When there is none, or more than one.
    #[must_use]
    #[track_caller]
    pub fn folder(&self) -> PathBuf {
        let mut found = left_in(self.temporary.path());
        assert_eq!(found.len(), 1, "one folder of one demo: {found:?}");
        some(found.pop(), "the folder")
    }

    /// What stands in the folder for temporary files.
    #[must_use]
    #[track_caller]
    pub fn left(&self) -> Vec<PathBuf> {
        left_in(self.temporary.path())
    }

    /// The writes that have reached the simulated fleet: tool and arguments.
    #[must_use]
    #[track_caller]
    pub fn writes(&self) -> Vec<(String, serde_json::Value)> {
        let text = must(fs::read_to_string(self.folder().join("logs/calls.jsonl")), "the log of calls");
        let calls = text.lines().map(|line| must(serde_json::from_str::<serde_json::Value>(line), "a line"));
        let writes = calls.filter(|call| call["kind"] != "read");
        writes.map(|call| (call["tool"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone())).collect()
    }
}

/// A command for `fleetwatchctl demo` without a terminal, in an environment without settings of ours.
#[must_use]
pub fn demo(arguments: &[&str], temporary: &Path) -> Command {
    let mut command = Command::new(binary("fleetwatchctl"));
    command.arg("demo").args(arguments).stdin(Stdio::null()).env("TMPDIR", temporary).env("LANG", "C.UTF-8");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FLEETWATCH_")) {
        command.env_remove(name);
    }
    command.env_remove("COLUMNS");
    command
}

/// What stands in a folder.
#[must_use]
#[track_caller]
pub fn left_in(folder: &Path) -> Vec<PathBuf> {
    let entries = must(fs::read_dir(folder), "the folder");
    entries.map(|entry| must(entry, "an entry").path()).collect()
}
