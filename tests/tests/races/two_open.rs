//! Two open proposals of one tool for different rooms on the real executor (`seed 000, Flow 4`): whatever was shown in between
//! and wherever the yes is said, the yes to the second changes the second's room and no other. A thousand more orders run on
//! the store itself.

use super::{Dice, READING, RECORD, idle_units, proposed};
use fleetwatch_tests::world::{PageClient, World, must, recording, some, until};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use std::collections::VecDeque;
use std::thread::{self, sleep};
use std::time::Duration;

const WORLDS: u64 = 4;
/// What ran counts towards ten an hour.
const ROUNDS: usize = 5;
const SOON: Duration = Duration::from_secs(20);

fn heads(dice: &mut Dice) -> bool {
    dice.part_of(Duration::from_secs(2)) < Duration::from_secs(1)
}

fn look(world: &World, page: &PageClient, dice: &mut Dice, number: ProposalNumber) {
    if heads(dice) {
        must(world.control().show(number), "a card");
    } else {
        assert_eq!(page.get(&format!("/card/{number}")).status, 200);
    }
}

// Says yes to one, while the other is looked at before, after and in between.
fn approve_among(world: &World, page: &PageClient, dice: &mut Dice, (other, number): (ProposalNumber, ProposalNumber)) {
    let mut operator = world.control();
    if heads(dice) {
        look(world, page, dice, other);
    }
    let on_page = heads(dice);
    let card = must(operator.show(number), "a card");
    let shown = page.get(&format!("/card/{number}"));
    // In the very session that says yes, the last card on screen is the other one.
    if heads(dice) {
        must(operator.show(other), "the other card");
        assert_eq!(page.get(&format!("/card/{other}")).status, 200);
    }
    sleep(READING);
    if heads(dice) {
        look(world, page, dice, other);
    }
    if on_page {
        let form = some(shown.form("/approve"), "a form that approves");
        let answer = page.submit("/approve", &form);
        assert_eq!(answer.status, 303, "{}", answer.body);
    } else {
        must(operator.decide(operator.yes_to(&card)), "the yes");
    }
}

fn round(world: &World, page: &PageClient, units: &mut VecDeque<String>, dice: &mut Dice) {
    let before = world.writes().len();
    let (first, _) = proposed(world, units);
    if heads(dice) {
        look(world, page, dice, first);
    }
    let (second, unit) = proposed(world, units);
    let third = heads(dice).then(|| proposed(world, units).0);
    approve_among(world, page, dice, (first, second));
    let row = until(SOON, "an outcome", || {
        let row = world.control().row(second);
        row.state.is_final().then_some(row)
    });
    // The unit of a room that records already says that it is busy; the call left all the same.
    assert!(super::RAN.contains(&row.state), "{row:?}");
    let writes = world.writes();
    assert_eq!(writes.len(), before + 1, "one more");
    let last = some(writes.last(), "the write");
    assert_eq!((last.tool.as_str(), &last.arguments), (RECORD, &recording("start", &unit, 1)));
    for other in [Some(first), third].into_iter().flatten() {
        assert_eq!(world.state_of(other), ProposalState::Pending);
        must(world.control().deny(other), "a no");
    }
    assert_eq!(world.writes().len(), before + 1);
}

#[test]
fn the_yes_to_the_second_of_two_open_proposals_changes_the_seconds_room_alone() {
    thread::scope(|scope| {
        for seed in 0..WORLDS {
            scope.spawn(move || {
                let world = World::builder().without_assistant().rooms(50).start();
                let (page, mut units, mut dice) = (world.page(), idle_units(&world), Dice(seed + 100));
                for _ in 0..ROUNDS {
                    round(&world, &page, &mut units, &mut dice);
                }
                assert_eq!(world.writes().len(), ROUNDS);
                assert_eq!(world.control().audit().broken, None);
            });
        }
    });
}
