//! The command line: one table of verbs.

use crate::client::Daemon;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use protocol::ids::{Label, ProposalNumber};
use protocol::shown::Language;
use std::path::PathBuf;

/// What every verb's exit code says.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done, nothing is wrong
  1  refused, or something is wrong
  2  the command line was not understood
  3  a change or a decision was sent and what became of it is not known
  78 a sign-in is over; only login helps";

const EXITS: &str = "\
Exit codes:
  0  done, nothing is wrong
  1  refused, or something is wrong
  2  the command line was not understood
  3  a change or a decision was sent and what became of it is not known
  78 a sign-in is over; only login helps

Environment:
  FLEETWATCH_RUN_DIR             the sockets' folder, when --run-dir is not given (else /run/fleetwatch, else the one of `up`)
  XDG_CONFIG_HOME, XDG_STATE_HOME  where `up` keeps settings and state (else ~/.config and ~/.local/state)
  FLEETWATCH_EXECUTOR_USER       refuse an executor that runs as anybody else (name or uid)
  FLEETWATCH_ASSISTANT_USER      the same for the assistant
  FLEETWATCH_LOGIN_HOSTS         hosts that `login` may send people to (else Epiphan's, *.epiphan.cloud)
  FLEETWATCH_SLOT                sim: `login` may send people to 127.0.0.1 instead
  FLEETWATCH_ANTHROPIC_API_KEY   `demo` asks the real model with this key
  FLEETWATCH_MODEL_KIND          openai: `demo` asks the server of FLEETWATCH_OPENAI_URL
  COLUMNS                        width of cards and tables, 40 to 100
  NO_COLOR                       no colour, whatever its value, unless it is empty";

/// Ask about the fleet, look at what is proposed, and decide.
#[derive(Debug, Parser)]
#[command(name = "fleetwatchctl", version, after_help = EXITS, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Folder that holds control/control.sock and ask/ask.sock
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
    /// Language of cards and outcomes (default: from LANG)
    #[arg(long, global = true, value_name = "LANG")]
    pub(crate) lang: Option<Lang>,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The languages by their short names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    /// English
    En,
    /// Spanish
    Es,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::En => Self::English,
            Lang::Es => Self::Spanish,
        }
    }
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// How both daemons are; exit 1 when something is wrong
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check everything, one line per check: OK, WARN, FAIL or INFO; exit 1 on any FAIL; signs in to nothing, calls no tool
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask about the fleet in plain words
    Ask {
        /// The question; several words are joined
        #[arg(required = true)]
        question: Vec<String>,
        /// Print JSON, once the answer is complete
        #[arg(long)]
        json: bool,
    },
    /// Ask one question after the other, and see what becomes of what was proposed
    Chat,
    /// What the last look at the fleet knows: totals, what needs attention, what comes next
    Digest(DigestArgs),
    /// The days that were watched, a line each, newest first
    History {
        /// How many days
        #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=90))]
        days: u16,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Propose a change yourself; a person still has to approve it
    Propose(ProposeArgs),
    /// Deny everything, and take in or run nothing until `thaw`, not even after a restart; needs no PIN
    Freeze {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End a freeze; asks for the PIN on the terminal
    Thaw {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Look at what waits, and decide
    Approvals {
        /// What to do with it.
        #[command(subcommand)]
        verb: ApprovalsVerb,
    },
    /// Read, take out or check the record of everything that happened
    Audit {
        /// What to do with it.
        #[command(subcommand)]
        verb: AuditVerb,
    },
    /// The PIN that approving on a terminal asks for
    Pin {
        /// What to do with it.
        #[command(subcommand)]
        verb: PinVerb,
    },
    /// A code that opens one session of the approval page, once; asks for the PIN on the terminal
    PageCode {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Sign the assistant in to the fleet, or with --sandbox the executor to the team that may be changed
    Login {
        /// The sign-in that writes; asks for the PIN on the terminal
        #[arg(long)]
        sandbox: bool,
        /// Print JSON, one object a line: the link, what there is to know, and last how it ended
        #[arg(long)]
        json: bool,
    },
    /// Forget a sign-in, here and at the server
    Logout {
        /// The sign-in that writes; asks for the PIN on the terminal
        #[arg(long)]
        sandbox: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Save the executor's database to a new file; no key is in it
    Backup {
        /// The file to make
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put a backup in the place of the executor's database; asks for the PIN on the terminal
    Restore {
        /// The backup
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Serve another agent on standard input and output by the Model Context Protocol: it may read and propose, never decide
    Mcp,
    /// Try everything: a simulated fleet and both daemons, no account and no network
    Demo(DemoArgs),
    /// Start both daemons as yourself, without root and without services; says where everything is. Starts only what does not run
    Up(UpArgs),
    /// Stop what `up` started; a run that has begun is finished first
    Down {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a script that completes verbs and options in a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write the man pages of every verb into a folder
    Man {
        /// The folder; it is made if it is not there
        folder: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Policy files
    Policy {
        /// What to do with them.
        #[command(subcommand)]
        verb: PolicyVerb,
    },
    /// Writes standard input to a log of bounded size
    #[command(hide = true)]
    KeepLog {
        /// The log.
        log: PathBuf,
    },
    /// Becomes a daemon of `up`
    #[command(hide = true)]
    StartDetached {
        /// Which.
        #[arg(value_parser = daemon)]
        daemon: Daemon,
        /// The folder of state.
        state: PathBuf,
    },
    /// Removes the demo's folder once standard input ends
    #[command(hide = true)]
    SweepDemo {
        /// The folder.
        folder: PathBuf,
    },
}

/// What can be done with policy files.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Read policy files as the daemons would, and say what they mean; needs no daemon
    Check {
        /// tool_policy.yaml, policy.yaml or principals.yaml
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// What they are, when neither name nor content says it
        #[arg(long = "as", value_enum, value_name = "KIND")]
        kind: Option<PolicyKind>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The three policy files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyKind {
    /// How Fleetwatch behaves
    Policy,
    /// Who may decide
    Principals,
    /// What may be read and proposed
    ToolPolicy,
}

impl PolicyKind {
    /// The word after `--as`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Principals => "principals",
            Self::ToolPolicy => "tool-policy",
        }
    }
}

/// Which digest.
#[derive(Debug, Args)]
pub(crate) struct DigestArgs {
    /// Read the fleet now and write the redacted readings into this new folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(crate) capture: Option<PathBuf>,
    /// With --capture: made-up names, ids and titles in the place of the fleet's own
    #[arg(long, requires = "capture")]
    pub(crate) anonymous: bool,
    /// The digest of the readings in this folder; nothing is posted
    #[arg(long, value_name = "DIR")]
    pub(crate) replay: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A change as a person types it.
#[derive(Debug, Args)]
pub(crate) struct ProposeArgs {
    /// The tool, for example batch_recording
    pub(crate) tool: String,
    /// Its arguments as one JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) arguments: String,
    /// Why, in at most 300 characters
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be done with proposals.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsVerb {
    /// What waits, oldest first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The whole card of one proposal
    Show {
        /// Its number
        #[arg(value_parser = number)]
        number: ProposalNumber,
        /// Also what each check found when it was admitted
        #[arg(long)]
        why: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the card on the terminal, ask for the PIN there, and approve
    Approve {
        /// Its number
        #[arg(value_parser = number)]
        number: ProposalNumber,
        /// Print the outcome as JSON
        #[arg(long)]
        json: bool,
    },
    /// Deny one proposal; needs no PIN
    Deny {
        /// Its number
        #[arg(value_parser = number)]
        number: ProposalNumber,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The agents that propose
    Agents {
        /// What to do with them.
        #[command(subcommand)]
        verb: AgentsVerb,
    },
    /// Propose what undoes a change that ran; it waits for a person like any other
    Undo {
        /// The number of the change to undo
        #[arg(value_parser = number)]
        number: ProposalNumber,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Deny everything that waits; needs no PIN
    DenyAll {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// What became of earlier proposals, newest first
    History {
        /// At most this many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=200))]
        most: u16,
        /// Only those in which this text stands: a room, an id, a person, a state, a number
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with the agents that propose.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    /// Let one propose again that too many denials paused; asks for the PIN on the terminal
    Resume {
        /// Its label, as `status` shows it
        #[arg(value_parser = label)]
        agent: Label,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What an export is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// JSON lines, which `audit verify FILE` can check
    Jsonl,
    /// For a spreadsheet; texts that look like formulas get an apostrophe, so it cannot be verified
    Csv,
}

/// What can be done with the audit.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// Write out the rows, oldest first
    Export {
        /// As what
        #[arg(long, value_enum, default_value = "jsonl")]
        format: ExportFormat,
        /// Only rows behind this one
        #[arg(long, value_name = "N", default_value_t = 0)]
        after: u64,
        /// To a new file instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// The newest rows, one line each
    Tail {
        /// Go on with every new row until stopped
        #[arg(short, long)]
        follow: bool,
        /// How many to begin with
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=1_000))]
        most: u64,
        /// Print one JSON value a row
        #[arg(long)]
        json: bool,
    },
    /// Walk the whole chain; exit 1 when a row does not fit
    Verify {
        /// An export as JSON lines: walked here, without executor or key
        file: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What can be done with the PIN.
#[derive(Debug, Subcommand)]
pub(crate) enum PinVerb {
    /// Set your own PIN, asked for on the terminal
    Set {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// How both daemons are started.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Take your first PIN from a pipe, one line, instead of the terminal; not read once you have one
    #[arg(long)]
    pub(crate) pin_stdin: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How the demo runs.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Tell the whole story without a terminal; exit 0 only if every step held
    #[arg(long)]
    pub(crate) script: bool,
    /// What goes wrong in the simulated fleet when a change is sent
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(FAULTS))]
    pub(crate) fault: Option<String>,
    /// Leave the folder with all state and logs behind, and print where it is
    #[arg(long)]
    pub(crate) keep: bool,
}

const FAULTS: [&str; 8] = [
    "executes-then-closes",
    "executes-then-404",
    "executes-then-401",
    "executes-then-502",
    "malformed-json",
    "stalls",
    "redirects-307",
    "input-required",
];

fn daemon(text: &str) -> Result<Daemon, String> {
    let found = [Daemon::Assistant, Daemon::Executor].into_iter().find(|daemon| daemon.as_str() == text);
    found.ok_or_else(|| "no daemon of ours".to_owned())
}

fn label(text: &str) -> Result<Label, String> {
    Label::new(text).ok_or_else(|| "a label is 1 to 64 characters of A-Za-z0-9_.:-".to_owned())
}

fn number(text: &str) -> Result<ProposalNumber, String> {
    let parsed = text.parse().ok().and_then(ProposalNumber::new);
    parsed.ok_or_else(|| "give a proposal's number, 1 or more; `approvals list` shows them".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_holds_together_and_help_names_the_exit_codes() {
        Cli::command().debug_assert();
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("3  a change or a decision was sent"), "{help}");
        assert!(!help.contains("sweep-demo"), "{help}");
    }

    /// Verbs without `--json`, and why.
    const NO_JSON: [(&str, &str); 8] = [
        ("audit export", "its --format says what it is, and JSON lines are the default"),
        ("chat", "a conversation; `ask --json` is one turn of it"),
        ("completions", "a script for a shell"),
        ("demo", "a conversation, or with --script a story with an exit code"),
        ("keep-log", "prints nothing, and people do not call it"),
        ("mcp", "another program reads it, and it is JSON"),
        ("start-detached", "prints nothing, and people do not call it"),
        ("sweep-demo", "prints nothing, and people do not call it"),
    ];

    fn leaves(command: &clap::Command, path: &str, found: &mut Vec<(String, bool)>) {
        for verb in command.get_subcommands() {
            let path = format!("{path} {}", verb.get_name()).trim_start().to_owned();
            if verb.has_subcommands() {
                leaves(verb, &path, found);
            } else {
                found.push((path, verb.get_arguments().any(|argument| argument.get_long() == Some("json"))));
            }
        }
    }

    #[test]
    fn every_verb_that_prints_something_can_print_json() {
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        assert!(found.len() > 20, "{found:?}");
        let without: Vec<_> = found.iter().filter(|(_, json)| !json).map(|(path, _)| path.as_str()).collect();
        assert!(NO_JSON.iter().all(|(_, why)| why.len() > 10), "a reason");
        let mut want = NO_JSON.map(|(path, _)| path);
        want.sort_unstable();
        let mut without_sorted = without.clone();
        without_sorted.sort_unstable();
        assert_eq!(without_sorted, want);
        let top = Cli::command().render_long_help().to_string();
        assert!(top.contains(EXIT_CODES), "{top}");
    }

    #[test]
    fn options_for_every_verb_may_stand_behind_it() {
        let cli = Cli::try_parse_from(["x", "approvals", "show", "7", "--lang", "es", "--run-dir", "/r"]).unwrap();
        assert_eq!((cli.lang, cli.run_dir), (Some(Lang::Es), Some("/r".into())));
    }

    #[test]
    fn numbers_that_no_proposal_has_are_a_usage_error() {
        for bad in ["0", "-1", "x", "9007199254740992"] {
            assert!(Cli::try_parse_from(["x", "approvals", "deny", bad]).is_err(), "{bad}");
        }
    }
}
