//! Where an ordinary user's Fleetwatch lies: settings under `XDG_CONFIG_HOME`, state and sockets under `XDG_STATE_HOME`.
//! The sockets are not under `XDG_RUNTIME_DIR`, which goes away when its user logs out while the daemons run on.

use super::error::UpError;
use crate::client::{Daemon, Places};
use host::files::{self, Owner};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Where the environment is looked up: the process's, or a table in a test.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The folder that the packaged services make.
pub(crate) const SERVICES: &str = "/run/fleetwatch";

const SOCKETS: [&str; 2] = ["control/control.sock", "ask/ask.sock"];

const FOLDERS: [&str; 8] = ["executor", "assistant", "up", "logs", "run", "run/propose", "run/control", "run/ask"];

/// The shortest longest path of a socket that a system of ours takes, in bytes (macOS).
const LONGEST_SOCKET: usize = 103;

/// The folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    config: PathBuf,
    state: PathBuf,
}

impl Layout {
    /// From the environment. A value that is no path from / counts as unset, as the XDG specification has it.
    ///
    /// # Errors
    /// [`UpError::NoHome`]
    pub(crate) fn of(look: Lookup<'_>) -> Result<Self, UpError> {
        let base = |name: &str, usual: &str| {
            let set = look(name).map(PathBuf::from).filter(|path| path.is_absolute());
            set.or_else(|| home(look).map(|home| home.join(usual))).map(|base| base.join("fleetwatch"))
        };
        let config = base("XDG_CONFIG_HOME", ".config").ok_or(UpError::NoHome)?;
        let state = base("XDG_STATE_HOME", ".local/state").ok_or(UpError::NoHome)?;
        Ok(Self { config, state })
    }

    /// The folders below this folder of state, for a process that was told it.
    pub(crate) fn of_state(state: PathBuf) -> Self {
        Self { config: state.clone(), state }
    }

    /// Makes every folder that is not there, private.
    ///
    /// # Errors
    /// [`UpError`], also when one is another user's, or others can write it.
    pub(crate) fn make(&self) -> Result<(), UpError> {
        let longest = self.run().join("control/control.sock");
        if longest.as_os_str().len() > LONGEST_SOCKET {
            return Err(UpError::TooLong(longest));
        }
        for folder in [&self.config, &self.state] {
            if let Some(base) = folder.parent() {
                let made = DirBuilder::new().recursive(true).mode(0o700).create(base);
                made.map_err(|error| UpError::Io("make the folder for settings or state", error))?;
            }
            files::ensure_private_dir(folder)?;
        }
        for name in FOLDERS {
            files::ensure_private_dir(&self.state.join(name))?;
        }
        Ok(())
    }

    /// Whether anything was ever made here.
    pub(crate) fn is_there(&self) -> bool {
        self.state.join("up").is_dir()
    }

    /// The policy files and the two files of settings.
    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    /// The folder of state.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// The sockets' folder.
    pub(crate) fn run(&self) -> PathBuf {
        self.state.join("run")
    }

    /// The state of one daemon.
    pub(crate) fn state_of(&self, daemon: Daemon) -> PathBuf {
        self.state.join(short(daemon))
    }

    /// The settings of one daemon.
    pub(crate) fn settings_of(&self, daemon: Daemon) -> PathBuf {
        self.config.join(format!("{}.env", short(daemon)))
    }

    /// The log of one daemon.
    pub(crate) fn log_of(&self, daemon: Daemon) -> PathBuf {
        self.state.join("logs").join(format!("{}.log", short(daemon)))
    }

    /// Which process one daemon is.
    pub(crate) fn record_of(&self, daemon: Daemon) -> PathBuf {
        self.state.join("up").join(format!("{}.pid", short(daemon)))
    }

    /// Held while one daemon is recorded.
    pub(crate) fn birth_of(&self, daemon: Daemon) -> PathBuf {
        self.state.join("up").join(format!("{}.lock", short(daemon)))
    }

    /// Held by the one `up` or `down` that works.
    pub(crate) fn lock(&self) -> PathBuf {
        self.state.join("up").join("lock")
    }

