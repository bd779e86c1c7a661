//! Both services under a real systemd, from their package to one write, through every kind of restart and to the purge (issue lines
//! 4.1 to 4.3, 4.11, "Done when"). One boot serves the whole flow; what the container does not enforce is checked as text.

#![cfg(test)]

mod container {
    pub(crate) mod installed;
    pub(crate) mod package;
    mod script;
    pub(crate) mod shut;
    mod text;
}

use container::installed::{Installed, PAGE, PIN};
use container::{package, shut};
use fleetwatch_tests::world::{must, skipped, some, until};
use serde_json::{Value, json};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::thread::sleep;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const EXECUTOR: &str = "fleetwatch-executor.service";
const ASSISTANT: &str = "fleetwatch-assistant.service";
const RECORD: &str = "batch_recording";

#[test]
fn from_the_package_to_one_write_and_through_every_kind_of_restart() {
    let me = must(std::fs::metadata("/proc/self"), "/proc/self").uid();
    if me != 0 {
        skipped("only root can boot a container");
        return;
    }
    let system = Installed::boot();
    the_units_are_plain_and_closed(&system);
    system.root(&["systemctl", "start", "fleetwatch.target"]);
    both_are_ready(&system);
    each_socket_is_its_users_alone(&system);
    people_sign_in(&system);
    one_change_is_proposed_approved_and_written_once(&system);
    everything_is_checked_and_nothing_fails(&system);
    shut::running(&system);
    shut::probed(&system);
    the_port_stays_taken_while_the_executor_is_down(&system);
    one_that_hangs_is_ended_and_started_again(&system);
    one_that_a_start_cannot_mend_stays_down(&system);
    package::upgraded(&system);
    nothing_is_left_behind(&system);
    package::removed_and_installed_again(&system);
    package::purged(&system);
}

fn the_units_are_plain_and_closed(system: &Installed) {
    let verified = system.run(None, &["sh", "-c", "systemd-analyze verify /usr/lib/systemd/system/fleetwatch*"]);
    let said = [verified.stdout, verified.stderr].concat();
    assert_eq!(String::from_utf8_lossy(&said), "", "systemd-analyze verify");
    for unit in [EXECUTOR, ASSISTANT] {
        // The threshold is ten times what is shown.
        let file = format!("/usr/lib/systemd/system/{unit}");
        let judged = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=15", &file];
        system.root(&judged);
    }
}

fn both_are_ready(system: &Installed) {
    for unit in [EXECUTOR, ASSISTANT] {
        assert_eq!(system.shown(unit, "ActiveState"), "active", "{}", system.journal(unit));
        assert_ne!(system.shown(unit, "StatusText"), "", "{unit} says how it is");
    }
    let (_, status) = system.ctl("anna", &["status", "--json"]);
    assert_eq!(status["executor"]["isolation"], "users", "{status}");
    assert_eq!(status["assistant"]["executor_reached"], true, "{status}");
    // The key lies where only root can read it; the service manager carries it to this one daemon.
    assert_ne!(status["assistant"]["model"], Value::Null, "{status}");
}

fn each_socket_is_its_users_alone(system: &Installed) {
    let number = |words: &[&str]| must(system.root(words).trim().parse::<u32>(), "a number");
    let user = |name: &str| number(&["id", "-u", name]);
    let group = |name: &str| number(&["sh", "-c", &format!("getent group {name} | cut -d: -f3")]);
    let (executor, assistant) = (user("fleetwatch-executor"), user("fleetwatch-assistant"));
    for (name, owner, group, mode) in [
        ("propose", assistant, group("fleetwatch-assistant"), 0o600),
        ("control", 0, group("fleetwatch-operators"), 0o660),
        ("ask", 0, group("fleetwatch-agents"), 0o660),
    ] {
        let socket = must(std::fs::symlink_metadata(system.path(&socket(name))), name);
        let found = (socket.file_type().is_socket(), socket.uid(), socket.gid(), socket.mode() & 0o777);
        assert_eq!(found, (true, owner, group, mode), "{name}");
    }
    let peer = |user: &str, name: &str| system.helper(Some(user), &["peer", &socket(name)]);
    // Root bound it; the executor listened anew, and that is whom the assistant sees.
    assert_eq!(peer("fleetwatch-assistant", "propose"), executor);
    assert_eq!(peer("anna", "control"), executor);
    assert_eq!(peer("bot", "ask"), assistant);
    for (user, name) in
        [("anna", "propose"), ("bot", "propose"), ("bot", "control"), ("fleetwatch-assistant", "control")]
    {
        assert_eq!(peer(user, name), "EACCES", "{user} on {name}");
    }
    for (user, name) in
        [("fleetwatch-assistant", "propose"), ("fleetwatch-assistant", "ask"), ("fleetwatch-executor", "control")]
    {
        let taken = system.run(Some(user), &["rm", "-f", &socket(name)]);
        assert!(!taken.status.success(), "{user} can put another socket in the place of {name}");
    }
}

fn socket(name: &str) -> String {
    format!("/run/fleetwatch/{name}/{name}.sock")
}

fn people_sign_in(system: &Installed) {
    let link = r"http://\S+(?=\s)";
    for (words, steps) in [
        (
            &["pin", "set"][..],
            json!([["Present PIN", 0.2, "", null], ["New PIN", 0.2, PIN, null], ["again", 0.2, PIN, null]]),
        ),
        (&["login"], json!([[link, 0, "", "normal"]])),
        (&["login", "--sandbox"], json!([["PIN", 0.2, PIN, null], [link, 0, "", "sandbox"]])),
    ] {
        let (exit, text) = system.at_terminal("anna", &steps, words);
        assert_eq!(exit, 0, "{words:?}: {text}");
        assert!(!text.contains(PIN), "{words:?}: {text}");
    }
}

