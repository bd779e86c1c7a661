//! What is settled before there is a second thread: settings, and the sockets that a service manager hands over.

use crate::config::Config;
use crate::serve::ServeError;
use host::activation::{Handed, Kind};

/// The descriptor that assistants propose on, as a socket unit names it.
pub(crate) const PROPOSE: &str = "propose";
/// The descriptor that operators are served on.
pub(crate) const CONTROL: &str = "control";
/// The descriptor of the approval page.
pub(crate) const PAGE: &str = "page";

const USAGE: &str = "usage: fleetwatch-executor [--stop-with-stdin | --propose-on-stdin]; settings come from the environment \
                     (docs/settings.md)";

/// A process that is ready to serve.
#[derive(Debug)]
pub struct Launch {
    pub(crate) config: Config,
    pub(crate) handed: Handed,
    pub(crate) stop_with_stdin: bool,
}

impl Launch {
    /// Reads the command line (without the program's name), the environment and what was handed over. Call it on the
    /// main thread, before a runtime is made.
    ///
    /// # Errors
    /// [`ServeError`] when it cannot start.
    pub fn prepare(arguments: &[String]) -> Result<Self, ServeError> {
        let (stop_with_stdin, propose_on_stdin) = match arguments {
            [] => (false, false),
            [flag] if flag == "--stop-with-stdin" => (true, false),
            [flag] if flag == "--propose-on-stdin" => (false, true),
            _ => return Err(ServeError::Usage(USAGE)),
        };
        let known = [(CONTROL, Kind::Unix), (PAGE, Kind::Loopback), (PROPOSE, Kind::Unix)];
        let mut handed = host::activation::take(&known)?;
        if propose_on_stdin {
            handed.take_stdin(PROPOSE)?;
        }
        Ok(Self { config: Config::from_environment()?, handed, stop_with_stdin })
    }
}