    /// Who may decide.
    pub(crate) fn principals(&self) -> PathBuf {
        self.config.join("principals.yaml")
    }

    /// How to reach the daemons, which are both this user.
    pub(crate) fn places(&self) -> Places {
        let me = Some(host::socket::my_uid());
        Places { run: self.run(), executor: me, assistant: me }
    }
}

/// The sockets' folder of an ordinary user's Fleetwatch, when this user ever made one and no services' sockets are there.
pub(crate) fn own_run_dir(look: Lookup<'_>) -> Option<PathBuf> {
    if SOCKETS.iter().any(|socket| Path::new(SERVICES).join(socket).exists()) {
        return None;
    }
    let run = Layout::of(look).ok()?.run();
    files::check_dir(&run, Owner::Me, 0o700).is_ok().then_some(run)
}

/// Whether services of this machine serve below `run`, or may do so where this user cannot look.
pub(crate) fn refuse_services(run: &Path) -> Result<(), UpError> {
    for socket in SOCKETS {
        let path = run.join(socket);
        let closed = |error: std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
        if UnixStream::connect(&path).map_or_else(closed, |_| true) {
            return Err(UpError::Installed(path));
        }
    }
    Ok(())
}

fn short(daemon: Daemon) -> &'static str {
    match daemon {
        Daemon::Assistant => "assistant",
        Daemon::Executor => "executor",
    }
}

fn home(look: Lookup<'_>) -> Option<PathBuf> {
    let known = || nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.dir);
    let named = look("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| known().filter(|path| path.is_absolute()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    fn layout(table: &[(&str, &str)]) -> Layout {
        let table: BTreeMap<_, _> = table.iter().copied().collect();
        Layout::of(&|name| table.get(name).map(OsString::from)).unwrap()
    }

    #[test]
    fn folders_are_under_home_unless_xdg_names_a_whole_path() {
        let plain = layout(&[("HOME", "/h")]);
        assert_eq!(
            (plain.config(), plain.state()),
            (Path::new("/h/.config/fleetwatch"), Path::new("/h/.local/state/fleetwatch"))
        );
        let named =
            layout(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "/s"), ("XDG_RUNTIME_DIR", "/r")]);
        assert_eq!((named.config(), named.run()), (Path::new("/c/fleetwatch"), PathBuf::from("/s/fleetwatch/run")));
        for odd in ["", "relative", "../up"] {
            assert_eq!(layout(&[("HOME", "/h"), ("XDG_CONFIG_HOME", odd), ("XDG_STATE_HOME", odd)]), plain, "{odd}");
        }
    }

    #[test]
    fn folders_are_private_whatever_the_umask_and_a_strange_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let layout = layout(&[("HOME", home)]);
        layout.make().unwrap();
        layout.make().unwrap();
        for path in [layout.state().to_owned(), layout.run().join("ask"), layout.config().to_owned()] {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o700, "{}", path.display());
        }
        fs::set_permissions(layout.run(), Permissions::from_mode(0o777)).unwrap();
        assert!(layout.make().is_err(), "others can write it");
        fs::remove_dir_all(layout.run()).unwrap();
        std::os::unix::fs::symlink("/tmp", layout.run()).unwrap();
        assert!(layout.make().is_err(), "a link");
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused_before_anything_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(120));
        let layout = layout(&[("HOME", deep.to_str().unwrap())]);
        assert!(matches!(layout.make(), Err(UpError::TooLong(_))));
        assert!(!deep.exists());
    }

    #[test]
    fn services_that_answer_are_in_the_way_and_their_empty_folder_is_not() {
        let folder = tempfile::tempdir().unwrap();
        refuse_services(folder.path()).unwrap();
        fs::create_dir(folder.path().join("ask")).unwrap();
        let path = folder.path().join("ask/ask.sock");
        let listener = UnixListener::bind(&path).unwrap();
        assert!(matches!(refuse_services(folder.path()), Err(UpError::Installed(at)) if at == path));
        drop(listener);
        // Only its name is left: nobody serves.
        refuse_services(folder.path()).unwrap();
    }
}