fn one_change_is_proposed_approved_and_written_once(system: &Installed) {
    let arguments = json!({ "action": "start", "device_ids": [format!("{}-1", system.room("Hall A"))] }).to_string();
    let words = ["propose", RECORD, "--arguments", &arguments, "--reason", "The lecture begins", "--json"];
    let (exit, proposed) = system.ctl("bot", &words);
    assert_eq!(exit, 0, "{proposed}");
    let number = some(proposed["proposed"][0]["number"].as_u64(), "its number").to_string();
    let (exit, refused) = system.ctl("bot", &["approvals", "list", "--json"]);
    assert_eq!((exit, system.writes().len()), (1, 0), "whoever may ask may not decide: {refused}");
    let (exit, text) =
        system.at_terminal("anna", &json!([["PIN", 2.2, PIN, null]]), &["approvals", "approve", &number]);
    assert!(exit == 0 && text.contains("channel 1 is recording"), "{exit}: {text}");
    let writes = system.writes();
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert_eq!((&writes[0]["tool"], &writes[0]["token"]), (&json!(RECORD), &json!("sandbox")));
}

fn everything_is_checked_and_nothing_fails(system: &Installed) {
    let (exit, report) = system.ctl("anna", &["doctor", "--json"]);
    assert_eq!(exit, 0, "{report}");
    let text = report.to_string();
    for words in ["kept out: the assistant's user opened none", "started by systemd"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(text.matches("in-process sandbox: whole").count(), 2, "{text}");
}

// A person's browser waits, and nobody else gets its port.
fn the_port_stays_taken_while_the_executor_is_down(system: &Installed) {
    system.root(&["systemctl", "stop", EXECUTOR]);
    let mut waiting = system.helper_later(Some("anna"), &["get", PAGE]);
    for user in ["bot", "fleetwatch-assistant"] {
        assert_eq!(system.helper(Some(user), &["bind", "8767"]), "EADDRINUSE", "{user}");
    }
    assert!(!waiting.is_over(), "somebody else answered: {}", waiting.answer());
    // Calls do not start it: who calls must not have a say in that.
    assert_eq!(system.shown(EXECUTOR, "ActiveState"), "inactive");
    system.root(&["systemctl", "start", EXECUTOR]);
    let answer = waiting.answer();
    assert_eq!(answer["status"], 200, "{answer}");
    system.reached();
}

fn one_that_hangs_is_ended_and_started_again(system: &Installed) {
    let (before, restarts) = (system.shown(EXECUTOR, "MainPID"), system.restarts(EXECUTOR));
    system.signal(&before, "STOP");
    until(SOON, "another executor", || {
        let again = system.restarts(EXECUTOR) > restarts && system.shown(EXECUTOR, "ActiveState") == "active";
        again.then_some(())
    });
    assert_ne!(system.shown(EXECUTOR, "MainPID"), before);
    let journal = system.journal(EXECUTOR);
    assert!(journal.contains("Watchdog timeout") && journal.contains("'watchdog'"), "{journal}");
    system.reached();
    let (exit, list) = system.ctl("anna", &["approvals", "list", "--json"]);
    assert_eq!((exit, list, system.writes().len()), (0, json!([]), 1), "nothing was done twice");
}

fn one_that_a_start_cannot_mend_stays_down(system: &Installed) {
    const POLICY: &str = "/etc/fleetwatch/policy.yaml";
    let good = system.read(POLICY);
    system.write(POLICY, "autonomy: always\n");
    let tried = system.run(None, &["systemctl", "restart", EXECUTOR]);
    assert!(!tried.status.success(), "it started with a bad policy");
    let how =
        || ["ActiveState", "ExecMainStatus", "ExecMainStartTimestampMonotonic"].map(|of| system.shown(EXECUTOR, of));
    let ended = how();
    assert_eq!(ended[..2], ["failed", "78"], "{}", system.journal(EXECUTOR));
    assert!(system.journal(EXECUTOR).contains("autonomy"), "it says what is wrong");
    // Longer than the wait between two starts. The assistant calls all the time, and so does somebody's browser.
    let waiting = system.helper_later(Some("anna"), &["get", PAGE]);
    sleep(Duration::from_millis(1_500));
    assert_eq!(how(), ended, "it was started again");
    system.write(POLICY, &good);
    system.root(&["systemctl", "start", EXECUTOR]);
    assert_eq!(waiting.answer()["status"], 200);
    system.reached();
}

fn nothing_is_left_behind(system: &Installed) {
    system.root(&["systemctl", "stop", "fleetwatch.target"]);
    until(SOON, "the end of all units", || {
        let active =
            system.root(&["systemctl", "list-units", "--no-legend", "--plain", "--state=active", "fleetwatch*"]);
        active.lines().all(|line| line.starts_with("fleetwatch-sim")).then_some(())
    });
    for name in ["propose", "control", "ask"] {
        let peer = system.helper(None, &["peer", &socket(name)]);
        assert!(peer == "ENOENT" || peer == "ECONNREFUSED", "{name}: {peer}");
    }
    assert_eq!(system.helper(Some("bot"), &["bind", "8767"]), "done");
    for unit in [EXECUTOR, ASSISTANT] {
        assert_eq!(system.shown(unit, "ActiveState"), "inactive", "{}", system.journal(unit));
    }
}
