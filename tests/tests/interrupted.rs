//! `fleetwatchctl` when it is ended from outside, or when the executor does not answer (issue lines 1.27 and 2.9): no half
//! a file stays behind, and a decision of which nobody knows the end says so. The executor is a stand-in that falls silent.

use control::message::{ExecutorSays, OperatorSays};
use fleetwatch_tests::places::binary;
use fleetwatch_tests::world::{Frames, must, until};
use protocol::hello::{Hello, Reply, Request};
use protocol::ids::ProposalNumber;
use protocol::propose::{News, ProposalState};
use serde_json::Value;
use std::fs::{DirBuilder, Permissions, set_permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

const SOON: Duration = Duration::from_secs(20);
/// Longer than the ten seconds for a mere look.
const LATE: Duration = Duration::from_secs(11);

/// What the stand-in does with a request.
enum Then {
    Answer(ExecutorSays),
    HangUp,
    /// Says on the channel that it was asked, and nothing to the command.
    Silence,
}

fn stand_in(answer: impl Fn(&OperatorSays) -> Then + Send + 'static) -> (TempDir, Receiver<()>) {
    let run = must(tempfile::tempdir(), "a folder");
    let folder = run.path().join("control");
    must(DirBuilder::new().mode(0o700).create(&folder), "control");
    let listener = must(UnixListener::bind(folder.join("control.sock")), "control.sock");
    must(set_permissions(folder.join("control.sock"), Permissions::from_mode(0o600)), "its mode");
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut frames = must(Frames::over(must(stream, "a caller")), "its stream");
            while let Some(Request { id, say }) = frames.recv::<Request<OperatorSays>>() {
                let hello = matches!(say, OperatorSays::Hello(_));
                let then = if hello { Then::Answer(ExecutorSays::Hello(Hello::ours())) } else { answer(&say) };
                match then {
                    Then::Answer(say) => frames.send(&Reply { id, say }),
                    Then::HangUp => break,
                    Then::Silence => {
                        must(sender.send(()), "the test waits");
                        kept.push(frames);
                        break;
                    }
                }
            }
        }
    });
    (run, asked)
}

fn ctl(run: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(binary("fleetwatchctl"));
    command.arg("--run-dir").arg(run).args(arguments).env_clear().stdin(Stdio::null());
    must(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn(), "fleetwatchctl")
}

#[track_caller]
fn ended(mut child: Child) -> (Option<i32>, String) {
    until(SOON, "the command's end", || child.try_wait().ok().flatten());
    let output = must(child.wait_with_output(), "its words");
    let words = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), words)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = must(std::fs::read_dir(folder), "the folder");
    entries.map(|entry| must(entry, "an entry").file_name().to_string_lossy().into_owned()).collect()
}

// The first part comes, the second one never does.
fn half_a_backup(say: &OperatorSays) -> Then {
    if matches!(say, OperatorSays::Backup { offset: 0 }) {
        return Then::Answer(ExecutorSays::BackupPart { total: 200_000, bytes: vec![1; 100_000] });
    }
    Then::Silence
}

#[test]
fn a_backup_or_an_export_that_is_ended_from_outside_leaves_no_file() {
    for signal in ["INT", "TERM", "HUP"] {
        for arguments in [&["backup"][..], &["audit", "export", "--output"]] {
            let (run, asked) = stand_in(half_a_backup);
            let folder = must(tempfile::tempdir(), "a folder");
            let file = folder.path().join("file").display().to_string();
            let child = ctl(run.path(), &[arguments, &[file.as_str()]].concat());
            must(asked.recv_timeout(SOON), "the executor is asked");
            assert_eq!(names(folder.path()), ["file.part"], "{signal} {arguments:?}");
            let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
            assert!(must(sent, "kill").success());
            let (exit, words) = ended(child);
            assert!(exit == Some(1) && words.contains("stopped before it was whole"), "{signal}: {exit:?} {words}");
            assert_eq!(names(folder.path()), [""; 0], "{signal} {arguments:?}");
        }
    }
}

#[test]
fn a_backup_whose_executor_leaves_half_way_leaves_no_file() {
    let (run, _asked) = stand_in(|say| match half_a_backup(say) {
        Then::Silence | Then::HangUp => Then::HangUp,
        Then::Answer(say) => Then::Answer(say),
    });
    let folder = must(tempfile::tempdir(), "a folder");
    let file = folder.path().join("file").display().to_string();
    let (exit, words) = ended(ctl(run.path(), &["backup", &file]));
    assert!(exit == Some(1) && words.contains("hung up"), "{exit:?} {words}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_decision_that_nobody_answers_exits_with_three_and_names_the_command_that_shows_it() {
    let (run, _asked) = stand_in(|_| Then::HangUp);
    let cases: [(&[&str], &str); 3] = [
        (&["approvals", "deny", "7"], "approvals show 7"),
        (&["approvals", "deny-all"], "approvals list"),
        (&["freeze"], "status"),
    ];
    for (arguments, look) in cases {
        let (exit, words) = ended(ctl(run.path(), arguments));
        assert_eq!(exit, Some(3), "{arguments:?}: {words}");
        assert!(words.contains("may have been done") && words.trim_end().ends_with(look), "{arguments:?}: {words}");
        let (exit, words) = ended(ctl(run.path(), &[arguments, &["--lang", "es", "--json"]].concat()));
        let value: Value = must(serde_json::from_str(&words), &words);
        assert!(exit == Some(3) && value["detail"].to_string().contains("puede haberse hecho"), "{words}");
    }
}

#[test]
fn a_denial_that_takes_eleven_seconds_is_waited_for() {
    let number = must(ProposalNumber::new(7).ok_or("no number"), "7");
    let (run, _asked) = stand_in(move |_| {
        std::thread::sleep(LATE);
        let (state, refusal) = (ProposalState::Denied, None);
        Then::Answer(ExecutorSays::Ended(News { number, state, refusal, detail: String::new() }))
    });
    let (exit, words) = ended(ctl(run.path(), &["approvals", "deny", "7"]));
    assert!(exit == Some(0) && words.contains("denied"), "{exit:?} {words}");
}
