//! The operator's verbs. Page and `control.sock` are two ways to this one desk, so that no surface has a rule of its own.

use crate::app::App;
use crate::card;
use crate::decide::Decision;
pub(crate) use crate::decide::Surface;
pub(crate) use crate::principals::Person;
use crate::run;
use crate::store::{Limits, ProposalRow, StoreError, audit::Step};
use control::card::{Card, HistoryRow, Waiting};
use control::pin::PinEntry;
use control::status::{ExecutorStatus, Problem, QueueStatus, StartReport};
use protocol::hello::Hello;
use protocol::ids::ProposalNumber;
use protocol::propose::News;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use serde_json::json;
use std::sync::Arc;
use zeroize::Zeroizing;

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
}

impl Desk {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self { app: app.clone() }
    }

    /// How many operators there are; the page asks for a name only when more than one.
    pub(crate) fn operators(&self) -> usize {
        self.app.registry.operators()
    }

    /// The person whose PIN this is. `name` picks one of several operators.
    pub(crate) async fn log_in(&self, name: Option<&str>, pin: &str) -> Result<Person, Refusal> {
        let person = self.app.registry.person_named(name).ok_or_else(|| Refusal::bare(RefusalCode::NotPermitted))?;
        let entry = PinEntry::new(Zeroizing::new(pin.to_owned()));
        self.app.registry.check_pin(&person, &entry).await?;
        Ok(person)
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
        let looked = card::look(&self.app, yes.number).await?;
        card::check_seen(&self.app, viewer, yes, &looked).await?;
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
            let detail = json!({ "code": refusal.code.as_str(), "detail": refusal.detail });
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
                store.decide(number, &Decision::Deny { person: &person, surface })?;
                store.fate(number)
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

    /// Where one proposal stands.
    pub(crate) async fn fate(&self, number: ProposalNumber) -> Result<HistoryRow, Refusal> {
        let row = self.app.store.call(move |store| store.row(number)).await.map_err(StoreError::into_refusal)?;
        Ok(self.history_row(&row))
    }

    /// The newest proposals, newest first.
    pub(crate) async fn history(&self, most: u16) -> Result<Vec<HistoryRow>, Refusal> {
        let rows = self.app.store.call(move |store| store.history(most)).await.map_err(StoreError::into_refusal)?;
        Ok(rows.iter().map(|row| self.history_row(row)).collect())
    }

    fn history_row(&self, row: &ProposalRow) -> HistoryRow {
        HistoryRow {
            number: row.number,
            heading: card::heading_of(&self.app, row),
            targets: card::targets_of(row),
            state: row.state,
            code: row.code,
            detail: row.detail.clone(),
            decided_by: row.decided_by.clone(),
            surface: row.surface.clone(),
            created_at: card::when(&self.app.zone, row.created_at),
            ended_at: row.ended_at.map_or_else(|| Worded::same(""), |at| card::when(&self.app.zone, at)),
        }
    }

    /// How the executor is.
    pub(crate) async fn status(&self) -> Result<ExecutorStatus, Refusal> {
        let app = &self.app;
        let (queue, head) = app
            .store
            .call(|store| Ok((store.queue()?, store.audit_head()?)))
            .await
            .map_err(StoreError::into_refusal)?;
        let limits = Limits::EPIPHAN;
        Ok(ExecutorStatus {
            hello: Hello::ours(),
            uptime_seconds: u64::try_from((app.clock.boot_ms() - app.started_boot_ms) / 1_000).unwrap_or(0),
            isolation: app.isolation(),
            witness: app.witness(),
            slot: app.config.slot.as_str().to_owned(),
            sign_in: app.reads.is_some(),
            fence: app.config.fence.as_ref().map_or_else(|| "none".to_owned(), policy::fence::Fence::describe),
            autonomy: if app.config.proposes() { "propose" } else { "observe" }.to_owned(),
            dry_run: app.config.behaviour.dry_run(),
            frozen: false,
            queue: QueueStatus {
                pending: queue.0,
                pending_limit: limits.pending,
                hour: queue.1,
                hour_limit: limits.per_hour,
            },
            last_read_seconds: app.last_read_seconds(),
            page: app.page.get().cloned(),
            audit_sequence: head.sequence,
            start: StartReport {
                expired: app.started.expired,
                unknown: app.started.unknown,
                restored: app.started.restored,
            },
            problems: self.problems(queue),
        })
    }

    fn problems(&self, queue: (u64, u64)) -> Vec<Problem> {
        let app = &self.app;
        let limits = Limits::EPIPHAN;
        let mut found = Vec::new();
        let mut say = |wrong: bool, code, en: &str, es: &str| {
            if wrong {
                found.push(Problem { code, advice: Worded::new(en, es) });
            }
        };
        say(
            app.config.fence.is_none(),
            RefusalCode::NoFence,
            "Set FLEETWATCH_WRITE_DEVICE_IDS or FLEETWATCH_WRITE_TEAM_ID and start the executor again.",
            "Defina FLEETWATCH_WRITE_DEVICE_IDS o FLEETWATCH_WRITE_TEAM_ID y vuelva a iniciar el ejecutor.",
        );
        say(
            app.reads.is_none(),
            RefusalCode::NoSignIn,
            "Put the token of the writing sign-in into its file (mode 0600) and start the executor again.",
            "Ponga el token de la cuenta de escritura en su archivo (modo 0600) y vuelva a iniciar el ejecutor.",
        );
        say(
            app.registry.operators() == 0,
            RefusalCode::NotPermitted,
            "Nobody is an operator. Add a person with operator: true to principals.yaml.",
            "Nadie es operador. Añada una persona con operator: true a principals.yaml.",
        );
        say(
            app.registry.operators() > 0 && !app.registry.any_pin(),
            RefusalCode::NoPin,
            "No operator has a PIN. Run fleetwatchctl pin set.",
            "Ningún operador tiene PIN. Ejecute fleetwatchctl pin set.",
        );
        say(
            app.started.restored > 0 || app.witness() == control::status::Witness::Newer,
            RefusalCode::BindingMismatch,
            "The database is older than its spent log or the assistant's witness: somebody restored it. Read the audit.",
            "La base de datos es más antigua que su registro de gastos o que el testigo del asistente: alguien la \
             restauró. Lea la auditoría.",
        );
        say(queue.0 >= limits.pending, RefusalCode::QueueFull, "Decide what waits.", "Decida lo que espera.");
        say(
            queue.1 >= limits.per_hour,
            RefusalCode::HourlyLimit,
            "The hour's proposals are used up. Wait, or deny what should not count.",
            "Las propuestas de esta hora se agotaron. Espere, o deniegue lo que no deba contar.",
        );
        found
    }

    /// A person set their PIN: audited without it.
    pub(crate) async fn pin_was_set(&self, viewer: &Viewer) -> Result<(), Refusal> {
        self.note("pin_set", viewer, None, json!({})).await
    }

    fn permitted(&self, viewer: &Viewer) -> Result<(), Refusal> {
        if self.app.registry.still_operates(&viewer.person) {
            Ok(())
        } else {
            Err(Refusal::bare(RefusalCode::NotPermitted))
        }
    }

    async fn note(
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
}
