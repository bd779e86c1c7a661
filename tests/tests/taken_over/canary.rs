//! A canary in every place that holds a secret (`issue line 4.8`): after a whole session, and after a crash, it stands in no
//! file, log, environment, argument, answer or core that another user could have, in any form.

use super::{ASSISTANT, EXECUTOR, OTHER, Running, SPEAKER, apart, can_be_others, started};
use fleetwatch_tests::binary;
use fleetwatch_tests::needles::Needles;
use fleetwatch_tests::processes::Reaped;
use fleetwatch_tests::world::{ControlClient, World, must, proposed, some, until};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const TOKEN: &str = "cnryAA11bb+cnryCC22dd/cnryEE33ff==";
/// What the harness gives the assistant.
const OTHERS: [(&str, &str); 2] =
    [("normal token", "normal-token-of-this-test"), ("model key", "model-key-of-this-test")];
const PING: &str = "topic-cnryPP44qq+cnryRR55ss";
const POST: &str = "topic-cnryTT66uu+cnryVV77ww";
const WRONG: &str = "cnry-wrong-pin-88";
const SOON: Duration = Duration::from_secs(20);

// A file of this user alone with the address of a service that takes nothing: every post is an error.
#[track_caller]
fn address(folder: &TempDir, uid: u32, topic: &str) -> PathBuf {
    let path = folder.path().join(format!("address-{uid}"));
    must(fs::write(&path, format!("http://127.0.0.1:9/{topic}\n")), "a file");
    must(fs::set_permissions(&path, fs::Permissions::from_mode(0o600)), "its mode");
    must(chown(&path, Some(uid), Some(uid)), "its owner");
    path
}

/// Everything that was said to anybody.
struct Said(Vec<(String, Vec<u8>)>);

impl Said {
    fn keep(&mut self, what: &str, said: &dyn std::fmt::Debug) {
        self.0.push((what.to_owned(), format!("{said:?}").into_bytes()));
    }

    #[track_caller]
    fn ctl(&mut self, world: &World, words: &[&str]) {
        let output = world.ctl(words);
        assert!(!output.stdout.is_empty() || !output.stderr.is_empty(), "{words:?} says nothing");
        self.0.push((words.join(" "), [output.stdout, output.stderr].concat()));
    }
}

// Sign-in, question, proposal, yes, no, errors, and everything that can be asked for. Gives the page's cookie.
#[track_caller]
fn session(world: &mut World, said: &mut Said) -> String {
    let mut page = world.stranger_page();
    for (what, code) in [("a wrong code", WRONG.to_owned()), ("the code", world.control().page_code())] {
        let entered = page.post("/login", [("code", code.as_str())]);
        page.keep_cookie(&entered);
        said.keep(what, &entered.body);
    }
    let words = world.ask("Start recording in Hall A");
    said.keep("the answer", &words);
    let number = some(proposed(&words).first().copied(), "a proposal");
    said.keep("the page's card", &page.get(&format!("/card/{number}")).body);
    said.keep("the outcome", &must(world.approve(number), "the yes"));
    let denied = some(proposed(&world.ask("Start recording in Chapel")).first().copied(), "a proposal");
    said.keep("a no", &must(world.control().deny(denied), "the no"));
    let mut mistaken = must(ControlClient::open(&world.socket("control"), WRONG), "control.sock");
    let change = proposed(&world.ask("Start recording in Courtroom 1"));
    let wrong = mistaken.approve(some(change.first().copied(), "a proposal"));
    assert!(wrong.is_err(), "{wrong:?}");
    said.keep("a wrong PIN", &wrong);
    said.keep("a question", &world.ask("Which rooms are recording?"));
    for words in [
        &["status"][..],
        &["status", "--json"],
        &["doctor"],
        &["approvals", "list"],
        &["approvals", "show", "1"],
        &["approvals", "history"],
        &["audit", "verify"],
        &["audit", "export"],
        &["audit", "export", "--output", "/nowhere/at-all"],
        &["pin", "set"],
        &["approvals", "approve", "9"],
    ] {
        said.ctl(world, words);
    }
    let file = |name: &str| world.folder().join(name).display().to_string();
    let (export, backup) = (file("an-export"), file("a-backup"));
    said.ctl(world, &["audit", "export", "--output", &export]);
    said.ctl(world, &["backup", &backup]);
    assert!(Path::new(&export).is_file() && Path::new(&backup).is_file());
    for path in ["/", "/history", "/outcome/1"] {
        said.keep(path, &page.get(path).body);
    }
    some(page.cookie().and_then(|cookie| cookie.split('=').nth(1)), "a cookie").to_owned()
}

// What this user finds of these in all processes and in the folders.
#[track_caller]
fn searched(uid: u32, needles: &Needles, folders: &[&Path]) -> Vec<String> {
    let wish = json!({ "do": "search", "needles": needles.in_hex(), "pids": [], "folders": folders });
    let said: Value = started(uid, SPEAKER, &wish).heard();
    assert!(said["read"].as_u64().is_some_and(|read| read > 10), "it looked: {said}");
    must(serde_json::from_value(said["found"].clone()), "what it found")
}

