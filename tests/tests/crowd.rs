//! Whoever takes all the seats, from another process, keeps nobody out, and the executor lives (issue line 2.11). Its
//! number of open files is bounded by its own seats and checked at the start, since the page's server does not survive a
//! failed accept.

use fleetwatch_tests::world::{World, must, recording, some};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

const RECORD: &str = "batch_recording";
/// What the executor asks for, and so the least under which it must hold.
const NEEDED: &str = "1024:1024";
const COUNT: usize = 500;
const WHILE: Duration = Duration::from_millis(20);

struct Crowd(Child);

impl Crowd {
    #[track_caller]
    fn gather(world: &World) -> Self {
        let port = world.stranger_page().address().rsplit_once(':').map(|(_, port)| port.to_owned());
        let script = fleetwatch_tests::workspace_root().join("tests/peers/crowd.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(some(port, "a port")).arg(COUNT.to_string());
        command.args([world.socket("control"), world.socket("propose")]);
        let mut child = must(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn(), "python3");
        let mut line = String::new();
        must(BufReader::new(some(child.stdout.take(), "its output")).read_line(&mut line), "its word");
        assert_eq!(line, format!("there {}\n", 3 * COUNT));
        Self(child)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Ends the counting whatever becomes of the test: one that fails must not wait for it for ever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

// Signs in, sees the queue with the card in it, and the card.
#[track_caller]
fn a_person_is_served(world: &World, when: &str) {
    let page = world.page();
    let queue = page.get("/");
    assert!(queue.status == 200 && queue.body.contains("Hall A"), "{when}: {}", queue.body);
    let card = page.get("/card/1");
    assert!(card.status == 200 && card.form("/approve").is_some(), "{when}: {}", card.body);
}

#[test]
fn a_crowd_from_another_process_keeps_nobody_out_and_ends_nothing() {
    let mut world = World::builder().without_assistant().start();
    world.stop_executor();
    world.descriptors = Some(NEEDED.to_owned());
    world.start_executor();
    must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
    let pid = world.executor().pid();
    let (over, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                most.fetch_max(open_files(pid), Ordering::SeqCst);
                sleep(WHILE);
            }
        });
        let _over = Over(&over);
        let crowd = Crowd::gather(&world);
        for round in 1..=3 {
            a_person_is_served(&world, &format!("in the crowd, {round}"));
        }
        drop(crowd);
        a_person_is_served(&world, "when it has gone");
    });
    world.executor().must_run();
    assert_eq!(world.executor().pid(), pid);
    let most = most.load(Ordering::SeqCst);
    assert!((60..400).contains(&most), "{most} files were open");
    let log = world.executor_log();
    assert!(!log.contains("Too many open files") && !log.contains("os error 24"), "{log}");
    assert_eq!(world.writes(), []);
}

#[test]
fn fewer_files_than_the_seats_need_are_refused_at_the_start_and_a_low_limit_is_raised() {
    let mut world = World::builder().without_assistant().start();
    world.stop_executor();
    world.descriptors = Some("256:256".to_owned());
    let (exit, log) = world.executor_that_ends();
    assert!(exit == 78 && log.contains("may open 256 files and needs 1024"), "{exit}: {log}");
    world.descriptors = Some("64:4096".to_owned());
    world.start_executor();
    let limits = format!("/proc/{}/limits", world.executor().pid());
    let limits = must(std::fs::read_to_string(&limits), &limits);
    let files = some(limits.lines().find(|line| line.starts_with("Max open files")), "the line");
    assert_eq!(files.split_whitespace().collect::<Vec<_>>()[3..5], ["1024", "4096"]);
}
