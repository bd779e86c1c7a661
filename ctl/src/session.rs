//! What every verb needs to know: where the sockets are, which language, how wide.

use crate::cli::Cli;
use crate::client::Places;
use crate::login::hosts;
use crate::render::paint::Paint;
use protocol::shown::Language;
use std::env;
use std::fmt;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const DEFAULT_RUN_DIR: &str = "/run/fleetwatch";

/// The settings of one command.
#[derive(Debug)]
pub(crate) struct Session {
    /// The sockets.
    pub(crate) places: Places,
    /// The language of cards and outcomes.
    pub(crate) language: Language,
    /// Columns that a card may fill.
    pub(crate) columns: usize,
    /// Whether text may carry colour.
    pub(crate) paint: Paint,
    /// How a person here says what to do.
    pub(crate) saying: Saying,
    /// Where a person may be sent to sign in.
    pub(crate) login_hosts: hosts::Setting,
}

/// How a person says what to do.
#[derive(Debug)]
pub(crate) enum Saying {
    /// At the demo's prompt: `/approve 7`.
    Prompt,
    /// On a shell, with this command in front: `fleetwatchctl approvals approve 7`.
    Shell(String),
}

/// A user that the system does not know.
#[derive(Debug)]
pub(crate) struct UnknownUser {
    setting: &'static str,
    name: String,
}

impl fmt::Display for UnknownUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} names {:?}, which is no user of this system; give a name or a uid", self.setting, self.name)
    }
}

impl std::error::Error for UnknownUser {}

impl Session {
    /// From the command line, then the environment.
    ///
    /// # Errors
    /// [`UnknownUser`] when a daemon's user is set to nobody.
    pub(crate) fn new(cli: &Cli) -> Result<Self, UnknownUser> {
        let run = cli.run_dir.clone().or_else(|| env::var_os("FLEETWATCH_RUN_DIR").map(PathBuf::from));
        // An ordinary user who said nothing means the Fleetwatch that they started themselves.
        let own = if run.is_none() { crate::up::own_run_dir(&|name| env::var_os(name)) } else { None };
        let me = own.is_some().then(host::socket::my_uid);
        let command = cli.run_dir.as_ref().map_or_else(
            || "fleetwatchctl".to_owned(),
            |dir| format!("fleetwatchctl --run-dir {}", crate::render::safe(&dir.to_string_lossy())),
        );
        Ok(Self {
            places: Places {
                run: run.or(own).unwrap_or_else(|| DEFAULT_RUN_DIR.into()),
                executor: user("FLEETWATCH_EXECUTOR_USER")?.or(me),
                assistant: user("FLEETWATCH_ASSISTANT_USER")?.or(me),
            },
            language: cli.lang.map_or_else(|| language_of(&locale()), Language::from),
            columns: crate::render::columns(env::var("COLUMNS").ok().as_deref()),
            paint: painted(),
            saying: Saying::Shell(command),
            login_hosts: hosts::Setting::of_env(),
        })
    }

    /// What a person types for these words, such as `approvals approve 7`.
    pub(crate) fn say(&self, words: &str) -> String {
        match &self.saying {
            Saying::Prompt => format!("/{}", words.strip_prefix("approvals ").unwrap_or(words)),
            Saying::Shell(command) => format!("{command} {words}"),
        }
    }
}

/// Whether standard output takes colour.
pub(crate) fn painted() -> Paint {
    let set = |name: &str| env::var(name).ok();
    Paint::of(io::stdout().is_terminal(), set("NO_COLOR").as_deref(), set("TERM").as_deref())
}

/// The width of the terminal for a conversation: what `COLUMNS` says, else what the terminal itself does.
pub(crate) fn width() -> usize {
    let said = env::var("COLUMNS").ok().or_else(of_terminal);
    crate::render::columns(said.as_deref())
}

/// The width of the terminal for a line that is typed: what the terminal itself says, however narrow, else `COLUMNS`.
pub(crate) fn line_columns() -> usize {
    let said = of_terminal().or_else(|| env::var("COLUMNS").ok());
    said.and_then(|text| text.parse().ok()).filter(|columns| *columns > 0).unwrap_or(crate::render::USUAL)
}

// The system's own command knows it. The call that it makes is not to be had without unsafe code.
fn of_terminal() -> Option<String> {
    if !io::stdin().is_terminal() {
        return None;
    }
    let mut stty = Command::new("stty");
    let output = stty.arg("size").stdin(Stdio::inherit()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(1).filter(|columns| *columns != "0").map(str::to_owned)
}

fn user(setting: &'static str) -> Result<Option<u32>, UnknownUser> {
    let Ok(name) = env::var(setting) else { return Ok(None) };
    let uid = name.parse().ok().or_else(|| host::socket::uid_of_user(&name));
    uid.map(Some).ok_or(UnknownUser { setting, name })
}

fn locale() -> String {
    let set = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    set.into_iter().find(|value| !value.is_empty()).unwrap_or_default()
}

fn language_of(locale: &str) -> Language {
    let first = locale.split(['_', '.', '@', '-']).next().unwrap_or_default();
    if first.eq_ignore_ascii_case("es") { Language::Spanish } else { Language::English }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spanish_comes_from_a_spanish_locale_alone() {
        for (locale, want) in [
            ("es", Language::Spanish),
            ("es_MX.UTF-8", Language::Spanish),
            ("ES", Language::Spanish),
            ("est", Language::English),
            ("en_US.UTF-8", Language::English),
            ("C", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(language_of(locale), want, "{locale}");
        }
    }
}
