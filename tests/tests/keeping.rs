//! What is kept and what comes back: the audit's export, backup and restore, page codes, and the undo of a change (issue
//! lines 2.9, 2.22, 2.26 and 2.28), with the real programs.

use fleetwatch_tests::world::{World, must, recording, skipped, some, until};
use protocol::propose::ProposalState;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

const RECORD: &str = "batch_recording";
const SOON: Duration = Duration::from_secs(20);
const NOBODY: u32 = 65_534;
/// A question must have settled; a card must have been read.
const SETTLED: f64 = 0.2;
const READ: f64 = 2.2;

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[track_caller]
fn ctl(world: &World, arguments: &[&str], exit: i32) -> String {
    let output = world.ctl(arguments);
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {}", words(&output));
    words(&output)
}

#[track_caller]
fn path_of<'p>(world: &World, name: &str, buffer: &'p mut String) -> &'p str {
    *buffer = world.folder().join(name).display().to_string();
    buffer
}

#[track_caller]
fn mode(path: &str) -> u32 {
    must(std::fs::metadata(path), path).permissions().mode() & 0o7777
}

fn has_namespaces() -> bool {
    let bind = "mount --bind /etc/group /etc/group";
    Command::new("unshare").args(["--mount", "sh", "-c", bind]).output().is_ok_and(|output| output.status.success())
}

#[test]
fn an_export_verifies_without_the_executor_and_an_edited_line_is_named() {
    let mut world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    let number = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    must(world.control().deny(number), "no");
    let mut buffer = String::new();
    let file = path_of(&world, "audit.jsonl", &mut buffer);
    ctl(&world, &["audit", "export", "--output", file], 0);
    assert_eq!(mode(file), 0o600);
    assert!(ctl(&world, &["audit", "export", "--output", file], 1).contains("is there already"));

    let text = must(std::fs::read_to_string(file), file);
    let lines: Vec<_> = text.lines().collect();
    let head = world.control().audit().head;
    let csv = ctl(&world, &["audit", "export", "--format", "csv"], 0);
    assert_eq!(csv.lines().count(), lines.len() + 1, "{csv}");
    assert!(csv.lines().all(|line| line.starts_with('"') && line.ends_with('"')), "{csv}");
    let tail = ctl(&world, &["audit", "tail", "--most", "1"], 0);
    assert!(tail.lines().count() == 1 && tail.starts_with(&format!("{} ", lines.len())), "{tail}");
    assert!(tail.contains("denial"), "{tail}");

    world.kill_executor();
    let held = ctl(&world, &["audit", "verify", file], 0);
    assert!(held.contains(&format!("rows 1 to {}", lines.len())) && held.contains(&head), "{held}");
    for (place, line) in lines.iter().enumerate() {
        let mut row: Value = must(serde_json::from_str(line), line);
        row["principal"] = json!("somebody else");
        must(std::fs::write(file, text.replace(line, &row.to_string())), file);
        let said = ctl(&world, &["audit", "verify", file], 1);
        assert!(said.contains(&format!("broken at row {}:", place + 1)), "{said}");
    }
    let without_the_second = [&lines[..1], &lines[2..]].concat().join("\n");
    must(std::fs::write(file, without_the_second), file);
    let said = ctl(&world, &["audit", "verify", file, "--json"], 1);
    let report: Value = must(serde_json::from_str(&said), &said);
    assert_eq!(report["broken"]["row"], 2);
}

