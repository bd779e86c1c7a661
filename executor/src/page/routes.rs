//! Which page for which request, and what may be decided by it. The order of the checks is the security property: the gate
//! has checked `Host`; then origin, session, form, token, and only then the desk, which checks everything again.

mod act;
mod enter;
mod look;

#[cfg(test)]
mod tests;

use super::door::Door;
use super::form::BadForm;
use super::origin;
use super::render::{self, Foot, Frame, Who, style::SHEET};
use super::request::{Kind, Method, PageAnswer, PageRequest};
use super::session::{Inside, LaunchSecret, Purpose, Sessions, Waits};
use host::clock::Clock;
use protocol::ids::ProposalNumber;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Language;
use std::sync::Mutex;

/// Everything that the pages are made from.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) door: Door,
    pub(super) sessions: Sessions,
    pub(super) secret: LaunchSecret,
    pub(super) waits: Mutex<Waits>,
    /// One sign-in at a time, so that entries sent side by side are counted one by one.
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) clock: Clock,
    pub(super) port: u16,
}

/// The places of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Approve,
    Card(ProposalNumber),
    Confirm,
    Deny,
    DenyAll,
    Freeze,
    History,
    Login,
    Logout,
    Outcome(ProposalNumber),
    Queue,
    Style,
    Undo,
}

fn place(path: &str) -> Option<Place> {
    match path {
        "/" => Some(Place::Queue),
        "/approve" => Some(Place::Approve),
        "/confirm" => Some(Place::Confirm),
        "/deny" => Some(Place::Deny),
        "/deny-all" => Some(Place::DenyAll),
        "/freeze" => Some(Place::Freeze),
        "/history" => Some(Place::History),
        "/login" => Some(Place::Login),
        "/logout" => Some(Place::Logout),
        "/style.css" => Some(Place::Style),
        "/undo" => Some(Place::Undo),
        _ => {
            if let Some(number) = path.strip_prefix("/card/") {
                return number_of(number).map(Place::Card);
            }
            path.strip_prefix("/outcome/").and_then(number_of).map(Place::Outcome)
        }
    }
}

/// A proposal's number in its one spelling: digits, no leading zero.
fn number_of(text: &str) -> Option<ProposalNumber> {
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok().and_then(ProposalNumber::new) } else { None }
}

impl Site {
    /// Answers one request.
    pub(super) async fn answer(&self, request: PageRequest) -> PageAnswer {
        if !self.door.may_visit(request.peer_uid) {
            return self.plain(&request, 403, render::words::NOT_FOR_YOU);
        }
        let Some(place) = place(&request.path) else {
            return self.plain(&request, 404, render::words::NO_SUCH_PAGE);
        };
        match request.method {
            Method::Get | Method::Head => self.get(&request, place).await,
            Method::Post => self.post(request, place).await,
        }
    }

    async fn get(&self, request: &PageRequest, place: Place) -> PageAnswer {
        if place == Place::Style {
            return PageAnswer { kind: Kind::Css, ..PageAnswer::html(200, SHEET.to_owned()) };
        }
        let number = match place {
            Place::Freeze | Place::History | Place::Queue => None,
            Place::Card(number) | Place::Outcome(number) => Some(number),
            Place::Approve
            | Place::Confirm
            | Place::Deny
            | Place::DenyAll
            | Place::Login
            | Place::Logout
            | Place::Style
            | Place::Undo => {
                return self.plain(request, 404, render::words::NO_SUCH_PAGE);
            }
        };
        // The outcome page looks itself up again while a run goes on; that must not keep a session open.
        let Some(inside) = self.inside(request, !matches!(place, Place::Outcome(_))) else {
            let status = if place == Place::Queue { 200 } else { 403 };
            return self.form(request, status, number, None);
        };
        let visit = Visit { site: self, inside, language: request.language };
        match place {
            // Nobody looks at the answer to a HEAD, so it must not mark the card as seen.
            Place::Card(_) if request.method == Method::Head => PageAnswer::html(200, String::new()),
            Place::Card(number) => visit.card(number).await,
            Place::Outcome(number) => visit.outcome(number).await,
            Place::Freeze => visit.before_freeze().await,
            Place::History => visit.history(request.query.as_deref()).await,
            Place::Approve
            | Place::Confirm
            | Place::Deny
            | Place::DenyAll
            | Place::Login
            | Place::Logout
            | Place::Queue
            | Place::Style
            | Place::Undo => visit.queue().await,
        }
    }

