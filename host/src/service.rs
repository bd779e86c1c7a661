//! What started this process, and the exit codes that it understands. Only looks.

use std::ffi::OsString;

/// The exit code for what starting again cannot repair: a setting, a file, a credential (`EX_CONFIG` of sysexits). A
/// service manager that is told so leaves the daemon stopped (docs/commands.md).
pub const CONFIGURATION: u8 = 78;
/// The exit code for a command line that was not understood.
pub const USAGE: u8 = 2;

/// Who starts this process again when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// It is the first process of a container.
    Container,
    /// macOS's.
    Launchd,
    /// Nobody that we know of.
    None,
    /// systemd.
    Systemd,
}

impl Manager {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Container => "a container",
            Self::Launchd => "launchd",
            Self::None => "none",
            Self::Systemd => "systemd",
        }
    }
}

/// The two jobs of `launchd/`, which start a daemon through a script.
const JOBS: [&str; 2] = ["fleetwatch.assistant", "fleetwatch.executor"];

/// Who started this process itself, not a shell above it; the script of our own jobs counts as launchd.
#[must_use]
pub fn manager() -> Manager {
    judge(std::process::id(), std::os::unix::process::parent_id(), |name| std::env::var_os(name))
}

fn judge(pid: u32, parent: u32, lookup: impl Fn(&str) -> Option<OsString>) -> Manager {
    // Children inherit it, so only the named process counts.
    let named = lookup("SYSTEMD_EXEC_PID").is_some_and(|value| *value == *pid.to_string());
    let job = lookup("XPC_SERVICE_NAME").filter(|value| !value.is_empty() && value != "0");
    let ours = job.as_ref().is_some_and(|job| JOBS.iter().any(|name| *job == **name));
    match (named, pid == 1, ours || (job.is_some() && parent == 1)) {
        (true, _, _) => Manager::Systemd,
        (false, true, _) => Manager::Container,
        (false, false, true) => Manager::Launchd,
        (false, false, false) => Manager::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_process_that_a_manager_started_is_its_own() {
        let of = |pid, parent, set: &[(&str, &str)]| {
            judge(pid, parent, |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value)))
        };
        assert_eq!(of(77, 1, &[("SYSTEMD_EXEC_PID", "77")]), Manager::Systemd);
        assert_eq!(of(78, 77, &[("SYSTEMD_EXEC_PID", "77")]), Manager::None);
        assert_eq!(of(1, 0, &[]), Manager::Container);
        assert_eq!(of(9, 1, &[("XPC_SERVICE_NAME", "fleetwatch")]), Manager::Launchd);
        assert_eq!(of(9, 8, &[("XPC_SERVICE_NAME", "fleetwatch")]), Manager::None);
        assert_eq!(of(9, 8, &[("XPC_SERVICE_NAME", "fleetwatch.executor")]), Manager::Launchd);
        assert_eq!(of(9, 1, &[("XPC_SERVICE_NAME", "0")]), Manager::None);
    }
}
