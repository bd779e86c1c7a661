//! Two hundred races on the real executor (`seed 000, Flow 4`): the page and `control.sock` decide the same proposal at the
//! same moment. One of them wins, the other is told who, and the fleet sees one write where a yes won and none elsewhere.
//! Ten thousand more, with the clock and the withdrawing turn, are raced on the store itself, where no card must be read.

#[path = "races/two_open.rs"]
mod two_open;

use control::card::Card;
use control::message::Approve;
use fleetwatch_tests::world::{Answer, ControlClient, PageClient, READING, World, must, recording, some, until};
use protocol::ids::ProposalNumber;
use protocol::propose::{News, ProposalState};
use protocol::refusal::{Refusal, RefusalCode as Code};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Barrier;
use std::thread::{self, sleep};
use std::time::Duration;

const WORLDS: u64 = 10;
const RACES: usize = 20;
const RECORD: &str = "batch_recording";
/// How a yes that won may end: the unit of a room that records already says that it is busy.
const RAN: [ProposalState; 2] = [ProposalState::Ok, ProposalState::Error];
/// What ran counts towards ten an hour, and three more wait.
const MOST_RUN: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    NoNo,
    PageYesCommandNo,
    PageNoCommandYes,
    YesYes,
}

/// How many of each kind, and of those how many the page won.
type Tally = BTreeMap<Kind, (usize, usize)>;

/// One proposal that two hold a card of.
struct Raced {
    number: ProposalNumber,
    unit: String,
    kind: Kind,
    operator: ControlClient,
    card: Card,
    page: Answer,
}

// Small, and the same numbers at every run.
struct Dice(u64);

impl Dice {
    fn part_of(&mut self, most: Duration) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        most * must(u32::try_from(self.0 >> 44), "a part") / (1 << 20)
    }
}

/// By how long the quicker side waits so that the two meet; every race corrects it.
#[derive(Debug, Clone, Copy)]
struct Handicap(Duration);

impl Handicap {
    fn pick(self, dice: &mut Dice) -> Duration {
        self.0 * 8 / 10 + dice.part_of(self.0 * 4 / 10)
    }

    fn learn(&mut self, slower_won: bool) {
        self.0 = if slower_won { self.0 * 3 / 4 } else { self.0 * 4 / 3 };
    }
}

// Units whose first channel can start to record.
fn idle_units(world: &World) -> VecDeque<String> {
    let state = world.sim.state();
    let devices = some(state["devices"].as_array(), "the devices");
    devices.iter().filter_map(|device| device["Id"].as_str().map(str::to_owned)).collect()
}

#[track_caller]
fn proposed(world: &World, units: &mut VecDeque<String>) -> (ProposalNumber, String) {
    // A room that records already, is away or has no recorder is no race; the next one is asked.
    loop {
        let unit = some(units.pop_front(), "one more unit");
        let asked = until(Duration::from_secs(30), "an allowance", || {
            match world.propose(&format!("agent-{unit}"), RECORD, &recording("start", &unit, 1)) {
                Err(refusal) if refusal.code == Code::TooManyRequests => None,
                answer => Some(answer),
            }
        });
        if let Ok(number) = asked {
            return (number, unit);
        }
    }
}

fn race(world: &World, page: &PageClient, raced: &mut Raced, (wait_page, wait_command): (Duration, Duration)) -> bool {
    let Raced { number, kind, operator, card, .. } = raced;
    let (number, kind) = (*number, *kind);
    let form = |action: &str| some(raced.page.form(action), action);
    let (path, fields) = match kind {
        Kind::NoNo | Kind::PageNoCommandYes => ("/deny", form("/deny")),
        Kind::PageYesCommandNo | Kind::YesYes => ("/approve", form("/approve")),
    };
    let yes: Option<Approve> = match kind {
        Kind::NoNo | Kind::PageYesCommandNo => None,
        Kind::PageNoCommandYes | Kind::YesYes => Some(operator.yes_to(card)),
    };
    let start = Barrier::new(2);
    let (answer, said) = thread::scope(|scope| {
        let on_page = scope.spawn(|| {
            start.wait();
            sleep(wait_page);
            page.submit(path, &fields)
        });
        start.wait();
        sleep(wait_command);
        let said = match yes {
            Some(yes) => operator.decide(yes),
            None => operator.deny(number),
        };
        (some(on_page.join().ok(), "the page's answer"), said)
    });
    judge(world, raced, &answer, &said)
}

// True when the page won.
fn judge(world: &World, raced: &Raced, answer: &Answer, said: &Result<News, Refusal>) -> bool {
    let (number, kind) = (raced.number, raced.kind);
    let row = world.control().row(number);
    let story = format!("{kind:?}: {row:?}; command: {said:?}; page: {} {}", answer.status, answer.body);
    let page_won = answer.status == 303;
    assert_ne!(page_won, said.is_ok(), "exactly one won: {story}");
    if let Err(refusal) = said {
        assert_eq!(refusal.code, Code::NotWaiting, "{story}");
        assert!(refusal.detail.contains("by operator (page)"), "the command is told who: {story}");
    } else {
        assert_eq!(answer.status, 409, "{story}");
        assert!(answer.body.contains("not_waiting"), "{story}");
        assert!(answer.body.contains("by operator (command)"), "the page is told who: {story}");
    }
    let yes_won = match kind {
        Kind::NoNo => false,
        Kind::PageYesCommandNo => page_won,
        Kind::PageNoCommandYes => !page_won,
        Kind::YesYes => true,
    };
    let expected: &[ProposalState] = if yes_won { &RAN } else { &[ProposalState::Denied, ProposalState::Revoked] };
    assert!(expected.contains(&row.state), "{story}");
    assert_eq!(row.surface, if page_won { "page" } else { "command" }, "{story}");
    let writes = world.writes();
    let arguments = recording("start", &raced.unit, 1);
    let mine = writes.iter().filter(|call| call.arguments == arguments).count();
    assert_eq!(mine, usize::from(yes_won), "{story}");
    assert_eq!(steps(world, number), steps_to(row.state), "{story}");
    page_won
}

