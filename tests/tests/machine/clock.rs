//! The wall clock is set while something waits or is approved (`seed 000, Binding`; `architecture.md, Time`): a step of an
//! hour or a day, either way, on the real executor under libfaketime, which moves its wall clock and leaves its boot clock.
//! No step lengthens a life. That the boot clock alone ends an approval after 300 s is the store's own test with a clock that
//! it moves; here nobody waits five minutes.

use control::message::{ExecutorSays, OperatorSays};
use fleetwatch_tests::world::{READING, World, must, recording, some, until};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode as Code;
use std::path::{Path, PathBuf};
use std::thread::{self, sleep};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
const RECORD: &str = "batch_recording";
const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

// Where the Debian packages of the machine's architectures put it.
fn libfaketime() -> PathBuf {
    let triples = must(std::fs::read_dir("/usr/lib"), "/usr/lib").filter_map(Result::ok).map(|entry| entry.path());
    let mut found = triples.map(|folder| folder.join("faketime/libfaketime.so.1")).filter(|path| path.exists());
    some(found.next(), "libfaketime: run tests/install-peers")
}

/// The executor's wall clock, as far as this test sets it.
struct Wall {
    file: PathBuf,
}

impl Wall {
    fn step(&self, seconds: i64) {
        let next = self.file.with_extension("next");
        must(std::fs::write(&next, format!("{seconds:+}\n")), "the next time");
        must(std::fs::rename(&next, &self.file), "the time");
    }
}

