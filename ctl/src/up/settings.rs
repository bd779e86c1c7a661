//! The settings of a daemon that `up` starts: a file of `NAME=value` lines, and what `up` knows itself. The environment of
//! whoever calls `up` is none of it, so that every `up` starts the same.

use super::error::UpError;
use super::layout::Layout;
use crate::client::Daemon;
use host::files;
use std::ffi::OsString;
use std::path::Path;

const LIMIT: u64 = 64 * 1024;

/// What `up` knows itself: another value would be another Fleetwatch.
const OURS: [&str; 7] = [
    "FLEETWATCH_ASSISTANT_STATE_DIR",
    "FLEETWATCH_ASSISTANT_USER",
    "FLEETWATCH_EXECUTOR_STATE_DIR",
    "FLEETWATCH_EXECUTOR_USER",
    "FLEETWATCH_POLICY_DIR",
    "FLEETWATCH_PRINCIPALS_FILE",
    "FLEETWATCH_RUN_DIR",
];

/// Secrets, which are files.
const SECRETS: [&str; 2] = ["FLEETWATCH_ANTHROPIC_API_KEY", "FLEETWATCH_OPENAI_API_KEY"];

/// A daemon's whole environment but `PATH`.
///
/// # Errors
/// [`UpError`] when its file is not as it must be.
pub(crate) fn of(daemon: Daemon, layout: &Layout) -> Result<Vec<(String, OsString)>, UpError> {
    let path = layout.settings_of(daemon);
    let mut settings = parse(&files::read_private(&path, LIMIT)?, &path)?;
    let me: OsString = host::socket::my_uid().to_string().into();
    let state = match daemon {
        Daemon::Assistant => "FLEETWATCH_ASSISTANT_STATE_DIR",
        Daemon::Executor => "FLEETWATCH_EXECUTOR_STATE_DIR",
    };
    let ours: [(&str, OsString); 5] = [
        (state, layout.state_of(daemon).into()),
        ("FLEETWATCH_RUN_DIR", layout.run().into()),
        ("FLEETWATCH_POLICY_DIR", layout.config().into()),
        ("FLEETWATCH_ASSISTANT_USER", me.clone()),
        ("FLEETWATCH_EXECUTOR_USER", me),
    ];
    settings.extend(ours.map(|(name, value)| (name.to_owned(), value)));
    Ok(settings)
}

fn parse(text: &str, path: &Path) -> Result<Vec<(String, OsString)>, UpError> {
    let mut settings: Vec<(String, OsString)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let wrong = |what| UpError::Setting { path: path.to_owned(), line: at + 1, what };
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("this is no NAME=value; write it so"))?;
        let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        if !name.starts_with("FLEETWATCH_") || !name.bytes().all(plain) {
            return Err(wrong("only settings whose names begin with FLEETWATCH_ may stand here; take it out"));
        }
        if OURS.contains(&name) {
            return Err(wrong("`fleetwatchctl up` sets this itself; take it out"));
        }
        if SECRETS.contains(&name) {
            return Err(wrong(
                "a key is no setting: put it into a file of mode 0600 and name that in the setting that ends in _FILE",
            ));
        }
        if settings.iter().any(|(known, _)| known == name) {
            return Err(wrong("this name is there twice; keep one"));
        }
        let value = value.trim();
        if value.starts_with(['"', '\'']) || value.contains(char::is_control) {
            return Err(wrong("write the value as it is, without quotes and control characters"));
        }
        settings.push((name.to_owned(), value.into()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, OsString)>, UpError> {
        parse(text, Path::new("executor.env"))
    }

    #[test]
    fn lines_comments_and_blanks_are_understood() {
        let found = read("# one\n\n ; two\nFLEETWATCH_SLOT=sim\n  FLEETWATCH_WRITE_DEVICE_IDS = no\n").err();
        assert!(found.is_some(), "a blank before = is no name");
        let found = read("# one\n\n ; two\nFLEETWATCH_SLOT=sim\nFLEETWATCH_WRITE_DEVICE_IDS=1, 2=3 \n").unwrap();
        let want = [("FLEETWATCH_SLOT", "sim"), ("FLEETWATCH_WRITE_DEVICE_IDS", "1, 2=3")];
        assert_eq!(found, want.map(|(name, value)| (name.to_owned(), OsString::from(value))));
    }

    #[test]
    fn nothing_foreign_secret_or_doubled_gets_through_and_no_value_is_shown() {
        for (text, line) in [
            ("PATH=/hunter2", 1),
            ("LD_PRELOAD=hunter2", 1),
            ("FLEETWATCH_SLOT", 1),
            ("\nFLEETWATCH_RUN_DIR=/hunter2", 2),
            ("FLEETWATCH_EXECUTOR_USER=0", 1),
            ("FLEETWATCH_ANTHROPIC_API_KEY=hunter2", 1),
            ("FLEETWATCH_SLOT=sim\nFLEETWATCH_SLOT=hunter2", 2),
            ("FLEETWATCH_SLOT=\"hunter2\"", 1),
            ("FLEETWATCH_slot=sim", 1),
            ("export FLEETWATCH_SLOT=sim", 1),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("executor.env:{line}: ")) && !error.contains("hunter2"), "{error}");
        }
    }
}
