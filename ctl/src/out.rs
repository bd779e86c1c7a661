//! Standard output through one handle. A reader that goes away (`| head`) is no error, and what happened to the
//! output never changes what the exit code says about the devices.

use std::fmt;
use std::io::{self, ErrorKind, Write};

/// Where answers go.
pub(crate) struct Out {
    sink: Box<dyn Write>,
    failed: Option<io::Error>,
}

impl fmt::Debug for Out {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Out").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Out {
    /// Standard output, locked.
    pub(crate) fn stdout() -> Self {
        Self::over(Box::new(io::stdout().lock()))
    }

    /// Any writer.
    pub(crate) fn over(sink: Box<dyn Write>) -> Self {
        Self { sink, failed: None }
    }

    /// One line.
    pub(crate) fn line(&mut self, text: &str) {
        self.attempt(|sink| writeln!(sink, "{text}").and_then(|()| sink.flush()));
    }

    /// Text without a line end.
    pub(crate) fn text(&mut self, text: &str) {
        self.attempt(|sink| write!(sink, "{text}").and_then(|()| sink.flush()));
    }

    /// A JSON value on one line, safe on a terminal.
    pub(crate) fn json(&mut self, value: &serde_json::Value) {
        self.line(&crate::render::json_text(value));
    }

    /// Whether nothing can be written any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the output.
    ///
    /// # Errors
    /// What went wrong, unless the reader just went away.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.failed {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            Some(_) | None => Ok(()),
        }
    }

    fn attempt(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut *self.sink).err();
        }
    }
}

/// One line on standard error. Nobody to tell when that fails.
pub(crate) fn complain(text: &str) {
    let _told = writeln!(io::stderr().lock(), "fleetwatchctl: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_quiet_and_a_full_disk_is_not() {
        for (kind, fine) in [(ErrorKind::BrokenPipe, true), (ErrorKind::StorageFull, false)] {
            let mut out = Out::over(Box::new(Broken(kind)));
            out.line("one");
            out.line("two");
            assert_eq!(out.finish().is_ok(), fine, "{kind:?}");
        }
    }
}
