//! Intake: cheap limits → gates → fresh read → gates → limits again → bound record → a pending row
//! (`architecture.md, Intake`). The assistant's word is used for nothing but tool, arguments, reason and a label that can
//! only narrow.

use crate::app::App;
use crate::bucket::{Buckets, Take};
use crate::changeable::Changeable;
use crate::recheck::target_list;
use crate::store::audit::Step;
use crate::store::{Asked, Limits, NewProposal, StoreError};
use policy::call::CheckedCall;
use policy::gates::{AdmittedChange, Chain, Context, Verdict};
use protocol::canonical::{Canonical, MAX_INTEGER};
use protocol::gate::GateResult;
use protocol::guard::stands;
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{Origin, Propose};
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The workspace whose limits Epiphan's proposals share.
pub(crate) const WORKSPACE: &str = "epiphan";

/// The label under which the executor drafts the undo of a change.
pub(crate) const UNDO_AGENT: &str = "undo";

/// What the audit calls the list of what can be changed.
const CHANGEABLE: &str = "changeable";

/// Who proposes: a label that the assistant chose, and the turn that the executor did.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) label: Label,
    pub(crate) turn: String,
}

/// The way in.
#[derive(Debug)]
pub(crate) struct Intake {
    app: Arc<App>,
    buckets: Mutex<Buckets>,
    /// One fresh read at a time: intake never takes the reader's slots from a run.
    one_read: tokio::sync::Mutex<()>,
    changeable: Changeable,
}

impl Intake {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self {
            app: app.clone(),
            buckets: Mutex::new(Buckets::new(&app.clock)),
            one_read: tokio::sync::Mutex::default(),
            changeable: Changeable::new(&app.clock),
        }
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more connection of the assistant may be served.
    pub(crate) fn admits_connection(&self) -> bool {
        self.buckets().take_connection()
    }

    /// As [`App::is_refused`].
    pub(crate) fn is_refused(&self) -> bool {
        self.app.is_refused()
    }

    /// A witness that we did not sign: audited at most once a minute.
    pub(crate) async fn note_bad_witness(&self, sequence: u64) {
        let Some(more) = self.app.bad_witnesses.take() else { return };
        let detail = json!({ "sequence": sequence.min(MAX_INTEGER.unsigned_abs()), "more_since_the_last": more });
        let noted = self.app.store.call(move |store| {
            let step =
                Step { kind: "witness_bad_mac", proposal: None, principal: "assistant", surface: "propose", detail };
            store.note(&step)
        });
        if let Err(error) = noted.await {
            tracing::error!(%error, "audit of a witness");
        }
    }

    /// Writes down how many requests were turned away at floods that have stopped, or, at the end, at all of them. A flood
    /// that goes on is written down by the next request that is let in.
    pub(crate) async fn note_turned_away(&self, at_the_end: bool) {
        self.note_floods(|| self.buckets(), at_the_end, None).await;
        self.note_floods(|| self.changeable.buckets(), at_the_end, Some(CHANGEABLE)).await;
    }

