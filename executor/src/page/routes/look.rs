//! Pages that only show.

use super::Visit;
use crate::page::render;
use crate::page::render::card::{CardView, Yes};
use crate::page::request::PageAnswer;
use crate::page::session::Purpose;
use control::card::Card;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;

/// Rows of the history page.
const HISTORY: u16 = 100;
/// Seconds until an outcome that is still open is looked up again.
const LOOK_AGAIN: &str = "2";

impl Visit<'_> {
    /// What waits.
    pub(super) async fn queue(&self) -> PageAnswer {
        let waiting = match self.site.door.waiting().await {
            Ok(waiting) => waiting,
            Err(refusal) => return self.refused(&refusal, None).await,
        };
        let mut frame = self.frame().await;
        frame.waiting = Some(waiting.len() as u64);
        let token = self.inside.token(Purpose::DenyAll);
        PageAnswer::html(200, render::queue::page(&frame, &waiting, &token))
    }

    /// One card from a fresh read.
    pub(super) async fn card(&self, number: ProposalNumber) -> PageAnswer {
        match self.site.door.show(&self.inside.viewer, number).await {
            Ok(card) => self.card_page(200, &card, None).await,
            Err(refusal) if refusal.code == RefusalCode::NotWaiting => PageAnswer::see(format!("/outcome/{number}")),
            Err(refusal) => self.refused(&refusal, Some(number)).await,
        }
    }

    /// The fresh card again, with what was refused on top.
    pub(super) async fn card_again(&self, number: ProposalNumber, refusal: &Refusal) -> PageAnswer {
        match self.site.door.show(&self.inside.viewer, number).await {
            Ok(card) => self.card_page(409, &card, Some(&policy::words::refusal(refusal.code))).await,
            // What is refused now says more than what was refused a moment ago.
            Err(refusal) => self.refused(&refusal, Some(number)).await,
        }
    }

    async fn card_page(&self, status: u16, card: &Card, say: Option<&Worded>) -> PageAnswer {
        let number = card.facts.number;
        let frame = self.frame().await;
        let yes = match card.facts.disruptive {
            true => Yes::Review(self.inside.token(Purpose::Review(number))),
            false => Yes::Approve(self.inside.token(Purpose::Approve(number))),
        };
        let deny = self.inside.token(Purpose::Deny(number));
        let view = CardView { card, say, deny: &deny, yes: &yes, approvals: self.inside.approvals };
        PageAnswer::html(status, render::card::page(&frame, &view))
    }

    /// What became of one proposal.
    pub(super) async fn outcome(&self, number: ProposalNumber) -> PageAnswer {
        let row = match self.site.door.fate(number).await {
            Ok(row) => row,
            Err(refusal) => return self.refused(&refusal, None).await,
        };
        let answer = PageAnswer::html(200, render::outcome::page(&self.frame().await, &row));
        if matches!(row.state, ProposalState::Approved | ProposalState::Consumed) {
            answer.with("Refresh", LOOK_AGAIN.to_owned())
        } else {
            answer
        }
    }

    /// The newest proposals.
    pub(super) async fn history(&self) -> PageAnswer {
        match self.site.door.history(HISTORY).await {
            Ok(rows) => PageAnswer::html(200, render::history::page(&self.frame().await, &rows)),
            Err(refusal) => self.refused(&refusal, None).await,
        }
    }
}
