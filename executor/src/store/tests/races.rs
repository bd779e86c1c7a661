//! Ten thousand races for one row (`seed 000, Flow 4`): a person on the page, a person at a terminal, the clock and the turn
//! that withdraws, all through `decide`, `consume` and `expire_due` on real files.
//!
//! Four threads, each with a runtime and a handle of its own, so that the store's one writer takes their work in whatever
//! order it comes. Four SQLite connections to one file are not raced, because they cannot be: a store has one owner, and
//! `store.lock` turns a second one away, which each of the fresh stores here is asked to show.

use super::*;
use crate::store::StoreHandle;
use protocol::refusal::Refusal;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

const STORES: u64 = 50;
const RACES: u64 = 200;
/// No race is kept from beginning by the queue's own limits.
const WIDE: Limits = Limits { pending: 1_000_000, per_hour: 1_000_000, denials: 1_000_000 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Actor {
    /// A yes on the page, and the spending of it.
    Page,
    /// A yes at a terminal, and the spending of it.
    CommandYes,
    /// A no at a terminal.
    CommandNo,
    /// Its time is over.
    Clock,
    /// The turn that made it hangs up.
    Turn,
}

/// One proposal that somebody is to win.
#[derive(Debug, Clone)]
struct Race {
    number: ProposalNumber,
    turn: String,
    /// A few turns of a loop before it begins.
    pause: u32,
}

/// What one of the four came home with.
type Home = (Actor, Vec<Result<ProposalState, Refusal>>);

/// Who may decide.
#[derive(Debug, Clone)]
struct People {
    ana: Person,
    bob: Person,
}

// Small, and the same numbers at every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.below(u64::try_from(last).unwrap() + 1)).unwrap();
            items.swap(last, other);
        }
    }
}

/// What one of the four has at hand.
struct Hand {
    store: StoreHandle,
    time: ManualClock,
    people: People,
    runtime: tokio::runtime::Runtime,
}

impl Hand {
    fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.runtime.block_on(self.store.call(work)).map_err(|error| match error {
            StoreError::Refused(refusal) => refusal,
            failed @ (StoreError::Corrupt(_)
            | StoreError::Damaged(_)
            | StoreError::Newer(_)
            | StoreError::File(_)
            | StoreError::Sqlite(_)
            | StoreError::Stopped) => panic!("the store itself failed: {failed}"),
        })
    }

    // As `run` does it: decide, consume, and an approval that cannot be spent ends as refused.
    fn yes(&self, number: ProposalNumber, person: &Person, surface: Surface) -> Vec<Result<ProposalState, Refusal>> {
        let person = person.clone();
        let decided = self.call(move |store| {
            let yes = Decision::Approve {
                person: &person,
                surface,
                session: [7; 32],
                digest: [9; 32],
                seconds_after_card: 4,
            };
            store.decide(number, &yes)
        });
        if decided.is_err() {
            return vec![decided];
        }
        let consumed = self.call(move |store| store.consume(number).map(drop));
        if let Err(refusal) = consumed.clone() {
            self.call(move |store| store.refuse_approved(number, &refusal)).unwrap();
        }
        vec![decided, consumed.map(|()| ProposalState::Consumed)]
    }

    fn act(&self, actor: Actor, race: &Race) -> Vec<Result<ProposalState, Refusal>> {
        for _ in 0..race.pause {
            std::hint::spin_loop();
        }
        let (number, bob) = (race.number, self.people.bob.clone());
        match actor {
            Actor::Page => self.yes(number, &self.people.ana, Surface::Page),
            Actor::CommandYes => self.yes(number, &bob, Surface::Command),
            Actor::CommandNo => {
                vec![self.call(move |store| {
                    store.decide(number, &Decision::Deny { person: &bob, surface: Surface::Command })
                })]
            }
            Actor::Clock => {
                self.time.advance(policy::limits::PENDING_LIFE);
                self.call(Store::expire_due).unwrap();
                Vec::new()
            }
            Actor::Turn => {
                let turn = race.turn.clone();
                vec![self.call(move |store| store.decide(number, &Decision::Withdraw { turn: &turn }))]
            }
        }
    }
}

/// One audited step of a proposal: kind, who, where, and the state that it led to.
#[derive(Debug)]
struct Taken {
    kind: String,
    principal: String,
    surface: String,
    state: String,
}

