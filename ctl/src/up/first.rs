//! The first `up`: the files that a person edits later, and their PIN. There is no default PIN.

use super::error::UpError;
use super::layout::Layout;
use crate::cli::UpArgs;
use crate::client::Daemon;
use crate::demo::zone;
use crate::pin::{self, NewPin};
use crate::terminal::Terminal;
use host::files::{self, FileError, Owner};
use policy::limits::PIN_LENGTH;
use policy::principals::Principals;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use zeroize::Zeroizing;

const EXECUTOR: &str = "\
# Settings of fleetwatch-executor, one NAME=value a line; read at every `fleetwatchctl up` (docs/settings.md).
FLEETWATCH_EPIPHAN_MCP_URL=https://go.epiphan.cloud/mcp

# What may be changed: units by their ids, or one team. Without a fence nothing can be changed.
#FLEETWATCH_WRITE_DEVICE_IDS=
#FLEETWATCH_WRITE_TEAM_ID=

# Who is told that a card waits: ntfy, slack or teams, and a file with the address.
#FLEETWATCH_NOTIFY=
#FLEETWATCH_NOTIFY_URL_FILE=
";

const ASSISTANT: &str = "\
# Settings of fleetwatch-assistant, one NAME=value a line; read at every `fleetwatchctl up` (docs/settings.md).
FLEETWATCH_EPIPHAN_MCP_URL=https://go.epiphan.cloud/mcp

# The file, mode 0600, that holds the key of the model. Without it questions are answered by keywords.
#FLEETWATCH_ANTHROPIC_API_KEY_FILE=
";

/// Writes every file that is not there yet; one that is stays as it is.
///
/// # Errors
/// [`UpError`]
pub(crate) fn write(layout: &Layout) -> Result<(), UpError> {
    let zone = format!("\ntimezone: {}\n", zone::local());
    let behaviour = policy::behaviour::SHIPPED.replacen("\ntimezone: UTC\n", &zone, 1);
    let config = layout.config();
    missing(&config.join("tool_policy.yaml"), policy::tool_policy::SHIPPED)?;
    missing(&config.join("policy.yaml"), &behaviour)?;
    missing(&layout.settings_of(Daemon::Executor), EXECUTOR)?;
    missing(&layout.settings_of(Daemon::Assistant), ASSISTANT)?;
    let me = format!("- name: operator\n  uid: {}\n  operator: true\n", host::socket::my_uid());
    missing(&layout.principals(), &me)
}

fn missing(path: &Path, text: &str) -> Result<(), UpError> {
    match files::create_private(path, text.as_bytes()) {
        Ok(()) | Err(FileError::Exists { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether this user, who must be an operator, has a PIN.
///
/// # Errors
/// [`UpError`]
pub(crate) fn has_pin(layout: &Layout) -> Result<bool, UpError> {
    let (path, me) = (layout.principals(), host::socket::my_uid());
    let people = Principals::parse(&files::read_settings(&path, Owner::Me)?, &path.display().to_string())?;
    let person = people.person_of_uid(me).filter(|person| person.is_operator());
    Ok(person.ok_or(UpError::NoOperator(path, me))?.pin().is_some())
}

/// A new PIN, typed twice on the terminal or, when that is asked for, from a pipe.
///
/// # Errors
/// [`UpError::NoPin`]
pub(crate) async fn new_pin(args: &UpArgs) -> Result<Zeroizing<String>, UpError> {
    if args.pin_stdin {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Err(no_pin("no_pin", "--pin-stdin reads a pipe; leave it out to type the PIN on the terminal"));
        }
        return piped(stdin.lock());
    }
    let typed = async { pin::typed_new(&mut Terminal::open()?).await };
    match typed.await {
        Ok(NewPin::Typed(pin)) => Ok(pin),
        Ok(NewPin::NotTaken(code, why)) => Err(UpError::NoPin(code, format!("nothing was started: {why}"))),
        Err(error) => Err(UpError::NoPin(
            error.code(),
            format!(
                "nothing was started, because the first start sets your PIN: {error}; --pin-stdin takes one from a pipe"
            ),
        )),
    }
}

fn piped(input: impl BufRead) -> Result<Zeroizing<String>, UpError> {
    let mut line = Zeroizing::new(String::with_capacity(4_096));
    let read = input.take(4_096).read_line(&mut line);
    read.map_err(|error| UpError::Io("read the PIN from standard input", error))?;
    let pin = Zeroizing::new(line.trim_end_matches(['\r', '\n']).to_owned());
    if pin.chars().count() < PIN_LENGTH {
        return Err(no_pin("too_short", &format!("nothing was started: a PIN has at least {PIN_LENGTH} characters")));
    }
    Ok(pin)
}

fn no_pin(code: &'static str, why: &str) -> UpError {
    UpError::NoPin(code, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::behaviour::{Autonomy, Behaviour};
    use std::ffi::OsString;
    use std::fs;

    fn layout(home: &Path) -> Layout {
        let home: OsString = home.into();
        let layout = Layout::of(&|name| (name == "HOME").then(|| home.clone())).unwrap();
        layout.make().unwrap();
        layout
    }

    #[test]
    fn the_first_files_load_propose_nothing_and_are_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let layout = layout(folder.path());
        write(&layout).unwrap();
        let path = layout.config().join("policy.yaml");
        let behaviour = Behaviour::parse(&fs::read_to_string(&path).unwrap(), "policy.yaml").unwrap();
        assert_eq!((behaviour.autonomy(), behaviour.dry_run()), (Autonomy::Observe, true));
        assert!(!has_pin(&layout).unwrap());
        for daemon in [Daemon::Assistant, Daemon::Executor] {
            let settings = super::super::settings::of(daemon, &layout).unwrap();
            assert!(settings.iter().any(|(name, _)| name == "FLEETWATCH_EPIPHAN_MCP_URL"), "{settings:?}");
        }
        fs::write(&path, "autonomy: propose\n").unwrap();
        write(&layout).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "autonomy: propose\n");
    }

    #[test]
    fn somebody_who_is_no_operator_starts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let layout = layout(folder.path());
        let me = host::socket::my_uid();
        for text in [
            format!("- {{name: a, uid: {me}, operator: false}}\n"),
            format!("- {{name: a, uid: {}, operator: true}}\n", me + 1),
        ] {
            files::write_private(&layout.principals(), text.as_bytes()).unwrap();
            assert!(matches!(has_pin(&layout), Err(UpError::NoOperator(..))), "{text}");
        }
    }

    #[test]
    fn a_piped_pin_is_one_long_line() {
        for (text, want) in [
            ("12345678\n", Some("12345678")),
            ("12345678", Some("12345678")),
            ("1234 5678\r\nmore\n", Some("1234 5678")),
            ("1234567\n", None),
            ("", None),
            ("\n12345678\n", None),
        ] {
            assert_eq!(piped(text.as_bytes()).ok().as_deref().map(String::as_str), want, "{text:?}");
        }
    }
}
