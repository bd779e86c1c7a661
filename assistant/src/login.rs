//! The normal sign-in on `ask.sock`: begun, watched and ended by one connection, kept by this process. A right to ask is no
//! right to say as whom the fleet is read (issue line 3.1).

use crate::desk::Desk;
use crate::people;
use crate::poll::Hears;
use protocol::ask::AssistantSays;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::signin::{LoginLink, MAX_IDS, MAX_PASTED, Pasted, SignedIn};
use reader::oauth::{Attempt, OauthError};
use reader::session::ReadClient;
use reader::token::{NewSignIn, SignedOut};
use std::time::Duration;

/// Longest wait for one answer about the person's progress.
const WAIT: Duration = Duration::from_secs(1);
/// How long the daemon waits for the person, in seconds.
const PERSON: u32 = 300;

/// One asker's connection: who it is, and the sign-in that it began.
#[derive(Debug)]
pub(crate) struct Asker {
    uid: u32,
    person: bool,
    attempt: Option<Attempt>,
}

impl Asker {
    /// A connection of this user. Unless it is root or the assistant's own, it may only ask until [`Self::set_person`]
    /// says more.
    pub(crate) fn new(uid: u32) -> Self {
        Self { uid, person: people::is_ours(uid), attempt: None }
    }

    /// Takes what [`crate::people::People`] says of the user now.
    pub(crate) fn set_person(&mut self, person: bool) {
        self.person = person;
    }

    /// Whether this is root, the assistant's own user or an operator: somebody who may do more than ask.
    pub(crate) fn is_person(&self) -> bool {
        self.person
    }

    /// Whose proposals' outcomes this asker is told.
    pub(crate) fn hears(&self) -> Hears {
        if self.is_person() { Hears::All(self.uid) } else { Hears::Own(self.uid) }
    }

    pub(crate) fn may_sign_in(&self) -> Result<(), Refusal> {
        if self.is_person() {
            return Ok(());
        }
        let who = "only root, the assistant's own user and members of fleetwatch-operators sign it in or out";
        Err(Refusal::new(RefusalCode::NotPermitted, who))
    }

    /// `DeviceIds`.
    pub(crate) async fn device_ids(&self, desk: &Desk) -> Result<AssistantSays, Refusal> {
        self.may_sign_in()?;
        let read = desk.fleet.team().await;
        listed(read.map(|team| team.devices.len()), desk.fleet.units().ids())
    }

    /// `Login`.
    pub(crate) async fn begin(&mut self, desk: &Desk) -> Result<AssistantSays, Refusal> {
        self.may_sign_in()?;
        // Begun anew on the same connection: the older one ends first.
        self.attempt = None;
        let attempt = live(desk)?.sign_in().begin(desk.callback_port).await.map_err(OauthError::refusal)?;
        let link = LoginLink { url: attempt.link().to_owned(), host: attempt.host().to_owned(), seconds: PERSON };
        self.attempt = Some(attempt);
        Ok(AssistantSays::LoginLink(link))
    }

    /// `LoginCallback`.
    pub(crate) fn paste(&self, address: &Pasted) -> Result<AssistantSays, Refusal> {
        let attempt = self.attempt.as_ref().ok_or_else(none_begun)?;
        if address.expose().len() > MAX_PASTED {
            return Err(Refusal::bare(RefusalCode::TooLarge));
        }
        attempt.paste(address.expose()).map_err(OauthError::refusal)?;
        Ok(AssistantSays::LoginWaiting)
    }

