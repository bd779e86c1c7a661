//! What a daemon gives up before it serves anybody: new rights, core dumps, being looked into, files and ports that are not
//! its own, and system calls that it never makes (issue line 4.5). Each is a piece; one that the system does not have is
//! told in `status` and `doctor`, and refused where [`REQUIRE`] says so.
//!
//! Everything holds for the threads that are made later, so it is done on the main thread, before there is another.

mod calls;
#[cfg(target_os = "linux")]
mod files;
mod places;

#[cfg(test)]
mod tests;

pub use calls::Daemon;
pub use places::Plan;

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The setting that refuses a start without every piece.
pub const REQUIRE: &str = "FLEETWATCH_REQUIRE_SANDBOX";

/// One piece of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// System calls are filtered.
    Calls,
    /// No core is dumped.
    Core,
    /// Nobody of the same user looks into the process.
    Dumpable,
    /// Files that are not its own are closed.
    Files,
    /// Ports that are not its own, and processes and abstract sockets outside, are closed.
    Ports,
    /// No program that it starts could gain rights.
    Rights,
}

impl Piece {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Calls, Self::Core, Self::Dumpable, Self::Files, Self::Ports, Self::Rights];

    /// Its name, as `status` and `doctor` show it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "seccomp",
            Self::Core => "no-core",
            Self::Dumpable => "not-dumpable",
            Self::Files => "landlock",
            Self::Ports => "landlock-ports",
            Self::Rights => "no-new-privs",
        }
    }

    fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

// What holds for this process; only ever grows.
static HELD: AtomicU8 = AtomicU8::new(0);

fn hold(piece: Piece, held: bool) {
    if held {
        HELD.fetch_or(piece.bit(), Ordering::SeqCst);
    }
}

/// The names of the pieces that do not hold for this process; all of them before [`close`].
#[must_use]
pub fn missing() -> Vec<String> {
    let held = HELD.load(Ordering::SeqCst);
    Piece::ALL.into_iter().filter(|piece| held & piece.bit() == 0).map(|piece| piece.as_str().to_owned()).collect()
}

/// Why a daemon does not start in its sandbox. Starting again does not help.
#[derive(Debug, PartialEq, Eq)]
pub enum SandboxError {
    /// [`REQUIRE`] has another value than 0 and 1.
    BadSetting,
    /// [`REQUIRE`] is set, and these pieces do not hold.
    Missing(Vec<String>),
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadSetting => write!(f, "{REQUIRE} is neither 0 nor 1; leave it out for 0"),
            Self::Missing(names) => write!(
                f,
                "{REQUIRE}=1 and this system does not give the whole sandbox; missing: {}. Use Linux 6.12 or newer with \
                 Landlock, outside a container that forbids it, or take the setting away",
                names.join(", ")
            ),
        }
    }
}

impl std::error::Error for SandboxError {}

/// The pieces that need no settings. Call it first, before a secret is read.
pub fn harden() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::prctl;
        hold(Piece::Rights, prctl::set_no_new_privs().is_ok());
        hold(Piece::Dumpable, prctl::set_dumpable(false).is_ok());
    }
    let core = nix::sys::resource::Resource::RLIMIT_CORE;
    hold(Piece::Core, nix::sys::resource::setrlimit(core, 0, 0).is_ok());
}

/// The pieces that need to know what is the daemon's own: files and ports of `plan`, and the calls of `daemon`. What the
/// system does not give is warned of.
///
/// # Errors
/// [`SandboxError`] when [`REQUIRE`] (given as `required`) wants more than there is.
pub fn close(plan: &Plan, daemon: Daemon, required: Option<&str>) -> Result<(), SandboxError> {
    let required = match required {
        None | Some("" | "0") => false,
        Some("1") => true,
        Some(_) => return Err(SandboxError::BadSetting),
    };
    #[cfg(target_os = "linux")]
    {
        let closed = files::close(plan);
        hold(Piece::Files, closed.files);
        hold(Piece::Ports, closed.ports);
        hold(Piece::Calls, calls::filter(daemon));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (plan, daemon);
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    if required {
        return Err(SandboxError::Missing(missing));
    }
    tracing::warn!(
        missing = missing.join(", "),
        "this system does not give the whole sandbox; the daemon runs without these"
    );
    Ok(())
}
