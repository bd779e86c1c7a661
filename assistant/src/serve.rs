//! The assistant from its start to its end.

use crate::config::Config;
use crate::desk::{self, Desk, StartError};
use crate::{alive, listen, watch};
use host::activation::{Handed, Kind};
use std::ffi::OsString;
use std::sync::Arc;

/// The descriptor that askers are served on, as a socket unit names it.
const ASK: &str = "ask";

/// Settles what must be settled before there is a second thread (issue lines 4.2 and 4.5), and serves until it is told to stop.
///
/// # Errors
/// [`StartError`] with what to do.
pub(crate) fn start() -> Result<(), StartError> {
    // Before a secret is read.
    host::sandbox::harden();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let config = Config::read(&arguments, &|name| std::env::var_os(name)).map_err(StartError::Config)?;
    let handed = host::activation::take(&[(ASK, Kind::Unix)]).map_err(StartError::Handed)?;
    config.confine().map_err(StartError::Config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Runtime)?;
    let ended = runtime.block_on(run(config, handed));
    // A name service that hangs must not keep the end.
    runtime.shutdown_background();
    ended
}

async fn run(config: Config, mut handed: Handed) -> Result<(), StartError> {
    let stop = host::stop::stop_requested(config.stop_with_stdin);
    let (path, executor) = (config.ask_socket(), config.executor_uid);
    let desk = Arc::new(Desk::new(config)?);
    let listener = desk::ask_socket(&path, executor, handed.unix(ASK))?;
    tracing::info!(socket = %path.display(), "{} is ready", protocol::hello::BUILD);
    host::notify::ready(&format!("answers on {}", path.display()));
    tokio::select! {
        () = stop => {}
        () = desk.poll.run() => {}
        () = watch::run(&desk) => {}
        () = listen::serve(listener, Arc::clone(&desk)) => {}
        () = host::notify::keep_alive(|| alive::prove(&path)) => {}
    }
    host::notify::stopping();
    // Whatever is open is dropped now, and the executor withdraws what was not finished.
    Ok(())
}
