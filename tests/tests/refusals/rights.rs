//! Rights that go while somebody is inside (issue line 2.9). The list of operators is read at the start; what changes while
//! the executor runs is a person's PIN, and a session that an older PIN opened is nobody's any more.

use super::{propose_all, read_all};
use fleetwatch_tests::world::{Answer, Fate, READING, World, code_of, must, recording, some, until};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode as Code;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

const RECORD: &str = "batch_recording";
const NEW_PIN: &str = "another-pin-of-theirs";
const SOON: Duration = Duration::from_secs(10);

#[track_caller]
fn still_waits(world: &World, number: ProposalNumber) {
    assert_eq!((world.state_of(number), world.writes().len()), (ProposalState::Pending, 0));
}

#[track_caller]
fn one(world: &World) -> ProposalNumber {
    propose_all(world, &[(RECORD, recording("start", &world.room("Hall A"), 1))])[0]
}

#[test]
fn a_page_session_of_an_older_pin_is_nobodys_and_its_forms_decide_nothing() {
    let world = World::builder().without_assistant().start();
    let number = one(&world);
    let page = world.page();
    let card = page.get(&format!("/card/{number}"));
    let forms = ["/approve", "/deny", "/logout"].map(|path| (path, some(card.form(path), path)));
    sleep(READING);
    must(world.control().set_pin(Some(world.pin()), NEW_PIN), "a new PIN");
    for (path, form) in &forms {
        let answer = page.submit(path, form);
        assert!(answer.status == 403 && !answer.body.contains("Hall A"), "{path}: {}", answer.body);
    }
    for path in ["/history".to_owned(), format!("/card/{number}"), format!("/outcome/{number}")] {
        let answer = page.get(&path);
        assert!(answer.status == 403 && !answer.body.contains("Hall A"), "{path}: {}", answer.body);
    }
    still_waits(&world, number);
    // The new PIN opens a session of its own, and the old one none.
    let mut browser = world.stranger_page();
    assert_eq!(browser.log_in(&world.page_secret(), world.pin()).status, 403);
    assert_eq!(browser.log_in(&world.page_secret(), NEW_PIN).status, 303);
    assert_eq!(browser.get("/history").status, 200);
}

#[test]
fn a_yes_on_control_sock_needs_the_pin_of_now() {
    let world = World::builder().without_assistant().start();
    let numbers = [one(&world)];
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    must(world.control().set_pin(Some(world.pin()), NEW_PIN), "a new PIN");
    assert_eq!(code_of(operator.decide(operator.yes_to(&cards[0]))), Code::WrongPin);
    still_waits(&world, numbers[0]);
}

// Holds the fleet's answers to a yes, changes the PIN meanwhile, and lets go.
#[track_caller]
fn between<T: Send>(world: &World, click: impl FnOnce() -> T + Send) -> T {
    let (fleet, _) = some(world.proxies.as_ref(), "a proxy");
    let held = Arc::new(AtomicUsize::new(0));
    let counted = held.clone();
    fleet.rule(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Fate::Hold
    });
    scope(|threads| {
        let clicked = threads.spawn(click);
        until(SOON, "a read of the fleet", || (held.load(Ordering::SeqCst) > 0).then_some(()));
        must(world.control().set_pin(Some(world.pin()), NEW_PIN), "a new PIN");
        fleet.release();
        must(clicked.join().map_err(|_| "it panicked"), "the click")
    })
}

#[test]
fn a_right_that_goes_between_click_and_decision_decides_nothing() {
    let world = World::builder().without_assistant().with_proxies().start();
    let number = one(&world);
    let page = world.page();
    let form = some(page.get(&format!("/card/{number}")).form("/approve"), "a form that approves");
    sleep(READING);
    let answer: Answer = between(&world, || page.submit("/approve", &form));
    assert!(answer.status == 409 && answer.header("location").is_none(), "{}: {}", answer.status, answer.body);
    still_waits(&world, number);
    let rows = world.audit("approval_refused");
    assert!(
        matches!(rows.as_slice(), [(_, surface, detail)] if surface == "page" && detail["code"] == "not_permitted"),
        "{rows:?}"
    );
    assert_eq!(world.audit("approval").len(), 0);

    let world = World::builder().without_assistant().with_proxies().start();
    let numbers = [one(&world)];
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    let yes = operator.yes_to(&cards[0]);
    assert_eq!(code_of(between(&world, || operator.decide(yes))), Code::NotPermitted);
    still_waits(&world, numbers[0]);
    assert_eq!(world.audit("approval").len(), 0);
}

#[test]
fn a_yes_that_is_looked_at_while_the_executor_stops_runs_nothing() {
    let mut world = World::builder().without_assistant().with_proxies().start();
    let number = one(&world);
    let mut operator = world.control();
    let card = read_all(&mut operator, &[number]).remove(0);
    let yes = operator.yes_to(&card);
    let held = Arc::new(AtomicUsize::new(0));
    let counted = held.clone();
    some(world.proxies.as_ref(), "a proxy").0.rule(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Fate::Hold
    });
    let socket = world.folder().join("run/control/control.sock");
    scope(|threads| {
        let clicked = threads.spawn(move || operator.decide(yes));
        until(SOON, "a read of the fleet", || (held.load(Ordering::SeqCst) > 0).then_some(()));
        world.executor().signal("TERM");
        let closed = || std::os::unix::net::UnixStream::connect(&socket).is_err().then_some(());
        until(SOON, "an executor that takes nobody in", closed);
        some(world.proxies.as_ref(), "a proxy").0.release();
        // Told, or hung up on: the process may be gone before the word is out.
        if let Ok(Ok(news)) = clicked.join() {
            let _: () = must(Err(format!("{news:?}")), "a yes while stopping");
        }
    });
    assert_eq!(world.stop_executor(), Some(0));
    assert_eq!(world.writes(), []);
    world.start_executor();
    assert_eq!(world.audit("approval").len(), 0);
    assert_eq!(world.state_of(number), ProposalState::ExpiredSeen);
}
