//! Policy, tool policy and the list of operators count only as files of root or of the daemon's own user that nobody else can
//! change (`issue line 4.7`).

use super::{ASSISTANT, EXECUTOR, OTHER, apart, can_be_others, set_mode};
use fleetwatch_tests::world::{World, must};
use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};

/// What is done to a file, and what the daemon must say of it.
const WAYS: [(&str, &str); 6] = [
    ("it belongs to another user", "belongs to uid 61912"),
    ("its group writes", "has mode"),
    ("everybody writes", "has mode"),
    ("it is a link", "is a symbolic link"),
    ("its folder is everybody's", "so others can replace it"),
    ("it is gone", "is not there"),
];

/// One file as it was, to be put back.
struct Kept {
    path: PathBuf,
    text: Vec<u8>,
    uid: u32,
    mode: u32,
    folder: u32,
}

impl Kept {
    #[track_caller]
    fn of(path: &Path) -> Self {
        let meta = must(fs::metadata(path), "the file");
        let folder = must(fs::metadata(folder_of(path)), "its folder").mode() & 0o7777;
        let text = must(fs::read(path), "the file");
        Self { path: path.to_owned(), text, uid: meta.uid(), mode: meta.mode() & 0o7777, folder }
    }

    #[track_caller]
    fn spoil(&self, way: &str) {
        match way {
            "it belongs to another user" => must(chown(&self.path, Some(OTHER), None), way),
            "its group writes" => set_mode(&self.path, self.mode | 0o020),
            "everybody writes" => set_mode(&self.path, self.mode | 0o002),
            "it is a link" => {
                let elsewhere = self.path.with_extension("elsewhere");
                must(fs::rename(&self.path, &elsewhere), way);
                must(symlink(&elsewhere, &self.path), way);
            }
            "its folder is everybody's" => set_mode(folder_of(&self.path), self.folder | 0o002),
            _ => must(fs::remove_file(&self.path), way),
        }
    }

    #[track_caller]
    fn put_back(&self) {
        // It may be a link, or gone.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension("elsewhere"));
        must(fs::write(&self.path, &self.text), "the file");
        must(chown(&self.path, Some(self.uid), None), "its owner");
        set_mode(&self.path, self.mode);
        set_mode(folder_of(&self.path), self.folder);
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

#[track_caller]
fn refused(world: &World, daemon: &str, file: &str) {
    let kept = Kept::of(&world.folder().join(file));
    for (way, word) in WAYS {
        kept.spoil(way);
        let (code, log) = if daemon == "executor" { world.executor_that_ends() } else { world.assistant_that_ends() };
        kept.put_back();
        let last = log.lines().last().unwrap_or_default();
        // A folder is refused for the first file that is read from it.
        let name = kept.path.file_name().filter(|_| !way.contains("folder")).unwrap_or_default();
        assert!(code == 78 && last.contains(&*name.to_string_lossy()), "{daemon}, {file}, {way}: {code}: {last}");
        // Another user's list of operators cannot even be opened.
        let told = last.contains(word) || (way.contains("belongs") && last.contains("Permission denied"));
        assert!(told, "{daemon}, {file}, {way}: {last}");
    }
}

#[test]
fn policy_and_list_of_anybody_else_or_that_others_can_change_start_no_daemon() {
    if !can_be_others() {
        return;
    }
    let mut world = apart().start();
    world.kill_assistant();
    world.stop_executor();
    for file in ["policy/policy.yaml", "policy/tool_policy.yaml", "executor/principals.yaml"] {
        refused(&world, "executor", file);
    }
    for file in ["policy/policy.yaml", "policy/tool_policy.yaml"] {
        refused(&world, "assistant", file);
    }
    // As they were, of root; and a user's own, as one who runs everything alone has them: both start.
    world.start_executor();
    world.start_assistant();
    world.kill_assistant();
    world.stop_executor();
    let own = |uid: u32| {
        for file in ["policy/policy.yaml", "policy/tool_policy.yaml"] {
            must(chown(world.folder().join(file), Some(uid), None), file);
        }
    };
    own(EXECUTOR);
    let (code, log) = world.assistant_that_ends();
    assert_eq!(code, 78, "the executor's own are not the assistant's: {log}");
    own(ASSISTANT);
    let (code, log) = world.executor_that_ends();
    assert_eq!(code, 78, "and the other way round: {log}");
    own(EXECUTOR);
    world.start_executor();
}
