//! What `doctor` says of one part: one row per check (`issue lines 3.19, 3.20`).

use crate::hello::{BUILD, Hello};
use crate::shown::{Shown, Worded};
use serde::{Deserialize, Serialize};

/// Most rows of one part.
pub const MOST_ROWS: usize = 40;
/// Longest text of a row, in characters.
pub const MOST_TEXT: usize = 320;
/// Most paths that the assistant is asked to try.
pub const MOST_PATHS: usize = 32;
/// Longest path that is tried, in bytes.
pub const LONGEST_PATH: usize = 1_024;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Grade {
    /// Something is wrong that must be put right.
    Fail,
    /// Nothing to do, but good to know.
    Info,
    /// As it should be.
    Ok,
    /// Somebody should look at it.
    Warn,
}

impl Grade {
    /// All grades.
    pub const ALL: [Self; 4] = [Self::Fail, Self::Info, Self::Ok, Self::Warn];

    /// The word in front of the line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "FAIL",
            Self::Info => "INFO",
            Self::Ok => "OK",
            Self::Warn => "WARN",
        }
    }
}

macro_rules! checks {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What is looked at. `docs/doctor.md` has a row for each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Check {
            $($(#[$doc])* $name,)*
        }

        impl Check {
            /// All checks.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The check's name.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

checks! {
    /// Agents that too many denials paused.
    Agents = "agents",
    /// Whether the daemon answers at all.
    Answers = "answers",
    /// The audit's head, the assistant's witness, and what the last start found.
    Audit = "audit",
    /// Whether changes may be proposed, and whether they run.
    Autonomy = "autonomy",
    /// When the database was last saved.
    Backup = "backup",
    /// Boot id and time zone.
    Clock = "clock",
    /// Free space on the disk of the state folder.
    Disk = "disk",
    /// Which units may be changed.
    Fence = "fence",
    /// The fleet's server.
    Fleet = "fleet",
    /// Folders that others must not write.
    Folders = "folders",
    /// Whether everything is frozen.
    Frozen = "frozen",
    /// The read guard's test of itself.
    Guard = "guard",
    /// Whether the assistant's user is kept out of what is the executor's.
    Isolation = "isolation",
    /// One executor per state folder.
    Lock = "lock",
    /// The model, and what is sent to it.
    Model = "model",
    /// The model's server.
    ModelHost = "model_host",
    /// Who is pinged when a card waits.
    Notify = "notify",
    /// The approval page.
    Page = "page",
    /// Operators and their PINs.
    Pins = "pins",
    /// The policy files, running and on disk.
    Policy = "policy",
    /// What waits, and the hour's proposals.
    Queue = "queue",
    /// The redaction's test of itself.
    Redaction = "redaction",
    /// The in-process sandbox.
    Sandbox = "sandbox",
    /// What the sign-in may do, beyond reading.
    Scope = "scope",
    /// What starts the daemon again.
    Service = "service",
    /// The sign-in's file.
    SignIn = "sign_in",
    /// The three sockets.
    Sockets = "sockets",
    /// The database.
    Sqlite = "sqlite",
    /// The store's files.
    Store = "store",
    /// Builds and wire versions.
    Version = "version",
}

/// One check's line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What was looked at.
    pub check: Check,
    /// How it ended.
    pub grade: Grade,
    /// What was found, at most [`MOST_TEXT`] characters.
    pub found: Worded,
    /// What to do; empty when there is nothing to do.
    pub advice: Worded,
}

impl Row {
    /// A row with nothing to do.
    #[must_use]
    pub fn new(check: Check, grade: Grade, found: Worded) -> Self {
        Self { check, grade, found: capped(found), advice: Worded::same("") }
    }

    /// The same with what to do.
    #[must_use]
    pub fn advise(self, en: &str, es: &str) -> Self {
        Self { advice: capped(Worded::new(en, es)), ..self }
    }
}

fn capped(text: Worded) -> Worded {
    let Worded { en, es } = text;
    let [en, es] = [en, es].map(|text| Shown::capped(&text, MOST_TEXT).into_string());
    Worded { en, es }
}

/// What one daemon says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Version and build.
    pub hello: Hello,
    /// SHA-256 in hex over the texts of `policy.yaml` and `tool_policy.yaml` that it runs with.
    pub policy: String,
    /// Its checks.
    pub rows: Vec<Row>,
}

impl Report {
    /// A report of this build, of at most [`MOST_ROWS`] rows.
    #[must_use]
    pub fn new(policy: &str, mut rows: Vec<Row>) -> Self {
        rows.truncate(MOST_ROWS);
        Self { hello: Hello::ours(), policy: policy.to_owned(), rows }
    }

    /// Whether it is of the same build as this program.
    #[must_use]
    pub fn is_our_build(&self) -> bool {
        self.hello.build == BUILD
    }
}

/// How a try to open something ended. What was opened was closed at once and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reach {
    /// Nothing is seen there: it does not exist, or a folder on the way is closed.
    Absent,
    /// The system said no.
    Denied,
    /// It could be opened, or a socket could be written to.
    Open,
    /// The path was not tried: it is not a full path, too long, or not a file, folder or socket.
    Untried,
}

impl Reach {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Absent, Self::Denied, Self::Open, Self::Untried];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Denied => "denied",
            Self::Open => "open",
            Self::Untried => "untried",
        }
    }
}

/// One path and how the try ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// The path as it was asked for.
    pub path: String,
    /// How it ended.
    pub reach: Reach,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_sorted_and_have_names_of_their_own() {
        let names: Vec<_> = Check::ALL.iter().map(|check| check.as_str()).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
    }

    #[test]
    fn a_rows_texts_are_bounded_and_hide_nothing() {
        let long = "x\u{1b}[2J".repeat(1_000);
        let row = Row::new(Check::Disk, Grade::Warn, Worded::same(long.as_str())).advise(&long, &long);
        for text in [&row.found.en, &row.found.es, &row.advice.en, &row.advice.es] {
            assert!(text.chars().count() <= MOST_TEXT && !text.contains('\u{1b}'), "{text}");
        }
        let many = vec![row; MOST_ROWS + 5];
        assert_eq!(Report::new("00", many).rows.len(), MOST_ROWS);
    }
}
