//! Which process a daemon is. A process id alone may be another program's by now; with the moment when it started it is
//! not.

use super::error::UpError;
use host::files::{self, FileError};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;

const LIMIT: u64 = 4_096;

/// A process that was recorded and lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Living {
    pid: u32,
    mark: String,
}

impl Living {
    /// Whether it has not ended.
    pub(crate) fn lives(&self) -> bool {
        mark_of(self.pid).as_deref() == Some(&self.mark)
    }

    /// Asks it to end in order; one that is gone is no error.
    ///
    /// # Errors
    /// [`UpError::Io`] when it is not ours to end.
    pub(crate) fn ask_to_end(&self) -> Result<(), UpError> {
        ask_to_end(self.pid)
    }
}

/// Asks a process to end in order; one that is gone is no error.
///
/// # Errors
/// [`UpError::Io`] when it is not ours to end.
pub(crate) fn ask_to_end(pid: u32) -> Result<(), UpError> {
    let Ok(pid) = i32::try_from(pid) else { return Ok(()) };
    match kill(Pid::from_raw(pid), Signal::SIGTERM) {
        Ok(()) | Err(nix::Error::ESRCH) => Ok(()),
        Err(errno) => Err(UpError::Io("end a daemon", errno.into())),
    }
}

/// The process that `record` names, if that very one lives. What is not understood names none.
///
/// # Errors
/// [`FileError`] when the file may be another user's.
pub(crate) fn recorded(record: &Path) -> Result<Option<Living>, FileError> {
    let text = match files::read_private(record, LIMIT) {
        Ok(text) => text,
        Err(FileError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = text.trim_end().split_once(' ').and_then(|(pid, mark)| Some((pid.parse().ok()?, mark)));
    let living = found.map(|(pid, mark)| Living { pid, mark: mark.to_owned() });
    // 0 and 1 would be everybody's, and this process is no daemon.
    Ok(living.filter(|one| one.pid > 1 && one.pid != std::process::id() && one.lives()))
}

/// Writes down that this process is the daemon.
///
/// # Errors
/// [`UpError`]
pub(crate) fn record_me(record: &Path) -> Result<(), UpError> {
    let pid = std::process::id();
    let unknown = || UpError::Io("see when this process started", std::io::ErrorKind::NotFound.into());
    let mark = mark_of(pid).ok_or_else(unknown)?;
    Ok(files::write_private(record, format!("{pid} {mark}\n").as_bytes())?)
}

/// When a process started, in words that no other process with this id has; nothing when it has ended.
#[cfg(target_os = "linux")]
fn mark_of(pid: u32) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold blanks and brackets itself. Behind it the first field is the state, the twentieth the start.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<_> = rest.split_whitespace().collect();
    let ended = matches!(*fields.first()?, "Z" | "X" | "x");
    (!ended).then_some(())?;
    Some(format!("{} {}", boot.trim(), fields.get(19)?))
}

/// When a process started, in words that no other process with this id has; nothing when it has ended.
#[cfg(not(target_os = "linux"))]
fn mark_of(pid: u32) -> Option<String> {
    let mut ps = std::process::Command::new("/bin/ps");
    ps.env_clear().args(["-o", "stat=,lstart=", "-p"]).arg(pid.to_string());
    let text = String::from_utf8(ps.output().ok()?.stdout).ok()?;
    let (state, started) = text.trim().split_once(char::is_whitespace)?;
    let ended = state.starts_with('Z');
    (!ended).then(|| started.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn written(folder: &Path, text: &str) -> Option<Living> {
        let path = folder.join("x.pid");
        files::write_private(&path, text.as_bytes()).unwrap();
        recorded(&path).unwrap()
    }

    #[test]
    fn a_record_counts_only_for_the_very_process_while_it_lives() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(recorded(&folder.path().join("none")).unwrap(), None);
        let (mut one, mut other) = (sleeper(), sleeper());
        let mark = mark_of(one.id()).unwrap();
        let living = written(folder.path(), &format!("{} {mark}\n", one.id())).unwrap();
        assert!(living.lives() && living.pid == one.id());
        // The same id with another start is a stranger.
        assert_eq!(written(folder.path(), &format!("{} {mark}0\n", one.id())), None);
        // Ended and not waited for is ended.
        one.kill().unwrap();
        for _ in 0..250 {
            if !living.lives() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(!living.lives());
        one.wait().unwrap();
        living.ask_to_end().unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn what_nobody_wrote_names_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let init = mark_of(1).unwrap_or_default();
        let me = mark_of(std::process::id()).unwrap();
        for text in [
            "",
            "12",
            "x y\n",
            "-1 z\n",
            "99999999999 z\n",
            "4194303 z\n",
            &format!("1 {init}\n"),
            &format!("{} {me}\n", std::process::id()),
        ] {
            assert_eq!(written(folder.path(), text), None, "{text:?}");
        }
    }

    #[test]
    fn a_process_records_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("me.pid");
        record_me(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{} {}\n", std::process::id(), mark_of(std::process::id()).unwrap()));
    }
}