// The executor starts again under a clock that the test sets.
fn under_a_wall_that_steps(world: &mut World) -> Wall {
    // In a folder that the executor's own sandbox leaves open: the library reads it inside of the executor.
    let wall = Wall { file: world.folder().join("executor/wall") };
    wall.step(0);
    let settings = [
        ("LD_PRELOAD", libfaketime().into_os_string()),
        ("FAKETIME_TIMESTAMP_FILE", wall.file.clone().into_os_string()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ("FAKETIME_NO_CACHE", "1".into()),
    ];
    assert_eq!(world.stop_executor(), Some(0));
    world.executor_settings.extend(settings.map(|(name, value)| (name.to_owned(), value)));
    world.start_executor();
    wall
}

fn proposed(world: &World, room: &str) -> ProposalNumber {
    must(world.propose("a", RECORD, &recording("start", &world.room(room), 1)), room)
}

fn life_left(world: &World, number: ProposalNumber) -> Option<u64> {
    world.control().list().into_iter().find(|waiting| waiting.number == number).map(|waiting| waiting.expires_in)
}

// The executor's wall clock as it writes it down.
fn wall_of(world: &World, number: ProposalNumber) -> i64 {
    let sql = "SELECT created_at FROM proposals WHERE number = ?";
    let number = must(i64::try_from(number.get()), "a number");
    must(world.database().query_row(sql, [number], |row| row.get(0)), "the row")
}

#[test]
fn a_step_of_the_wall_lengthens_no_waiting_proposals_life() {
    let mut world = World::builder().without_assistant().start();
    let wall = under_a_wall_that_steps(&mut world);
    let number = proposed(&world, "Hall A");
    let began = wall_of(&world, number);
    let mut left = some(life_left(&world, number), "it waits");
    assert!((800..=900).contains(&left), "{left}");
    for step in [-HOUR, -DAY, 0, -DAY] {
        wall.step(step);
        // More than the executor's own look at what is due.
        sleep(Duration::from_millis(1_100));
        let now = some(life_left(&world, number), "it still waits");
        assert!(now <= left && left - now < 60, "{step}: {now} s after {left} s");
        left = now;
    }
    // The steps were real: what is proposed now is a day older by the wall.
    let yesterday = proposed(&world, "Chapel");
    assert!((-DAY - 60..=-DAY + 60).contains(&(wall_of(&world, yesterday) - began)));
    assert!(some(life_left(&world, yesterday), "it waits") <= 900);
    // From there to now is a step of a day, and it ends what it passes, unasked.
    wall.step(0);
    let ended = |number| {
        until(SOON, "an end", || {
            let row = world.control().row(number);
            (row.state != ProposalState::Pending).then_some(row.state)
        })
    };
    assert_eq!(ended(yesterday), ProposalState::ExpiredUnseen);
    assert!(life_left(&world, number).is_some(), "the first one's own time is not over");
    for (room, step) in [("Courtroom 1", HOUR), ("Courtroom 4", DAY)] {
        wall.step(0);
        let another = proposed(&world, room);
        wall.step(step);
        assert_eq!(ended(another), ProposalState::ExpiredUnseen, "{step}");
        // Back again revives nothing.
        wall.step(-step);
        sleep(Duration::from_millis(1_100));
        assert_eq!(world.state_of(another), ProposalState::ExpiredUnseen, "{step}");
    }
    assert_eq!(ended(number), ProposalState::ExpiredUnseen);
    assert_eq!(world.control().audit().broken, None);
    assert_eq!(world.writes(), []);
    stop(&mut world);
}

/// What happens between the yes and the spending of it, and how the run must end.
struct Step {
    name: &'static str,
    seconds: i64,
    held: Duration,
    ends: &'static [Code],
}

const A_MOMENT: Duration = Duration::from_millis(300);
/// More than the 15 s that a run has by the boot clock.
const TOO_LONG: Duration = Duration::from_millis(15_300);

const STEPS: [Step; 4] = [
    Step { name: "an hour on", seconds: HOUR, held: A_MOMENT, ends: &[Code::ApprovalExpired] },
    Step { name: "a day on", seconds: DAY, held: A_MOMENT, ends: &[Code::ApprovalExpired] },
    Step { name: "an hour back", seconds: -HOUR, held: TOO_LONG, ends: &[Code::Stale] },
    Step { name: "a day back", seconds: -DAY, held: TOO_LONG, ends: &[Code::Stale] },
];

fn approved_while_the_wall_steps(step: &Step) {
    let mut world = World::builder().without_assistant().barrier("after_approve").start();
    let wall = under_a_wall_that_steps(&mut world);
    let number = proposed(&world, "Hall A");
    let mut control = world.control();
    let card = must(control.show(number), "a card");
    sleep(READING);
    let yes = OperatorSays::Approve(control.yes_to(&card));
    let said = thread::spawn(move || control.ask(yes));
    until(SOON, "the barrier", || world.executor().is_stopped().then_some(()));
    assert_eq!(approvals(&world), (1, 300), "{}", step.name);
    wall.step(step.seconds);
    sleep(step.held);
    world.executor().signal("CONT");
    let refusal = match said.join().unwrap() {
        Err(refusal) => Some(refusal),
        Ok(ExecutorSays::Ended(news)) => news.refusal,
        Ok(other) => must(Err(format!("{other:?}")), step.name),
    };
    let code = some(refusal, step.name).code;
    assert!(step.ends.contains(&code), "{}: {code}", step.name);
    assert_eq!(world.writes(), [], "{}", step.name);
    let row = world.control().row(number);
    assert!(matches!(row.state, ProposalState::Refused | ProposalState::Expired), "{}: {row:?}", step.name);
    // Neither the wall's way back nor a second look makes it whole.
    wall.step(0);
    sleep(Duration::from_millis(1_100));
    assert_eq!(world.control().row(number).state, row.state, "{}", step.name);
    assert_eq!(world.control().audit().broken, None);
    assert_eq!(world.writes(), []);
    stop(&mut world);
}

// How many there are, and the life of the first by the wall and by the boot clock, which must agree.
fn approvals(world: &World) -> (i64, i64) {
    let sql = "SELECT count(*), min(expires_at - created_at), min(expires_boot_ms - created_boot_ms) FROM approvals";
    let found: (i64, i64, i64) =
        must(world.database().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))), "the approvals");
    assert_eq!(found.1 * 1_000, found.2);
    (found.0, found.1)
}

#[test]
fn a_step_of_the_wall_lengthens_no_approvals_life() {
    thread::scope(|scope| {
        for step in &STEPS {
            scope.spawn(move || approved_while_the_wall_steps(step));
        }
    });
}

// A clean stop, and what libfaketime keeps in shared memory for a process goes with it.
fn stop(world: &mut World) {
    let pid = world.executor().pid();
    assert_eq!(world.stop_executor(), Some(0));
    for name in [format!("faketime_shm_{pid}"), format!("sem.faketime_sem_{pid}")] {
        // Mostly gone already.
        let _ = std::fs::remove_file(Path::new("/dev/shm").join(name));
    }
}

#[test]
fn libfaketime_moves_the_wall_and_leaves_the_boot_clock() {
    let mut world = World::builder().without_assistant().start();
    let wall = under_a_wall_that_steps(&mut world);
    let before = world.control().status().uptime_seconds;
    wall.step(DAY);
    sleep(Duration::from_millis(1_100));
    let after = world.control().status().uptime_seconds;
    assert!((1..60).contains(&(after - before)), "the boot clock went from {before} s to {after} s");
    stop(&mut world);
}
