//! Named places where a test can stop the process. Compiled only under `cfg(fleetwatch_barriers)`, which `build.rs`
//! never sets for a release build.

/// Stops here when a test asked for it.
#[cfg(fleetwatch_barriers)]
pub(crate) fn barrier(name: &str) {
    if std::env::var("FLEETWATCH_BARRIER").as_deref() == Ok(name) {
        tracing::warn!(name, "stopped at a barrier");
        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP);
    }
}

/// Nothing, in every build that people run.
#[cfg(not(fleetwatch_barriers))]
#[inline(always)]
pub(crate) fn barrier(_name: &str) {}

#[cfg(all(fleetwatch_barriers, not(debug_assertions)))]
compile_error!("barriers are for tests: never in a release build");
