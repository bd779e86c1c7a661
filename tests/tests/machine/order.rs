//! The order of what reaches the disk and what reaches the wire (`seed 000, Flow 4 to 6`), as the system saw it: the spent line
//! and the consumed row are written and synced before the first byte of the write leaves.
//!
//! `strace` watches the running executor; it needs the right to trace: root, or `kernel.yama.ptrace_scope` at 0.

use fleetwatch_tests::world::{READING, World, must, recording, some, until};
use protocol::propose::ProposalState;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
const CALLS: &str = "trace=write,writev,sendto,sendmsg,pwrite64,fsync,fdatasync";

/// One call of the system: between which lines of the trace it lasted, and what it was.
#[derive(Debug)]
struct Called {
    began: usize,
    ended: usize,
    name: String,
    /// Everything behind the bracket; file and connection stand behind the descriptor's number.
    rest: String,
}

impl Called {
    fn is_on(&self, file: &str) -> bool {
        self.rest.split('>').next().is_some_and(|descriptor| descriptor.ends_with(file))
    }

    fn connection(&self) -> Option<&str> {
        let (_, rest) = self.rest.split_once("<TCP:[")?;
        Some(rest.split_once(']')?.0)
    }

    fn is_sync(&self) -> bool {
        matches!(self.name.as_str(), "fsync" | "fdatasync") && self.rest.trim_end().ends_with("= 0")
    }
}

// A call that another thread's line interrupts stands on two lines.
fn calls(trace: &str) -> Vec<Called> {
    let (mut open, mut done) = (BTreeMap::new(), Vec::new());
    for (at, line) in trace.lines().enumerate() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(rest) = call.strip_prefix("<... ") {
            let Some((began, name, head)) = open.remove(thread) else { continue };
            done.push(Called { began, ended: at, name, rest: format!("{head}{rest}") });
        } else if let Some((name, rest)) = call.split_once('(') {
            match rest.strip_suffix("<unfinished ...>") {
                Some(head) => {
                    open.insert(thread, (at, name.to_owned(), head.to_owned()));
                }
                None => done.push(Called { began: at, ended: at, name: name.to_owned(), rest: rest.to_owned() }),
            }
        }
    }
    done.sort_by_key(|called| called.began);
    done
}

fn traced(pid: u32, log: &Path) -> Child {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-yy", "-s", "4096", "-p", &pid.to_string(), "-e", CALLS, "-o"]).arg(log);
    let mut child = must(command.stdin(Stdio::null()).spawn(), "strace: run tests/install-peers");
    until(SOON, "strace on every thread", || {
        assert!(must(child.try_wait(), "strace").is_none(), "strace may not trace the executor");
        super::disk::is_traced(pid).then_some(())
    });
    child
}

// The first line on which a byte of the write left: its head may have left on its own before its body.
fn first_byte(called: &[Called]) -> usize {
    let is_body = |one: &&Called| one.rest.contains("tools/call") && one.rest.contains("batch_recording");
    let body = some(called.iter().find(is_body), "the write");
    let connection = some(body.connection(), "the write's connection");
    let mut on_it = called.iter().filter(|one| one.connection() == Some(connection) && one.began <= body.began);
    let head = some(on_it.rfind(|one| one.rest.contains("\"POST ")), "the write's head");
    head.began
}

#[test]
fn line_and_row_are_synced_before_the_first_byte_of_the_write_leaves() {
    let mut world = World::builder().without_assistant().start();
    let change = recording("start", &world.room("Hall A"), 1);
    let number = must(world.propose("a", "batch_recording", &change), "a proposal");
    let mut operator = world.control();
    let card = must(operator.show(number), "a card");
    sleep(READING);
    let (pid, log) = (world.executor().pid(), world.folder().join("logs/order"));
    let mut strace = traced(pid, &log);
    let news = must(operator.decide(operator.yes_to(&card)), "the yes");
    assert_eq!(news.state, ProposalState::Ok);
    let told = must(Command::new("kill").args(["-INT", &strace.id().to_string()]).status(), "kill");
    assert!(told.success());
    let _ = must(strace.wait(), "strace");

    let trace = must(std::fs::read_to_string(&log), "the trace");
    let called = calls(&trace);
    let first = first_byte(&called);
    let before: Vec<_> = called.iter().filter(|one| one.ended < first).collect();
    let line = some(before.iter().find(|one| one.is_on("/spent.log") && one.name == "write"), "the spent line");
    let synced =
        |file: &str, since: usize| before.iter().any(|one| one.is_sync() && one.is_on(file) && one.began > since);
    assert!(synced("/spent.log", line.ended), "the spent line is synced first:\n{trace}");
    // All that the commit of the consumed row wrote, and then a sync with nothing behind it.
    let row = some(before.iter().rfind(|one| one.is_on("/store.db-wal") && one.name == "pwrite64"), "the row");
    assert!(row.began > line.ended, "the row is committed behind the line:\n{trace}");
    assert!(synced("/store.db-wal", row.ended), "the row is synced first:\n{trace}");
    let under_way =
        |one: &&Called| one.began < first && one.ended >= first && (one.is_on("/spent.log") || one.is_on("-wal"));
    assert_eq!(called.iter().filter(under_way).count(), 0, "nothing is on its way to the disk:\n{trace}");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_call_that_another_thread_interrupts_is_read_as_one() {
    let trace = "7 fdatasync(9</x/spent.log> <unfinished ...>\n8 sendto(5<TCP:[1->2]>, \"POST /\", 6) = 6\n\
                 7 <... fdatasync resumed>) = 0\n";
    let called = calls(trace);
    let shape: Vec<_> = called.iter().map(|one| (one.name.as_str(), one.began, one.ended, one.is_sync())).collect();
    assert_eq!(shape, [("fdatasync", 0, 2, true), ("sendto", 1, 1, false)]);
    assert!(called[0].is_on("/spent.log") && called[1].connection() == Some("1->2"));
}