#[test]
fn a_canary_in_every_slot_is_in_nothing_that_another_user_could_have() {
    if !can_be_others() {
        return;
    }
    let own = must(tempfile::Builder::new().prefix("fw-").tempdir(), "a folder");
    must(fs::set_permissions(own.path(), fs::Permissions::from_mode(0o755)), "its mode");
    let (ping, post) = (address(&own, EXECUTOR, PING), address(&own, ASSISTANT, POST));
    let builder = apart().sandbox_token(TOKEN).executor_setting("FLEETWATCH_NOTIFY", "ntfy");
    let builder = builder.executor_setting("FLEETWATCH_NOTIFY_URL_FILE", &ping.display().to_string());
    let mut world = builder.assistant_setting("FLEETWATCH_NTFY_URL_FILE", &post.display().to_string()).start();
    let mut said = Said(Vec::new());
    let cookie = session(&mut world, &mut said);
    // The secrets of one daemon, which the other's user must not have, and those of a person, which nobody must keep.
    let executors = Needles::new().text("token", TOKEN).text("ping", PING).text("page secret", &world.page_secret());
    let executors = executors.text("cookie", &cookie).text("PIN", world.pin()).text("wrong PIN", WRONG);
    let assistants = OTHERS.iter().fold(Needles::new().text("post", POST), |all, (name, text)| all.text(name, text));
    let all = OTHERS.iter().fold(executors.clone().text("post", POST), |all, (name, text)| all.text(name, text));

    let told: Vec<_> = said.0.iter().map(|(what, bytes)| (what, all.found_in(bytes))).collect();
    let told: Vec<_> = told.into_iter().filter(|(_, found)| !found.is_empty()).collect();
    assert!(told.is_empty(), "it was told: {told:?}");
    for pid in [world.executor().pid(), world.assistant().pid()] {
        for file in ["environ", "cmdline"] {
            let bytes = must(fs::read(format!("/proc/{pid}/{file}")), file);
            assert!(!bytes.is_empty());
            assert_eq!(all.found_in(&bytes), Vec::<&str>::new(), "{file} of {pid}");
        }
    }
    let folders = [world.folder(), own.path()];
    for (uid, needles) in [(ASSISTANT, &executors), (EXECUTOR, &assistants), (OTHER, &all)] {
        assert_eq!(searched(uid, needles, &folders), Vec::<String>::new(), "user {uid} has it");
    }
    // Its own user finds each of them in its own files: so they are there, and the search is one.
    for (uid, needles, slots) in [
        (EXECUTOR, &executors, ["token", "ping", "page secret"]),
        (ASSISTANT, &assistants, ["post", "normal token", "model key"]),
    ] {
        let found = searched(uid, needles, &folders);
        for slot in slots {
            assert!(found.iter().any(|hit| hit.contains(&format!(": {slot} ("))), "{slot}: {found:?}");
        }
    }
    // Nobody but root reads logs, audit export, backup and state: nothing of it is in them.
    world.stop_executor();
    world.kill_assistant();
    let but = ["secrets/sandbox-token", "secrets/normal-token", "secrets/model-key"];
    assert_eq!(all.found_under(world.folder(), &but), Vec::<String>::new());
    assert!(
        world.executor_log().contains("ping") || world.executor_log().contains("notif"),
        "{}",
        world.executor_log()
    );
}

// A program in this folder that may leave a core of any size.
#[track_caller]
fn may_leave_a_core(folder: &Path, program: &Path, change: impl FnOnce(&mut Command)) -> Running {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#"ulimit -c unlimited && cd "$0" && exec "$@""#]).arg(folder).arg(program).env_clear();
    change(command.stdin(Stdio::piped()));
    Running(Reaped(must(command.spawn(), "sh")))
}

// Ends it by this signal and tells whether the system wrote its memory down.
#[track_caller]
fn core_after(running: &mut Running, signal: &str) -> bool {
    let pid = running.0.id();
    let status = until(SOON, "its end", || {
        // The library takes the first SEGV for one of its own and lets the second through.
        let _gone = fleetwatch_tests::processes::signal(pid, signal);
        running.0.try_wait().ok().flatten()
    });
    assert!(status.signal().is_some(), "{signal}: {status:?}");
    status.core_dumped()
}

#[test]
fn a_daemon_that_crashes_leaves_no_core() {
    let mut world = World::builder().sandbox_token(TOKEN).start();
    world.kill_assistant();
    world.stop_executor();
    let folder = world.folder().join("executor");
    let log = world.folder().join("logs/crashed.log");
    for signal in ["ABRT", "SEGV"] {
        for daemon in ["executor", "assistant"] {
            let settings = if daemon == "executor" { &world.executor_settings } else { &world.assistant_settings };
            let mut running = may_leave_a_core(&folder, &binary(&format!("fleetwatch-{daemon}")), |command| {
                let log = must(File::options().create(true).append(true).open(&log), "the log");
                command.arg("--stop-with-stdin").envs(settings).stderr(log);
            });
            let socket = world.socket(if daemon == "executor" { "control" } else { "ask" });
            until(SOON, "its socket", || std::os::unix::net::UnixStream::connect(&socket).ok());
            assert!(!core_after(&mut running, signal), "{daemon}, {signal}");
        }
        // One that does not protect itself leaves its memory there.
        let mut open = may_leave_a_core(&folder, Path::new("/bin/sleep"), |command| {
            command.arg("60");
        });
        until(SOON, "sleep", || fleetwatch_tests::processes::process(open.0.id()).filter(|now| now.name == "sleep"));
        assert!(
            core_after(&mut open, signal),
            "{signal}: this machine writes no core of anybody (kernel.core_pattern)"
        );
    }
    let cores = fleetwatch_tests::needles::files_under(&folder);
    let cores = cores.iter().filter_map(|path| path.file_name()?.to_str()).filter(|name| name.starts_with("core"));
    assert!(cores.count() <= 2, "the two of sleep");
}
