//! The terminal where a person reads a card and types a PIN. It is `/dev/tty`, never standard input: piped text
//! approves nothing (`seed 000, Non-goals`; architecture, Where the specifications meet: surfaces).

use crate::interrupts::Interrupts;
use nix::sys::termios::{
    FlushArg, LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcdrain, tcflush, tcgetattr, tcsetattr,
};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use tokio::sync::oneshot;
use zeroize::Zeroizing;

/// Longest line that is read, in bytes; more is not taken. An address from a browser is long.
const LONGEST: usize = 4_096;

const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const CTRL_U: u8 = 0x15;
const ESCAPE: u8 = 0x1b;
const DELETE: u8 = 0x7f;

/// Whether what is typed appears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typing {
    /// A PIN.
    Hidden,
    /// A room's name.
    Visible,
}

/// Why the terminal gave no line.
#[derive(Debug)]
pub(crate) enum TerminalError {
    /// Ctrl-C, Ctrl-D or a signal.
    Cancelled,
    /// It stopped working.
    Io(io::Error),
    /// There is none.
    None(io::Error),
    /// What was typed is not UTF-8.
    NotText,
}

impl TerminalError {
    /// For `--json`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Io(_) | Self::None(_) => "no_terminal",
            Self::NotText => "not_text",
        }
    }
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Io(error) => write!(f, "the terminal failed: {error}"),
            Self::None(error) => write!(
                f,
                "this needs a terminal, because a person has to read and type ({error}); text from a pipe is not taken"
            ),
            Self::NotText => f.write_str("what was typed is not UTF-8 text"),
        }
    }
}

impl std::error::Error for TerminalError {}

impl From<nix::Error> for TerminalError {
    fn from(errno: nix::Error) -> Self {
        Self::Io(errno.into())
    }
}

/// A person's terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    tty: File,
    interrupts: Interrupts,
}

impl Terminal {
    /// The terminal that controls this process.
    ///
    /// # Errors
    /// [`TerminalError::None`] when there is none, whatever standard input is.
    pub(crate) fn open() -> Result<Self, TerminalError> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(TerminalError::None)?;
        Self::over(tty)
    }

    /// Any file that is a terminal.
    ///
    /// # Errors
    /// [`TerminalError::None`] when it is not one.
    pub(crate) fn over(tty: File) -> Result<Self, TerminalError> {
        tcgetattr(&tty).map_err(|errno| TerminalError::None(errno.into()))?;
        let interrupts = Interrupts::watch().map_err(TerminalError::Io)?;
        Ok(Self { tty, interrupts })
    }

    /// Shows text and waits until the terminal has it.
    ///
    /// # Errors
    /// [`TerminalError::Io`]
    pub(crate) fn show(&mut self, text: &str) -> Result<(), TerminalError> {
        self.tty.write_all(text.as_bytes()).map_err(TerminalError::Io)?;
        Ok(tcdrain(&self.tty)?)
    }

    /// Asks for one line. What was typed before the question appeared does not count.
    ///
    /// # Errors
    /// [`TerminalError`]; the terminal is as it was before.
    pub(crate) async fn ask(&mut self, prompt: &str, typing: Typing) -> Result<Zeroizing<String>, TerminalError> {
        let raw = Raw::new(&self.tty)?;
        self.tty.write_all(prompt.as_bytes()).map_err(TerminalError::Io)?;
        tcdrain(&self.tty)?;
        tcflush(&self.tty, FlushArg::TCIFLUSH)?;
        let keys = self.tty.try_clone().map_err(TerminalError::Io)?;
        let (sender, typed) = oneshot::channel();
        // A plain thread: a blocked read must not hold up the signals, nor the end of the process.
        let reader = std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
            let _nobody_waits = sender.send(read_line(keys, typing));
        });
        reader.map_err(TerminalError::Io)?;
        let line = tokio::select! {
            line = typed => line.unwrap_or(Err(TerminalError::Cancelled)),
            _ = self.interrupts.next() => Err(TerminalError::Cancelled),
        };
        drop(raw);
        self.show("\r\n")?;
        line
    }
}

// The terminal key by key, without echo and without keys that raise signals; as before when dropped.
struct Raw {
    tty: File,
    before: Termios,
}

impl Raw {
    fn new(tty: &File) -> Result<Self, TerminalError> {
        let before = tcgetattr(tty)?;
        let tty = tty.try_clone().map_err(TerminalError::Io)?;
        let mut raw = before.clone();
        raw.local_flags
            .remove(LocalFlags::ECHO | LocalFlags::ECHONL | LocalFlags::ICANON | LocalFlags::ISIG | LocalFlags::IEXTEN);
        raw.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        raw.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        let guard = Self { tty, before };
        tcsetattr(&guard.tty, SetArg::TCSAFLUSH, &raw)?;
        Ok(guard)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // What was typed behind the line end must not reach the shell: it may be the rest of a PIN.
        let _restored = tcsetattr(&self.tty, SetArg::TCSAFLUSH, &self.before);
    }
}

