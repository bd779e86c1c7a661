//! Processes as `/proc` shows them, and signals by process id. Only Linux has these, and only the tests need them.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Between two looks.
pub const LOOK: Duration = Duration::from_millis(20);

/// A child that is gone with the test that started it.
#[derive(Debug)]
pub struct Reaped(pub Child);

impl Deref for Reaped {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Reaped {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The program's file name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The children that a process has now. One that has ended and was not waited for is no child here.
#[must_use]
pub fn children_of(parent: u32) -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<_> = pids.filter(|pid| parent_of(*pid) == Some(parent)).filter_map(process).collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// One process by its id; nothing when it has ended.
#[must_use]
pub fn process(pid: u32) -> Option<Process> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let program = words.next().filter(|word| !word.is_empty())?;
    let name = PathBuf::from(program).file_name()?.to_str()?.to_owned();
    let arguments = words.filter(|word| !word.is_empty()).collect();
    Some(Process { pid, name, arguments })
}

/// The letter of a process's state: `T` is stopped, `Z` has ended and was not waited for. Nothing when it is gone.
#[must_use]
pub fn state_of(pid: u32) -> Option<char> {
    stat(pid)?.first()?.chars().next()
}

/// Whether a process has ended, waited for or not.
#[must_use]
pub fn has_ended(pid: u32) -> bool {
    matches!(state_of(pid), None | Some('Z' | 'X'))
}

fn parent_of(pid: u32) -> Option<u32> {
    let fields = stat(pid)?;
    let ended = fields.first()?.starts_with('Z');
    if ended { None } else { fields.get(1)?.parse().ok() }
}

// The fields behind the name, which may hold blanks and brackets itself.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Sends a signal (`KILL`, `TERM`, `CONT`) to one process that a test started; tells whether it was there.
#[must_use]
pub fn signal(pid: u32, name: &str) -> bool {
    let script = format!("kill -s {name} {pid}");
    let done = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// Looks until `there` gives something, at most so long; the last look counts.
pub fn wait_for<T>(most: Duration, mut there: impl FnMut() -> Option<T>) -> Option<T> {
    let looks = most.as_millis() / LOOK.as_millis();
    for _ in 0..looks {
        if let Some(found) = there() {
            return Some(found);
        }
        sleep(LOOK);
    }
    there()
}

/// Waits until every one of these processes has ended; gives those that have not.
#[must_use]
pub fn wait_for_ends(pids: &[u32], most: Duration) -> Vec<u32> {
    let _all = wait_for(most, || pids.iter().all(|pid| has_ended(*pid)).then_some(()));
    pids.iter().copied().filter(|pid| !has_ended(*pid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_stopped_continued_and_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let sleeps = || children_of(std::process::id()).into_iter().find(|process| process.pid == pid);
        let found = wait_for(Duration::from_secs(5), || sleeps().filter(|process| process.name == "sleep")).unwrap();
        assert_eq!(found.arguments, ["60"]);
        let becomes = |state| wait_for(Duration::from_secs(5), || (state_of(pid) == Some(state)).then_some(()));
        assert!(signal(pid, "STOP"));
        becomes('T').unwrap();
        assert!(signal(pid, "CONT"));
        becomes('S').unwrap();
        assert!(signal(pid, "KILL"));
        assert_eq!(wait_for_ends(&[pid], Duration::from_secs(5)), Vec::<u32>::new());
        assert!(sleeps().is_none());
        child.wait().unwrap();
        assert_eq!(state_of(pid), None);
    }
}
