//! What is settled before there is a second thread: settings, the sockets that a service manager hands over, and the
//! sandbox (issue lines 4.1, 4.2 and 4.5).

use crate::config::{Config, ConfigError};
use crate::serve::ServeError;
use host::activation::{Handed, Kind};
use host::files::ensure_private_dir;
use host::sandbox::{self, Daemon, Plan};

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
    /// Reads the command line (without the program's name), the environment and what was handed over, and shuts
    /// everything else. Call it on the main thread, before a runtime is made.
    ///
    /// # Errors
    /// [`ServeError`] when it cannot start.
    pub fn prepare(arguments: &[String]) -> Result<Self, ServeError> {
        // Before a secret is read.
        sandbox::harden();
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
        let config = Config::from_environment()?;
        confine(&config)?;
        Ok(Self { config, handed, stop_with_stdin })
    }
}

fn confine(config: &Config) -> Result<(), ConfigError> {
    // A rule needs its folder to be there; whoever uses it says what is wrong with it.
    let _said_later = ensure_private_dir(&config.state);
    let mut plan = Plan::of_this_machine()
        .reads(&config.policy_dir)
        .writes(&config.state)
        .writes(&config.run.join("control"))
        .writes(&config.run.join("propose"))
        .replaces(&config.principals)
        .replaces(&config.token_file)
        .listens_on(config.callback_port)
        .listens_on(config.page_port);
    if let Some((_, address)) = &config.notify {
        plan = plan.reads(address);
    }
    let required = std::env::var_os(sandbox::REQUIRE).map(|value| value.to_string_lossy().into_owned());
    sandbox::close(&plan, Daemon::Executor, required.as_deref()).map_err(|error| ConfigError(error.to_string()))
}