    async fn note_floods<'a>(
        &'a self,
        buckets: impl Fn() -> MutexGuard<'a, Buckets>,
        at_the_end: bool,
        asked: Option<&'static str>,
    ) {
        let floods = buckets().stopped(at_the_end);
        for (label, requests) in floods {
            let principal = label.as_ref().map_or("assistant", Label::as_str).to_owned();
            let detail = turned_away(requests, asked);
            let noted = self.app.store.call(move |store| {
                let step = Step {
                    kind: "proposal_refused",
                    proposal: None,
                    principal: &principal,
                    surface: "propose",
                    detail,
                };
                store.note(&step)
            });
            if let Err(error) = noted.await {
                tracing::error!(%error, "audit of a flood; trying again");
                buckets().give_back(label.as_ref(), requests);
            }
        }
    }

    /// Whether anything can be admitted at all.
    pub(crate) fn possible(&self) -> Result<(), Refusal> {
        if self.app.frozen.load(Ordering::SeqCst) && stands(RefusalCode::Frozen) {
            return Err(Refusal::bare(RefusalCode::Frozen));
        }
        if !self.app.config.proposes() && stands(RefusalCode::ObserveMode) {
            return Err(Refusal::bare(RefusalCode::ObserveMode));
        }
        if self.app.config.fence.is_none() && stands(RefusalCode::NoFence) {
            return Err(Refusal::bare(RefusalCode::NoFence));
        }
        self.app.reads().map(|_| ())
    }

    /// The units that a change could be proposed for now, as canonical JSON. It reads, and admits nothing: a draft is judged
    /// by reads of its own.
    ///
    /// # Errors
    /// `too_many_requests`, what stands against any proposal, `team_mismatch`, `read_failed` and `sign_in_dead`.
    pub(crate) async fn changeable(&self, agent: &Agent) -> Result<Vec<u8>, Refusal> {
        let requests = self.changeable.take(&agent.label)?;
        if requests > 0 {
            self.note_refused(agent, turned_away(requests, Some(CHANGEABLE))).await?;
        }
        self.possible()?;
        self.changeable.list(&self.app).await
    }

    /// Admits a draft and gives its number, or refuses it. Both are audited.
    pub(crate) async fn propose(&self, agent: &Agent, draft: Propose) -> Result<ProposalNumber, Refusal> {
        // A person asked for an undo: no assistant's flood stands in its way.
        let taken = match draft.origin {
            Origin::Undo => Take::Go { turned_away: 0 },
            Origin::Command | Origin::Front | Origin::Model => self.buckets().take(&agent.label),
        };
        let requests = match taken {
            Take::Wait => return Err(Refusal::bare(RefusalCode::TooManyRequests)),
            Take::Go { turned_away } => turned_away,
        };
        if requests > 0 {
            self.note_refused(agent, turned_away(requests, None)).await?;
        }
        let (tool, origin) = (protocol::shown::Shown::capped(&draft.tool, 64).into_string(), draft.origin.as_str());
        let admitted = self.admit(agent, draft).await;
        if let Err(refusal) = &admitted {
            let why = policy::redact::redact_text(&refusal.detail);
            let detail = json!({ "code": refusal.code.as_str(), "detail": why, "tool": tool, "origin": origin });
            self.note_refused(agent, detail).await?;
        }
        admitted
    }

    async fn admit(&self, agent: &Agent, draft: Propose) -> Result<ProposalNumber, Refusal> {
        let app = &self.app;
        let (chain, call) = Chain::start(&app.config.tools, &draft.tool, &draft.arguments, &draft.reason);
        if let Some(call) = &call
            && let Some(number) = self.recorded(agent, &draft, call).await?
        {
            return Ok(number);
        }
        let label = agent.label.clone();
        let change = match &call {
            Some(call) => Some((call.tool().as_str(), target_list(call)?)),
            None => None,
        };
        let limits = app.store.call(move |store| {
            let change = change.as_ref().map(|(tool, targets)| (*tool, targets.as_str()));
            store.limits_allow(WORKSPACE, &label, change, Limits::EPIPHAN)
        });
        let limits = limits.await;
        let context = self.context(limits.map_err(StoreError::into_refusal));
        let Some(call) = call else {
            // What cannot be understood is other content than anything that was admitted.
            let request = draft.request.clone();
            app.store.call(move |store| store.check_unused(&request)).await.map_err(StoreError::into_refusal)?;
            return Err(refusal_of(chain.refuse(None, &context)));
        };
        if Chain::before_read(&call, &context).is_err() {
            return Err(refusal_of(chain.refuse(Some(&call), &context)));
        }
        let read = {
            let _one = self.one_read.lock().await;
            app.observe(&call).await
        };
        // The clocks again: the read took time, and freshness is judged by it.
        let context = self.context(context.limits);
        let verdict = chain.finish(&call, read.as_ref(), &context);
        match verdict {
            Verdict { admitted: Some(change), .. } => self.store(agent, &draft, &change).await,
            refused => Err(refusal_of(refused)),
        }
    }

    /// The number that this very draft was given before.
    async fn recorded(
        &self,
        agent: &Agent,
        draft: &Propose,
        call: &CheckedCall,
    ) -> Result<Option<ProposalNumber>, Refusal> {
        let asked = Asked {
            request: draft.request.clone(),
            agent: agent.label.clone(),
            origin: draft.origin,
            turn: agent.turn.clone(),
            tool: call.tool().as_str().to_owned(),
            arguments: call.arguments().as_str().to_owned(),
            reason: draft.reason.clone(),
        };
        self.app.store.call(move |store| store.recorded(&asked)).await.map_err(StoreError::into_refusal)
    }

    fn context(&self, limits: Result<(), Refusal>) -> Context<'_> {
        context(&self.app, limits)
    }

    async fn store(&self, agent: &Agent, draft: &Propose, change: &AdmittedChange) -> Result<ProposalNumber, Refusal> {
        let new = self.new_proposal(agent, draft, change)?;
        let number = self
            .app
            .store
            .call(move |store| store.admit(&new, Limits::EPIPHAN))
            .await
            .map_err(StoreError::into_refusal)?;
        self.ping(number, change.call());
        Ok(number)
    }

    fn new_proposal(&self, agent: &Agent, draft: &Propose, change: &AdmittedChange) -> Result<NewProposal, Refusal> {
        let call: &CheckedCall = change.call();
        let policy_version = self.app.slices.get(&call.tool()).copied().ok_or(RefusalCode::PolicyChanged);
        Ok(NewProposal {
            request: draft.request.clone(),
            workspace: WORKSPACE,
            agent: agent.label.clone(),
            origin: draft.origin,
            turn: agent.turn.clone(),
            tool: call.tool().as_str().to_owned(),
            arguments: call.arguments().as_str().to_owned(),
            targets: target_list(call)?.as_str().to_owned(),
            fingerprint: change.fingerprint().as_str().to_owned(),
            referents: change.referents().as_str().to_owned(),
            schema_version: i64::from(call.schema_version()),
            policy_version: policy_version.map_err(Refusal::bare)?,
            slot: self.app.config.slot.as_str(),
            reason: draft.reason.clone(),
            gates: trace(change.results())?.as_str().to_owned(),
        })
    }

    /// Tells the operator that a card waits; nothing waits for the ping.
    fn ping(&self, number: ProposalNumber, call: &CheckedCall) {
        let (Some(notifier), Some(page)) = (self.app.notifier.clone(), self.app.page.get().cloned()) else { return };
        let heading = crate::card::heading_of_call(&self.app, call);
        tokio::spawn(async move { notifier.card_waits(number, &heading.en, &page).await });
    }

    async fn note_refused(&self, agent: &Agent, detail: Value) -> Result<(), Refusal> {
        let label = agent.label.clone();
        self.app
            .store
            .call(move |store| {
                let step = Step {
                    kind: "proposal_refused",
                    proposal: None,
                    principal: label.as_str(),
                    surface: "propose",
                    detail,
                };
                store.note(&step)
            })
            .await
            .map_err(StoreError::into_refusal)
    }
}

