//! Signing in and out.

use super::{Amiss, Site, Visit, number_of};
use crate::desk::Person;
use crate::page::form::{BadForm, Form};
use crate::page::render::login::Way;
use crate::page::render::{self, Frame, words};
use crate::page::request::{PageAnswer, PageRequest};
use crate::page::session::{Purpose, Waits, no_cookie};
use protocol::ids::ProposalNumber;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use std::sync::{MutexGuard, PoisonError};
use zeroize::Zeroizing;

// What proves that somebody may enter.
enum Proof {
    /// A page code, where people have users of their own.
    Code(Zeroizing<String>),
    /// The launch secret and the PIN, with a name where there are several operators.
    Secret { secret: Zeroizing<String>, pin: Zeroizing<String>, name: Option<Zeroizing<String>> },
}

// What was typed into the sign-in form.
struct Entry {
    proof: Proof,
    card: Option<ProposalNumber>,
}

impl Entry {
    fn read(body: &[u8], way: Way) -> Result<Self, BadForm> {
        let mut form = Form::read(body)?;
        let proof = match way {
            Way::Code => Proof::Code(form.take("code")?),
            Way::Secret { with_name } => Proof::Secret {
                secret: form.take("secret")?,
                pin: form.take("pin")?,
                name: if with_name { Some(form.take("name")?) } else { None },
            },
        };
        let entry = Self {
            proof,
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
        PageAnswer::html(status, render::login::page(&frame, self.way(), number, say))
    }

    fn way(&self) -> Way {
        if self.door.opens_by_code() { Way::Code } else { Way::Secret { with_name: self.door.operators() > 1 } }
    }

    /// Checks an entry and opens a session.
    pub(super) async fn log_in(&self, request: &PageRequest) -> PageAnswer {
        let _turn = self.turn.lock().await;
        let peer = request.peer_uid;
        if let Some(seconds) = self.waits().wait(peer, self.clock.boot_ms()) {
            let say = words::wait(seconds);
            return self.form(request, 429, None, Some(&say)).with("Retry-After", seconds.to_string());
        }
        let Ok(entry) = Entry::read(&request.body, self.way()) else {
            return self.form(request, 400, None, Some(&words::BAD_FORM.owned()));
        };
        let person = match self.proven(&entry.proof, peer).await {
            Ok(person) => person,
            Err(say) => return self.wrong(request, entry.card, &say),
        };
        let cookie = request.cookie.as_ref().map(|cookie| cookie.as_str());
        let Ok(set_cookie) = self.sessions.open(person, peer, cookie) else {
            return self.form(request, 503, entry.card, Some(&words::NO_RANDOM.owned()));
        };
        self.waits().right(peer);
        let next = entry.card.map_or_else(|| "/".to_owned(), |number| format!("/card/{number}"));
        PageAnswer::see(next).with("Set-Cookie", set_cookie)
    }

    async fn proven(&self, proof: &Proof, peer: Option<u32>) -> Result<Person, Worded> {
        match proof {
            Proof::Code(code) => {
                let person = self.door.log_in_with_code(code.trim()).await;
                let person = person.map_err(|refusal| entry_refused(&refusal, words::WRONG_CODE))?;
                // A code is its owner's: another operator's browser would decide in the owner's name.
                match peer {
                    Some(uid) if uid != person.uid() => Err(words::WRONG_CODE.owned()),
                    Some(_) | None => Ok(person),
                }
            }
            // The secret first: whoever does not have it must not be able to lock anybody's PIN.
            Proof::Secret { secret, .. } if !self.secret.is(secret) => Err(words::WRONG_ENTRY.owned()),
            Proof::Secret { pin, name, .. } => {
                let person = self.door.log_in(name.as_ref().map(|name| name.trim()), pin).await;
                person.map_err(|refusal| entry_refused(&refusal, words::WRONG_ENTRY))
            }
        }
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
fn entry_refused(refusal: &Refusal, wrong: words::Say) -> Worded {
    if matches!(refusal.code, RefusalCode::WrongPin | RefusalCode::NotPermitted) {
        wrong.owned()
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
