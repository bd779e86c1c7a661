//! A program on a pseudo terminal, as a person sees and types it. `peers/terminal.py` holds the terminal.

use crate::{peers_python, workspace_root};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What Ctrl-C types.
pub const CTRL_C: &str = "\x03";
/// What Ctrl-D types.
pub const CTRL_D: &str = "\x04";

/// A running program with its terminal. Dropping it closes the terminal and waits for the program's end.
#[derive(Debug)]
pub struct Terminal {
    bridge: Child,
    keys: Option<ChildStdin>,
    screen: Arc<Screen>,
    pid: u32,
    /// How much of what was shown has been looked at.
    looked: usize,
}

#[derive(Debug, Default)]
struct Screen {
    shown: Mutex<Shown>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Shown {
    bytes: Vec<u8>,
    over: bool,
}

impl Terminal {
    /// Starts a program. Of this process's environment it gets all but our own settings, and `settings` on top.
    ///
    /// # Errors
    /// The terminal could not be made.
    pub fn start(program: &Path, arguments: &[&str], settings: &[(&str, &Path)]) -> io::Result<Self> {
        let mut command = Command::new(peers_python());
        command.arg(workspace_root().join("tests/peers/terminal.py")).arg(program).args(arguments);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("FLEETWATCH_")) {
            command.env_remove(name);
        }
        command.env("LANG", "C.UTF-8").env_remove("COLUMNS").envs(settings.iter().copied());
        let mut bridge = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let keys = bridge.stdin.take();
        let screen = Arc::<Screen>::default();
        let output = bridge.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let watched = screen.clone();
        thread::spawn(move || watched.watch(output));
        let mut terminal = Self { bridge, keys, screen, pid: 0, looked: 0 };
        let first = terminal.wait_for("\n", Duration::from_secs(20)).map_err(io::Error::other)?;
        terminal.pid =
            first.trim().strip_prefix("pid ").and_then(|pid| pid.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(terminal)
    }

    /// The program's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Types these keys.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn press(&mut self, keys: &str) -> io::Result<()> {
        let pipe = self.keys.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(keys.as_bytes())?;
        pipe.flush()
    }

    /// Closes the terminal, as if its window were closed.
    pub fn hang_up(&mut self) {
        self.keys = None;
    }

    /// Waits until `text` is shown behind what was looked at before; gives everything up to its end.
    ///
    /// # Errors
    /// What was shown instead, when it does not come in time or the program has ended.
    pub fn wait_for(&mut self, text: &str, most: Duration) -> Result<String, String> {
        let from = self.looked;
        let found = |shown: &Shown| find(&shown.bytes[from..], text.as_bytes()).map(|at| from + at + text.len());
        let shown = self.screen.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.screen.changed.wait_timeout_while(shown, most, |shown| !shown.over && found(shown).is_none());
        let (shown, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(to) = found(&shown) else {
            let rest = plain(&shown.bytes[from..]);
            return Err(format!("{text:?} was not shown in {most:?}; shown was:\n{rest}"));
        };
        self.looked = to;
        Ok(plain(&shown.bytes[from..to]))
    }

    /// Everything that was shown.
    #[must_use]
    pub fn shown(&self) -> String {
        plain(&self.screen.shown.lock().unwrap_or_else(PoisonError::into_inner).bytes)
    }

    /// Waits for the program's end and gives its exit code, 128 and the signal when a signal ended it.
    ///
    /// # Errors
    /// What was shown, when it does not end in time.
    pub fn wait_for_end(&mut self, most: Duration) -> Result<i32, String> {
        let shown = self.screen.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.screen.changed.wait_timeout_while(shown, most, |shown| !shown.over);
        let over = waited.unwrap_or_else(PoisonError::into_inner).0.over;
        if !over {
            return Err(format!("it did not end in {most:?}; shown was:\n{}", self.shown()));
        }
        let status = self.bridge.wait().map_err(|error| error.to_string())?;
        status.code().ok_or_else(|| format!("the terminal ended by {status}"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.hang_up();
        let _ended = self.bridge.wait();
    }
}

impl Screen {
    fn watch(&self, mut output: impl Read) {
        let mut some = [0; 4096];
        loop {
            let count = output.read(&mut some).unwrap_or(0);
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.bytes.extend_from_slice(&some[..count]);
            shown.over = count == 0;
            self.changed.notify_all();
            if count == 0 {
                return;
            }
        }
    }
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

// A terminal ends its lines with both.
fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_sees_a_terminal_and_its_keys() {
        let script = "test -t 0 && test -t 1 && echo on a terminal; read line; echo \"got $line\"; exit 7";
        let mut terminal = Terminal::start(Path::new("/bin/sh"), &["-c", script], &[]).unwrap();
        let most = Duration::from_secs(20);
        terminal.wait_for("on a terminal\n".trim_end(), most).unwrap();
        terminal.press("these words\n").unwrap();
        terminal.wait_for("got these words", most).unwrap();
        assert_eq!(terminal.wait_for_end(most), Ok(7));
        assert!(terminal.wait_for("more", most).unwrap_err().contains("was not shown"));
    }

    #[test]
    fn ctrl_c_is_a_signal_and_a_closed_terminal_another() {
        let most = Duration::from_secs(20);
        let start = || {
            let mut terminal =
                Terminal::start(Path::new("/bin/sh"), &["-c", "echo ready; exec sleep 60"], &[]).unwrap();
            terminal.wait_for("ready", most).unwrap();
            terminal
        };
        let mut interrupted = start();
        interrupted.press(CTRL_C).unwrap();
        assert_eq!(interrupted.wait_for_end(most), Ok(128 + 2));
        let mut closed = start();
        closed.hang_up();
        assert_eq!(closed.wait_for_end(most), Ok(128 + 1));
    }
}
