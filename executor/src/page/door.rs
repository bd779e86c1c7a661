//! The page's one way to decide: the desk. In tests, a desk that is played.

#[cfg(test)]
pub(super) mod played;

use crate::desk::{Desk, Person, Viewer, YesTo};
use control::card::{Card, HistoryRow, Waiting};
use control::status::ExecutorStatus;
use protocol::ids::ProposalNumber;
use protocol::propose::News;
use protocol::refusal::Refusal;

/// Whom the page asks.
#[derive(Debug, Clone)]
pub(super) enum Door {
    /// The desk.
    Desk(Desk),
    /// A desk that a test plays.
    #[cfg(test)]
    Played(played::Played),
}

impl Door {
    /// How many operators there are.
    pub(super) fn operators(&self) -> usize {
        match self {
            Self::Desk(desk) => desk.operators(),
            #[cfg(test)]
            Self::Played(desk) => desk.operators(),
        }
    }

    /// Whether somebody on this connection may see the page at all.
    pub(super) fn may_visit(&self, uid: Option<u32>) -> bool {
        match self {
            Self::Desk(desk) => desk.may_visit(uid),
            #[cfg(test)]
            Self::Played(desk) => desk.may_visit(uid),
        }
    }

    /// Whether the person of a session still has the rights, and the PIN, that it was opened with.
    pub(super) fn knows(&self, person: &Person) -> bool {
        match self {
            Self::Desk(desk) => desk.knows(person),
            #[cfg(test)]
            Self::Played(_) => true,
        }
    }

    /// The person whose PIN this is.
    pub(super) async fn log_in(&self, name: Option<&str>, pin: &str) -> Result<Person, Refusal> {
        match self {
            Self::Desk(desk) => desk.log_in(name, pin).await,
            #[cfg(test)]
            Self::Played(desk) => desk.log_in(name, pin).await,
        }
    }

    /// Whether the page is opened by a page code alone.
    pub(super) fn opens_by_code(&self) -> bool {
        match self {
            Self::Desk(desk) => desk.opens_by_code(),
            #[cfg(test)]
            Self::Played(desk) => desk.opens_by_code(),
        }
    }

    /// The person of a page code, which is used up by it.
    pub(super) async fn log_in_with_code(&self, code: &str) -> Result<Person, Refusal> {
        match self {
            Self::Desk(desk) => desk.log_in_with_code(code).await,
            #[cfg(test)]
            Self::Played(desk) => desk.log_in_with_code(code).await,
        }
    }

    /// The queue, oldest first.
    pub(super) async fn waiting(&self) -> Result<Vec<Waiting>, Refusal> {
        match self {
            Self::Desk(desk) => desk.waiting().await,
            #[cfg(test)]
            Self::Played(desk) => desk.waiting().await,
        }
    }

    /// A fresh card with a ticket; marks it seen.
    pub(super) async fn show(&self, viewer: &Viewer, number: ProposalNumber) -> Result<Card, Refusal> {
        match self {
            Self::Desk(desk) => desk.show(viewer, number).await,
            #[cfg(test)]
            Self::Played(desk) => desk.show(viewer, number).await,
        }
    }

    /// Whether a yes could be given now.
    pub(super) async fn check(&self, viewer: &Viewer, yes: &YesTo) -> Result<Card, Refusal> {
        match self {
            Self::Desk(desk) => desk.check(viewer, yes).await,
            #[cfg(test)]
            Self::Played(desk) => desk.check(viewer, yes).await,
        }
    }

    /// Yes; resolves when the run has ended.
    pub(super) async fn approve(&self, viewer: &Viewer, yes: YesTo) -> Result<News, Refusal> {
        match self {
            Self::Desk(desk) => desk.approve(viewer, yes).await,
            #[cfg(test)]
            Self::Played(desk) => desk.approve(viewer, yes).await,
        }
    }

    /// No to one.
    pub(super) async fn deny(&self, viewer: &Viewer, number: ProposalNumber) -> Result<News, Refusal> {
        match self {
            Self::Desk(desk) => desk.deny(viewer, number).await,
            #[cfg(test)]
            Self::Played(desk) => desk.deny(viewer, number).await,
        }
    }

    /// No to all that wait.
    pub(super) async fn deny_all(&self, viewer: &Viewer) -> Result<Vec<ProposalNumber>, Refusal> {
        match self {
            Self::Desk(desk) => desk.deny_all(viewer).await,
            #[cfg(test)]
            Self::Played(desk) => desk.deny_all(viewer).await,
        }
    }

    /// No to everything until it is thawed.
    pub(super) async fn freeze(&self, viewer: &Viewer) -> Result<Vec<ProposalNumber>, Refusal> {
        match self {
            Self::Desk(desk) => desk.freeze(viewer).await,
            #[cfg(test)]
            Self::Played(desk) => desk.freeze(viewer).await,
        }
    }

    /// Proposes the undo of one that ran, and gives the new number.
    pub(super) async fn propose_undo(
        &self,
        viewer: &Viewer,
        number: ProposalNumber,
    ) -> Result<ProposalNumber, Refusal> {
        match self {
            Self::Desk(desk) => desk.propose_undo(viewer, number).await,
            #[cfg(test)]
            Self::Played(desk) => desk.propose_undo(viewer, number).await,
        }
    }

    /// Where one proposal stands.
    pub(super) async fn fate(&self, number: ProposalNumber) -> Result<HistoryRow, Refusal> {
        match self {
            Self::Desk(desk) => desk.fate(number).await,
            #[cfg(test)]
            Self::Played(desk) => desk.fate(number).await,
        }
    }

    /// The newest proposals, newest first; with `search` only those in which it stands.
    pub(super) async fn history(&self, most: u16, search: Option<&str>) -> Result<Vec<HistoryRow>, Refusal> {
        match self {
            Self::Desk(desk) => desk.history(most, search).await,
            #[cfg(test)]
            Self::Played(desk) => desk.history(most, search).await,
        }
    }

    /// How the executor is.
    pub(super) async fn status(&self) -> Result<ExecutorStatus, Refusal> {
        match self {
            Self::Desk(desk) => desk.status().await,
            #[cfg(test)]
            Self::Played(desk) => desk.status().await,
        }
    }
}
