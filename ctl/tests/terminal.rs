//! The real command without a terminal: piped text approves nothing.
#![cfg(target_os = "linux")]

use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};

// `setsid` takes the controlling terminal away, as cron or a service manager would.
fn without_a_terminal(run: &std::path::Path, words: &[&str], input: &str) -> std::io::Result<Output> {
    let mut child = Command::new("setsid")
        .arg("--wait")
        .arg(env!("CARGO_BIN_EXE_fleetwatchctl"))
        .arg("--run-dir")
        .arg(run)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // It may refuse before it reads.
    let _refused = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    child.wait_with_output()
}

#[test]
fn approve_and_pin_set_refuse_piped_text_before_they_ask_the_executor() {
    let run = tempfile::tempdir().unwrap();
    let control = run.path().join("control");
    std::fs::create_dir(&control).unwrap();
    std::fs::set_permissions(&control, std::fs::Permissions::from_mode(0o700)).unwrap();
    let listener = UnixListener::bind(control.join("control.sock")).unwrap();
    listener.set_nonblocking(true).unwrap();
    for words in [&["approvals", "approve", "7"][..], &["pin", "set"]] {
        let output = without_a_terminal(run.path(), words, "Hall A\n4711471147\n4711471147\n").unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("this needs a terminal") && said.contains("pipe"), "{said}");
        assert!(!said.contains("4711"), "{said}");
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    let output = without_a_terminal(run.path(), &["approvals", "approve", "7", "--json"], "4711471147\n").unwrap();
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["refused"], "no_terminal");
}

#[test]
fn whatever_asks_for_a_pin_says_in_json_that_there_is_no_terminal() {
    let run = tempfile::tempdir().unwrap();
    let backup = run.path().join("backup");
    std::fs::write(&backup, "not read by anybody").unwrap();
    let backup = backup.to_str().unwrap();
    for words in [&["thaw"][..], &["pin", "set"], &["approvals", "agents", "resume", "model"], &["restore", backup]] {
        let output = without_a_terminal(run.path(), &[words, &["--json"]].concat(), "4711471147\n").unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(value["refused"], "no_terminal", "{words:?}: {value}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn a_policy_file_is_checked_without_any_daemon_and_a_bad_one_is_exit_one() {
    let run = tempfile::tempdir().unwrap();
    let file = run.path().join("policy.yaml");
    for (text, exit, words) in
        [("autonomy: observe\n", 0, "ok, read as policy.yaml"), ("autonomy: always\n", 1, "policy.yaml:1:11: autonomy")]
    {
        std::fs::write(&file, text).unwrap();
        let output = without_a_terminal(run.path(), &["policy", "check", file.to_str().unwrap()], "").unwrap();
        assert_eq!(output.status.code(), Some(exit), "{output:?}");
        let said = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_daemon_that_is_not_there_is_exit_one_and_a_wrong_word_is_exit_two() {
    let run = tempfile::tempdir().unwrap();
    let output = without_a_terminal(run.path(), &["status", "--json"], "").unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["ok"], value["wrong"].as_array().map(Vec::len)), (&false.into(), Some(2)));
    let output = without_a_terminal(run.path(), &["approvals", "approve", "all"], "").unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
