//! The operator's verbs. Page and `control.sock` are two ways to this one desk, so that no surface has a rule of its own.

mod doctor;
mod people;
mod records;
mod standstill;
mod status;

use crate::app::App;
use crate::card;
use crate::decide::Decision;
pub(crate) use crate::decide::Surface;
use crate::intake::{Agent, Intake, UNDO_AGENT};
pub(crate) use crate::principals::Person;
use crate::run;
use crate::store::{ProposalRow, StoreError};
use control::card::{Card, Waiting};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{News, Origin, Propose};
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::json;
use std::sync::Arc;

/// Who looks, where, and in which session; tickets are bound to it.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub(crate) person: Person,
    pub(crate) surface: Surface,
    /// SHA-256 of the page session id, or of the control connection's random id.
    pub(crate) session: [u8; 32],
}

/// A person's yes to one card that they saw.
#[derive(Debug, Clone)]
pub(crate) struct YesTo {
    pub(crate) number: ProposalNumber,
    pub(crate) ticket: String,
    pub(crate) digest: [u8; 32],
    /// The rooms' names as typed, for a disruptive change.
    pub(crate) confirm: Option<String>,
}

/// The operator's verbs; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    app: Arc<App>,
    intake: Arc<Intake>,
}

impl Desk {
    pub(crate) fn new(app: &Arc<App>, intake: &Arc<Intake>) -> Self {
        Self { app: app.clone(), intake: intake.clone() }
    }

    /// Proposes the undo of a change that ran. It waits like any other proposal, under the same checks and limits.
    ///
    /// # Errors
    /// `unknown_proposal`, `not_waiting` when it did not run or has no undo, and every refusal of intake.
    pub(crate) async fn propose_undo(
        &self,
        viewer: &Viewer,
        number: ProposalNumber,
    ) -> Result<ProposalNumber, Refusal> {
        self.permitted(viewer)?;
        let row = self.app.store.call(move |store| store.row(number)).await.map_err(StoreError::into_refusal)?;
        let undo = card::undo_of(&self.app, &row)
            .ok_or_else(|| Refusal::new(RefusalCode::NotWaiting, &format!("proposal {number} has nothing to undo")))?;
        let id = host::secret::random_bytes::<16>().map_err(|_| Refusal::bare(RefusalCode::StoreFailed))?;
        let id = host::secret::hex(&id);
        let label = |text: &str| Label::new(text).ok_or_else(|| Refusal::bare(RefusalCode::BadArguments));
        let agent = Agent { label: label(UNDO_AGENT)?, turn: format!("undo-{id}") };
        let draft = Propose {
            request: label(&format!("undo-{id}"))?,
            origin: Origin::Undo,
            tool: undo.tool.as_str().to_owned(),
            arguments: undo.arguments.as_str().as_bytes().to_vec(),
            reason: format!("Undo of proposal {number}, asked for by {}.", viewer.person.name()),
        };
        self.intake.propose(&agent, draft).await
    }

    /// The queue, oldest first.
    pub(crate) async fn waiting(&self) -> Result<Vec<Waiting>, Refusal> {
        let rows = self.app.store.call(|store| store.waiting()).await.map_err(StoreError::into_refusal)?;
        Ok(rows.iter().map(|row| self.waiting_of(row)).collect())
    }

    fn waiting_of(&self, row: &ProposalRow) -> Waiting {
        Waiting {
            number: row.number,
            heading: card::heading_of(&self.app, row),
            targets: card::targets_of(row),
            expires_in: u64::try_from(row.expires_in).unwrap_or(0),
        }
    }

    /// A card from a fresh read, with a ticket. Marks it seen.
    pub(crate) async fn show(&self, viewer: &Viewer, number: ProposalNumber) -> Result<Card, Refusal> {
        self.permitted(viewer)?;
        let looked = card::look(&self.app, number).await?;
        card::card_for(&self.app, viewer, looked).await
    }

    /// Checks that a yes could be given now (ticket, age, digest against a fresh card), without giving it: what the page
    /// asks before it shows the second confirmation.
    pub(crate) async fn check(&self, viewer: &Viewer, yes: &YesTo) -> Result<Card, Refusal> {
        self.permitted(viewer)?;
        card::check_ticket(&self.app, viewer, yes).await?;
        let looked = card::look(&self.app, yes.number).await?;
        card::check_facts(yes, &looked)?;
        let card = card::card_for(&self.app, viewer, looked).await?;
        // The second page inherits the first one's ticket: no new wait, and no new card slipped in between.
        Ok(Card { ticket: yes.ticket.clone(), ..card })
    }

    /// Approves, runs, and gives the outcome when the run has ended.
    pub(crate) async fn approve(&self, viewer: &Viewer, yes: YesTo) -> Result<News, Refusal> {
        self.permitted(viewer)?;
        let number = yes.number;
        let ended = run::approve_and_run(&self.app, viewer.clone(), yes).await;
        if let Err(refusal) = &ended {
            let why = policy::redact::redact_text(&refusal.detail);
            let detail = json!({ "code": refusal.code.as_str(), "detail": why });
            self.note("approval_refused", viewer, Some(number), detail).await?;
        }
        ended
    }

    /// Denies one proposal, waiting or approved but not started.
    pub(crate) async fn deny(&self, viewer: &Viewer, number: ProposalNumber) -> Result<News, Refusal> {
        self.permitted(viewer)?;
        let (person, surface) = (viewer.person.clone(), viewer.surface);
        self.app
            .store
            .call(move |store| {
                let state = store.decide(number, &Decision::Deny { person: &person, surface })?;
                Ok(News { number, state, refusal: None, detail: String::new() })
            })
            .await
            .map_err(StoreError::into_refusal)
    }

    /// Denies everything that waits; each is a denial of its own.
    pub(crate) async fn deny_all(&self, viewer: &Viewer) -> Result<Vec<ProposalNumber>, Refusal> {
        self.permitted(viewer)?;
        let (person, surface) = (viewer.person.clone(), viewer.surface);
        self.app
            .store
            .call(move |store| {
                let mut denied = Vec::new();
                for row in store.waiting()? {
                    match store.decide(row.number, &Decision::Deny { person: &person, surface }) {
                        Ok(_) => denied.push(row.number),
                        // Somebody else was first with this one.
                        Err(StoreError::Refused(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(denied)
            })
            .await
            .map_err(StoreError::into_refusal)
    }
}