fn read_line(mut tty: File, typing: Typing) -> Result<Zeroizing<String>, TerminalError> {
    let mut typed = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut keys = Zeroizing::new([0; 64]);
    loop {
        let count = match tty.read(&mut keys[..]) {
            Ok(0) => return Err(TerminalError::Cancelled),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(TerminalError::Io(error)),
        };
        // An arrow or function key arrives as one piece.
        if keys[0] == ESCAPE {
            continue;
        }
        for key in &keys[..count] {
            match *key {
                b'\n' | b'\r' => return text(&mut typed),
                CTRL_C => return Err(TerminalError::Cancelled),
                CTRL_D if typed.is_empty() => return Err(TerminalError::Cancelled),
                BACKSPACE | DELETE => rub_out(&mut tty, &mut typed, typing)?,
                CTRL_U => {
                    while !typed.is_empty() {
                        rub_out(&mut tty, &mut typed, typing)?;
                    }
                }
                0..=0x1f => {}
                _ if typed.len() == LONGEST => {}
                key => {
                    typed.push(key);
                    echo(&mut tty, &[key], typing)?;
                }
            }
        }
    }
}

fn rub_out(tty: &mut File, typed: &mut Vec<u8>, typing: Typing) -> Result<(), TerminalError> {
    // A character's later bytes start with the bits 10.
    while let Some(byte) = typed.pop() {
        if byte & 0xc0 != 0x80 {
            return echo(tty, b"\x08 \x08", typing);
        }
    }
    Ok(())
}

fn echo(tty: &mut File, bytes: &[u8], typing: Typing) -> Result<(), TerminalError> {
    match typing {
        Typing::Hidden => Ok(()),
        Typing::Visible => tty.write_all(bytes).map_err(TerminalError::Io),
    }
}

fn text(typed: &mut Zeroizing<Vec<u8>>) -> Result<Zeroizing<String>, TerminalError> {
    match String::from_utf8(std::mem::take(&mut **typed)) {
        Ok(text) => Ok(Zeroizing::new(text)),
        Err(error) => {
            drop(Zeroizing::new(error.into_bytes()));
            Err(TerminalError::NotText)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Screen, echoes};

    #[tokio::test]
    async fn a_file_that_is_no_terminal_is_refused() {
        let file = tempfile::tempfile().unwrap();
        let error = Terminal::over(file).unwrap_err();
        assert!(matches!(error, TerminalError::None(_)), "{error}");
        assert!(error.to_string().contains("text from a pipe is not taken"));
    }

    #[tokio::test]
    async fn a_pin_is_typed_without_echo_and_the_terminal_is_as_before() {
        let screen = Screen::new();
        let mut terminal = screen.terminal();
        screen.answer("PIN: ", "12x\u{7f}345\r");
        let pin = terminal.ask("PIN: ", Typing::Hidden).await.unwrap();
        assert_eq!(&**pin, "12345");
        assert!(!screen.text().contains("12"), "{:?}", screen.text());
        assert!(echoes(&screen.slave));
    }

    #[tokio::test]
    async fn a_name_appears_and_can_be_corrected() {
        let screen = Screen::new();
        let mut terminal = screen.terminal();
        screen.answer("Room: ", "wrong\u{15}Aula Niña\u{7f}o\n");
        let name = terminal.ask("Room: ", Typing::Visible).await.unwrap();
        assert_eq!(&**name, "Aula Niño");
        assert!(screen.text().contains("Aula Niña"));
    }

    #[tokio::test]
    async fn what_was_typed_before_the_question_does_not_count() {
        let screen = Screen::new();
        let mut terminal = screen.terminal();
        screen.type_now("yes\n11111111\n");
        screen.answer("PIN: ", "22222222\n");
        let pin = terminal.ask("PIN: ", Typing::Hidden).await.unwrap();
        assert_eq!(&**pin, "22222222");
    }

    #[tokio::test]
    async fn ctrl_c_cancels_and_restores_the_echo() {
        let screen = Screen::new();
        let mut terminal = screen.terminal();
        screen.answer("PIN: ", "123\u{3}");
        let error = terminal.ask("PIN: ", Typing::Hidden).await.unwrap_err();
        assert!(matches!(error, TerminalError::Cancelled));
        assert!(echoes(&screen.slave));
    }
}
