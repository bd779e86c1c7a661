//! The demo's processes. Each has a pipe as standard input whose other end only this process holds: they end when it
//! is gone, even by kill -9.

use super::error::DemoError;
use host::files;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, ChildStdout, Command};

/// How long a child may take to end in order.
const PATIENCE: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(100);

/// What to start.
#[derive(Debug)]
pub(crate) struct Spec {
    /// The program, beside this one.
    pub(crate) name: &'static str,
    /// Its arguments; never a secret.
    pub(crate) arguments: Vec<OsString>,
    /// Its whole environment but `PATH` and `LANG`.
    pub(crate) settings: Vec<(&'static str, OsString)>,
}

#[derive(Debug)]
struct Running {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

/// The processes, in the order in which they were started.
#[derive(Debug)]
pub(crate) struct Children {
    logs: PathBuf,
    running: Vec<Running>,
    sweeper: Option<Child>,
}

impl Children {
    /// None yet. Their logs go to `logs`.
    pub(crate) fn new(logs: PathBuf) -> Self {
        Self { logs, running: Vec::new(), sweeper: None }
    }

    /// Starts one; gives what it prints.
    ///
    /// # Errors
    /// [`DemoError`] when the program is not there or does not start.
    pub(crate) fn start(&mut self, spec: Spec) -> Result<Option<ChildStdout>, DemoError> {
        let program = beside(spec.name)?;
        let log = self.logs.join(format!("{}.log", spec.name));
        let file = files::append_open(&log)?;
        let mut command = detached(&program);
        command.args(spec.arguments).envs(spec.settings).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().map_err(|error| DemoError::Io("start a program of the demo", error))?;
        let stdout = child.stdout.take();
        self.running.push(Running { name: spec.name, child, log });
        Ok(stdout)
    }

    /// Starts the process that removes `folder` if this one is killed.
    ///
    /// # Errors
    /// [`DemoError`] when it does not start.
    pub(crate) fn start_sweeper(&mut self, folder: &Path) -> Result<(), DemoError> {
        let me = env::current_exe().map_err(|error| DemoError::Io("find this program", error))?;
        let mut command = detached(&me);
        command.arg("sweep-demo").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
        // It must outlive this process.
        command.kill_on_drop(false);
        let child = command.spawn().map_err(|error| DemoError::Io("start the sweeper", error))?;
        self.sweeper = Some(child);
        Ok(())
    }

    /// A child that ended, if any did.
    pub(crate) fn ended(&mut self) -> Option<DemoError> {
        let over = |one: &mut Running| !matches!(one.child.try_wait(), Ok(None));
        let one = self.running.iter_mut().find_map(|one| over(one).then_some(one))?;
        Some(DemoError::Ended { name: one.name, log: one.log.clone() })
    }

    /// Waits until one ends by itself. Dropping the future loses nothing.
    pub(crate) async fn first_ended(&mut self) -> DemoError {
        loop {
            if let Some(error) = self.ended() {
                return error;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The log of a child.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    /// Ends them all, the last one first.
    pub(crate) async fn stop(&mut self) {
        while let Some(mut one) = self.running.pop() {
            end(&mut one.child).await;
        }
    }

    /// Lets the sweeper go.
    pub(crate) async fn stop_sweeper(&mut self) {
        if let Some(mut child) = self.sweeper.take() {
            end(&mut child).await;
        }
    }
}

async fn end(child: &mut Child) {
    drop(child.stdin.take());
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        // It had its time; a demo must not leave it behind.
        let _killed = child.kill().await;
    }
}

fn detached(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir("/").stdin(Stdio::piped());
    for name in ["PATH", "LANG"] {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    // Its own group: a Ctrl-C on the terminal is for this process alone.
    command.process_group(0).kill_on_drop(true);
    command
}

/// Where a program of ours is: beside this one, as a build leaves it, or where the package puts the daemons.
///
/// # Errors
/// [`DemoError`] when it is in neither place.
pub(crate) fn beside(name: &str) -> Result<PathBuf, DemoError> {
    let me = env::current_exe().map_err(|error| DemoError::Io("find this program", error))?;
    let path = me.with_file_name(name);
    let packaged = me.parent().and_then(Path::parent).map(|prefix| prefix.join("libexec/fleetwatch").join(name));
    let found = [Some(path.clone()), packaged].into_iter().flatten().find(|path| path.is_file());
    found.ok_or(DemoError::Missing(path))
}