    async fn post(&self, request: PageRequest, place: Place) -> PageAnswer {
        let (host, site) = (request.host.as_str(), request.sec_fetch_site.as_deref());
        if !origin::is_ours(self.port, host, request.origin.as_deref(), site) {
            return self.plain(&request, 403, render::words::NOT_FROM_HERE);
        }
        if place == Place::Login {
            return self.log_in(&request).await;
        }
        let Some(inside) = self.inside(&request, true) else {
            return self.form(&request, 403, None, Some(&render::words::SESSION_ENDED.owned()));
        };
        let visit = Visit { site: self, inside, language: request.language };
        let decided = match place {
            Place::Approve => visit.approve(&request.body).await,
            Place::Confirm => visit.confirm(&request.body).await,
            Place::Deny => visit.deny(&request.body).await,
            Place::DenyAll => visit.deny_all(&request.body).await,
            Place::Freeze => visit.freeze(&request.body).await,
            Place::Logout => visit.log_out(&request),
            Place::Undo => visit.undo(&request.body).await,
            Place::Card(_) | Place::History | Place::Login | Place::Outcome(_) | Place::Queue | Place::Style => {
                return self.plain(&request, 404, render::words::NO_SUCH_PAGE);
            }
        };
        match decided {
            Ok(answer) => answer,
            Err(Amiss::Form) => visit.sentence(400, render::words::BAD_FORM).await,
            Err(Amiss::Token) => visit.sentence(403, render::words::BAD_TOKEN).await,
            Err(Amiss::Refused(refusal)) => visit.refused(&refusal, None).await,
        }
    }

    // Who asks; `used` says whether the request counts as use of the session.
    fn inside(&self, request: &PageRequest, used: bool) -> Option<Inside> {
        let cookie = request.cookie.as_ref().map(|cookie| cookie.as_str());
        let find = if used { Sessions::find } else { Sessions::find_idle };
        find(&self.sessions, cookie, request.peer_uid).filter(|inside| self.door.knows(&inside.viewer.person))
    }

    // A page for somebody who may not be signed in: no facts.
    fn plain(&self, request: &PageRequest, status: u16, words: render::words::Say) -> PageAnswer {
        let frame = Frame::outside(request.language);
        PageAnswer::html(status, render::sentence::page(&frame, words.get(request.language), None))
    }
}

/// Why a decision was not even asked of the desk, or what the desk said.
#[derive(Debug)]
enum Amiss {
    Form,
    Refused(Refusal),
    Token,
}

impl From<BadForm> for Amiss {
    fn from(_: BadForm) -> Self {
        Self::Form
    }
}

impl From<Refusal> for Amiss {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// One request of somebody who is signed in.
struct Visit<'a> {
    site: &'a Site,
    inside: Inside,
    language: Language,
}

impl Visit<'_> {
    async fn frame(&self) -> Frame {
        let status = self.site.door.status().await.ok();
        Frame {
            language: self.language,
            waiting: status.as_ref().map(|status| status.queue.pending),
            who: Some(Who {
                name: self.inside.viewer.person.name().to_string(),
                token: self.inside.token(Purpose::LogOut),
            }),
            foot: Foot::from_status(status.as_ref()),
            status,
        }
    }

    async fn sentence(&self, status: u16, words: render::words::Say) -> PageAnswer {
        PageAnswer::html(status, render::sentence::page(&self.frame().await, words.get(self.language), None))
    }

    // What the desk refused, with the way to what became of it.
    async fn refused(&self, refusal: &Refusal, number: Option<ProposalNumber>) -> PageAnswer {
        let status = if refusal.code == RefusalCode::UnknownProposal { 404 } else { 409 };
        let number = number.filter(|_| status != 404);
        let frame = self.frame().await;
        PageAnswer::html(status, render::sentence::refusal(&frame, refusal, number))
    }
}
