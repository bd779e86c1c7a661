//! `fleetwatch-assistant`: answers questions about the fleet and can only propose a change. It names no decision: the
//! words for one live in a crate that this program does not depend on (`seed 000, Parts`).

mod changeable;
mod config;
mod desk;
mod doctor;
mod fleet;
mod front;
mod ids_seen;
mod keyword;
mod language;
mod later;
mod listen;
mod login;
mod model;
mod named;
mod pieces;
mod poll;
mod prompt;
mod propose;
mod reports;
mod seats;
mod status;
mod teller;
#[cfg(test)]
mod testing;
mod tools;
mod turn;
mod units;
mod watch;

use config::Config;
use desk::{BAD_CONFIGURATION, Desk, StartError};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    host::log::to_stderr("fleetwatch_assistant");
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let config = match Config::read(&arguments, &|name| std::env::var_os(name)) {
        Ok(config) => config,
        Err(error) => {
            tracing::error!("{error}");
            return ExitCode::from(BAD_CONFIGURATION);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "the runtime cannot be made");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

async fn run(config: Config) -> Result<(), StartError> {
    let stop = host::stop::stop_requested(config.stop_with_stdin);
    let (path, askers) = (config.ask_socket(), desk::Askers::of(config.executor_uid)?);
    let desk = Arc::new(Desk::new(config)?);
    let listener = desk::ask_socket(&path, askers)?;
    tracing::info!(socket = %path.display(), "{} is ready", protocol::hello::BUILD);
    tokio::select! {
        () = stop => {}
        () = desk.poll.run() => {}
        () = watch::run(&desk) => {}
        () = listen::serve(listener, Arc::clone(&desk)) => {}
    }
    // Whatever is open is dropped now, and the executor withdraws what was not finished.
    Ok(())
}
