//! Killing the executor at any moment (`issue 1, Done when`; `architecture.md, Run`): at most one write, no run after a
//! start, a state that `status` explains. Barriers stop the process at named places; the build that people run has none.

#[cfg(test)]
#[path = "crash/barriers.rs"]
mod barriers;
#[cfg(test)]
#[path = "crash/sweep.rs"]
mod sweep;
#[cfg(test)]
#[path = "crash/torn.rs"]
mod torn;

#[cfg(test)]
mod support {
    use control::card::Card;
    use control::message::{ExecutorSays, OperatorSays};
    use control::status::StartReport;
    use fleetwatch_tests::world::{ControlClient, READING, World, until};
    use protocol::hello::{Reply, Request};
    use protocol::ids::ProposalNumber;
    use protocol::propose::{News, ProposalState};
    use protocol::refusal::{Refusal, RefusalCode};
    use std::thread::{self, JoinHandle, sleep};
    use std::time::Duration;

    /// For a process to get where it must.
    pub(crate) const SOON: Duration = Duration::from_secs(20);
    /// More than the executor's own look at what is due.
    pub(crate) const A_LITTLE: Duration = Duration::from_millis(1_300);

    /// A yes that is on its way; it hears what the executor says, or nothing when that hung up.
    pub(crate) type Yes = JoinHandle<Option<ExecutorSays>>;

    /// Shows a card, reads it, and says yes on a thread of its own.
    pub(crate) fn say_yes(world: &World, number: ProposalNumber) -> Yes {
        let mut control = world.control();
        let card = control.show(number).unwrap();
        sleep(READING);
        say_yes_to(control, &card)
    }

    /// Says yes to a card that was read.
    pub(crate) fn say_yes_to(mut control: ControlClient, card: &Card) -> Yes {
        let say = OperatorSays::Approve(control.yes_to(card));
        thread::spawn(move || {
            control.frames().send(&Request { id: 70, say });
            control.frames().recv::<Reply<ExecutorSays>>().map(|reply| reply.say)
        })
    }

    /// Waits until the executor has stopped itself at its barrier.
    pub(crate) fn wait_for_the_barrier(world: &mut World, name: &str) {
        until(SOON, name, || world.executor().is_stopped().then_some(()));
        assert!(world.executor_log().contains(name), "stopped somewhere else than at {name}");
    }

    /// Kills the executor and starts the plain one on the same state.
    pub(crate) fn kill_and_start(world: &mut World) {
        world.kill_executor();
        start_plain(world);
    }

    /// Starts the executor that has no barriers.
    pub(crate) fn start_plain(world: &mut World) {
        "fleetwatch-executor".clone_into(&mut world.executor_binary);
        world.executor_settings.remove("FLEETWATCH_BARRIER");
        world.start_executor();
    }

    /// How a yes ended.
    pub(crate) fn ended(yes: Yes) -> News {
        match yes.join().unwrap() {
            Some(ExecutorSays::Ended(news)) => news,
            other => panic!("no outcome but {other:?}"),
        }
    }

    /// Where it stands, with its code.
    pub(crate) fn fate(world: &World, number: ProposalNumber) -> (ProposalState, Option<RefusalCode>) {
        let row = world.control().row(number);
        (row.state, row.code)
    }

    /// What the last start found, and whether anything is wrong by the executor's own word.
    pub(crate) fn start_report(world: &World) -> (StartReport, Vec<RefusalCode>) {
        let status = world.control().status();
        (status.start, status.problems.iter().map(|problem| problem.code).collect())
    }

    /// The record of everything is whole.
    pub(crate) fn audit_holds(world: &World) {
        let report = world.control().audit();
        assert_eq!(report.broken, None);
        assert!(report.rows > 0);
    }

    /// Nothing can be had of a decided proposal any more.
    pub(crate) fn is_over(world: &World, number: ProposalNumber) {
        let refused: Result<Card, Refusal> = world.control().show(number);
        assert_eq!(refused.map_err(|refusal| refusal.code).map(drop), Err(RefusalCode::NotWaiting));
    }

    /// Whole lines in the spent log.
    pub(crate) fn spent_lines(world: &World) -> usize {
        let text = std::fs::read_to_string(world.folder().join("executor/spent.log")).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("spent 1 ")).count()
    }
}
