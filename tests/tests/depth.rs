//! How many calls stand one behind the other (`seed 000, Flow`; `architecture.md, Reads`): at most two before a card, at most
//! three from the yes to the write, whatever the size of the fleet. Calls that are under way at the same time count once;
//! greetings do not count.
//!
//! A proxy before the fleet keeps each `tools/call` for a while, so that only calls which waited for another's answer arrive
//! after it has left. Over TLS the proxy stands behind the front, where the calls are plain again.

use fleetwatch_tests::world::{Builder, Fate, READING, TlsFront, World, must, recording, some, units};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use serde_json::{Value, json};
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

/// Where a person says yes.
#[derive(Debug, Clone, Copy)]
enum Surface {
    Page,
    /// The page's second step, where the room is typed.
    PageWithRoom,
    Terminal,
}

// One change from its proposal to its outcome, each part with its depth.
#[track_caller]
fn run(world: &World, (tool, arguments): (&str, &Value), surface: Surface) {
    let what = format!("{tool}, {surface:?}");
    let arrivals = watch(world);
    let before = calls_at_the_fleet(world);
    let number = must(world.propose(&format!("agent-{}", world.writes().len()), tool, arguments), &what);
    let (intake, names) = depth(&arrivals);
    assert!((1..=2).contains(&intake), "{what}, intake: {intake} of {names:?}");
    let mut calls = names.len();

    let (card, write) = match surface {
        Surface::Page => on_the_page(world, number, &arrivals),
        Surface::PageWithRoom => on_the_second_page(world, number, &arrivals, &mut calls),
        Surface::Terminal => at_a_terminal(world, number, &arrivals),
    };
    assert!((1..=2).contains(&card.0), "{what}, before the card: {} of {:?}", card.0, card.1);
    let (_, names) = &write;
    let place = some(names.iter().position(|name| name == tool), "the write");
    assert_eq!(names.iter().filter(|name| *name == tool).count(), 1, "{what}: {names:?}");
    // Behind the write there is the one read-back, its reads side by side.
    let until_the_write = write.0 - usize::from(place + 1 < names.len());
    assert!((1..=3).contains(&until_the_write), "{what}, from yes to write: {until_the_write} of {names:?}");
    calls += card.1.len() + names.len();
    assert_eq!(calls_at_the_fleet(world) - before, calls, "{what}: the fleet itself saw as many");
    assert_eq!(world.state_of(number), ProposalState::Ok, "{what}");
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

// The first yes renders a page like a card; the run begins with the second.
fn on_the_second_page(world: &World, number: ProposalNumber, arrivals: &Arrivals, calls: &mut usize) -> (Depth, Depth) {
    let room = must(world.control().show(number), "its card").facts.confirm;
    *calls += depth(arrivals).1.len();
    let page = world.page();
    let form = some(page.get(&format!("/card/{number}")).form("/approve"), "a form");
    let card = depth(arrivals);
    sleep(READING);
    let answer = page.submit("/approve", &form);
    let mut form = some(answer.form("/confirm"), "the second page");
    let second = depth(arrivals);
    assert!((1..=2).contains(&second.0), "before the second page: {} of {:?}", second.0, second.1);
    *calls += second.1.len();
    form.insert("confirm".to_owned(), some(room, "the room's name"));
    assert_eq!(page.submit("/confirm", &form).status, 303);
    (card, depth(arrivals))
}

// A room with a CMS and one without; a stream, which reads the destinations too; a disruptive change with its second page.
fn holds_for(world: &World) {
    run(world, (RECORD, &recording("start", &world.room("Hall A"), 1)), Surface::Terminal);
    run(world, (RECORD, &recording("start", &world.room("Courtroom 1"), 1)), Surface::Page);
    let stream = world.sim.state()["streams"][2]["StreamID"].clone();
    let to_stream = json!({ "stream_id": stream, "device_id": world.room("Chapel"), "channel_id": "1" });
    run(world, ("start_stream_endpoint", &to_stream), Surface::Page);
    run(world, ("batch_reboot", &units(&world.room("Courtroom 4"))), Surface::PageWithRoom);
    assert_eq!(world.writes().len(), 4);
}

fn plain(builder: Builder) -> World {
    builder.without_assistant().with_proxies().start()
}

/// Four rooms: five thousand ids are no setting that anybody writes.
const FENCE: [&str; 4] = ["Hall A", "Courtroom 1", "Chapel", "Courtroom 4"];

#[test]
fn two_calls_before_a_card_and_three_to_the_write_with_thirty_rooms() {
    holds_for(&plain(World::builder()));
}

#[test]
fn two_calls_before_a_card_and_three_to_the_write_with_five_thousand_rooms() {
    holds_for(&plain(World::builder().rooms(5_000).fence_rooms(&FENCE)));
}

#[test]
fn two_calls_before_a_card_and_three_to_the_write_over_tls_with_five_thousand_rooms() {
    let front = TlsFront::start();
    let builder = World::builder()
        .rooms(5_000)
        .fence_rooms(&FENCE)
        .slot("sandbox")
        .executor_setting("FLEETWATCH_EPIPHAN_MCP_URL", &front.url())
        .executor_setting("SSL_CERT_FILE", &front.file("ca.pem").display().to_string());
    let world = plain(builder);
    front.lead_to(some(world.proxies.as_ref(), "the proxies").0.address());
    holds_for(&world);
}
