//! `fleetwatchctl`: the operator's command. It asks, shows cards and carries a person's decision; it decides nothing
//! and holds no secret longer than one command.

use clap::Parser;
use cli::Cli;
use exit::Exit;
use out::{Out, complain};
use std::process::ExitCode;

mod approvals;
mod ask;
mod audit;
mod chat;
mod cli;
mod client;
mod demo;
mod digest;
mod doctor;
mod exit;
mod interrupts;
mod keep;
mod login;
mod manual;
mod mcp;
mod newfile;
mod out;
mod page_code;
mod pin;
mod policy_check;
mod render;
mod session;
mod standstill;
mod status;
mod terminal;
#[cfg(test)]
mod testing;
mod up;
mod verbs;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let exit = match runtime {
        Ok(runtime) => runtime.block_on(run(cli)),
        Err(error) => {
            complain(&format!("cannot start: {error}"));
            Exit::Wrong
        }
    };
    exit.into()
}

async fn run(cli: Cli) -> Exit {
    let mut out = Out::stdout();
    let exit = verbs::run(cli, &mut out).await;
    match out.finish() {
        Ok(()) => exit,
        Err(error) => {
            complain(&format!("cannot write to standard output: {error}"));
            if exit == Exit::Done { Exit::Wrong } else { exit }
        }
    }
}
