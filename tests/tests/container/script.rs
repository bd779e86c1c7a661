//! `install.sh`, from its archive into a system in a folder and out of it again (issue line 4.11). Only root can.

use super::package::{alone, script};
use fleetwatch_tests::world::{must, skipped, some};
use fleetwatch_tests::{binary, workspace_root};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// An archive with programs that do nothing.
struct Archive {
    folder: TempDir,
    file: PathBuf,
}

impl Archive {
    fn pack() -> Self {
        let _alone = alone();
        let folder = must(tempfile::tempdir(), "a folder");
        let programs = folder.path().join("programs");
        must(fs::create_dir(&programs), "a folder");
        for program in ["fleetwatch-assistant", "fleetwatch-executor", "fleetwatch-sim", "fleetwatchctl"] {
            must(fs::write(programs.join(program), "#!/bin/sh\n"), program);
            must(fs::set_permissions(programs.join(program), Permissions::from_mode(0o755)), program);
        }
        script("tree", &[text(&programs), "", text(&binary("fleetwatchctl"))]);
        let file = PathBuf::from(script("archive", &["amd64", text(folder.path())]));
        let sums = must(
            Command::new("sha256sum").arg(some(file.file_name(), "a name")).current_dir(folder.path()).output(),
            "sha256sum",
        );
        must(fs::write(folder.path().join("SHA256SUMS"), sums.stdout), "SHA256SUMS");
        Self { folder, file }
    }

    fn install(&self, root: &Path, more: &[&str]) -> Output {
        let wanted = ["--archive", text(&self.file), "--root", text(root)];
        installer(&[&wanted[..], more].concat())
    }
}

fn text(path: &Path) -> &str {
    some(path.to_str(), "a path")
}