#[test]
fn tail_follows_until_its_reader_goes_away() {
    let world = World::builder().without_assistant().start();
    let before = world.control().status().audit_sequence;
    let ctl = fleetwatch_tests::places::binary("fleetwatchctl");
    let mut child = must(
        Command::new(ctl)
            .arg("--run-dir")
            .arg(world.folder().join("run"))
            .args(["audit", "tail", "-f", "--most", "0"])
            .stdout(std::process::Stdio::piped())
            .spawn(),
        "fleetwatchctl",
    );
    let hall = world.room("Hall A");
    // Its first look may come after the proposal; a second one surely comes behind it.
    let mut lines = std::io::BufReader::new(some(child.stdout.take(), "its output"));
    std::thread::sleep(Duration::from_secs(1));
    let number = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let mut line = String::new();
    must(std::io::BufRead::read_line(&mut lines, &mut line), "a line");
    assert!(line.starts_with(&format!("{} ", before + 1)) && line.contains(" proposal 1 "), "{line}");
    drop(lines);
    must(world.control().deny(number), "no");
    let ended = until(SOON, "the end of the tail", || child.try_wait().ok().flatten());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn a_backup_comes_back_and_nothing_that_was_live_lives_on() {
    let mut world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let denied = must(world.propose("a", RECORD, &recording("start", &chapel, 1)), "a proposal");
    must(world.control().deny(denied), "no");
    let live = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let mut buffer = String::new();
    let file = path_of(&world, "backup.db", &mut buffer);
    let said = ctl(&world, &["backup", file], 0);
    assert!(said.contains("audit.key") && said.contains("is not in it"), "{said}");
    assert_eq!(mode(file), 0o600);
    let key = must(std::fs::read(world.folder().join("executor/audit.key")), "the audit key");
    let bytes = must(std::fs::read(file), file);
    assert!(!bytes.windows(key.len()).any(|window| window == key), "the key is in the backup");

    // More story, which the backup does not know.
    assert_eq!(must(world.approve(live), "yes").state, ProposalState::Ok);
    let later = must(world.propose("a", RECORD, &recording("start", &chapel, 1)), "a proposal");
    let restore = |steps: &[(&str, f64, &str)]| world.ctl_at_terminal(&["restore", file], steps);
    let (exit, text) = restore(&[("PIN", SETTLED, "not-the-pin")]);
    assert!(exit == 1 && text.contains("wrong_pin"), "{exit}: {text}");
    assert!(ctl(&world, &["restore", file], 1).contains("needs a terminal"));
    let (exit, text) = restore(&[("PIN", SETTLED, world.pin())]);
    assert!(exit == 0 && text.contains("starts again") && !text.contains(world.pin()), "{exit}: {text}");
    let code = until(SOON, "the end of the executor", || world.executor().ended());
    assert_eq!(code, 1, "a service manager starts it again");

    world.start_executor();
    assert_eq!(world.state_of(denied), ProposalState::Denied);
    assert_eq!(world.state_of(live), ProposalState::ExpiredUnseen, "live in the backup, and it has run since");
    assert!(world.control().history().iter().all(|row| row.number != later));
    let (_, status) = world.status();
    assert_eq!(
        status["executor"]["start"],
        json!({ "expired": 1, "unknown": 0, "restored": 1, "backup": true }),
        "{status}"
    );
    assert!(status["wrong"].to_string().contains("an old database was restored"), "{status}");
    assert_eq!(world.audit("restored").len(), 1);
    assert!(ctl(&world, &["audit", "verify"], 0).contains("The audit holds"));
    assert_eq!(world.writes().len(), 1, "nothing runs twice");
}

#[test]
fn a_backup_comes_back_where_nothing_but_the_audit_key_is_left() {
    let mut world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let ran = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    assert_eq!(must(world.approve(ran), "yes").state, ProposalState::Ok);
    let live = must(world.propose("a", RECORD, &recording("start", &chapel, 1)), "a proposal");
    let mut buffer = String::new();
    let file = path_of(&world, "backup.db", &mut buffer);
    ctl(&world, &["backup", file], 0);
    // The database is bad and moved away; then the machine is new.
    for lost in [&["store.db"][..], &["store.db", "spent.log"]] {
        world.stop_executor();
        for name in lost {
            must(std::fs::remove_file(world.folder().join("executor").join(name)), name);
        }
        world.start_executor();
        assert_eq!(world.control().history().len(), 0);
        let (exit, text) = world.ctl_at_terminal(&["restore", file], &[("PIN", SETTLED, world.pin())]);
        assert_eq!(exit, 0, "{text}");
        assert_eq!(until(SOON, "the end of the executor", || world.executor().ended()), 1);
        world.start_executor();
        assert_eq!((world.state_of(ran), world.state_of(live)), (ProposalState::Ok, ProposalState::ExpiredUnseen));
        assert!(ctl(&world, &["audit", "verify"], 0).contains("The audit holds"), "{lost:?}");
    }
    assert_eq!(world.writes().len(), 1, "nothing runs twice");
}

#[test]
fn a_new_audit_key_begins_a_new_audit_and_the_old_head_is_told_once() {
    let mut world = World::builder().start();
    until(SOON, "the assistant's first head", || world.asker().status().witness);
    must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
    let state = world.folder().join("executor");
    let key = || must(std::fs::read_to_string(state.join("audit.key")), "audit.key");
    let before = key();
    world.stop_executor();
    let old = state.join("old-audit");
    must(std::fs::create_dir(&old), "old-audit");
    for name in ["audit.key", "spent.log", "store.db"] {
        must(std::fs::rename(state.join(name), old.join(name)), name);
    }
    world.start_executor();
    assert_ne!(key(), before);
    until(SOON, "a head of the new audit", || (world.status().1["executor"]["witness"] == "agrees").then_some(()));
    assert_eq!(world.audit("witness_bad_mac").len(), 1);
    assert_eq!(world.control().history().len(), 0);
    assert!(ctl(&world, &["audit", "verify"], 0).contains("The audit holds"));
}

#[test]
fn what_is_no_backup_of_this_executor_is_refused_and_nothing_stops() {
    let mut world = World::builder().without_assistant().start();
    let other = World::builder().without_assistant().start();
    let mut buffers = [String::new(), String::new()];
    let [first, second] = &mut buffers;
    let foreign = path_of(&world, "foreign.db", first);
    ctl(&other, &["backup", foreign], 0);
    let noise = path_of(&world, "noise.db", second);
    must(std::fs::write(noise, "not a database".repeat(50_000)), noise);
    for (file, why) in [(foreign, "audit row 1"), (noise, "not a database")] {
        let (exit, text) = world.ctl_at_terminal(&["restore", file], &[("PIN", SETTLED, world.pin())]);
        assert!(exit == 1 && text.contains("bad_arguments") && text.contains(why), "{exit}: {text}");
    }
    world.executor().must_run();
    assert!(!Path::new(&world.folder().join("executor/restore.db")).exists());
    assert_eq!(world.control().audit().broken, None);
}

#[test]
fn where_one_user_runs_everything_there_is_no_page_code() {
    let world = World::builder().without_assistant().start();
    let said = ctl(&world, &["page-code"], 1);
    assert!(said.contains("launch secret") && said.contains("page-secret"), "{said}");
    assert!(world.audit("page_code").is_empty());
}

#[test]
fn a_page_code_opens_one_session_once() {
    if !has_namespaces() {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
        return;
    }
    let builder = World::builder().without_assistant().group("fleetwatch-operators");
    let world = builder.executor_setting("FLEETWATCH_ASSISTANT_USER", &NOBODY.to_string()).start();
    assert!(ctl(&world, &["page-code"], 1).contains("needs a terminal"));
    let (exit, text) = world.ctl_at_terminal(&["page-code"], &[("PIN", SETTLED, "not-the-pin")]);
    assert!(exit == 1 && text.contains("wrong_pin"), "{exit}: {text}");
    let (exit, text) = world.ctl_at_terminal(&["page-code"], &[("PIN", SETTLED, world.pin())]);
    assert_eq!(exit, 0, "{text}");
    assert!(text.contains(&some(world.control().status().page, "the page's address")), "{text}");
    let code = text.lines().find_map(|line| line.strip_prefix("Page code")?.split_whitespace().next());
    let code = some(code, &text);
    let page = world.stranger_page();
    let log_in = |code: &str| page.post("/login", [("code", code)]).status;
    assert_eq!(log_in(world.pin()), 403, "a PIN is no code");
    assert_eq!(log_in(code), 303);
    assert_eq!(log_in(code), 403, "once");
    assert_eq!(world.audit("page_code").len(), 1);
}

#[test]
fn the_undo_of_a_change_is_proposed_approved_and_undoes_it() {
    let world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    must(world.propose("a", RECORD, &recording("start", &hall, 1)), "number 1");
    assert!(ctl(&world, &["approvals", "undo", "1"], 1).contains("not_waiting"), "it has not run");
    let (exit, text) = world.ctl_at_terminal(&["approvals", "approve", "1"], &[("PIN", READ, world.pin())]);
    assert!(exit == 0 && text.contains("To undo it:") && text.contains("approvals undo 1"), "{exit}: {text}");
    let history = ctl(&world, &["approvals", "history", "--search", "HALL"], 0);
    assert!(history.contains("approvals undo 1"), "{history}");
    assert!(ctl(&world, &["approvals", "history", "--search", "no such text"], 0).contains("Nothing with this text"));

    let said = ctl(&world, &["approvals", "undo", "1", "--json"], 0);
    let undo: Value = must(serde_json::from_str(&said), &said);
    assert_eq!(undo, json!({ "number": 2, "undoes": 1 }));
    assert_eq!(world.writes().len(), 1, "it waits for a person");
    let card = ctl(&world, &["approvals", "show", "2", "--why"], 0);
    assert!(card.contains("\"stop\"") && card.contains("Undo of proposal 1"), "{card}");
    assert!(card.contains("device_resolve"), "the gates: {card}");
    let (exit, text) = world.ctl_at_terminal(
        &["approvals", "approve", "2"],
        &[("name exactly", READ, "Hall A"), ("PIN", SETTLED, world.pin())],
    );
    assert_eq!(exit, 0, "{text}");
    let writes = world.writes();
    assert_eq!(writes.len(), 2);
    assert_eq!(writes[1].arguments["action"], "stop");
    let news = world.control().row(must(protocol::ids::ProposalNumber::new(2).ok_or("none"), "2"));
    assert!(news.state == ProposalState::Ok && !news.undoable, "{news:?}");
}

// `issue line 2.28`: the sweep prunes, and status says so.
#[test]
fn a_start_prunes_what_is_too_old_and_status_shows_it() {
    let mut world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let old = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let young = must(world.propose("b", RECORD, &recording("start", &chapel, 1)), "a proposal");
    for number in [old, young] {
        must(world.control().deny(number), "no");
    }
    assert_eq!(world.stop_executor(), Some(0));
    let aged = "UPDATE proposals SET created_at = created_at - 401 * 86400 WHERE number = 1";
    assert_eq!(must(world.database().execute(aged, []), "an old row"), 1);
    world.start_executor();
    let pruned = until(SOON, "the prune", || world.control().status().pruned);
    assert!(pruned.0 < 60 && pruned.1 == 1, "{pruned:?}");
    let (_, status) = world.status();
    assert_eq!(status["executor"]["pruned"]["rows"], 1, "{status}");
    let left: Vec<_> = world.control().history().into_iter().map(|row| row.number).collect();
    assert_eq!(left, [young]);
    let told = world.audit("pruned");
    assert_eq!((told.len(), &told[0].2["proposals"]), (1, &json!(1)));
    assert_eq!(world.control().audit().broken, None, "the audit keeps its story");
}
