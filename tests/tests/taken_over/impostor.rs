//! Somebody else listens where the executor should (`issue line 4.7`): neither the assistant nor `fleetwatchctl` says a word
//! to them, however they got there.

use super::{ASSISTANT, EXECUTOR, OTHER, Running, apart, can_be_others, proposed, started};
use fleetwatch_tests::binary;
use fleetwatch_tests::world::{World, answered, must, proposed as named, some};
use serde::Deserialize;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = include_str!("impostor.py");
/// How the impostor comes to the executor's path. All but the last is something that only root could do to it.
const WAYS: [&str; 4] =
    ["its folder is another", "its socket is a link", "its folder is a link", "its socket is another"];

#[derive(Deserialize)]
struct Heard {
    calls: u32,
    bytes: u64,
}

struct Impostor {
    running: Running,
    output: BufReader<std::process::ChildStdout>,
}

impl Impostor {
    #[track_caller]
    fn at(uid: u32, path: &Path) -> Self {
        let mut running = started(uid, PROGRAM, &json!({ "path": path }));
        let mut output = BufReader::new(some(running.0.stdout.take(), "its output"));
        let mut line = String::new();
        must(output.read_line(&mut line), "its word");
        assert_eq!(line, "there\n");
        Self { running, output }
    }

    #[track_caller]
    fn heard(mut self) -> Heard {
        drop(self.running.0.stdin.take());
        let mut line = String::new();
        must(self.output.read_line(&mut line), "what it heard");
        must(serde_json::from_str(&line), &line)
    }
}

// A folder of the other user, and in it the impostor; then the executor's path leads there.
#[track_caller]
fn in_the_place_of(world: &World, name: &str, way: &str) -> Impostor {
    let folder = world.folder().join("run").join(name);
    let theirs = world.folder().join(format!("theirs-{name}"));
    // What an earlier way left; the first finds the executor's own.
    let _gone = fs::remove_dir_all(&theirs);
    match fs::symlink_metadata(&folder) {
        Ok(meta) if meta.is_symlink() => must(fs::remove_file(&folder), "the link"),
        Ok(_) => must(fs::remove_dir_all(&folder), "the folder"),
        Err(error) => must(Err(error), "the folder"),
    }
    let make = |path: &Path, uid: u32| {
        must(fs::create_dir(path), "a folder");
        must(chown(path, Some(uid), Some(uid)), "its owner");
    };
    make(&theirs, OTHER);
    let (file, real) = (format!("{name}.sock"), theirs.join(format!("{name}.sock")));
    let impostor = Impostor::at(OTHER, &real);
    match way {
        "its folder is another" => {
            make(&folder, OTHER);
            must(fs::rename(&real, folder.join(file)), "the socket");
        }
        "its socket is a link" => {
            make(&folder, 0);
            must(symlink(&real, folder.join(file)), "the link");
        }
        "its folder is a link" => must(symlink(&theirs, &folder), "the link"),
        _ => {
            make(&folder, 0);
            must(fs::rename(&real, folder.join(file)), "the socket");
        }
    }
    impostor
}

// A list, and a decision that needs no terminal.
#[track_caller]
fn ctl(world: &World, executor: Option<u32>) -> Vec<Output> {
    let run = world.folder().join("run");
    let asked = [&["approvals", "list"][..], &["approvals", "deny-all"]].map(|words| {
        let mut command = Command::new(binary("fleetwatchctl"));
        command.env_clear().arg("--run-dir").arg(&run).args(words).current_dir("/");
        command.envs(executor.map(|uid| ("FLEETWATCH_EXECUTOR_USER", uid.to_string())));
        must(command.output(), "fleetwatchctl")
    });
    asked.into()
}

// What the assistant of this executor's user does at its start, when it is asked, and when it is to propose.
#[track_caller]
fn assistant(world: &mut World, executor: u32) {
    world.assistant_settings.insert("FLEETWATCH_EXECUTOR_USER".to_owned(), executor.to_string().into());
    world.start_assistant();
    assert!(!world.asker().status().executor_reached);
    let said = world.ask("Start recording in Hall A");
    assert_eq!(named(&said), []);
    assert!(!answered(&said).0.is_empty(), "it answers all the same");
    world.kill_assistant();
}

#[test]
fn an_executor_of_another_user_hears_no_word_from_the_assistant_and_none_from_the_operator() {
    if !can_be_others() {
        return;
    }
    let mut world = apart().without_assistant().start();
    proposed(&world, "Hall A");
    for output in ctl(&world, Some(EXECUTOR)) {
        assert_eq!(output.status.code(), Some(0), "with the right one it works: {output:?}");
    }
    world.stop_executor();
    for way in WAYS {
        let (propose, control) = (in_the_place_of(&world, "propose", way), in_the_place_of(&world, "control", way));
        assistant(&mut world, EXECUTOR);
        for output in ctl(&world, Some(EXECUTOR)) {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(1) && !said.is_empty(), "{way}: {output:?}");
        }
        let (propose, control) = (propose.heard(), control.heard());
        assert_eq!((propose.bytes, control.bytes), (0, 0), "{way}: it was spoken to");
        assert!(
            way != "its socket is another" || (propose.calls > 0 && control.calls > 0),
            "{way}: it was never called"
        );
    }
    // Whoever is told that this user is the executor speaks to them: so the uid is what held.
    let [propose, control] = ["propose", "control"].map(|name| in_the_place_of(&world, name, "its socket is another"));
    assistant(&mut world, OTHER);
    let _unanswered = ctl(&world, Some(OTHER));
    let (propose, control) = (propose.heard(), control.heard());
    assert!(propose.bytes > 0 && control.bytes > 0, "{} and {} bytes", propose.bytes, control.bytes);
}

#[test]
fn without_a_named_user_the_operators_command_still_trusts_no_folder_of_anybody_else() {
    if !can_be_others() {
        return;
    }
    let mut world = apart().without_assistant().start();
    world.stop_executor();
    // The assistant's user in the executor's folder: it could only be there if the folder were wide open.
    let folder = world.folder().join("run/control");
    let real = folder.join("control.sock");
    // The executor's own is stale.
    let _stale = fs::remove_file(&real);
    super::set_mode(&folder, 0o777);
    let impostor = Impostor::at(ASSISTANT, &real);
    for output in ctl(&world, None) {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
    assert_eq!(impostor.heard().bytes, 0);
}
