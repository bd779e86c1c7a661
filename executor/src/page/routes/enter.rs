//! Signing in and out.

use super::{Amiss, Site, Visit, number_of};
use crate::page::form::{BadForm, Form};
use crate::page::render::{self, Frame, words};
use crate::page::request::{PageAnswer, PageRequest};
use crate::page::session::{Purpose, Waits, no_cookie};
use protocol::ids::ProposalNumber;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use std::sync::{MutexGuard, PoisonError};
use zeroize::Zeroizing;

// What was typed into the sign-in form.
struct Entry {
    secret: Zeroizing<String>,
    pin: Zeroizing<String>,
    name: Option<Zeroizing<String>>,
    card: Option<ProposalNumber>,
}

impl Entry {
    fn read(body: &[u8], with_name: bool) -> Result<Self, BadForm> {
        let mut form = Form::read(body)?;
        let entry = Self {
            secret: form.take("secret")?,
            pin: form.take("pin")?,
            name: if with_name { Some(form.take("name")?) } else { None },
            card: match form.maybe("card") {
                Some(number) => Some(number_of(&number).ok_or(BadForm)?),
                None => None,
            },
        };
        form.end()?;
        Ok(entry)
    }
}

impl Site {
    /// The sign-in form; it leads to the card of `number` when there is one.
    pub(super) fn form(
        &self,
        request: &PageRequest,
        status: u16,
        number: Option<ProposalNumber>,
        say: Option<&Worded>,
    ) -> PageAnswer {
        let frame = Frame::outside(request.language);
        let with_name = self.door.operators() > 1;
        PageAnswer::html(status, render::login::page(&frame, with_name, number, say))
    }

    /// Checks an entry and opens a session.
    pub(super) async fn log_in(&self, request: &PageRequest) -> PageAnswer {
        let _turn = self.turn.lock().await;
        let peer = request.peer_uid;
        if let Some(seconds) = self.waits().wait(peer, self.clock.boot_ms()) {
            let say = words::wait(seconds);
            return self.form(request, 429, None, Some(&say)).with("Retry-After", seconds.to_string());
        }
        let Ok(entry) = Entry::read(&request.body, self.door.operators() > 1) else {
            return self.form(request, 400, None, Some(&words::BAD_FORM.owned()));
        };
        // The secret first: whoever does not have it must not be able to lock anybody's PIN.
        if !self.secret.is(&entry.secret) {
            return self.wrong(request, entry.card, &words::WRONG_ENTRY.owned());
        }
        let name = entry.name.as_ref().map(|name| name.trim());
        let person = match self.door.log_in(name, &entry.pin).await {
            Ok(person) => person,
            Err(refusal) => return self.wrong(request, entry.card, &entry_refused(&refusal)),
        };
        let cookie = request.cookie.as_ref().map(|cookie| cookie.as_str());
        let Ok(set_cookie) = self.sessions.open(person, peer, cookie) else {
            return self.form(request, 503, entry.card, Some(&words::NO_RANDOM.owned()));
        };
        self.waits().right(peer);
        let next = entry.card.map_or_else(|| "/".to_owned(), |number| format!("/card/{number}"));
        PageAnswer::see(next).with("Set-Cookie", set_cookie)
    }

    fn wrong(&self, request: &PageRequest, card: Option<ProposalNumber>, say: &Worded) -> PageAnswer {
        self.waits().wrong(request.peer_uid, self.clock.boot_ms());
        self.form(request, 403, card, Some(say))
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// A wrong PIN is told in the same words as a wrong secret.
fn entry_refused(refusal: &Refusal) -> Worded {
    if matches!(refusal.code, RefusalCode::WrongPin | RefusalCode::NotPermitted) {
        words::WRONG_ENTRY.owned()
    } else {
        policy::words::refusal(refusal.code)
    }
}

impl Visit<'_> {
    /// Ends the session.
    pub(super) fn log_out(&self, request: &PageRequest) -> Result<PageAnswer, Amiss> {
        let mut form = Form::read(&request.body)?;
        let token = form.take("token")?;
        form.end()?;
        if !self.inside.fits(Purpose::LogOut, &token) {
            return Err(Amiss::Token);
        }
        self.site.sessions.close(request.cookie.as_ref().map(|cookie| cookie.as_str()));
        Ok(PageAnswer::see("/".to_owned()).with("Set-Cookie", no_cookie()))
    }
}