    /// `LoginWait`.
    pub(crate) async fn wait(&mut self, desk: &Desk) -> Result<AssistantSays, Refusal> {
        let attempt = self.attempt.as_mut().ok_or_else(none_begun)?;
        let sign_in = live(desk)?.sign_in();
        let Some(ended) = sign_in.signed(attempt, WAIT).await else { return Ok(AssistantSays::LoginWaiting) };
        self.attempt = None;
        let new: NewSignIn = ended.map_err(OauthError::refusal)?;
        if let Err(error) = sign_in.adopt(&new).await {
            // The server has given the tokens out: what is not kept must not live on there.
            let revoked = new.forget().await == SignedOut::Revoked;
            tracing::warn!(uid = self.uid, %error, revoked, "the new sign-in is not kept");
            let more = "its tokens could not be taken back at the server: end that session there";
            let why = if revoked { error.to_string() } else { format!("{error}; {more}") };
            return Err(Refusal::new(RefusalCode::SignInFailed, &why));
        }
        // Before anything waits: no look may stand between the two.
        desk.watch.signed_in_anew();
        desk.fleet.signed_in_anew().await;
        let facts = sign_in.facts();
        tracing::info!(uid = self.uid, "signed in to the fleet");
        let left = |at: i64| u64::try_from(at.saturating_sub(desk.clock.unix())).unwrap_or(0);
        Ok(AssistantSays::SignedIn(SignedIn {
            scope: facts.scope,
            expires_in: facts.expires_at.map(left),
            renewed: facts.renewed,
            devices: None,
            notes: Vec::new(),
        }))
    }

    /// `Logout`.
    pub(crate) async fn end(&mut self, desk: &Desk) -> Result<AssistantSays, Refusal> {
        self.may_sign_in()?;
        self.attempt = None;
        let done = live(desk)?.sign_in().sign_out().await;
        let done = done.map_err(|error| Refusal::new(RefusalCode::SignInFailed, &error.to_string()))?;
        desk.fleet.signed_out().await;
        tracing::info!(uid = self.uid, ?done, "signed out of the fleet");
        match done {
            SignedOut::Nothing => Err(Refusal::new(RefusalCode::SignInFailed, "nobody was signed in")),
            SignedOut::NotRevoked => Ok(AssistantSays::SignedOut { revoked: false }),
            SignedOut::Revoked => Ok(AssistantSays::SignedOut { revoked: true }),
        }
    }
}

// The units that were read now stand among those that were ever listed. More than can be carried are compared as far as
// they can be: no comparison at all would keep what must not be kept.
fn listed(read: Result<usize, Refusal>, ids: Vec<String>) -> Result<AssistantSays, Refusal> {
    let more = || Refusal::new(RefusalCode::TooLarge, "the team has more than 5,000 units");
    match read {
        Ok(count) if count > MAX_IDS => Ok(AssistantSays::DeviceIds { ids, unread: Some(more()) }),
        Ok(_) => Ok(AssistantSays::DeviceIds { ids, unread: None }),
        Err(refusal) if ids.is_empty() => Err(refusal),
        Err(refusal) => Ok(AssistantSays::DeviceIds { ids, unread: Some(refusal) }),
    }
}

fn live(desk: &Desk) -> Result<&ReadClient, Refusal> {
    desk.fleet.live().ok_or_else(|| Refusal::bare(RefusalCode::NoSignIn))
}

fn none_begun() -> Refusal {
    Refusal::new(RefusalCode::SignInFailed, "no sign-in is under way on this connection")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_who_may_ask_may_not_sign_in() {
        let mut asker = Asker::new(65_534);
        let error = asker.may_sign_in().unwrap_err();
        assert_eq!((error.code, asker.hears()), (RefusalCode::NotPermitted, Hears::Own(65_534)));
        asker.set_person(true);
        asker.may_sign_in().unwrap();
        assert_eq!(asker.hears(), Hears::All(65_534));
    }

    #[test]
    fn units_that_cannot_be_read_now_are_those_that_were_listed_before() {
        let (dead, ids) = (Refusal::bare(RefusalCode::SignInDead), vec!["20300000001".to_owned()]);
        let said = |unread| Ok(AssistantSays::DeviceIds { ids: ids.clone(), unread });
        assert_eq!(listed(Ok(1), ids.clone()), said(None));
        assert_eq!(listed(Err(dead.clone()), ids.clone()), said(Some(dead.clone())));
        assert_eq!(listed(Err(dead.clone()), Vec::new()), Err(dead));
        let Ok(AssistantSays::DeviceIds { ids: some, unread: Some(why) }) = listed(Ok(MAX_IDS + 1), ids.clone()) else {
            panic!("a large team is compared in part")
        };
        assert_eq!((some, why.code), (ids, RefusalCode::TooLarge));
    }
}
