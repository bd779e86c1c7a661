//! The sandbox that each real daemon puts itself in (`issue line 4.5`): whole where the system gives it, told and refused
//! where it does not. What it shuts is tried in `host/src/sandbox/tests.rs`.

use fleetwatch_tests::binary;
use fleetwatch_tests::world::{World, must, skipped, some, until};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
const NOBODY: u32 = 64_911;
/// Becomes the program behind it, for which `landlock_create_ruleset` does not exist (444 on every processor).
const WITHOUT_LANDLOCK: &str = r"
import ctypes, os, struct, sys
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (6, 0, 0, 0x00050000 | 38), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
program = struct.pack('HxxxxxxP', len(steps), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

/// A process that is gone with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has_namespaces() -> bool {
    let bind = "mount --bind /etc/group /etc/group";
    Command::new("unshare").args(["--mount", "sh", "-c", bind]).output().is_ok_and(|output| output.status.success())
}

fn line(text: &str, name: &str) -> String {
    let line = some(text.lines().find(|line| line.starts_with(name)), name);
    line[name.len()..].split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn both_daemons_put_themselves_in_a_whole_sandbox_and_say_so() {
    let mut world = World::builder().start();
    let nothing: Vec<String> = Vec::new();
    assert_eq!(world.control().status().sandbox_missing, nothing);
    assert_eq!(world.asker().status().sandbox_missing, nothing);
    for pid in [world.executor().pid(), world.assistant().pid()] {
        let status = must(fs::read_to_string(format!("/proc/{pid}/status")), "its status");
        let found = ["NoNewPrivs:", "Seccomp:", "Seccomp_filters:"].map(|name| line(&status, name));
        assert_eq!(found[..2], ["1", "2"]);
        assert!(found[2].parse::<u32>().is_ok_and(|many| many >= 3), "{found:?}");
        let limits = must(fs::read_to_string(format!("/proc/{pid}/limits")), "its limits");
        assert_eq!(line(&limits, "Max core file size"), "0 0 bytes");
    }
    let (code, doctor) = {
        let output = world.ctl(&["doctor"]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(doctor.matches("in-process sandbox: whole").count(), 2, "{code:?}: {doctor}");
}

#[test]
fn a_daemon_of_an_ordinary_user_is_closed_to_other_programs_of_that_user() {
    if !has_namespaces() {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
        return;
    }
    let mut world = World::builder().assistant_user(NOBODY).start();
    let pid = world.assistant().pid();
    let owner = |file: &str| must(fs::metadata(format!("/proc/{pid}/{file}")), file).uid();
    // The kernel gives them to root when a process may not be looked into.
    assert_eq!((owner("environ"), owner("mem"), owner("fd")), (0, 0, 0));
    let status = must(fs::read_to_string(format!("/proc/{pid}/status")), "its status");
    assert!(line(&status, "Uid:").starts_with(&NOBODY.to_string()), "{status}");
}

#[test]
fn a_system_that_gives_no_landlock_is_warned_of_and_refused_where_the_sandbox_is_required() {
    let mut world = World::builder().without_assistant().start();
    world.stop_executor();
    let log = world.folder().join("logs/without-landlock.log");
    let start = |required: &str| {
        let file = must(fs::File::options().create(true).append(true).open(&log), "the log");
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", WITHOUT_LANDLOCK]).arg(binary("fleetwatch-executor")).stdin(Stdio::null()).stderr(file);
        command.env_clear().envs(&world.executor_settings).env("FLEETWATCH_REQUIRE_SANDBOX", required).current_dir("/");
        Running(must(command.spawn(), "python3"))
    };
    for (required, words) in [("1", "missing: landlock, landlock-ports"), ("yes", "neither 0 nor 1")] {
        let mut running = start(required);
        let code = until(SOON, "the end of the executor", || running.0.try_wait().ok().flatten()).code();
        let said = fs::read_to_string(&log).unwrap_or_default();
        assert!(code == Some(78) && said.contains(words), "{code:?}: {said}");
    }
    let running = start("");
    until(SOON, "the executor", || fs::read_to_string(&log).ok()?.contains("is up").then_some(()));
    assert_eq!(world.control().status().sandbox_missing, ["landlock", "landlock-ports"]);
    let status = world.status();
    assert_eq!(status.1["executor"]["sandbox_missing"][0], "landlock", "{status:?}");
    let said = fs::read_to_string(&log).unwrap_or_default();
    assert!(said.contains("WARN") && said.contains("the daemon runs without these"), "{said}");
    drop(running);
}
