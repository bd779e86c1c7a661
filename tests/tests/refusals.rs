//! Every refusal that can be reached from outside, on the real binaries: the code, and that no write left
//! (`seed 000, Tests`; `seed 000, Flow 5`). Clocks that must pass are the store's own tests' business.

#[path = "refusals/between.rs"]
mod between;
#[path = "refusals/card.rs"]
mod card;
#[path = "refusals/intake.rs"]
mod intake;
#[path = "refusals/limits.rs"]
mod limits;
#[path = "refusals/modes.rs"]
mod modes;
#[path = "refusals/page.rs"]
mod page;
#[path = "refusals/rights.rs"]
mod rights;
#[path = "refusals/room.rs"]
mod room;
#[path = "refusals/strangers.rs"]
mod strangers;
#[path = "refusals/yes.rs"]
mod yes;

use control::card::Card;
use fleetwatch_tests::world::{ControlClient, READING, World, must};
use protocol::ids::ProposalNumber;
use protocol::propose::News;
use protocol::refusal::Refusal;
use serde_json::Value;
use std::thread::sleep;

/// A change as a table holds it: tool and arguments.
type Change = (&'static str, Value);

// Proposes them, each by an agent of its own. At most three may wait at once.
#[track_caller]
fn propose_all(world: &World, changes: &[Change]) -> Vec<ProposalNumber> {
    let numbers = changes.iter().enumerate().map(|(place, (tool, arguments))| {
        let proposed = world.propose(&format!("agent-{place}"), tool, arguments);
        must(proposed, &format!("{tool} {arguments}"))
    });
    numbers.collect()
}

// The cards of these, and then the time it takes to read one.
#[track_caller]
fn read_all(operator: &mut ControlClient, numbers: &[ProposalNumber]) -> Vec<Card> {
    let cards = numbers.iter().map(|number| must(operator.show(*number), "a card")).collect();
    sleep(READING);
    cards
}

// Proposes, shows, reads and approves them.
#[track_caller]
fn run_all(world: &World, changes: &[Change]) -> Vec<Result<News, Refusal>> {
    let numbers = propose_all(world, changes);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    cards.iter().map(|card| operator.decide(operator.yes_to(card))).collect()
}
