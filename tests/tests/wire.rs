//! The one write on the wire (`seed 000, Flow 6`): whatever the other end does, exactly one `tools/call` leaves, and what is
//! not a plain answer is `unknown`, final, and never tried again.

use fleetwatch_tests::world::{Fate, READING, Seen, World, code_of, must, recording, some, until};
use protocol::ids::ProposalNumber;
use protocol::propose::{News, ProposalState};
use protocol::refusal::{Refusal, RefusalCode as Code};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

const RECORD: &str = "batch_recording";
// Stands for the row's own unit, and is as long.
const UNIT: &str = "UUUUUUUUUUU";
const ROOMS: [&str; 10] = [
    "Hall A",
    "Chapel",
    "Courtroom 1",
    "Courtroom 4",
    "Lecture Theatre 1",
    "Lecture Theatre 2",
    "Seminar Room 3",
    "Medical Theatre",
    "City Council Chamber",
    "Seminar Room 5",
];

// Proposes a start in each room, three at a time, and approves each after `before` has set the stage for its row.
#[track_caller]
fn approve_each<Row>(
    world: &World,
    rows: &[Row],
    before: impl Fn(&Row, &str),
    after: impl Fn(&Row, usize, &str, &Result<News, Refusal>),
) {
    assert!(rows.len() <= ROOMS.len(), "each row has a room of its own");
    let mut operator = world.control();
    let numbered: Vec<_> = rows.iter().zip(ROOMS).enumerate().collect();
    for batch in numbered.chunks(3) {
        let proposed = batch.iter().map(|(place, (_, name))| {
            let change = recording("start", &world.room(name), 1);
            must(world.propose(&format!("agent-{place}"), RECORD, &change), name)
        });
        let numbers: Vec<_> = proposed.collect();
        let cards: Vec<_> = numbers.iter().map(|number| must(operator.show(*number), "a card")).collect();
        sleep(READING);
        for ((place, (row, name)), card) in batch.iter().zip(&cards) {
            before(row, name);
            let ended = operator.decide(operator.yes_to(card));
            after(row, *place, name, &ended);
            assert_eq!(code_of(operator.decide(operator.yes_to(card))), Code::NotWaiting);
            assert_eq!(code_of(operator.deny(card.facts.number)), Code::NotWaiting, "it is final");
        }
    }
}

#[test]
fn whatever_happens_to_the_answer_one_call_left_and_the_outcome_is_unknown() {
    let world = World::builder().without_assistant().start();
    let rows = [
        ("executes-then-closes", "closed before an answer", true),
        ("executes-then-404", "the session is gone", true),
        ("executes-then-401", "the sign-in is not valid", true),
        ("executes-then-502", "a server error", true),
        ("malformed-json", "not JSON", true),
        ("redirects-307", "a redirect, which is never followed", false),
        ("input-required", "asked a question", false),
    ];
    approve_each(
        &world,
        &rows,
        |(fault, ..), _| world.sim_set(&json!({ "fault": fault, "once": false })),
        |(fault, words, executed), place, name, ended| {
            let Ok(news) = ended else { return must(Err(format!("{ended:?}")), fault) };
            assert_eq!((news.state, &news.refusal), (ProposalState::Unknown, &None), "{fault}: {news:?}");
            assert!(news.detail.contains(words), "{fault}: {news:?}");
            // The read-back tells what the answer did not.
            let word = if *executed { "recording" } else { "stopped" };
            assert!(news.detail.contains(&format!("read back: channel 1 is {word}")), "{fault}: {news:?}");
            let writes = world.writes();
            assert_eq!(writes.len(), place + 1, "{fault}: exactly one more");
            let last = some(writes.last(), "the write");
            assert_eq!((last.tool.as_str(), &last.arguments), (RECORD, &recording("start", &world.room(name), 1)));
        },
    );
    let rows = world.control().history();
    assert!(rows.iter().all(|row| row.state == ProposalState::Unknown), "{rows:?}");
    assert_eq!(world.writes().len(), 7);
    assert_eq!(world.control().audit().broken, None);
}

