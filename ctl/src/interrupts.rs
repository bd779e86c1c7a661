//! The wish of the person or the system that this command ends.

use std::io;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Why somebody wants an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Ctrl-C.
    Keyboard,
    /// SIGTERM, or the terminal is gone.
    Ended,
}

/// Watches SIGINT, SIGTERM and SIGHUP. Once watched they no longer end the process by themselves.
#[derive(Debug)]
pub(crate) struct Interrupts {
    keyboard: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interrupts {
    /// Starts to watch.
    ///
    /// # Errors
    /// The system does not allow it.
    pub(crate) fn watch() -> io::Result<Self> {
        Ok(Self {
            keyboard: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next wish. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> Cause {
        tokio::select! {
            _ = self.keyboard.recv() => Cause::Keyboard,
            _ = self.terminate.recv() => Cause::Ended,
            _ = self.hangup.recv() => Cause::Ended,
        }
    }

    /// Does a work that may be given up at any moment; nothing when somebody wanted an end first.
    pub(crate) async fn or_done<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            _ = self.next() => None,
        }
    }

    /// Forgets a Ctrl-C that came while somebody else was waiting for it.
    pub(crate) async fn forget_keyboard(&mut self) {
        let waited = tokio::time::timeout(Duration::ZERO, self.keyboard.recv()).await;
        drop(waited);
    }
}
