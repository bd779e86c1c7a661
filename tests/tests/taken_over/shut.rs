//! What the assistant's user can open, call and take of the executor: nothing (`issue line 4.6`).

use super::{ASSISTANT, EXECUTOR, OTHER, Running, apart, can_be_others, proposed, set_mode, started};
use fleetwatch_tests::needles::files_under;
use fleetwatch_tests::processes::Reaped;
use fleetwatch_tests::processes::children_of;
use fleetwatch_tests::world::{World, must, some};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const PROGRAM: &str = include_str!("shut.py");
const KEPT: [&str; 9] = [
    "audit.key",
    "page-secret",
    "principals.yaml",
    "sandbox-token",
    "spent.log",
    "store.db",
    "store.db-shm",
    "store.db-wal",
    "store.lock",
];
const ALL_SIGNALS: [&str; 7] = ["0", "CONT", "STOP", "TERM", "ABRT", "SEGV", "KILL"];
/// What another process of the executor's own user may do to it: it could write its files anyway.
const OF_ITS_USER: [&str; 6] = ["limits", "priority", "processors", "signal 0", "signal CONT", "signal by handle"];
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

type Found = BTreeMap<String, String>;

#[track_caller]
fn tried(uid: u32, wish: &Value) -> Found {
    started(uid, PROGRAM, wish).heard()
}

fn open(found: &Found) -> Vec<&str> {
    found.iter().filter(|(_, how)| *how == "done").map(|(door, _)| door.as_str()).collect()
}

fn closed(found: &Found) -> Vec<(&str, &str)> {
    found.iter().filter(|(_, how)| *how != "done").map(|(door, how)| (door.as_str(), how.as_str())).collect()
}

// The executor's files, folders and sockets, all of which are there.
#[track_caller]
fn places(world: &World) -> Value {
    let mut files = files_under(&world.folder().join("executor"));
    files.push(world.folder().join("secrets/sandbox-token"));
    let names: BTreeSet<_> = files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    let missing: Vec<_> = KEPT.iter().filter(|name| !names.contains(**name)).collect();
    assert!(missing.is_empty(), "not there: {missing:?} of {names:?}");
    let folders = ["executor", "run/control"].map(|name| world.folder().join(name));
    json!({ "files": files, "folders": folders, "sockets": [world.socket("control")] })
}

fn with(mut wish: Value, more: &Value) -> Value {
    let more = more.as_object().cloned().unwrap_or_default();
    if let Some(wish) = wish.as_object_mut() {
        wish.extend(more);
    }
    wish
}

fn used() -> World {
    let world = apart().start();
    let number = proposed(&world, "Hall A");
    must(world.approve(number), "the yes");
    assert_eq!(world.writes().len(), 1, "the sign-in was used");
    world
}

#[test]
fn the_assistants_user_opens_nothing_of_the_executor_and_neither_traces_nor_ends_it() {
    if !can_be_others() {
        return;
    }
    let mut world = used();
    let (pid, places) = (world.executor().pid(), places(&world));
    let wish = with(places.clone(), &json!({ "pid": pid, "signals": ALL_SIGNALS }));
    for stranger in [ASSISTANT, OTHER] {
        let found = tried(stranger, &wish);
        assert!(found.len() >= 50, "{found:?}");
        let shut = |how: &&String| matches!(how.as_str(), "EACCES" | "EPERM");
        let strange: Vec<_> = found.iter().filter(|(_, how)| !shut(how)).collect();
        assert!(strange.is_empty(), "user {stranger}: {strange:?}");
    }
    world.executor().must_run();
    assert_eq!(world.control().status().isolation.as_str(), "users");

    // With the executor's own user all of it is open, on a process that did not shut itself; on the executor only what that
    // user could do anyway. So every door was really tried.
    let own = tried(EXECUTOR, &with(places.clone(), &json!({ "own": true, "signals": ALL_SIGNALS })));
    assert_eq!(closed(&own), []);
    let same: BTreeSet<_> = own.keys().collect();
    assert_eq!(same, tried(ASSISTANT, &wish).keys().collect(), "the same doors");
    let its = tried(EXECUTOR, &json!({ "pid": pid, "signals": ["0", "CONT"] }));
    assert_eq!(open(&its), OF_ITS_USER);

    // Its files are shut by their modes and their folder's.
    let files: Vec<PathBuf> = must(serde_json::from_value(places["files"].clone()), "the files");
    set_mode(&world.folder().join("executor"), 0o755);
    let wish = json!({ "files": files });
    assert_eq!(open(&tried(ASSISTANT, &wish)), Vec::<&str>::new(), "each file is shut by itself");
    for file in &files {
        set_mode(file, 0o644);
    }
    assert_eq!(open(&tried(ASSISTANT, &wish)).len(), files.len(), "read, and not written");
}