#[test]
fn an_answer_that_never_comes_is_unknown_after_a_minute_and_holds_nobody_up() {
    let world = World::builder().without_assistant().fault("stalls").start();
    let numbers: Vec<_> = ["Hall A", "Chapel", "Courtroom 1"]
        .iter()
        .map(|name| must(world.propose("agent", RECORD, &recording("start", &world.room(name), 1)), name))
        .collect();
    std::thread::scope(|scope| {
        let stalled = scope.spawn(|| world.approve(numbers[0]));
        until(SOON, "the write", || (world.writes().len() == 1).then_some(()));
        // A no is always possible; a second yes is refused rather than run late.
        must(world.control().deny(numbers[1]), "a no");
        assert_eq!(code_of(world.approve(numbers[2])), Code::RunBusy);
        assert_eq!(world.state_of(numbers[2]), ProposalState::Pending);
        let news = must(must(stalled.join().map_err(|_| "it panicked"), "the run"), "its outcome");
        assert_eq!(news.state, ProposalState::Unknown);
        assert!(news.detail.contains("no answer within 60 s"), "{news:?}");
    });
    assert_eq!(world.writes().len(), 1);
}

fn http(kind: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn result(content: &str) -> String {
    http("application/json", &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{content}}}"#))
}

fn is_write(seen: &Seen) -> bool {
    seen.body.contains(r#""method":"tools/call""#) && seen.body.contains(r#""name":"batch_"#)
}

fn writes_seen(world: &World) -> usize {
    some(world.proxies.as_ref(), "the proxies").0.seen().iter().filter(|seen| is_write(seen)).count()
}

// The next write meets this fate.
fn write_meets(world: &World, fate: &Fate) {
    let fate = fate.clone();
    some(world.proxies.as_ref(), "the proxies")
        .0
        .rule(move |seen| if is_write(seen) { fate.clone() } else { Fate::Pass });
}

#[test]
fn an_answer_that_is_not_understood_is_unknown_and_a_devices_words_are_an_error() {
    let world = World::builder().without_assistant().with_proxies().start();
    let event = r#"{"jsonrpc":"2.0","id":2,"result":{"structuredContent":{}}}"#;
    let rows = [
        (result(r#"{"content":[{"type":"text","text":"Done."}]}"#), ProposalState::Unknown, "text where data"),
        (
            result(r#"{"isError":true,"content":[{"type":"text","text":"401 Unauthorized"}]}"#),
            ProposalState::Unknown,
            "sign-in",
        ),
        (result(r#"{"structuredContent":["ok"]}"#), ProposalState::Unknown, "not a map"),
        (
            http("application/json", r#"{"jsonrpc":"2.0","id":7,"result":{}}"#),
            ProposalState::Unknown,
            "another question",
        ),
        (
            http("application/json", r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no"}}"#),
            ProposalState::Unknown,
            "protocol error",
        ),
        (
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{event}"),
            ProposalState::Unknown,
            "closed",
        ),
        (http("text/event-stream", &format!("data: {event}\n\n")), ProposalState::Ok, "read back"),
        (
            result(
                r#"{"structuredContent":{"UUUUUUUUUUU-1":"Unit is busy, Bearer abcdefghijklmnopqrstuvwxyz012345"}}"#,
            ),
            ProposalState::Error,
            "Unit is busy",
        ),
        (result(r#"{"structuredContent":{"20301000003-2":"Busy"}}"#), ProposalState::Unknown, "own target"),
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), ProposalState::Unknown, "unexpected status"),
    ];
    approve_each(
        &world,
        &rows,
        |(answer, ..), name| write_meets(&world, &Fate::Answer(answer.replace(UNIT, &world.room(name)))),
        |(answer, state, words), place, _, ended| {
            let Ok(news) = ended else { return must(Err(format!("{ended:?}")), answer) };
            assert_eq!(news.state, *state, "{answer}: {news:?}");
            assert!(news.detail.contains(words), "{answer}: {news:?}");
            assert!(news.detail.contains("read back: channel 1 is stopped"), "{answer}: a write left: {news:?}");
            assert!(!news.detail.contains("abcdefghijklmnopqrstuvwxyz"), "{news:?}");
            assert_eq!(writes_seen(&world), place + 1, "{answer}: exactly one more");
        },
    );
    assert_eq!(world.writes(), [], "the fleet itself never saw one");
}

// One proposal that is ready to be approved.
#[track_caller]
fn ready(world: &World) -> (ProposalNumber, control::message::Approve, fleetwatch_tests::world::ControlClient) {
    let number = must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
    let mut operator = world.control();
    let card = must(operator.show(number), "a card");
    sleep(READING);
    (number, operator.yes_to(&card), operator)
}

#[test]
fn a_connection_that_dies_before_the_write_is_a_refusal() {
    let world = World::builder().without_assistant().with_proxies().start();
    let (number, yes, mut operator) = ready(&world);
    // The reads have their session; the next greeting is the write's own.
    let closed = Arc::new(AtomicBool::new(false));
    let seen_closed = Arc::clone(&closed);
    some(world.proxies.as_ref(), "the proxies").0.rule(move |seen| {
        let greeted = seen.body.contains("notifications/initialized");
        if greeted && !seen_closed.swap(true, Ordering::SeqCst) { Fate::CloseAfterAnswer } else { Fate::Pass }
    });
    let news = must(operator.decide(yes.clone()), "the yes");
    assert!(closed.load(Ordering::SeqCst));
    let found = (news.state, news.refusal.map(|refusal| refusal.code));
    assert_eq!(found, (ProposalState::Refused, Some(Code::ConnectionLost)));
    assert_eq!((world.writes().len(), writes_seen(&world)), (0, 0));
    assert_eq!(code_of(operator.decide(yes)), Code::NotWaiting, "the approval is spent all the same");
    assert_eq!(world.state_of(number), ProposalState::Refused);
}

#[test]
fn a_connection_that_dies_with_the_write_on_it_is_unknown() {
    let world = World::builder().without_assistant().with_proxies().start();
    let fates = [Fate::Reset, Fate::Close];
    approve_each(
        &world,
        &fates,
        |fate, _| write_meets(&world, fate),
        |fate, place, _, ended| {
            let Ok(news) = ended else { return must(Err(format!("{ended:?}")), "the yes") };
            assert_eq!(news.state, ProposalState::Unknown, "{fate:?}: {news:?}");
            assert_eq!(writes_seen(&world), place + 1, "{fate:?}: nothing tried again");
        },
    );
    assert_eq!(world.writes(), []);
}

#[test]
fn without_a_session_for_the_write_nothing_is_decided() {
    let world = World::builder().without_assistant().with_proxies().start();
    let (number, yes, mut operator) = ready(&world);
    let fleet = &some(world.proxies.as_ref(), "the proxies").0;
    fleet.rule(|seen| if seen.body.contains(r#""method":"initialize""#) { Fate::Close } else { Fate::Pass });
    assert_eq!(code_of(operator.decide(yes.clone())), Code::ConnectionLost);
    assert_eq!(world.state_of(number), ProposalState::Pending);
    fleet.rule(|_| Fate::Pass);
    assert_eq!(must(operator.decide(yes), "the same yes").state, ProposalState::Ok);
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn the_call_is_the_canonical_bytes_alone_on_its_connection() {
    let world = World::builder().without_assistant().with_proxies().start();
    let hall = world.room("Hall A");
    // Blanks, order and escapes are the drafter's; what is sent is ours.
    let loose = format!("{{ \"device_ids\" : [ \"{hall}\\u002d1\" ],\n \"\\u0061ction\": \"start\" }}");
    let mut turn = world.turn("a");
    let number = must(turn.draft(fleetwatch_tests::world::draft(RECORD, loose.as_bytes(), "why")), "a proposal");
    turn.end();
    assert_eq!(must(world.approve(number), "the yes").state, ProposalState::Ok);
    let seen = some(world.proxies.as_ref(), "the proxies").0.seen();
    let write = some(seen.iter().find(|seen| is_write(seen)), "the write");
    let canonical = format!(r#"{{"action":"start","device_ids":["{hall}-1"]}}"#);
    let body = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"batch_recording","arguments":"#;
    assert_eq!(write.body, format!("{body}{canonical}}}}}"));
    let stored: String = must(
        world.database().query_row("SELECT arguments FROM proposals", [], |row| row.get(0)),
        "the stored arguments",
    );
    assert_eq!(stored, canonical);
    // Greeting, ready, call: nothing else ever went over that connection.
    let alone: Vec<_> = seen.iter().filter(|other| other.connection == write.connection).collect();
    let methods: Vec<_> = alone.iter().map(|seen| some(seen.body.split("\"method\":\"").nth(1), "a method")).collect();
    let methods: Vec<_> = methods.iter().map(|rest| rest.split('"').next().unwrap_or_default()).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"]);
    assert!(write.head.starts_with("POST /mcp HTTP/1.1"), "{}", write.head);
    assert_eq!(world.writes().len(), 1);
}

// An event stream that is announced as endless and breaks off behind these bytes.
fn broken_stream(events: &str) -> Fate {
    let chunk = format!("{:x}\r\n{events}\r\n", events.len());
    Fate::Answer(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{chunk}"
    ))
}

// Nobody takes a broken stream up again: an event's id invites that, and a second call would be a second write.
#[test]
fn a_stream_that_breaks_off_and_a_server_error_are_unknown_and_never_asked_again() {
    let world = World::builder().without_assistant().with_proxies().start();
    let half = r#"{"jsonrpc":"2.0","id":2,"result":{"structuredContent":"#;
    let error = |status: &str| Fate::Answer(format!("HTTP/1.1 {status}\r\ncontent-length: 3\r\n\r\nno\n"));
    let rows = [
        ("without a byte", broken_stream(": ok\n\n")),
        ("behind an event id", broken_stream("id: 7\nretry: 1\ndata:\n\n")),
        ("behind an id, within the answer", broken_stream(&format!("id: 7\ndata: {half}"))),
        ("without an id, within the answer", broken_stream(&format!("data: {half}"))),
        (
            "behind a notification",
            broken_stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"),
        ),
        ("502", error("502 Bad Gateway")),
        ("503 with a time to come back", error("503 Service Unavailable\r\nretry-after: 0")),
    ];
    approve_each(
        &world,
        &rows,
        |(_, fate), _| write_meets(&world, fate),
        |(what, _), place, _, ended| {
            let Ok(news) = ended else { return must(Err(format!("{ended:?}")), what) };
            assert_eq!((news.state, &news.refusal), (ProposalState::Unknown, &None), "{what}: {news:?}");
            assert!(news.detail.contains("read back: channel 1 is stopped"), "{what}: {news:?}");
            assert_eq!(writes_seen(&world), place + 1, "{what}: exactly one more");
        },
    );
    let seen = some(world.proxies.as_ref(), "the proxies").0.seen();
    let resumed =
        |seen: &&Seen| seen.head.starts_with("GET ") || seen.head.to_ascii_lowercase().contains("last-event-id");
    assert_eq!(seen.iter().filter(resumed).count(), 0, "no stream is taken up again");
    let of_writes: Vec<_> = seen.iter().filter(|seen| is_write(seen)).map(|seen| seen.connection).collect();
    for connection in of_writes {
        let last = seen.iter().rfind(|seen| seen.connection == connection);
        assert!(last.is_some_and(is_write), "nothing follows the write on its connection");
    }
    assert_eq!(world.writes(), [], "the fleet itself never saw one");
}
