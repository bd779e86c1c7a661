//! Standard input, read only when a line is wanted: between two lines the terminal is somebody else's, such as the
//! question for a PIN.

use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};
use std::env;
use std::io::{self, IsTerminal, Read};
use std::sync::mpsc as wish;
use tokio::sync::mpsc;

/// What switches a terminal's special key off.
const NO_KEY: u8 = if cfg!(target_os = "linux") { 0 } else { 0xff };

/// Where lines come from.
#[derive(Debug)]
pub(crate) struct Keys {
    wish: wish::Sender<()>,
    chunks: mpsc::UnboundedReceiver<Vec<u8>>,
    wished: bool,
    back: Vec<u8>,
    edits: bool,
}

impl Keys {
    /// Standard input. On a terminal that knows escape sequences the line is edited here, else by the system.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn open() -> io::Result<Self> {
        let able = env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
        let edits = able && io::stdin().is_terminal() && io::stdout().is_terminal();
        let (wish, wishes) = wish::channel::<()>();
        let (sender, chunks) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("prompt".to_owned()).spawn(move || {
            while wishes.recv().is_ok() {
                let Some(chunk) = chunk() else { return };
                if sender.send(chunk).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { wish, chunks, wished: false, back: Vec::new(), edits })
    }

    /// Has the terminal give key by key until the value is dropped. Ctrl-C stays a signal.
    pub(crate) fn look(&self) -> Look {
        Look { before: if self.edits { key_by_key().ok() } else { None } }
    }

    /// The next bytes; nothing at the end. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        if !self.back.is_empty() {
            return Some(std::mem::take(&mut self.back));
        }
        if !self.wished {
            self.wish.send(()).ok()?;
            self.wished = true;
        }
        let chunk = self.chunks.recv().await;
        self.wished = false;
        chunk
    }

    /// Bytes behind a line's end, for the next line. They replace what was there.
    pub(crate) fn put_back(&mut self, rest: Vec<u8>) {
        self.back = rest;
    }
}

fn chunk() -> Option<Vec<u8>> {
    let mut bytes = vec![0; 8 * 1024];
    loop {
        match io::stdin().lock().read(&mut bytes) {
            Ok(0) => return None,
            Ok(count) => {
                bytes.truncate(count);
                return Some(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

fn key_by_key() -> nix::Result<Termios> {
    let before = tcgetattr(io::stdin())?;
    let mut keys = before.clone();
    keys.local_flags.remove(LocalFlags::ECHO | LocalFlags::ECHONL | LocalFlags::ICANON | LocalFlags::IEXTEN);
    keys.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
    keys.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
    // Stopped here, the shell would come back to a terminal without echo.
    keys.control_chars[SpecialCharacterIndices::VSUSP as usize] = NO_KEY;
    // What was typed meanwhile stays typed.
    tcsetattr(io::stdin(), SetArg::TCSADRAIN, &keys)?;
    Ok(before)
}

/// A terminal that gives key by key; as before when dropped.
#[derive(Debug)]
pub(crate) struct Look {
    before: Option<Termios>,
}

impl Look {
    /// Whether the line is edited here.
    pub(crate) fn edits(&self) -> bool {
        self.before.is_some()
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A terminal that is gone needs nothing.
            let _restored = tcsetattr(io::stdin(), SetArg::TCSADRAIN, before);
        }
    }
}
