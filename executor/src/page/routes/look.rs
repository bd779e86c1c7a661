//! Pages that only show.

use super::Visit;
use crate::page::form::{BadForm, Form};
use crate::page::render::card::{CardView, Yes};
use crate::page::render::{self, Frame};
use crate::page::request::PageAnswer;
use crate::page::session::Purpose;
use control::card::Card;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;

/// Rows of the history page.
const HISTORY: u16 = 100;
/// Longest text to search for, in characters.
const SEARCH_MOST: usize = 80;
/// Seconds until an outcome that is still open is looked up again.
const LOOK_AGAIN: &str = "2";

impl Visit<'_> {
    /// What waits.
    pub(super) async fn queue(&self) -> PageAnswer {
        let waiting = match self.site.door.waiting().await {
            Ok(waiting) => waiting,
            Err(refusal) => return self.refused(&refusal, None).await,
        };
        let frame = Frame { waiting: Some(waiting.len() as u64), ..self.frame().await };
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
        let view = CardView { card, say, deny: &deny, yes: &yes };
        PageAnswer::html(status, render::card::page(&frame, &view))
    }

    /// What became of one proposal.
    pub(super) async fn outcome(&self, number: ProposalNumber) -> PageAnswer {
        let row = match self.site.door.fate(number).await {
            Ok(row) => row,
            Err(refusal) => return self.refused(&refusal, None).await,
        };
        let undo = self.inside.token(Purpose::Undo(number));
        let answer = PageAnswer::html(200, render::outcome::page(&self.frame().await, &row, &undo));
        if matches!(row.state, ProposalState::Approved | ProposalState::Consumed) {
            answer.with("Refresh", LOOK_AGAIN.to_owned())
        } else {
            answer
        }
    }

    /// The newest proposals, or those in which the text of the query stands.
    pub(super) async fn history(&self, query: Option<&str>) -> PageAnswer {
        let Ok(search) = searched(query) else {
            return self.sentence(400, render::words::BAD_SEARCH).await;
        };
        match self.site.door.history(HISTORY, search.as_deref()).await {
            Ok(rows) => PageAnswer::html(200, render::history::page(&self.frame().await, &rows, search.as_deref())),
            Err(refusal) => self.refused(&refusal, None).await,
        }
    }

    /// What is asked before everything is frozen.
    pub(super) async fn before_freeze(&self) -> PageAnswer {
        let token = self.inside.token(Purpose::Freeze);
        PageAnswer::html(200, render::freeze::page(&self.frame().await, &token))
    }
}

// The text that is searched for: one field `q`, short, without control characters. Nothing else may stand in a query.
fn searched(query: Option<&str>) -> Result<Option<String>, BadForm> {
    let mut form = Form::read(query.unwrap_or_default().as_bytes())?;
    let text = form.maybe("q");
    form.end()?;
    let Some(text) = text else { return Ok(None) };
    let text = text.trim();
    if text.chars().count() > SEARCH_MOST || text.chars().any(char::is_control) {
        return Err(BadForm);
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}
