//! From a child of `up` to a daemon of its own: a session without a terminal, a record of which process it is, a log of
//! bounded size, and then the daemon in this process's place.

use super::error::UpError;
use super::layout::Layout;
use super::process;
use crate::client::Daemon;
use crate::demo::beside;
use crate::exit::Exit;
use host::files;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Bytes from which on a log begins anew; one older part is kept.
const LOG: u64 = 1024 * 1024;

/// For another process to be recorded.
const TRIES: u32 = 100;
const AGAIN: Duration = Duration::from_millis(50);

/// `start-detached`: becomes the daemon, unless one is recorded and lives. Comes back only then, or when it failed; why
/// stands in the daemon's log.
pub(crate) fn start_detached(daemon: Daemon, state: PathBuf) -> Exit {
    let layout = Layout::of_state(state);
    match become_daemon(daemon, &layout) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let log = files::append_open(&layout.log_of(daemon)).map_err(UpError::from);
            // Nobody else is there to be told.
            let _told = log.map(|mut log| writeln!(log, "{error}"));
            Exit::Wrong
        }
    }
}

fn become_daemon(daemon: Daemon, layout: &Layout) -> Result<(), UpError> {
    // Refused only where this is a session's first process already.
    let _own = nix::unistd::setsid();
    let program = beside(daemon.as_str()).map_err(|_| UpError::Missing(daemon.as_str().into()))?;
    let birth = (0..TRIES).find_map(|_| match files::try_lock(&layout.birth_of(daemon)) {
        Ok(Some(lock)) => Some(Ok(lock)),
        Ok(None) => {
            std::thread::sleep(AGAIN);
            None
        }
        Err(error) => Some(Err(error)),
    });
    let _birth = birth.ok_or_else(|| UpError::Busy(layout.birth_of(daemon)))??;
    let record = layout.record_of(daemon);
    if process::recorded(&record)?.is_some() {
        return Ok(());
    }
    process::record_me(&record)?;
    let words = keeper(&layout.log_of(daemon))?;
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(words).current_dir("/");
    // The lock ends here, with the record written: it does not go on into the daemon.
    Err(UpError::Io("start a daemon", command.exec()))
}

// Where the daemon's words go: a pipe to a process that ends when the daemon has.
fn keeper(log: &Path) -> Result<Stdio, UpError> {
    let failed = |error| UpError::Io("start the keeper of a log", error);
    let (reader, writer) = io::pipe().map_err(failed)?;
    let mut command = Command::new(env::current_exe().map_err(failed)?);
    command.arg("keep-log").arg(log).env_clear().current_dir("/");
    let started = command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    // It is not waited for: it ends after its parent.
    started.map_err(failed)?;
    Ok(writer.into())
}

/// `keep-log`: standard input to a private file, until it ends. A full log becomes `NAME.1`, in the place of an older one.
pub(crate) fn keep_log(path: &Path) -> Exit {
    let kept = keep(io::stdin(), path, LOG);
    if kept.is_ok() { Exit::Done } else { Exit::Wrong }
}

fn keep(mut input: impl Read, path: &Path, most: u64) -> Result<(), UpError> {
    let mut log = open(path)?;
    let mut some = [0; 8_192];
    loop {
        let count = match input.read(&mut some) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(UpError::Io("read a daemon's words", error)),
        };
        let (file, size) = &mut log;
        // A full disk loses words, and never holds up the daemon.
        if file.write_all(&some[..count]).is_ok() {
            *size += u64::try_from(count).unwrap_or(0);
        }
        if *size >= most && fs::rename(path, path.with_extension("log.1")).is_ok() {
            log = open(path)?;
        }
    }
}

fn open(path: &Path) -> Result<(File, u64), UpError> {
    let file = files::append_open(path)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((file, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_log_is_private_and_never_larger_than_two_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("executor.log");
        for round in 0..3 {
            let words = format!("{round} a line of words\n").repeat(2_000);
            keep(words.as_bytes(), &path, 20_000).unwrap();
            for part in [path.clone(), folder.path().join("executor.log.1")] {
                let metadata = fs::metadata(&part).unwrap();
                assert!(metadata.len() <= 20_000 + 8_192, "{} bytes", metadata.len());
                assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
            }
            let mut all = fs::read(folder.path().join("executor.log.1")).unwrap();
            all.extend(fs::read(&path).unwrap());
            assert!(all.ends_with(format!("{round} a line of words\n").as_bytes()));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
