//! `fleetwatch-sim`: a simulated fleet as a real MCP server, and a scripted stand-in for the model's API.
//!
//! For demos and tests. Both listeners bind 127.0.0.1 and nowhere else; no device exists behind them.

mod clock;
mod config;
mod control;
mod faults;
mod fleet;
mod front;
mod help;
mod log;
mod mcp;
mod model;
mod oauth;
mod run;
mod shapes;
mod tools;
mod web;
mod world;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::config::Config;

fn main() -> ExitCode {
    let config = Config::parse();
    match run::start(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if standard error is gone too.
            let _ = writeln!(io::stderr().lock(), "fleetwatch-sim: {error}");
            ExitCode::FAILURE
        }
    }
}
