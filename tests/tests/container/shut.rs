//! What the system has shut for both daemons, by behaviour: what the processes themselves show, and what another program can
//! and cannot do under the same lines of the units. Beside it runs one without them, for which every such door is open: so a
//! line that is taken away is missed here.

use super::installed::Installed;
use fleetwatch_tests::workspace_root;
use fleetwatch_tests::world::{must, some};
use serde_json::Value;
use std::collections::BTreeMap;

const HELPER: &str = "/usr/bin/python3 -I /usr/libexec/fleetwatch-tests/inside.py";
const MARKER: &str = "/tmp/fleetwatch-marker";
const EVERYBODYS: &str = "/run/fleetwatch-everybodys";
/// Lines that make the service what it is; all others say what it may.
const ITSELF: [&str; 12] = [
    "After=",
    "ExecStart=",
    "LoadCredential=",
    "NotifyAccess=",
    "PartOf=",
    "Requires=",
    "Restart",
    "Sockets=",
    "StartLimitIntervalSec=",
    "Timeout",
    "Type=",
    "WatchdogSec=",
];
/// What is tried, what comes of it in the services, and what where nothing is shut.
const DOORS: [(&str, &str, &str); 21] = [
    ("be traced", "EPERM", "done"),
    ("code in writable memory", "EPERM", "done"),
    ("internet socket", "done", "done"),
    ("look into /home", "EACCES", "done"),
    ("look into the other's state", "EACCES", "done"),
    ("mode of the other's state", "0000", "0700"),
    ("netlink socket", "EAFNOSUPPORT", "done"),
    ("new namespace", "EPERM", "done"),
    ("no new privileges", "1", "0"),
    ("personality", "EPERM", "done"),
    ("rights", "none", "none"),
    ("rights ever", "none", "some"),
    ("see a file in /tmp", "ENOENT", "done"),
    ("see other processes", "ENOENT", "done"),
    ("set a group bit", "EPERM", "done"),
    ("system calls filtered", "2", "2"),
    ("umask", "0077", "0022"),
    ("write to /etc", "EROFS", "EACCES"),
    ("write to /usr", "EROFS", "EACCES"),
    ("write to its state", "done", "done"),
    ("write where all may", "EROFS", "done"),
];

/// The daemons themselves.
pub(crate) fn running(system: &Installed) {
    for daemon in ["executor", "assistant"] {
        let pid = system.shown(&format!("fleetwatch-{daemon}.service"), "MainPID");
        let status = system.read(&format!("/proc/{pid}/status"));
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            some(line, name).trim().to_owned()
        };
        let none = "0000000000000000";
        for (name, value) in
            [("NoNewPrivs", "1"), ("Seccomp", "2"), ("CapEff", none), ("CapPrm", none), ("CapBnd", none)]
        {
            assert_eq!(of(name), value, "{daemon}: {name}");
        }
        let uid = system.root(&["id", "-u", &format!("fleetwatch-{daemon}")]);
        assert!(of("Uid").split_whitespace().all(|id| id == uid.trim()), "{daemon} runs as {}", of("Uid"));
    }
}

/// The same lines around a program that tries every door.
pub(crate) fn probed(system: &Installed) {
    system.write(MARKER, "");
    system.root(&["mkdir", "--mode=1777", EVERYBODYS]);
    let states = ["executor", "assistant"].map(|daemon| format!("/var/lib/fleetwatch-{daemon}"));
    let [executor, assistant] = &states;
    let units = [
        ("executor", around("executor", &command(executor, assistant))),
        ("assistant", around("assistant", &command(assistant, executor))),
        ("nothing", format!("[Service]\nType=oneshot\nUser=fleetwatch-executor\n{}", command(executor, executor))),
    ];
    for (name, unit) in &units {
        let said = format!("StandardOutput=file:/run/fleetwatch-probe-{name}.json\n");
        system.write(&format!("/run/systemd/system/fleetwatch-probe-{name}.service"), &format!("{unit}{said}"));
    }
    system.root(&["systemctl", "daemon-reload"]);
    for (name, _) in &units {
        let unit = format!("fleetwatch-probe-{name}.service");
        let started = system.run(None, &["systemctl", "start", &unit]);
        assert!(started.status.success(), "{}", system.journal(&unit));
        let said = system.read(&format!("/run/fleetwatch-probe-{name}.json"));
        let said: BTreeMap<String, Value> = must(serde_json::from_str(&said), &said);
        let found: Vec<_> = said.iter().map(|(door, how)| (door.as_str(), how.as_str().unwrap_or_default())).collect();
        let wanted = DOORS.map(|(door, shut, open)| (door, if *name == "nothing" { open } else { shut }));
        assert_eq!(found, wanted, "{name}");
    }
}

fn command(state: &str, closed: &str) -> String {
    format!("ExecStart={HELPER} probe {state} {closed} {MARKER} {EVERYBODYS}\n")
}

// The daemon's own unit with this program in its place. `[Service]` is its last section.
fn around(daemon: &str, command: &str) -> String {
    let file = workspace_root().join(format!("systemd/fleetwatch-{daemon}.service"));
    let text = must(std::fs::read_to_string(&file), &file.display().to_string());
    let kept = text.lines().filter(|line| !ITSELF.iter().any(|itself| line.starts_with(itself)));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    assert!(!kept.contains("[Install]"), "a section behind [Service]");
    format!("{kept}Type=oneshot\n{command}")
}
