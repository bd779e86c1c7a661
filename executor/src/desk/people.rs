//! Who may come to the desk, and how they show it.

use super::{Desk, Person, Surface, Viewer};
use crate::store::{StoreError, audit::Step};
use control::pin::PinEntry;
use host::secret::SecretText;
use protocol::ids::ProposalNumber;
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::json;
use zeroize::Zeroizing;

impl Desk {
    /// How many operators there are; the page asks for a name only when more than one.
    pub(crate) fn operators(&self) -> usize {
        self.app.registry.operators()
    }

    /// The person whose PIN this is. `name` picks one of several operators.
    pub(crate) async fn log_in(&self, name: Option<&str>, pin: &str) -> Result<Person, Refusal> {
        let person = self.app.registry.person_named(name).ok_or_else(|| Refusal::bare(RefusalCode::NotPermitted))?;
        let entry = PinEntry::new(Zeroizing::new(pin.to_owned()));
        self.check_pin(&person, Surface::Page, &entry).await?;
        self.step("signed_in", (&person, Surface::Page), json!({})).await?;
        Ok(person)
    }

    /// The person of a page code, which is used up by asking.
    ///
    /// # Errors
    /// `not_permitted` when it is no code, was used, or is older than two minutes; `store_failed`.
    pub(crate) async fn log_in_with_code(&self, code: &str) -> Result<Person, Refusal> {
        let person = self.app.codes.take(code).filter(|person| self.knows(person));
        let person = person.ok_or_else(|| Refusal::bare(RefusalCode::NotPermitted))?;
        self.step("signed_in", (&person, Surface::Page), json!({ "by": "page_code" })).await?;
        Ok(person)
    }

    /// A page code for the viewer. The PIN was checked.
    ///
    /// # Errors
    /// `not_permitted`, `store_failed`.
    pub(crate) async fn page_code(&self, viewer: &Viewer) -> Result<SecretText, Refusal> {
        self.permitted(viewer)?;
        if !self.opens_by_code() {
            return Err(Refusal::new(
                RefusalCode::NotPermitted,
                "one user runs everything: the page asks for secret and PIN",
            ));
        }
        self.note("page_code", viewer, None, json!({})).await?;
        self.app.codes.issue(&viewer.person)
    }

    /// Whether the page is opened by a code alone: so it is where people and assistant have users of their own.
    pub(crate) fn opens_by_code(&self) -> bool {
        !self.app.config.single_user()
    }

    /// Whether this is the person's PIN. A wrong one is audited; a locked one was, when it locked.
    ///
    /// # Errors
    /// `wrong_pin`, `pin_locked`, `no_pin`, `store_failed`.
    pub(crate) async fn check_pin(&self, person: &Person, surface: Surface, pin: &PinEntry) -> Result<(), Refusal> {
        let checked = self.app.registry.check_pin(person, pin).await;
        if let Err(refusal) = &checked
            && refusal.code == RefusalCode::WrongPin
        {
            let locked = self.app.registry.is_locked(person);
            self.step("pin_wrong", (person, surface), json!({ "locked": locked })).await?;
        }
        checked
    }

    /// Whether somebody on this connection may see the page: an operator, and never the assistant's own user. Without a
    /// uid (macOS) the page's own sign-in has to do.
    pub(crate) fn may_visit(&self, uid: Option<u32>) -> bool {
        let assistant = |uid| uid == self.app.config.assistant_uid && !self.app.config.single_user();
        uid.is_none_or(|uid| self.app.registry.person_of_uid(uid).is_some() && !assistant(uid))
    }

    /// Sets the person's own PIN. The audit says so first: a PIN never changes without a row.
    ///
    /// # Errors
    /// `wrong_pin`, `pin_locked`, `bad_arguments` for a short one, `store_failed`.
    pub(crate) async fn set_pin(&self, viewer: &Viewer, old: Option<&PinEntry>, new: &PinEntry) -> Result<(), Refusal> {
        self.permitted(viewer)?;
        if let Some(old) = old {
            self.check_pin(&viewer.person, viewer.surface, old).await?;
        }
        self.note("pin_set", viewer, None, json!({})).await?;
        let set = self.app.registry.set_pin(&viewer.person, old.is_some(), new).await;
        if let Err(refusal) = &set {
            self.note("pin_set_failed", viewer, None, json!({ "code": refusal.code.as_str() })).await?;
        }
        set
    }

    /// Whether the person still has the rights, and the PIN, that a session was opened with.
    pub(crate) fn knows(&self, person: &Person) -> bool {
        self.app.registry.still_operates(person)
    }

    pub(super) fn permitted(&self, viewer: &Viewer) -> Result<(), Refusal> {
        if self.app.registry.still_operates(&viewer.person) {
            Ok(())
        } else {
            Err(Refusal::bare(RefusalCode::NotPermitted))
        }
    }

    pub(super) async fn note(
        &self,
        kind: &'static str,
        viewer: &Viewer,
        proposal: Option<ProposalNumber>,
        detail: serde_json::Value,
    ) -> Result<(), Refusal> {
        let (principal, surface) = (viewer.person.name().to_string(), viewer.surface.as_str());
        self.app
            .store
            .call(move |store| store.note(&Step { kind, proposal, principal: &principal, surface, detail }))
            .await
            .map_err(StoreError::into_refusal)
    }

    pub(super) async fn step(
        &self,
        kind: &'static str,
        (person, surface): (&Person, Surface),
        detail: serde_json::Value,
    ) -> Result<(), Refusal> {
        // Before a session there is nobody to bind a ticket to.
        let viewer = Viewer { person: person.clone(), surface, session: [0; 32] };
        self.note(kind, &viewer, None, detail).await
    }
}