#[test]
fn while_the_executor_runs_nobody_takes_the_pages_port() {
    if !can_be_others() {
        return;
    }
    let mut world = apart().without_assistant().start();
    let page = world.stranger_page();
    let port: u16 = must(some(page.address().rsplit(':').next(), "a port").parse(), "a port");
    let wish = json!({ "ports": [port] });
    let found = tried(ASSISTANT, &wish);
    assert!(found.len() == 6 && found.values().all(|how| how == "EADDRINUSE"), "{found:?}");
    assert_eq!(page.get("/").status, 200);
    world.stop_executor();
    assert_eq!(closed(&tried(ASSISTANT, &wish)), [], "when it does not run, all of them are free");
}

// Descriptors beyond the first three that a program which this process starts would get.
#[track_caller]
fn inherited(pid: u32) -> Vec<String> {
    let folder = must(fs::read_dir(format!("/proc/{pid}/fdinfo")), "its descriptors");
    let numbers = folder.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let numbers: Vec<_> = numbers.filter(|number| number.parse().is_ok_and(|number: u32| number > 2)).collect();
    assert!(!numbers.is_empty(), "none at all");
    let given = |number: &String| {
        let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
        (flags & CLOSE_ON_EXEC == 0).then(|| fs::read_link(format!("/proc/{pid}/fd/{number}")).unwrap_or_default())
    };
    numbers.iter().filter_map(given).map(|path| path.display().to_string()).collect()
}

#[test]
fn a_child_of_either_daemon_would_inherit_nothing_and_there_is_none() {
    if !can_be_others() {
        return;
    }
    let mut world = used();
    let _page = world.stranger_page().get("/");
    assert!(!world.ask("Which rooms are recording?").is_empty());
    let ours = inherited(std::process::id());
    for pid in [world.executor().pid(), world.assistant().pid()] {
        // But for what whoever started this very test passed on to all of them.
        assert_eq!(
            inherited(pid).into_iter().filter(|path| !ours.contains(path)).collect::<Vec<_>>(),
            Vec::<String>::new()
        );
        assert_eq!(children_of(pid), []);
        // Made at the start by whoever started it, and nothing in it is a secret: settings and paths alone.
        let environment = must(fs::read(format!("/proc/{pid}/environ")), "its environment");
        let text = String::from_utf8_lossy(&environment);
        let names: Vec<_> = text.split('\0').filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            assert!(
                name.starts_with("FLEETWATCH_") || ["PATH", "LANG", "PWD", "SHLVL", "_", "OLDPWD"].contains(&name),
                "{name}"
            );
        }
        for file in ["environ", "mem", "fd"] {
            assert_eq!(must(fs::metadata(format!("/proc/{pid}/{file}")), file).uid(), 0, "{file} is root's");
        }
    }
    // One that passes a descriptor on is seen.
    let mut leaky = Command::new("/bin/sh");
    leaky.args(["-c", "exec 7</dev/zero; echo; sleep 60 & wait"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut leaky = Running(Reaped(must(leaky.spawn(), "sh")));
    let mut line = [0; 1];
    must(std::io::Read::read_exact(&mut some(leaky.0.stdout.take(), "its output"), &mut line), "its word");
    assert!(inherited(leaky.0.id()).contains(&"/dev/zero".to_owned()));
    let child = fleetwatch_tests::processes::wait_for(std::time::Duration::from_secs(5), || {
        children_of(leaky.0.id()).into_iter().find(|child| child.name == "sleep")
    });
    assert!(fleetwatch_tests::processes::signal(some(child, "its child").pid, "KILL"));
}
