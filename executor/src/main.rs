//! `fleetwatch-executor`: holds the write credential, shows cards, and writes once after a person's yes.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::log::to_stderr("executor");
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run() -> Result<(), executor::ServeError> {
    let arguments: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let launch = executor::Launch::prepare(&arguments)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(executor::ServeError::Runtime)?;
    runtime.block_on(executor::serve(launch))
}
