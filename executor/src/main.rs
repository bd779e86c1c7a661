//! `fleetwatch-executor`: holds the write credential, shows cards, and writes once after a person's yes.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::log::to_stderr("executor");
    let stop_with_stdin = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--stop-with-stdin" => true,
        _ => {
            tracing::error!(
                "usage: fleetwatch-executor [--stop-with-stdin]; settings come from the environment (docs/settings.md)"
            );
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "no runtime");
            return ExitCode::from(1);
        }
    };
    match runtime.block_on(executor::serve(stop_with_stdin)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}
