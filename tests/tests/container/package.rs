//! The Debian package: built of the programs that all tests use, looked at, and its whole life in the container (issue line 4.11).

use super::installed::Installed;
use crate::{ASSISTANT, EXECUTOR};
use fleetwatch_tests::container::Container;
use fleetwatch_tests::world::{must, some};
use fleetwatch_tests::{binary, target_folder, workspace_root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Where the two packages lie in the container.
pub(crate) const INSIDE: [&str; 2] = ["/srv/fleetwatch-first.deb", "/srv/fleetwatch-second.deb"];
const CONFIGURATION: [&str; 4] = [
    "/etc/fleetwatch/assistant.env",
    "/etc/fleetwatch/executor.env",
    "/etc/fleetwatch/policy.yaml",
    "/etc/fleetwatch/tool_policy.yaml",
];
/// Everywhere where an installation or a service may leave something.
const PLACES: [&str; 8] =
    ["/etc", "/opt", "/srv", "/usr/bin", "/usr/lib/systemd", "/usr/libexec", "/usr/share", "/var/lib"];
/// What belongs to the test or to the container's own services.
const OTHERS: [&str; 8] = [
    "/etc/.pwd.lock",
    "/etc/fleetwatch-sim",
    "/etc/group-",
    "/etc/gshadow-",
    "/etc/passwd-",
    "/etc/shadow-",
    "/var/lib/dpkg/",
    "/var/lib/systemd/",
];

static LAID_OUT: Mutex<()> = Mutex::new(());

/// While it lives, nobody else lays `target/package` out.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    LAID_OUT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one of the scripts in `packaging/`; gives what it says.
#[track_caller]
pub(crate) fn script(name: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(workspace_root().join("packaging").join(name));
    let paths = std::env::var("PATH").unwrap_or_default();
    let peers = target_folder().join("peers/cargo-deb/bin");
    command.args(arguments).env("PATH", format!("{}:{paths}", peers.display()));
    let output = must(command.output(), name);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "packaging/{name}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Two versions of the package.
#[derive(Debug)]
pub(crate) struct Packages {
    _folder: TempDir,
    /// Their paths; the second is the newer one.
    pub(crate) files: [PathBuf; 2],
}

impl Packages {
    /// Builds both, and looks at what they hold.
    #[track_caller]
    pub(crate) fn build() -> Self {
        let _alone = alone();
        let folder = must(tempfile::tempdir(), "a folder");
        let programs = binary("fleetwatchctl");
        let programs = some(programs.parent().and_then(Path::to_str), "the programs' folder");
        let output = some(folder.path().to_str(), "a folder");
        script("tree", &[programs, "strip"]);
        let files = ["0.2.0-1", "0.2.1-1"]
            .map(|version| PathBuf::from(script("deb", &[here(), output, "--version", version, "--fast"])));
        holds_what_it_should(&files[0]);
        Self { _folder: folder, files }
    }
}

// This machine, as Debian names it.
fn here() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

#[track_caller]
fn asked(package: &Path, words: &[&str]) -> String {
    let output = must(Command::new("dpkg-deb").args(words).arg(package).output(), "dpkg-deb");
    assert!(output.status.success(), "dpkg-deb {words:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn holds_what_it_should(package: &Path) {
    let listed = asked(package, &["--contents"]);
    let mut paths = BTreeSet::new();
    for line in listed.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let (mode, owner, path) = (words[0], words[1], words[5].trim_start_matches('.'));
        let program = path.starts_with("/usr/bin/") || path.starts_with("/usr/libexec/fleetwatch/");
        let should = match (path.ends_with('/'), program) {
            (true, _) => "drwxr-xr-x",
            (false, true) => "-rwxr-xr-x",
            (false, false) => "-rw-r--r--",
        };
        assert!(mode == should && ["0/0", "root/root"].contains(&owner), "{line}");
        assert!(path.ends_with('/') || path.contains("fleetwatch"), "not ours: {line}");
        assert!(!path.contains("barriers"), "{line}");
        paths.insert(path.to_owned());
    }
    for path in [
        "/usr/bin/fleetwatchctl",
        "/usr/lib/systemd/system/fleetwatch.target",
        "/usr/lib/sysusers.d/fleetwatch.conf",
        "/usr/lib/tmpfiles.d/fleetwatch.conf",
        "/usr/libexec/fleetwatch/fleetwatch-assistant",
        "/usr/libexec/fleetwatch/fleetwatch-executor",
        "/usr/libexec/fleetwatch/fleetwatch-sim",
        "/usr/share/bash-completion/completions/fleetwatchctl",
        "/usr/share/doc/fleetwatch/copyright",
        "/usr/share/doc/fleetwatch/third-party.txt.gz",
        "/usr/share/fish/vendor_completions.d/fleetwatchctl.fish",
        "/usr/share/man/man1/fleetwatchctl-approvals-approve.1.gz",
        "/usr/share/zsh/vendor-completions/_fleetwatchctl",
    ] {
        assert!(paths.contains(path), "no {path}");
    }
    let units = must(std::fs::read_dir(workspace_root().join("systemd")), "systemd/").flatten();
    for unit in units.filter(|unit| unit.path().is_file()) {
        let path = format!("/usr/lib/systemd/system/{}", unit.file_name().to_string_lossy());
        assert!(paths.contains(&path), "no {path}");
    }
    // Only these may be edited, and dpkg asks before it changes one that was.
    let listed = must(Command::new("dpkg-deb").arg("--info").arg(package).arg("conffiles").output(), "dpkg-deb").stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let mut kept: Vec<_> = listed.lines().collect();
    kept.sort_unstable();
    assert_eq!(kept, CONFIGURATION);
}

/// Every path that the container has in the places that matter.
#[track_caller]
pub(crate) fn everything(system: &Container) -> BTreeSet<String> {
    let found = system.root(&[&["find"][..], &PLACES, &["-xdev"]].concat());
    found.lines().filter(|path| !OTHERS.iter().any(|other| path.starts_with(other))).map(str::to_owned).collect()
}

/// Installs the first package or the second over it.
#[track_caller]
pub(crate) fn install(system: &Container, which: usize) {
    // The index of the man pages is not ours.
    system.root(&["dpkg", "--no-triggers", "--install", INSIDE[which]]);
}

fn history(system: &Installed) -> Value {
    let (exit, history) = system.ctl("anna", &["approvals", "history", "--json"]);
    assert_eq!(exit, 0, "{history}");
    history
}

fn settings(system: &Installed) -> [String; 4] {
    CONFIGURATION.map(|path| system.read(path))
}

fn active(system: &Installed) -> bool {
    [EXECUTOR, ASSISTANT].iter().all(|unit| system.shown(unit, "ActiveState") == "active")
}

/// While both run: the new programs run afterwards, with the same settings, state and people.
pub(crate) fn upgraded(system: &Installed) {
    let before = (history(system), settings(system));
    let processes = || [EXECUTOR, ASSISTANT].map(|unit| system.shown(unit, "MainPID"));
    let old = processes();
    install(system, 1);
    assert!(active(system), "{}", system.journal(EXECUTOR));
    let new = processes();
    assert!(old[0] != new[0] && old[1] != new[1], "{old:?} still run");
    system.reached();
    assert_eq!((history(system), settings(system)), before);
    assert_eq!(system.root(&["dpkg-query", "--show", "--showformat=${Version}", "fleetwatch"]), "0.2.1-1");
    assert_eq!(system.writes().len(), 1, "nothing was done again");
}

/// A removal stops what runs and keeps what people have made; a later installation finds it again.
pub(crate) fn removed_and_installed_again(system: &Installed) {
    system.root(&["systemctl", "start", "fleetwatch.target"]);
    system.reached();
    let before = (history(system), settings(system));
    system.root(&["dpkg", "--no-triggers", "--remove", "fleetwatch"]);
    let left = system.run(None, &["pgrep", "--uid", "fleetwatch-executor,fleetwatch-assistant", "--list-full"]);
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "a daemon runs on");
    assert_eq!(system.helper(Some("bot"), &["bind", "8767"]), "done");
    for path in ["/usr/bin/fleetwatchctl", "/usr/libexec/fleetwatch", "/usr/lib/systemd/system/fleetwatch.target"] {
        assert!(!system.path(path).exists(), "{path}");
    }
    assert!(system.path("/var/lib/fleetwatch-executor/store.db").exists());
    install(system, 1);
    assert_ne!(system.shown(EXECUTOR, "ActiveState"), "active", "nobody asked for a start");
    system.root(&["systemctl", "start", "fleetwatch.target"]);
    system.reached();
    assert_eq!((history(system), settings(system)), before);
}

/// A purge leaves nothing, as if it had never been installed.
pub(crate) fn purged(system: &Installed) {
    system.root(&["systemctl", "enable", "--quiet", "fleetwatch.target"]);
    system.root(&["dpkg", "--no-triggers", "--purge", "fleetwatch"]);
    let after = everything(system);
    let more: Vec<_> = after.difference(&system.before).collect();
    assert_eq!(more, Vec::<&String>::new(), "left behind");
    // What the test itself had made for Fleetwatch before.
    let gone: Vec<_> = system.before.difference(&after).map(String::as_str).collect();
    assert_eq!(
        gone,
        [
            "/etc/credstore/fleetwatch-assistant.anthropic-api-key",
            "/etc/systemd/system/fleetwatch-executor.service.d",
            "/etc/systemd/system/fleetwatch-executor.service.d/quick.conf",
        ]
    );
    assert!(!system.path("/run/fleetwatch").exists());
    for list in ["passwd", "group", "shadow", "gshadow"] {
        let text = system.read(&format!("/etc/{list}"));
        assert!(!text.contains("fleetwatch"), "/etc/{list}: {text}");
    }
    // One that somebody asked about may be listed still, as not found.
    let loaded = ["systemctl", "list-units", "--all", "--state=loaded", "--no-legend", "--plain", "fleetwatch*"];
    let units = system.root(&loaded);
    assert!(units.lines().all(|line| line.starts_with("fleetwatch-sim")), "{units}");
}
