//! The operator's verbs. Page and `control.sock` are two ways to this one desk, so that no surface has a rule of its own.

use crate::app::App;
use crate::card;
use crate::decide::Decision;
pub(crate) use crate::decide::Surface;
use crate::intake::{Agent, Intake};
pub(crate) use crate::principals::Person;
use crate::run;
use crate::store::{Limits, ProposalRow, StoreError, audit::Step};
use control::card::{Card, HistoryRow, Waiting};
use control::message::AuditRow;
use control::pin::PinEntry;
use control::status::{ExecutorStatus, Problem, QueueStatus, StartReport};
use host::secret::SecretText;
use protocol::frame::MAX_FRAME;
use protocol::hello::Hello;
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{News, Origin, Propose};
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use serde::Serialize;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
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
    intake: Arc<Intake>,
}

impl Desk {
    pub(crate) fn new(app: &Arc<App>, intake: &Arc<Intake>) -> Self {
        Self { app: app.clone(), intake: intake.clone() }
    }

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
        let agent = Agent { label: label("undo")?, turn: format!("undo-{id}") };
        let draft = Propose {
            request: label(&format!("undo-{id}"))?,
            origin: Origin::Undo,
            tool: undo.tool.as_str().to_owned(),
            arguments: undo.arguments.as_str().as_bytes().to_vec(),
            reason: format!("Undo of proposal {number}, asked for by {}.", viewer.person.name()),
        };
        self.intake.propose(&agent, draft).await
    }

    /// The audit's rows behind `after`, as many as fit half a frame.
    ///
    /// # Errors
    /// `store_failed`.
    pub(crate) async fn audit_rows(&self, after: u64) -> Result<Vec<AuditRow>, Refusal> {
        let rows = self.app.store.call(move |store| store.audit_rows(after)).await.map_err(StoreError::into_refusal)?;
        Ok(fitting(rows))
    }

    /// Writes down that a backup was made or staged.
    pub(crate) async fn note_keep(&self, kind: &'static str, viewer: &Viewer) -> Result<(), Refusal> {
        self.permitted(viewer)?;
        self.note(kind, viewer, None, json!({})).await
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

    /// No to everything until it is thawed.
    ///
    /// # Errors
    /// `not_permitted`, `store_failed`.
    pub(crate) async fn freeze(&self, viewer: &Viewer) -> Result<Vec<ProposalNumber>, Refusal> {
        self.permitted(viewer)?;
        // First, so that the next hello already says so.
        self.app.frozen.store(true, Ordering::SeqCst);
        let (person, surface) = (viewer.person.clone(), viewer.surface);
        self.app.store.call(move |store| store.freeze(&person, surface)).await.map_err(StoreError::into_refusal)
    }

    /// Ends a freeze. The PIN was checked.
    ///
    /// # Errors
    /// `not_permitted`, `store_failed`; the freeze then stands.
    pub(crate) async fn thaw(&self, viewer: &Viewer) -> Result<(), Refusal> {
        self.permitted(viewer)?;
        let (person, surface) = (viewer.person.clone(), viewer.surface);
        self.app.store.call(move |store| store.thaw(&person, surface)).await.map_err(StoreError::into_refusal)?;
        self.app.frozen.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Lifts an agent's pause. The PIN was checked.
    ///
    /// # Errors
    /// `not_waiting` when it is not paused, `not_permitted`, `store_failed`.
    pub(crate) async fn resume_agent(&self, viewer: &Viewer, agent: Label) -> Result<(), Refusal> {
        self.permitted(viewer)?;
        let (name, surface) = (viewer.person.name().to_string(), viewer.surface.as_str());
        let label = agent.clone();
        let lifted = self.app.store.call(move |store| store.resume_agent(&label, &name, surface)).await;
        if lifted.map_err(StoreError::into_refusal)? {
            return Ok(());
        }
        Err(Refusal::new(RefusalCode::NotWaiting, &format!("the agent {agent} is not paused")))
    }

    /// Where one proposal stands.
    pub(crate) async fn fate(&self, number: ProposalNumber) -> Result<HistoryRow, Refusal> {
        let row = self.app.store.call(move |store| store.row(number)).await.map_err(StoreError::into_refusal)?;
        Ok(self.history_row(&row))
    }

    /// The newest proposals, newest first; with `search` only those in which the text stands, without regard to case.
    ///
    /// # Errors
    /// `store_failed`.
    pub(crate) async fn history(&self, most: u16, search: Option<&str>) -> Result<Vec<HistoryRow>, Refusal> {
        let rows = self.app.store.call(|store| store.history()).await.map_err(StoreError::into_refusal)?;
        let wanted = search.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
        let rows = rows.iter().map(|row| self.history_row(row));
        let found = rows.filter(|row| wanted.as_ref().is_none_or(|wanted| stands_in(row, wanted)));
        Ok(fitting(found.take(usize::from(most.min(200))).collect()))
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
            undoable: card::undo_of(&self.app, row).is_some(),
        }
    }

    /// How the executor is.
    pub(crate) async fn status(&self) -> Result<ExecutorStatus, Refusal> {
        let app = &self.app;
        let (queue, head, frozen, paused_agents) = app
            .store
            .call(|store| Ok((store.queue()?, store.audit_head()?, store.is_frozen()?, store.paused_agents()?)))
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
            frozen,
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
                backup: app.started.backup,
            },
            pruned: app
                .pruned
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .map(|pruned| (u64::try_from(app.clock.unix() - pruned.at).unwrap_or(0), pruned.rows)),
            problems: self.problems(queue, frozen, &paused_agents),
            paused_agents,
        })
    }

    fn problems(&self, queue: (u64, u64), frozen: bool, paused: &[String]) -> Vec<Problem> {
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
        say(
            app.started.torn,
            RefusalCode::BindingMismatch,
            "The spent log's last line was torn: what was approved then may have run. Read the audit and check the unit.",
            "La última línea del registro de gastos estaba cortada: lo aprobado entonces pudo ejecutarse. Lea la \
             auditoría y revise la unidad.",
        );
        say(
            frozen,
            RefusalCode::Frozen,
            "Everything is frozen. Run fleetwatchctl thaw when it may go on.",
            "Todo está congelado. Ejecute fleetwatchctl thaw cuando pueda continuar.",
        );
        say(
            !paused.is_empty(),
            RefusalCode::AgentPaused,
            "Look at what it proposed, then run fleetwatchctl approvals resume-agent.",
            "Mire lo que propuso y luego ejecute fleetwatchctl approvals resume-agent.",
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

    async fn step(
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

/// As many as fit half a frame: the first ones always arrive.
fn fitting<T: Serialize>(rows: Vec<T>) -> Vec<T> {
    let mut bytes = 0;
    rows.into_iter()
        .take_while(|row| {
            bytes += protocol::frame::encode(row).map_or(MAX_FRAME, |row| row.len());
            bytes <= MAX_FRAME / 2
        })
        .collect()
}

fn stands_in(row: &HistoryRow, wanted: &str) -> bool {
    let number = row.number.to_string();
    let code = row.code.map_or("", protocol::refusal::RefusalCode::as_str);
    let words = [&row.heading.en, &row.heading.es, &row.detail, &row.decided_by, &row.surface, &number];
    words.into_iter().chain(&row.targets).any(|text| text.to_lowercase().contains(wanted))
        || row.state.as_str() == wanted
        || (!code.is_empty() && code == wanted)
}