fn steps(store: &mut Store, number: ProposalNumber) -> Result<Vec<Taken>, StoreError> {
    let mut statement = store
        .connection
        .prepare("SELECT kind, principal, surface, detail FROM audit WHERE proposal = ? ORDER BY sequence")?;
    let found = statement.query_map([i64::try_from(number.get()).unwrap()], |row| {
        let (kind, detail): (String, String) = (row.get(0)?, row.get(3)?);
        let detail: serde_json::Value = serde_json::from_str(&detail).unwrap();
        let state = match kind.as_str() {
            "proposal" => "pending".to_owned(),
            "approval" => "approved".to_owned(),
            "consumed" => "consumed".to_owned(),
            _ => detail["state"].as_str().unwrap().to_owned(),
        };
        Ok(Taken { kind, principal: row.get(1)?, surface: row.get(2)?, state })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Every step that the table of `architecture.md` has for these actors.
const TABLE: [(&str, &str); 9] = [
    ("pending", "approved"),
    ("pending", "denied"),
    ("pending", "withdrawn"),
    ("pending", "expired_unseen"),
    ("pending", "expired_seen"),
    ("approved", "consumed"),
    ("approved", "revoked"),
    ("approved", "expired"),
    ("approved", "refused"),
];

/// Judges one race and gives the kind of step that won the waiting proposal.
fn judge(number: ProposalNumber, taken: &[Taken], stands: ProposalState, homes: &[Home]) -> String {
    let story = format!("{taken:?} {homes:?}");
    let states: Vec<_> = taken.iter().map(|step| step.state.as_str()).collect();
    assert!((2..=3).contains(&states.len()) && states[0] == "pending", "one winner, at most one end: {story}");
    assert!(states.windows(2).all(|pair| TABLE.contains(&(pair[0], pair[1]))), "outside the table: {story}");
    assert_eq!(states.last().copied(), Some(stands.as_str()), "the row is what the audit says: {story}");
    assert_ne!(stands, ProposalState::Approved, "whoever said yes spent it or was told: {story}");
    let won = |state: ProposalState| {
        let done = homes.iter().flat_map(|(_, said)| said);
        done.filter(|said| matches!(said, Ok(reached) if *reached == state)).count()
    };
    // Each who was told that he won is in the audit, and each in the audit was told.
    for state in [
        ProposalState::Approved,
        ProposalState::Denied,
        ProposalState::Withdrawn,
        ProposalState::Consumed,
        ProposalState::Revoked,
    ] {
        let noted = states.iter().filter(|found| **found == state.as_str()).count();
        assert_eq!(won(state), noted, "{state:?}: {story}");
    }
    for (actor, said) in homes {
        for refusal in said.iter().filter_map(|said| said.as_ref().err()) {
            // The yes itself ran out between decision and spending: that is told as what it is.
            let own = refusal.code == RefusalCode::ApprovalExpired && said.len() == 2;
            assert!(own || refusal.code == RefusalCode::NotWaiting, "{actor:?}: {refusal:?}: {story}");
            assert!(own || names_a_winner(number, taken, &refusal.detail), "{actor:?}: {refusal:?}: {story}");
        }
    }
    taken[1].kind.clone()
}

// The loser hears the state that beat it, and the person behind it.
fn names_a_winner(number: ProposalNumber, taken: &[Taken], detail: &str) -> bool {
    let Some(rest) = detail.strip_prefix(&format!("proposal {number} is ")) else { return false };
    let words: Vec<_> = rest.splitn(2, ", by ").collect();
    taken[1..].iter().any(|step| {
        let by_a_person = matches!(step.kind.as_str(), "approval" | "denial");
        let who = format!("{} ({})", step.principal, step.surface);
        // A consume that comes too late names the state alone: it is the same person's.
        words[0] == step.state && (!by_a_person || words.len() == 1 || words[1] == who)
    })
}

fn actors_of(dice: &mut Dice) -> [Actor; 4] {
    let command = if dice.below(2) == 0 { Actor::CommandYes } else { Actor::CommandNo };
    [Actor::Page, command, Actor::Clock, Actor::Turn]
}

fn run_actor(hand: &Hand, orders: &Receiver<(Actor, Race)>, home: &Sender<Home>) {
    // Ends when the judge, who holds the other end, has ended.
    while let Ok((actor, race)) = orders.recv() {
        if home.send((actor, hand.act(actor, &race))).is_err() {
            return;
        }
    }
}

fn race_on_a_fresh_store(folder: &Path, seed: u64) -> BTreeMap<String, u64> {
    let state = folder.join(format!("state-{seed}"));
    let (clock, time) = Clock::dangerous_manual(1_900_000_000, 5_000_000, "boot-1");
    let (store, _) = Store::open(&state, &clock).unwrap();
    let people = People { ana: Person::dangerous_made_up("ana", 1001), bob: Person::dangerous_made_up("bob", 1002) };
    let handle = StoreHandle::spawn(store).unwrap();
    let hand = || Hand {
        store: handle.clone(),
        time: time.clone(),
        people: people.clone(),
        runtime: tokio::runtime::Builder::new_current_thread().build().unwrap(),
    };
    let judge_hand = hand();
    let (mut dice, mut winners, mut rows) = (Dice(seed), BTreeMap::new(), 1);
    thread::scope(|scope| {
        let (home, homes) = channel();
        let orders: Vec<_> = (0..4)
            .map(|_| {
                let ((to, orders), home, hand) = (channel(), home.clone(), hand());
                scope.spawn(move || run_actor(&hand, &orders, &home));
                to
            })
            .collect();
        for race in 0..RACES {
            let draft = drafted(race);
            let turn = draft.turn.clone();
            let number = judge_hand.call(move |store| store.admit(&draft, WIDE)).unwrap();
            let mut actors = actors_of(&mut dice);
            dice.shuffle(&mut actors);
            for (actor, order) in actors.into_iter().zip(&orders) {
                // The clock needs no turn in the writer's queue, so it begins later, or it would win nearly all.
                let most = if actor == Actor::Clock { 120_000 } else { 4_000 };
                let pause = u32::try_from(dice.below(most)).unwrap();
                order.send((actor, Race { number, turn: turn.clone(), pause })).unwrap();
            }
            let came: Vec<Home> = homes.iter().take(4).collect();
            let (taken, stands) =
                judge_hand.call(move |store| Ok((steps(store, number)?, store.row(number)?.state))).unwrap();
            rows += u64::try_from(taken.len()).unwrap();
            *winners.entry(judge(number, &taken, stands, &came)).or_default() += 1;
        }
    });
    let second = Store::open(&state, &clock).unwrap_err().to_string();
    assert!(second.contains("another executor"), "a second owner: {second}");
    let report = judge_hand.call(|store| store.verify_audit()).unwrap();
    assert_eq!((report.rows, report.broken), (rows, None), "audit rows are steps");
    winners
}

// A change of its own for every race, by an agent of its own: nothing pauses.
fn drafted(race: u64) -> NewProposal {
    let room = 19_010_000_000 + race;
    NewProposal {
        request: Label::new(&format!("r{race}")).unwrap(),
        workspace: "epiphan",
        agent: Label::new(&format!("agent-{race}")).unwrap(),
        origin: Origin::Model,
        turn: format!("turn-{race}"),
        tool: "batch_recording".to_owned(),
        arguments: format!(r#"{{"action":"start","device_ids":["{room}-1"]}}"#),
        targets: format!(r#"["{room}"]"#),
        fingerprint: "{}".to_owned(),
        referents: "{}".to_owned(),
        schema_version: 1,
        policy_version: 1,
        slot: "sim",
        reason: "because".to_owned(),
        gates: "[]".to_owned(),
    }
}

#[test]
fn ten_thousand_races_have_one_winner_each_and_the_losers_are_told_who() {
    // Every commit is synced as always; memory is only quicker to sync.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let mut winners: BTreeMap<String, u64> = BTreeMap::new();
    // Two at a time, so that neither the judge nor the four wait for each other's processor.
    let halves: Vec<_> = thread::scope(|scope| {
        let half = |first: u64| {
            let folder = folder.path();
            scope.spawn(move || {
                (0..STORES / 2).map(|store| race_on_a_fresh_store(folder, first + 2 * store)).collect::<Vec<_>>()
            })
        };
        let halves = [half(0), half(1)];
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    for (kind, count) in halves.into_iter().flatten() {
        *winners.entry(kind).or_default() += count;
    }
    assert_eq!(winners.values().sum::<u64>(), STORES * RACES);
    // It was a race: each of the four won its share.
    for kind in ["approval", "denial", "expiry", "withdrawal"] {
        assert!(winners.get(kind).is_some_and(|won| *won >= 25), "{winners:?}");
    }
}
