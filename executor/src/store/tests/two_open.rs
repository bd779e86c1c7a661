//! Two open proposals of one tool for different rooms (`seed 000, Flow 4`): a thousand orders of proposing, showing, saying yes
//! and spending. The yes to the second is the right to write to the second's room, and to nothing else.

use super::*;
use std::path::Path;

const ORDERS: u64 = 1_000;
/// No order is cut short by the queue's own limits.
const WIDE: Limits = Limits { pending: 1_000_000, per_hour: 1_000_000, denials: 1_000_000 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Propose(usize),
    Show(usize),
    Approve(usize),
    Consume(usize),
    Deny(usize),
}

// Small, and the same numbers at every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

// One of the many orders: what belongs to one proposal stays in its own order. The second to be proposed is number 1.
fn an_order(dice: &mut Dice) -> Vec<Act> {
    let third = match dice.below(3) {
        0 => vec![],
        1 => vec![Act::Propose(2), Act::Deny(2)],
        _ => vec![Act::Propose(2), Act::Show(2), Act::Show(2)],
    };
    let first = if dice.below(2) == 0 { vec![Act::Show(0)] } else { vec![Act::Show(0), Act::Show(0)] };
    let second = vec![Act::Propose(1), Act::Show(1), Act::Approve(1), Act::Consume(1)];
    let mut left = [first, second, third];
    let mut order = vec![Act::Propose(0)];
    while left.iter().any(|acts| !acts.is_empty()) {
        let one = &mut left[dice.below(3)];
        if !one.is_empty() {
            order.push(one.remove(0));
        }
    }
    order
}

fn room(order: u64, place: usize) -> String {
    (19_010_000_000 + order * 10 + u64::try_from(place).unwrap()).to_string()
}

/// What was made of one order so far.
struct Story {
    order: u64,
    numbers: [Option<ProposalNumber>; 3],
    right: Option<ConsumedApproval>,
}

fn act(world: &mut World, story: &mut Story, act: Act) {
    let number = |place: usize| story.numbers[place].unwrap();
    match act {
        Act::Propose(place) => {
            let mut draft = world.draft(&room(story.order, place));
            // Each by an agent of its own: nothing pauses.
            draft.agent = Label::new(&format!("agent-{}-{place}", story.order)).unwrap();
            story.numbers[place] = Some(world.store.admit(&draft, WIDE).unwrap());
        }
        Act::Show(place) => world.store.mark_seen(number(place), "command", "ana").unwrap(),
        Act::Approve(place) => assert_eq!(world.approve(number(place)).unwrap(), ProposalState::Approved),
        Act::Deny(place) => assert_eq!(world.deny(number(place)).unwrap(), ProposalState::Denied),
        Act::Consume(place) => {
            let right = world.store.consume(number(place)).unwrap();
            story.right = Some(right);
        }
    }
}

fn judge(world: &mut World, story: Story, acts: &[Act]) {
    let [first, second, third] = story.numbers;
    let (first, second, right) = (first.unwrap(), second.unwrap(), story.right.unwrap());
    // `recheck` sends no other tool and no other bytes than these.
    let sent = (right.proposal().number(), right.proposal().tool(), right.proposal().arguments());
    let bytes = format!(r#"{{"action":"start","device_ids":["{}-1"]}}"#, room(story.order, 1));
    assert_eq!(sent, (second, "batch_recording", bytes.as_str()), "{acts:?}");
    finish(world, right, Outcome::Ok(String::new()));
    assert_eq!(world.state(second), ProposalState::Ok, "{acts:?}");
    assert_eq!(world.state(first), ProposalState::Pending, "the first waits as before: {acts:?}");
    // Neither the yes nor its right is good for the other one.
    assert_eq!(code(world.store.consume(first)), RefusalCode::NotWaiting, "{acts:?}");
    assert_eq!(world.deny(first).unwrap(), ProposalState::Denied);
    if let Some(third) = third {
        let stands = if acts.contains(&Act::Deny(2)) { ProposalState::Denied } else { ProposalState::Pending };
        assert_eq!(world.state(third), stands, "{acts:?}");
        if stands == ProposalState::Pending {
            assert_eq!(world.deny(third).unwrap(), ProposalState::Denied);
        }
    }
}

#[test]
fn in_a_thousand_orders_the_yes_to_the_second_is_the_right_to_the_seconds_room() {
    // Every commit is synced as always; memory is only quicker to sync.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let (clock, time) = Clock::dangerous_manual(1_900_000_000, 5_000_000, "boot-1");
    let (store, _) = Store::open(&folder.path().join("state"), &clock).unwrap();
    let mut world = World { folder, clock, time, store, ana: Person::dangerous_made_up("ana", 1001), drafts: 0 };
    let (mut dice, mut kinds) = (Dice(5), std::collections::BTreeSet::new());
    for order in 0..ORDERS {
        let acts = an_order(&mut dice);
        let mut story = Story { order, numbers: [None; 3], right: None };
        for one in &acts {
            act(&mut world, &mut story, *one);
        }
        kinds.insert(format!("{acts:?}"));
        judge(&mut world, story, &acts);
    }
    assert!(kinds.len() >= 100, "only {} different orders", kinds.len());
    assert_eq!(world.store.verify_audit().unwrap().broken, None);
}
