//! `fleetwatch-assistant`: answers questions about the fleet and can only propose a change. It names no decision: the
//! words for one live in a crate that this program does not depend on (`seed 000, Parts`).

mod alive;
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
mod people;
mod pieces;
mod poll;
mod prompt;
mod propose;
mod reports;
mod seats;
mod serve;
mod status;
mod teller;
#[cfg(test)]
mod testing;
mod tools;
mod turn;
mod units;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    host::log::to_stderr("fleetwatch_assistant");
    match serve::start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}
