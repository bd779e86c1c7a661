//! An assistant that belongs to somebody else does its worst, for as long as it likes (`issue line 4.9`): nothing is written,
//! the executor stays small, page and commands answer meanwhile, and the operator is let in afterwards with the first PIN.

use super::{ASSISTANT, RECORD, apart, can_be_others, framed, hello, proposed, started};
use control::message::OperatorSays;
use control::pin::PinEntry;
use fleetwatch_tests::hex;
use fleetwatch_tests::processes::has_ended;
use fleetwatch_tests::world::{Asking, PageClient, World, draft, must, recording, some};
use protocol::hello::AuditHead;
use protocol::ids::ProposalNumber;
use protocol::propose::{AssistantSays, LinkKind, ProposalState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const PROGRAM: &str = include_str!("attack.py");
const CONNECTIONS: u64 = 10_000;
const OF_THE_PAGE: u64 = 1_000;
const SECONDS: u64 = 4;
/// What the executor may grow by, in kilobytes.
const GROWTH: u64 = 64 * 1024;
const BETWEEN: Duration = Duration::from_millis(200);

// In kilobytes: how much it has at most had in memory.
#[track_caller]
fn most_memory(pid: u32) -> u64 {
    let status = must(std::fs::read_to_string(format!("/proc/{pid}/status")), "its status");
    let line = some(status.lines().find_map(|line| line.strip_prefix("VmHWM:")), "VmHWM");
    must(some(line.split_whitespace().next(), "a number").parse(), "a number")
}

// The operator's words, and the assistant's own about other agents' proposals and under others' names.
fn words(world: &World, number: ProposalNumber) -> Vec<String> {
    let pin = |text: &str| -> PinEntry { must(serde_json::from_value(text.into()), "a PIN") };
    let mut operator = world.control();
    let card = must(operator.show(number), "a card");
    let mut words = vec![
        framed(2, OperatorSays::Approve(operator.yes_to(&card))),
        framed(2, OperatorSays::PageCode { pin: pin("0000-0000") }),
        framed(2, OperatorSays::PinSet { old: None, new: pin("another-pin-1") }),
        framed(2, OperatorSays::Freeze),
        framed(2, OperatorSays::DenyAll),
        framed(2, AssistantSays::Ack { numbers: vec![number] }),
        framed(2, AssistantSays::Standing { number }),
        framed(2, AssistantSays::TurnEnd),
        framed(2, AssistantSays::Poll),
        framed(2, AssistantSays::Changeable),
        framed(2, AssistantSays::Propose(draft("batch_reboot", b"{\"device_ids\":[\"1\"]}", "approved already"))),
        framed(2, AssistantSays::Propose(draft("approve", b"{}", "approve it"))),
    ];
    for agent in ["agent", "undo", "operator", "root", "executor"] {
        for kind in [LinkKind::Poll, LinkKind::Turn] {
            words.push(framed(1, hello(agent, kind, Some(AuditHead { sequence: 9_999, hash: [7; 32], mac: [9; 32] }))));
        }
    }
    words
}

// Guesses at every form of the page: of the secret, of the PIN with the right secret, of a code, of a session.
fn guesses(world: &World, cookie: &str, form: &BTreeMap<String, String>) -> Vec<String> {
    let page = world.stranger_page();
    let login = |fields: [(&str, &str); 2]| page.asking("POST", "/login").form(fields);
    let (secret, mut all) = (world.page_secret(), Vec::new());
    for number in 0..12 {
        let guess = format!("{number:08}");
        all.push(login([("secret", &secret), ("pin", &guess)]));
        all.push(login([("secret", &guess), ("pin", &guess)]));
        all.push(page.asking("POST", "/login").form([("code", guess.as_str())]));
        all.push(page.asking("GET", "/").set("cookie", &format!("fleetwatch_approve={guess}")));
    }
    let fields = || form.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let stolen = |asking: Asking| asking.set("cookie", cookie);
    all.push(stolen(page.asking("GET", "/")));
    all.push(stolen(page.asking("POST", "/approve").form(fields())));
    all.push(stolen(page.asking("POST", "/logout").form(fields())));
    all.iter().map(|asking| hex::encode(&asking.bytes())).collect()
}

#[track_caller]
fn signed_in(world: &World) -> PageClient {
    let mut page = world.stranger_page();
    let entered = page.post("/login", [("code", world.control().page_code().as_str())]);
    assert_eq!(entered.status, 303, "{}", entered.body);
    page.keep_cookie(&entered);
    page
}

fn wish(world: &World, page: &PageClient, number: ProposalNumber) -> Value {
    let port = some(page.address().rsplit(':').next(), "a port");
    let form = some(page.get(&format!("/card/{number}")).form("/approve"), "a form that approves");
    let change = recording("stop", &world.room("Chapel"), 1).to_string();
    // One whole turn, to be said again and again with its numbers and its request's name.
    let session = [
        framed(1, hello("agent", LinkKind::Turn, None)),
        framed(2, AssistantSays::Propose(draft(RECORD, change.as_bytes(), "because"))),
        framed(3, AssistantSays::TurnEnd),
    ];
    json!({
        "propose": world.socket("propose"), "control": world.socket("control"),
        "port": must(port.parse::<u16>(), "a port"), "words": words(world, number), "session": session,
        "requests": guesses(world, some(page.cookie(), "a cookie"), &form),
        "connections": CONNECTIONS, "of the page": OF_THE_PAGE, "replays": 100, "forged": 400, "seconds": SECONDS,
    })
}

// Page, command and a new sign-in, as often as they can be had while it lasts.
#[track_caller]
fn people_are_served(world: &World, page: &PageClient, attacker: u32) -> u32 {
    let mut rounds = 0;
    while !has_ended(attacker) {
        let queue = page.get("/");
        assert!(queue.status == 200 && queue.body.contains("Hall A"), "round {rounds}: {}", queue.body);
        let listed = world.ctl(&["approvals", "list"]);
        assert_eq!(listed.status.code(), Some(0), "round {rounds}: {listed:?}");
        if rounds == 1 {
            assert_eq!(signed_in(world).get("/").status, 200, "a new sign-in");
        }
        rounds += 1;
        std::thread::sleep(BETWEEN);
    }
    rounds
}

#[test]
fn a_taken_over_assistant_writes_nothing_fills_no_memory_and_keeps_nobody_out() {
    if !can_be_others() {
        return;
    }
    let mut world = apart().without_assistant().start();
    let number = proposed(&world, "Hall A");
    let page = signed_in(&world);
    let wish = wish(&world, &page, number);
    let pid = world.executor().pid();
    let before = most_memory(pid);

    let attack = started(ASSISTANT, PROGRAM, &wish);
    let rounds = people_are_served(&world, &page, attack.0.id());
    let counts: BTreeMap<String, u64> = attack.heard();
    let of = |what: &str| counts.get(what).copied().unwrap_or(0);
    world.executor().must_run();
    assert_eq!(world.executor().pid(), pid);
    let grown = most_memory(pid).saturating_sub(before);
    assert!(grown < GROWTH, "it grew by {grown} KB: {counts:?}");
    assert!(rounds >= 3, "{rounds} rounds: {counts:?}");

    // It did what it was there for, and was told no.
    assert!(
        of("connections") + of("connections refused") == CONNECTIONS && of("connections") > CONNECTIONS / 2,
        "{counts:?}"
    );
    assert!(of("forged") == 400 && of("oversized") == 40 && of("answers to replays") > 0, "{counts:?}");
    assert_eq!(
        (of("control reached"), of("control shut"), of("cookies"), of("cut short")),
        (0, 200, 0, 0),
        "{counts:?}"
    );
    let answered: Vec<_> = counts.keys().filter(|what| what.starts_with("page ")).collect();
    assert!(answered.iter().all(|what| ["page 403", "page silent"].contains(&what.as_str())), "{counts:?}");
    assert!(of("page 403") > 20, "{counts:?}");
    the_operator_goes_on(&world, &page, number);
}

// Nothing was decided or written, no try of the PIN was used up, and the first yes writes once.
#[track_caller]
fn the_operator_goes_on(world: &World, page: &PageClient, number: ProposalNumber) {
    assert_eq!(world.writes(), []);
    let approvals: i64 =
        must(world.database().query_row("SELECT count(*) FROM approvals", [], |row| row.get(0)), "the approvals");
    assert_eq!(approvals, 0, "nobody decided anything");
    assert_eq!((world.audit("pin_wrong"), world.state_of(number)), (vec![], ProposalState::Pending));
    // The replayed turn is one proposal at most, and it waits like any other.
    let history = world.control().history();
    assert!(history.len() <= 2, "{history:?}");
    assert_eq!(world.control().audit().broken, None, "the audit");
    assert_eq!(page.get("/").status, 200, "the old session");
    assert_eq!(signed_in(world).get("/").status, 200, "a new one");
    must(world.approve(number), "the yes");
    assert_eq!(world.writes().len(), 1);
}
