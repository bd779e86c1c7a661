//! The script that runs a daemon under launchd, with the real executor (issue line 4.4). There is no launchd here: the test
//! hands over what its manual says, the listening socket as standard input, output and error.

use fleetwatch_tests::processes::Reaped;
use fleetwatch_tests::world::{World, must, until};
use fleetwatch_tests::{binary, workspace_root};
use std::fs::{self, File, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
/// A setting that is in the file alone.
const USER: &str = "FLEETWATCH_ASSISTANT_USER";

/// A script that runs, and is gone with the test; the socket is launchd's too, and stays.
struct Script(Reaped, #[expect(dead_code, reason = "held open")] OwnedFd);

impl Script {
    fn code(&mut self) -> i32 {
        must(until(SOON, "the end of the script", || self.0.try_wait().transpose()), "its end").code().unwrap_or(-1)
    }

    fn asked_to_stop(&mut self) -> i32 {
        assert!(must(self.0.try_wait(), "the script").is_none(), "it has ended");
        signal("TERM", self.0.id());
        self.code()
    }
}

#[track_caller]
fn signal(name: &str, pid: u32) {
    assert!(must(Command::new("kill").args(["-s", name, &pid.to_string()]).status(), "kill").success());
}

struct Job {
    world: World,
    shell: &'static str,
}

impl Job {
    fn new(shell: &'static str) -> Self {
        let mut world = World::builder().without_assistant().start();
        world.stop_executor();
        Self { world, shell }
    }

    fn settings(&self) -> PathBuf {
        self.world.folder().join("executor.env")
    }

    fn log(&self) -> PathBuf {
        self.world.folder().join("logs/launchd.log")
    }

    fn said(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    fn socket(&self) -> PathBuf {
        self.world.socket("propose")
    }

    /// The script with these lines of settings.
    fn start(&self, lines: &str, program: &[&Path]) -> Script {
        must(fs::write(self.settings(), lines), "the settings");
        // The log of an earlier start.
        let _ = fs::remove_file(self.log());
        let socket = bound(&self.socket());
        let also = || Stdio::from(must(socket.try_clone(), "the socket"));
        let (output, error) = (also(), also());
        let mut command = Command::new(self.shell);
        command.arg(workspace_root().join("launchd/fleetwatch-launchd")).arg(self.settings()).arg(self.log());
        command.args(program).stdin(also()).stdout(output).stderr(error);
        command.env_clear().envs(&self.world.executor_settings).env_remove(USER);
        command.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin").env("XPC_SERVICE_NAME", "fleetwatch.executor");
        Script(Reaped(must(command.current_dir("/").spawn(), self.shell)), socket)
    }

    fn executor(&self, lines: &str) -> Script {
        self.start(lines, &[&binary("fleetwatch-executor"), Path::new("--propose-on-stdin")])
    }

    fn user(&self) -> String {
        let user = self.world.executor_settings.get(USER).map(|user| user.to_string_lossy().into_owned());
        format!("# Who proposes.\n\n{USER}={}", user.unwrap_or_default())
    }

    // The process that serves the socket, once it is one that this script started.
    fn server(&self, script: &Script) -> u32 {
        let child = format!("/proc/{0}/task/{0}/children", script.0.id());
        until(SOON, "the executor", || {
            let children = fs::read_to_string(&child).unwrap_or_default();
            let server = server_of(&self.socket())?;
            children.split_whitespace().any(|pid| pid == server.to_string()).then_some(server)
        })
    }
}

fn bound(path: &Path) -> OwnedFd {
    // A socket that an earlier start left.
    let _ = fs::remove_file(path);
    let listener = must(UnixListener::bind(path), "a socket");
    must(fs::set_permissions(path, Permissions::from_mode(0o600)), "its mode");
    listener.into()
}

fn server_of(path: &Path) -> Option<u32> {
    let runtime = must(tokio::runtime::Builder::new_current_thread().enable_all().build(), "a runtime");
    runtime.block_on(async {
        let stream = tokio::net::UnixStream::connect(path).await.ok()?;
        stream.peer_cred().ok()?.pid()?.try_into().ok()
    })
}

#[test]
fn under_launchd_the_executor_serves_its_standard_input_and_stops_when_it_is_asked() {
    for shell in ["dash", "bash"] {
        let job = Job::new(shell);
        let mut script = job.executor(&job.user());
        let server = job.server(&script);
        let secret = job.world.folder().join("executor/page-secret");
        until(SOON, "the approval page", || secret.exists().then_some(()));
        assert_eq!(job.world.control().status().queue.pending, 0);
        assert_eq!(script.asked_to_stop(), 0, "{}", job.said());
        assert!(!Path::new(&format!("/proc/{server}")).exists(), "the executor outlives its script");
        assert!(!secret.exists(), "it had no time to end: {}", job.said());

        let mut script = job.executor(&job.user());
        signal("KILL", job.server(&script));
        assert_eq!(script.code(), 137, "launchd has to start it again: {}", job.said());
        assert!(job.said().contains("ended with 137"), "{}", job.said());
    }
}

#[test]
fn under_launchd_an_end_that_a_start_cannot_mend_is_not_followed_by_one() {
    for shell in ["dash", "bash"] {
        let job = Job::new(shell);
        let stays = |lines: &str, words: &str| {
            let mut script = job.executor(lines);
            until(SOON, words, || job.said().contains("kickstart -k system/fleetwatch.executor").then_some(()));
            assert!(job.said().contains(words), "{shell}: {}", job.said());
            // Who calls is not answered, and starts nothing.
            assert_eq!(server_of(&job.socket()), Some(std::process::id()));
            assert_eq!(script.asked_to_stop(), 0, "{shell}: {}", job.said());
        };
        stays(&format!("{}\nFLEETWATCH_APPROVE_PORT=web\n", job.user()), "ended with 78");
        stays("# a comment\nPATH=/tmp", "line 2 is not NAME=VALUE");
        stays("FLEETWATCH_SLOT=\"sim\"\n", "line 1 is not NAME=VALUE");
        stays("FLEETWATCH_SLOT;touch /tmp/x=1\n", "line 1 is not NAME=VALUE");
    }
}

#[test]
fn a_long_log_is_begun_anew_and_the_old_one_kept() {
    let job = Job::new("sh");
    let log = job.log();
    let fails = [Path::new("/bin/sh"), Path::new("-c"), Path::new("exit 1")];
    for (length, kept) in [(10 * 1024 * 1024, false), (10 * 1024 * 1024 + 1, true)] {
        let mut script = job.start("", &[Path::new("/bin/true")]);
        assert_eq!(script.code(), 0);
        must(must(File::create(&log), "the log").set_len(length), "its length");
        let mut again = Command::new("sh");
        again.arg(workspace_root().join("launchd/fleetwatch-launchd")).arg(job.settings()).arg(&log).args(fails);
        assert_eq!(must(again.stdin(Stdio::null()).status(), "the script").code(), Some(1));
        assert_eq!(log.with_extension("log.old").exists(), kept, "{length}");
    }
    assert!(job.said().contains("ended with 1"), "{}", job.said());
}
