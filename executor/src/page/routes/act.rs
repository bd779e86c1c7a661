//! Pages that decide. Each takes one form, whose token fits one purpose, one proposal and one session.

use super::{Amiss, Visit, number_of};
use crate::desk::YesTo;
use crate::page::form::{BadForm, Form, from_hex};
use crate::page::render;
use crate::page::render::confirm::ConfirmView;
use crate::page::request::PageAnswer;
use crate::page::session::Purpose;
use control::card::Card;
use protocol::ids::ProposalNumber;
use protocol::propose::News;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;

// A yes with the token of the form it came in.
struct Posted {
    yes: YesTo,
    token: String,
}

impl Posted {
    fn read(body: &[u8], with_confirm: bool) -> Result<Self, BadForm> {
        let mut form = Form::read(body)?;
        let yes = YesTo {
            number: number_of(&form.take("number")?).ok_or(BadForm)?,
            ticket: form.take("ticket")?.to_string(),
            digest: from_hex(&form.take("digest")?)?,
            confirm: if with_confirm { Some(form.take("confirm")?.to_string()) } else { None },
        };
        let token = form.take("token")?.to_string();
        form.end()?;
        Ok(Self { yes, token })
    }
}

impl Visit<'_> {
    /// Yes to a change that is not disruptive, or the way to the page that names the room.
    pub(super) async fn approve(&self, body: &[u8]) -> Result<PageAnswer, Amiss> {
        let Posted { yes, token } = Posted::read(body, false)?;
        // The kind of token was settled when the card was shown; only a card without a room to name has this one.
        if self.inside.fits(Purpose::Approve(yes.number), &token) {
            return Ok(self.run(yes).await);
        }
        if !self.inside.fits(Purpose::Review(yes.number), &token) {
            return Err(Amiss::Token);
        }
        match self.site.door.check(&self.inside.viewer, &yes).await {
            Ok(card) => Ok(self.confirm_page(200, &card, &yes, None).await),
            Err(refusal) => Ok(self.not_now(yes.number, &refusal).await),
        }
    }

    /// Yes to a disruptive change, with the room's name as typed.
    pub(super) async fn confirm(&self, body: &[u8]) -> Result<PageAnswer, Amiss> {
        let Posted { yes, token } = Posted::read(body, true)?;
        if !self.inside.fits(Purpose::Confirm(yes.number), &token) {
            return Err(Amiss::Token);
        }
        Ok(self.run(yes).await)
    }

    // Asks the desk; its answer comes when the run has ended.
    async fn run(&self, yes: YesTo) -> PageAnswer {
        let kept = yes.clone();
        match self.site.door.approve(&self.inside.viewer, yes).await {
            Ok(news) => ended(&news),
            Err(refusal) if refusal.code == RefusalCode::RoomNotConfirmed && kept.confirm.is_some() => {
                self.ask_again(&kept, &refusal).await
            }
            Err(refusal) => self.not_now(kept.number, &refusal).await,
        }
    }

    // The same confirm page once more: the name was not the card's.
    async fn ask_again(&self, yes: &YesTo, refusal: &Refusal) -> PageAnswer {
        let say = policy::words::refusal(refusal.code);
        match self.site.door.check(&self.inside.viewer, yes).await {
            Ok(card) => self.confirm_page(409, &card, yes, Some(&say)).await,
            Err(refusal) => self.not_now(yes.number, &refusal).await,
        }
    }

    async fn confirm_page(&self, status: u16, card: &Card, yes: &YesTo, say: Option<&Worded>) -> PageAnswer {
        // Nothing to confirm means that the card was not one for this page.
        let Some(room) = card.facts.confirm.as_deref().filter(|_| card.facts.deny_only.is_empty()) else {
            return self.not_now(yes.number, &Refusal::bare(RefusalCode::NotApprovable)).await;
        };
        let frame = self.frame().await;
        let deny = self.inside.token(Purpose::Deny(yes.number));
        let token = self.inside.token(Purpose::Confirm(yes.number));
        // The ticket and digest of the card that the person saw; the second page makes no new ones.
        let view =
            ConfirmView { card, room, ticket: &yes.ticket, digest: &yes.digest, deny: &deny, token: &token, say };
        PageAnswer::html(status, render::confirm::page(&frame, &view))
    }

    // Not done. What a fresh look can mend shows the fresh card; everything else says what became of it.
    async fn not_now(&self, number: ProposalNumber, refusal: &Refusal) -> PageAnswer {
        let look_again = matches!(
            refusal.code,
            RefusalCode::CardChanged | RefusalCode::TooSoon | RefusalCode::BadTicket | RefusalCode::RoomNotConfirmed
        );
        if look_again { self.card_again(number, refusal).await } else { self.refused(refusal, Some(number)).await }
    }

    /// No to one proposal.
    pub(super) async fn deny(&self, body: &[u8]) -> Result<PageAnswer, Amiss> {
        let mut form = Form::read(body)?;
        let number = number_of(&form.take("number")?).ok_or(BadForm)?;
        let token = form.take("token")?;
        form.end()?;
        if !self.inside.fits(Purpose::Deny(number), &token) {
            return Err(Amiss::Token);
        }
        match self.site.door.deny(&self.inside.viewer, number).await {
            Ok(news) => Ok(ended(&news)),
            Err(refusal) => Ok(self.refused(&refusal, Some(number)).await),
        }
    }

    /// No to everything that waits.
    pub(super) async fn deny_all(&self, body: &[u8]) -> Result<PageAnswer, Amiss> {
        let mut form = Form::read(body)?;
        let token = form.take("token")?;
        form.end()?;
        if !self.inside.fits(Purpose::DenyAll, &token) {
            return Err(Amiss::Token);
        }
        let _numbers = self.site.door.deny_all(&self.inside.viewer).await?;
        Ok(PageAnswer::see("/history".to_owned()))
    }

    /// Nothing more until it is thawed. What waited is denied.
    pub(super) async fn freeze(&self, body: &[u8]) -> Result<PageAnswer, Amiss> {
        let mut form = Form::read(body)?;
        let token = form.take("token")?;
        form.end()?;
        if !self.inside.fits(Purpose::Freeze, &token) {
            return Err(Amiss::Token);
        }
        let _numbers = self.site.door.freeze(&self.inside.viewer).await?;
        Ok(PageAnswer::see("/".to_owned()))
    }

    /// Proposes the undo of one that ran. It becomes a card like any other.
    pub(super) async fn undo(&self, body: &[u8]) -> Result<PageAnswer, Amiss> {
        let mut form = Form::read(body)?;
        let number = number_of(&form.take("number")?).ok_or(BadForm)?;
        let token = form.take("token")?;
        form.end()?;
        if !self.inside.fits(Purpose::Undo(number), &token) {
            return Err(Amiss::Token);
        }
        match self.site.door.propose_undo(&self.inside.viewer, number).await {
            Ok(undo) => Ok(PageAnswer::see(format!("/card/{undo}"))),
            Err(refusal) => Ok(self.refused(&refusal, Some(number)).await),
        }
    }
}

// A decision always ends on its outcome page.
fn ended(news: &News) -> PageAnswer {
    PageAnswer::see(format!("/outcome/{}", news.number))
}