fn installer(words: &[&str]) -> Output {
    must(Command::new("sh").arg(workspace_root().join("packaging/install.sh")).args(words).output(), "install.sh")
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

// Every file with its mode, owner and length.
fn files(root: &Path) -> BTreeMap<String, (u32, u32, u64)> {
    let mut found = BTreeMap::new();
    let mut todo = vec![root.to_path_buf()];
    while let Some(folder) = todo.pop() {
        for entry in must(fs::read_dir(folder), "a folder").flatten() {
            let (path, seen) = (entry.path(), must(entry.metadata(), "a file"));
            if seen.is_dir() {
                todo.push(path);
            } else {
                let name = format!("/{}", must(path.strip_prefix(root), "below").display());
                found.insert(name, (seen.mode() & 0o7777, seen.uid(), seen.len()));
            }
        }
    }
    found
}

fn is_root() -> bool {
    let root = must(fs::metadata("/proc/self"), "/proc/self").uid() == 0;
    if !root {
        skipped("only root can install");
    }
    root
}

#[test]
fn the_installer_puts_in_what_it_says_and_takes_out_what_it_put_in() {
    if !is_root() {
        return;
    }
    let archive = Archive::pack();
    let root = must(tempfile::tempdir(), "a folder");
    let root = root.path();
    let dry = archive.install(root, &["--dry-run"]);
    assert!(dry.status.success(), "{}", said(&dry));
    assert_eq!(files(root), BTreeMap::new(), "a dry run changes nothing");

    let real = archive.install(root, &[]);
    assert!(real.status.success(), "{}", said(&real));
    // Where the archive is unpacked differs.
    let word = |word: &str| word.rsplit("/unpacked/").next().map(str::to_owned);
    let steps = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let steps = text.lines().filter(|line| line.starts_with("  "));
        steps.map(|line| line.split(' ').filter_map(word).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(steps(&dry), steps(&real), "a dry run shows every step");
    let there = files(root);
    assert_eq!(there["/usr/local/bin/fleetwatchctl"].0, 0o755);
    assert_eq!(there["/etc/fleetwatch/policy.yaml"].0, 0o644);
    let unit = must(fs::read_to_string(root.join("etc/systemd/system/fleetwatch-executor.service")), "the unit");
    assert!(unit.contains("\nExecStart=/usr/local/libexec/fleetwatch/fleetwatch-executor\n"), "{unit}");
    let state = must(fs::metadata(root.join("var/lib/fleetwatch-executor")), "the state");
    assert!(state.mode() & 0o777 == 0o700 && state.uid() != 0);
    let users = must(fs::read_to_string(root.join("etc/passwd")), "the users");
    assert!(users.contains(&format!("fleetwatch-executor:x:{}:", state.uid())), "{users}");

    must(fs::write(root.join("etc/fleetwatch/policy.yaml"), "autonomy: propose\n"), "a setting");
    assert!(archive.install(root, &[]).status.success(), "over itself");
    assert_eq!(must(fs::read_to_string(root.join("etc/fleetwatch/policy.yaml")), "it"), "autonomy: propose\n");
    assert!(root.join("etc/fleetwatch/policy.yaml.new").exists());

    let out = ["--uninstall", "--root", text(root)];
    let before = files(root);
    let elsewhere = installer(&[&out[..], &["--purge", "--prefix", "/opt/other"]].concat());
    assert!(!elsewhere.status.success() && said(&elsewhere).contains("another --prefix"), "{}", said(&elsewhere));
    let package = root.join("usr/libexec/fleetwatch");
    must(fs::create_dir_all(&package), "the package's folder");
    must(fs::write(package.join("fleetwatch-executor"), ""), "the package's program");
    let packaged = installer(&[&out[..], &["--purge", "--prefix", "/opt/other"]].concat());
    assert!(!packaged.status.success() && said(&packaged).contains("use apt"), "{}", said(&packaged));
    must(fs::remove_dir_all(root.join("usr/libexec")), "it");
    assert_eq!(files(root), before, "what is installed otherwise is not forgotten");
    let people = "- name: ana\n  uid: 1000\n  operator: true\n";
    must(fs::write(root.join("var/lib/fleetwatch-executor/principals.yaml"), people), "who may decide");
    let again = archive.install(root, &[]);
    assert!(again.status.success() && !said(&again).contains("runuser"), "{}", said(&again));

    let removed = installer(&out);
    assert!(removed.status.success(), "{}", said(&removed));
    let left = files(root);
    let kept = |path: &str| ["/etc/fleetwatch/", "/var/lib/fleetwatch-"].iter().any(|at| path.starts_with(at));
    let lists = |path: &str| path.starts_with("/etc/") && path.matches('/').count() == 2;
    let more: Vec<_> = left.keys().filter(|path| !kept(path) && !lists(path)).collect();
    assert_eq!(more, Vec::<&String>::new());
    assert!(left.contains_key("/var/lib/fleetwatch-executor/principals.yaml"));

    let purged = installer(&[&out[..], &["--purge"]].concat());
    assert!(purged.status.success(), "{}", said(&purged));
    assert!(files(root).keys().all(|path| lists(path)), "{:?}", files(root));
    for list in ["passwd", "group"] {
        assert_eq!(must(fs::read_to_string(root.join("etc").join(list)), list), "");
    }
}

#[test]
fn the_installer_installs_nothing_that_is_not_what_its_sum_says() {
    if !is_root() {
        return;
    }
    let archive = Archive::pack();
    let root = must(tempfile::tempdir(), "a folder");
    let refused = |output: &Output, words: &str| {
        assert!(output.status.code() == Some(1) && said(output).contains(words), "{}", said(output));
        assert_eq!(files(root.path()), BTreeMap::new());
    };
    let sums = archive.folder.path().join("SHA256SUMS");
    let good = must(fs::read_to_string(&sums), "the sums");
    must(fs::write(&sums, good.replace("fleetwatch-", "other-")), "the sums");
    refused(&archive.install(root.path(), &[]), "has not one line for");
    must(fs::remove_file(&sums), "the sums");
    refused(&archive.install(root.path(), &[]), "whose sum nobody gave");
    must(fs::write(&sums, &good), "the sums");
    let mut bytes = must(fs::read(&archive.file), "the archive");
    bytes.push(0);
    must(fs::write(&archive.file, bytes), "the archive");
    refused(&archive.install(root.path(), &[]), "get it again");
}

#[test]
fn the_installer_wants_root_and_words_that_it_knows() {
    let other = ["--reuid=65534", "--regid=65534", "--clear-groups", "sh"];
    if is_root() {
        let mut command = Command::new("setpriv");
        // Not every user can reach the sources.
        let script = must(fs::read_to_string(workspace_root().join("packaging/install.sh")), "install.sh");
        let output = must(command.args(other).args(["-c", &script, "install.sh"]).current_dir("/").output(), "setpriv");
        assert!(output.status.code() == Some(1) && said(&output).contains("only root can"), "{}", said(&output));
    }
    for words in
        [&["--prefix", "usr"][..], &["--prefix", "/a b"], &["--purge"], &["--root", "/"], &["--what"], &["--sums"]]
    {
        let output = installer(words);
        assert!(output.status.code() == Some(2) && said(&output).contains("usage:"), "{words:?}: {}", said(&output));
    }
}
