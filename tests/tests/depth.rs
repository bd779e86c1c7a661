//! How many calls stand one behind the other (`seed 000, Flow`; `architecture.md, Reads`): at most two before a card, at most
//! three from the yes to the write, whatever the size of the fleet. Calls that are under way at the same time count once;
//! greetings do not count.
//!
//! A proxy before the fleet keeps each `tools/call` for a while, so that only calls which waited for another's answer arrive
//! after it has left. http only: the executor trusts the machine's own roots and no other, so a TLS front with a certificate
//! of this test is no fleet to it. The depth is decided above the connection, which is the same there.

use fleetwatch_tests::world::{Builder, Fate, READING, World, must, recording, some};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Much longer than calls of one moment need to leave one after the other.
const KEPT: Duration = Duration::from_millis(250);
const RECORD: &str = "batch_recording";

/// When each `tools/call` arrived, and which tool it called.
type Arrivals = Arc<Mutex<Vec<(Instant, String)>>>;

#[expect(clippy::disallowed_methods, reason = "a stop watch of a test")]
fn watch(world: &World) -> Arrivals {
    let arrivals = Arrivals::default();
    let noted = Arc::clone(&arrivals);
    some(world.proxies.as_ref(), "the proxies").0.rule(move |seen| {
        let Some((_, rest)) = seen.body.split_once(r#""method":"tools/call""#) else { return Fate::Pass };
        let name =
            rest.split_once(r#""name":""#).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(name, _)| name);
        noted.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), name.to_owned()));
        Fate::PassAfter(KEPT)
    });
    arrivals
}

// The most calls of which each arrived after the one before had left, and all their names.
fn depth(arrivals: &Arrivals) -> (usize, Vec<String>) {
    let mut found = std::mem::take(&mut *arrivals.lock().unwrap_or_else(PoisonError::into_inner));
    found.sort();
    let (mut depth, mut left) = (0, None);
    for (arrived, _) in &found {
        if left.is_none_or(|left| *arrived >= left) {
            depth += 1;
            left = Some(*arrived + KEPT);
        }
    }
    (depth, found.into_iter().map(|(_, name)| name).collect())
}

fn calls_at_the_fleet(world: &World) -> usize {
    world.sim_log().len()
}

// One change from its proposal to its outcome, each part with its depth.
#[track_caller]
fn run(world: &World, room: &str, by_page: bool) {
    let arrivals = watch(world);
    let before = calls_at_the_fleet(world);
    let asked = world.propose(&format!("agent-{}", room.len()), RECORD, &recording("start", &world.room(room), 1));
    let number = must(asked, room);
    let (intake, names) = depth(&arrivals);
    assert!((1..=2).contains(&intake), "{room}, intake: {intake} of {names:?}");
    let mut calls = names.len();

    let (card, write) =
        if by_page { on_the_page(world, number, &arrivals) } else { at_a_terminal(world, number, &arrivals) };
    assert!((1..=2).contains(&card.0), "{room}, before the card: {} of {:?}", card.0, card.1);
    let (_, names) = &write;
    let place = some(names.iter().position(|name| name == RECORD), "the write");
    assert_eq!(names.iter().filter(|name| *name == RECORD).count(), 1, "{room}: {names:?}");
    // Behind the write there is the one read-back.
    let until_the_write = write.0 - usize::from(place + 1 < names.len());
    assert!((1..=3).contains(&until_the_write), "{room}, from yes to write: {until_the_write} of {names:?}");
    calls += card.1.len() + names.len();
    assert_eq!(calls_at_the_fleet(world) - before, calls, "{room}: the fleet itself saw as many");
    assert_eq!(world.state_of(number), ProposalState::Ok, "{room}");
}

type Depth = (usize, Vec<String>);

fn at_a_terminal(world: &World, number: ProposalNumber, arrivals: &Arrivals) -> (Depth, Depth) {
    let mut operator = world.control();
    let shown = must(operator.show(number), "a card");
    let card = depth(arrivals);
    sleep(READING);
    must(operator.decide(operator.yes_to(&shown)), "the yes");
    (card, depth(arrivals))
}

fn on_the_page(world: &World, number: ProposalNumber, arrivals: &Arrivals) -> (Depth, Depth) {
    let page = world.page();
    let form = some(page.get(&format!("/card/{number}")).form("/approve"), "a form");
    let card = depth(arrivals);
    sleep(READING);
    assert_eq!(page.submit("/approve", &form).status, 303);
    (card, depth(arrivals))
}

// A room with a CMS and one without.
fn holds_for(builder: Builder) {
    let world = builder.without_assistant().with_proxies().start();
    run(&world, "Hall A", false);
    run(&world, "Courtroom 1", true);
    assert_eq!(world.writes().len(), 2);
}

#[test]
fn two_calls_before_a_card_and_three_to_the_write_with_thirty_rooms() {
    holds_for(World::builder());
}

#[test]
fn two_calls_before_a_card_and_three_to_the_write_with_five_thousand_rooms() {
    // The fence is two rooms: five thousand ids are no setting that anybody writes.
    holds_for(World::builder().rooms(5_000).fence_rooms(&["Hall A", "Courtroom 1"]));
}