/// A flood, as the audit has it: of drafts, or of questions by the name of what was `asked`.
fn turned_away(requests: u64, asked: Option<&'static str>) -> Value {
    let mut detail = json!({ "code": RefusalCode::TooManyRequests.as_str(), "requests": requests });
    if let Some(asked) = asked {
        detail["asked"] = json!(asked);
    }
    detail
}

/// What the gates weigh, now.
pub(crate) fn context(app: &App, limits: Result<(), Refusal>) -> Context<'_> {
    Context {
        fence: app.config.fence.as_ref(),
        sign_in: app.sign_in(),
        autonomy: app.config.behaviour.autonomy(),
        dry_run: app.config.behaviour.dry_run(),
        now_boot_ms: app.clock.boot_ms(),
        now_unix: app.clock.unix(),
        limits,
    }
}

fn refusal_of(verdict: Verdict) -> Refusal {
    // A verdict without an admitted change always carries its refusal.
    verdict.refusal.unwrap_or_else(|| Refusal::bare(RefusalCode::ReadFailed))
}

fn trace(results: &[GateResult]) -> Result<Canonical, Refusal> {
    let gates: Vec<Value> = results
        .iter()
        .map(|gate| {
            let evidence: serde_json::Map<String, Value> =
                gate.evidence.iter().map(|fact| (fact.name.clone(), json!(fact.value))).collect();
            json!({ "gate_id": gate.gate_id.as_str(), "passed": gate.passed, "blocked_reason": gate.blocked_reason,
                "evidence": evidence })
        })
        .collect();
    Ok(Canonical::from_value(&Value::Array(gates))?)
}
