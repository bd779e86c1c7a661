//! The store's rulings, on real files with a clock that the test moves.

mod audit;
mod expiry;
mod keep;
mod life;
mod races;
mod restart;
mod tamper;
mod two_open;
mod upgrade;

use super::{ConsumedApproval, Ending, Limits, NewProposal, Outcome, Spent, Started, Store, StoreError};
use crate::decide::{Decision, Surface};
use crate::principals::Person;
use host::clock::{Clock, ManualClock};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{Origin, ProposalState};
use protocol::refusal::RefusalCode;

/// A store in a folder of its own, and a person.
struct World {
    folder: tempfile::TempDir,
    clock: Clock,
    time: ManualClock,
    store: Store,
    ana: Person,
    drafts: u32,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (clock, time) = Clock::dangerous_manual(1_900_000_000, 5_000_000, "boot-1");
        let (store, started) = Store::open(&folder.path().join("state"), &clock).unwrap();
        assert_eq!(started, Started::default());
        Self { folder, clock, time, store, ana: Person::dangerous_made_up("ana", 1001), drafts: 0 }
    }

    fn draft(&mut self, room: &str) -> NewProposal {
        self.drafts += 1;
        NewProposal {
            request: Label::new(&format!("r{}", self.drafts)).unwrap(),
            workspace: "epiphan",
            agent: Label::new("assistant").unwrap(),
            origin: Origin::Model,
            turn: "turn-1".to_owned(),
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

    fn admit(&mut self, room: &str) -> Result<ProposalNumber, StoreError> {
        let draft = self.draft(room);
        self.store.admit(&draft, Limits::EPIPHAN)
    }

    fn pending(&mut self) -> ProposalNumber {
        self.admit("19012341234").unwrap()
    }

    fn approve(&mut self, number: ProposalNumber) -> Result<ProposalState, StoreError> {
        let yes = Decision::Approve {
            person: &self.ana,
            surface: Surface::Page,
            session: [7; 32],
            digest: [9; 32],
            seconds_after_card: 4,
        };
        self.store.decide(number, &yes)
    }

    fn deny(&mut self, number: ProposalNumber) -> Result<ProposalState, StoreError> {
        self.store.decide(number, &Decision::Deny { person: &self.ana, surface: Surface::Command })
    }

    fn approved(&mut self) -> ProposalNumber {
        let number = self.pending();
        assert_eq!(self.approve(number).unwrap(), ProposalState::Approved);
        number
    }

    fn state(&mut self, number: ProposalNumber) -> ProposalState {
        self.store.row(number).unwrap().state
    }

    /// The process dies and starts again on the same files.
    fn restart(self) -> (Self, Started) {
        let Self { folder, clock, time, store, ana, drafts } = self;
        drop(store);
        let (store, started) = Store::open(&folder.path().join("state"), &clock).unwrap();
        (Self { folder, clock, time, store, ana, drafts }, started)
    }

    fn sql(&self, text: &str) {
        self.store.connection.execute_batch(text).unwrap();
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, StoreError>) -> RefusalCode {
    match result {
        Err(StoreError::Refused(refusal)) => refusal.code,
        other => panic!("not a refusal: {other:?}"),
    }
}

/// Ends a consumed approval.
fn finish(world: &mut World, approval: ConsumedApproval, outcome: Outcome) {
    let spent = Spent::from(&approval);
    drop(approval);
    world.store.record(&Ending::new(&spent, outcome)).unwrap();
}