// What moved the row; a yes that came too late is noted too, and moves nothing.
fn steps(world: &World, number: ProposalNumber) -> Vec<String> {
    let database = world.database();
    let sql = "SELECT kind FROM audit WHERE proposal = ? AND kind NOT IN ('receipt', 'approval_refused')
               ORDER BY sequence";
    let mut statement = must(database.prepare(sql), "the audit");
    let rows =
        must(statement.query_map([must(i64::try_from(number.get()), "a number")], |row| row.get(0)), "the audit");
    must(rows.collect::<Result<_, _>>(), "the audit")
}

fn steps_to(state: ProposalState) -> &'static [&'static str] {
    if RAN.contains(&state) {
        &["proposal", "approval", "consumed", "outcome"]
    } else if state == ProposalState::Revoked {
        &["proposal", "approval", "denial"]
    } else {
        &["proposal", "denial"]
    }
}

fn ready(world: &World, page: &PageClient, units: &mut VecDeque<String>, kind: Kind) -> Raced {
    let (number, unit) = proposed(world, units);
    let mut operator = world.control();
    let card = must(operator.show(number), "a card");
    let shown = page.get(&format!("/card/{number}"));
    assert_eq!(shown.status, 200, "{}", shown.body);
    Raced { number, unit, kind, operator, card, page: shown }
}

// A yes reads the fleet before it decides, a command's yes hashes a PIN before that, and a page has its gate.
fn page_is_slower(kind: Kind) -> bool {
    match kind {
        Kind::NoNo | Kind::PageYesCommandNo => true,
        Kind::PageNoCommandYes | Kind::YesYes => false,
    }
}

fn first_handicaps() -> BTreeMap<Kind, Handicap> {
    let first = [(Kind::NoNo, 6), (Kind::PageYesCommandNo, 120), (Kind::PageNoCommandYes, 160), (Kind::YesYes, 60)];
    first.map(|(kind, millis)| (kind, Handicap(Duration::from_millis(millis)))).into()
}

fn race_in_a_world_of_its_own(seed: u64) -> Tally {
    let world = World::builder().without_assistant().rooms(50).start();
    let (page, mut units) = (world.page(), idle_units(&world));
    let (mut dice, mut tally, mut ran, mut done) = (Dice(seed), Tally::new(), 0, 0);
    let mut handicaps = first_handicaps();
    while done < RACES {
        let mut kinds = [Kind::NoNo; 3];
        if ran <= MOST_RUN {
            kinds = [Kind::PageYesCommandNo, Kind::PageNoCommandYes, if ran == 0 { Kind::YesYes } else { Kind::NoNo }];
        }
        let batch = kinds.iter().take(RACES - done);
        let batch: Vec<_> = batch.map(|kind| ready(&world, &page, &mut units, *kind)).collect();
        if kinds != [Kind::NoNo; 3] {
            sleep(READING);
        }
        for mut raced in batch {
            let kind = raced.kind;
            let handicap = some(handicaps.get_mut(&kind), "a handicap");
            let wait = handicap.pick(&mut dice);
            let waits = if page_is_slower(kind) { (Duration::ZERO, wait) } else { (wait, Duration::ZERO) };
            let page_won = race(&world, &page, &mut raced, waits);
            handicap.learn(page_won == page_is_slower(kind));
            ran += usize::from(RAN.contains(&world.state_of(raced.number)));
            done += 1;
            let (all, pages) = tally.entry(kind).or_default();
            *all += 1;
            *pages += usize::from(page_won);
        }
    }
    assert_eq!(world.writes().len(), ran);
    let report = world.control().audit();
    assert_eq!(report.broken, None);
    tally
}

#[test]
fn two_hundred_races_of_page_and_command_have_one_winner_and_at_most_one_write_each() {
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let worlds: Vec<_> = (0..WORLDS).map(|seed| scope.spawn(move || race_in_a_world_of_its_own(seed))).collect();
        worlds.into_iter().map(|world| world.join().unwrap()).collect()
    });
    let mut sum = Tally::new();
    for (kind, (all, page)) in tallies.into_iter().flatten() {
        let entry = sum.entry(kind).or_default();
        *entry = (entry.0 + all, entry.1 + page);
    }
    assert_eq!(sum.values().map(|(all, _)| all).sum::<usize>(), RACES * must(usize::try_from(WORLDS), "worlds"));
    // It was a race: each side won some of each kind in which both can.
    for kind in [Kind::NoNo, Kind::PageYesCommandNo, Kind::PageNoCommandYes] {
        assert!(sum.get(&kind).is_some_and(|(all, page)| *page > 0 && page < all), "{sum:?}");
    }
}
