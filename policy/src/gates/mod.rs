//! The seven gates as pure functions (`seed 002, Gate Chain`), for Epiphan's changes.
//!
//! The chain fails fast, with two exceptions: Policy is always asked about the intent, so that a denial is seen even when
//! the state was stale; and DryRun and Exec are both asked once gates 1 to 5 have passed.

mod capability;
mod device_resolve;
mod dry_run;
mod evidence;
mod exec;
mod freshness;
mod policy;
mod recheck;
mod schema;

pub use evidence::{MOST_ITEMS, MOST_VALUE};
pub use recheck::recheck;

use crate::behaviour::Autonomy;
use crate::call::CheckedCall;
use crate::fence::Fence;
use crate::ids::MasterId;
use crate::observed::Observed;
use crate::tool_policy::ToolPolicy;
use evidence::{Notes, not_reached};
use protocol::canonical::Canonical;
use protocol::gate::{GateId, GateResult};
use protocol::refusal::{Refusal, RefusalCode};

/// How the sign-in for writing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignIn {
    /// Its refresh was refused; only a new sign-in helps.
    Dead,
    /// There is none.
    Missing,
    /// There is one.
    Present,
}

impl SignIn {
    /// The stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Missing => "missing",
            Self::Present => "present",
        }
    }
}

/// What the gates weigh beside the call and what was read.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// The fence in force; `None` refuses everything.
    pub fence: Option<&'a Fence>,
    /// How the sign-in for writing is.
    pub sign_in: SignIn,
    /// `autonomy` of policy.yaml.
    pub autonomy: Autonomy,
    /// `dry_run` of policy.yaml.
    pub dry_run: bool,
    /// Boot clock now, in milliseconds.
    pub now_boot_ms: i64,
    /// Unix seconds now; the room rule's events are held against it.
    pub now_unix: i64,
    /// Whether the limits against approval fatigue allow one more, as the store counted.
    pub limits: Result<(), Refusal>,
}

/// A change that passed gates 1 to 5 with proposing switched on. Only [`Chain::finish`] makes it.
#[derive(Debug, PartialEq, Eq)]
pub struct AdmittedChange {
    call: CheckedCall,
    fingerprint: Canonical,
    referents: Canonical,
    targets: Vec<MasterId>,
    results: Vec<GateResult>,
}

impl AdmittedChange {
    /// The checked call.
    #[must_use]
    pub fn call(&self) -> &CheckedCall {
        &self.call
    }

    /// The state of its targets, to be bound.
    #[must_use]
    pub fn fingerprint(&self) -> &Canonical {
        &self.fingerprint
    }

    /// What the card names, to be bound.
    #[must_use]
    pub fn referents(&self) -> &Canonical {
        &self.referents
    }

    /// The resolved units, sorted, each once.
    #[must_use]
    pub fn targets(&self) -> &[MasterId] {
        &self.targets
    }

    /// All seven results, for the trace.
    #[must_use]
    pub fn results(&self) -> &[GateResult] {
        &self.results
    }
}

/// What the chain says.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// One result per gate, in order, always seven.
    pub results: Vec<GateResult>,
    /// The first thing that stands against admission; `None` exactly when `admitted` holds.
    pub refusal: Option<Refusal>,
    /// The change, when it may wait for a person.
    pub admitted: Option<AdmittedChange>,
    /// Whether an approved run would write: the first refusal of all, `dry_run` and `observe_mode` included.
    pub would_run: Result<(), Refusal>,
}

/// The chain after its first gate.
#[derive(Debug)]
pub struct Chain {
    results: Vec<GateResult>,
    refusal: Option<Refusal>,
}

impl Chain {
    /// Asks the Schema gate: strict JSON, a tool that may be proposed, arguments by its schema, a reason of at most 300
    /// characters. The call is there exactly when the gate passed.
    #[must_use]
    pub fn start(policy: &ToolPolicy, tool: &str, arguments: &[u8], reason: &str) -> (Self, Option<CheckedCall>) {
        let mut chain = Self { results: Vec::with_capacity(GateId::ALL.len()), refusal: None };
        let mut notes = Notes::default();
        let checked = schema::check(policy, tool, arguments, reason, &mut notes);
        let (call, outcome) = match checked {
            Ok(call) => (Some(call), Ok(())),
            Err(refusal) => (None, Err(refusal)),
        };
        chain.push(GateId::Schema, notes, outcome);
        (chain, call)
    }

    /// What stands against this call before anything is read: no fence, a unit outside it, no sign-in, a full queue,
    /// observe mode. When something does, end with [`Chain::refuse`] and spare the read.
    ///
    /// # Errors
    /// The first refusal.
    pub fn before_read(call: &CheckedCall, ctx: &Context<'_>) -> Result<(), Refusal> {
        policy::decide(Some(call), None, ctx)?;
        exec::check(ctx, &mut Notes::default())
    }

    /// Ends a chain for which nothing was read: the Schema gate refused (`call` is `None`) or [`Chain::before_read`] did.
    /// It never admits.
    #[must_use]
    pub fn refuse(mut self, call: Option<&CheckedCall>, ctx: &Context<'_>) -> Verdict {
        self.results.extend([GateId::DeviceResolve, GateId::Capability].map(not_reached));
        if self.refusal.is_none() && Self::intent_is_free(call, ctx) {
            let unread = Refusal::new(RefusalCode::ReadFailed, "nothing was read");
            self.push(GateId::Freshness, Notes::default(), Err(unread));
        } else {
            self.results.push(not_reached(GateId::Freshness));
        }
        self.ask_policy(call, None, ctx);
        self.results.push(not_reached(GateId::DryRun));
        // Observe mode is the reason when nothing else is.
        match ctx.autonomy {
            Autonomy::Observe => self.ask_exec(ctx),
            Autonomy::Propose => self.results.push(not_reached(GateId::Exec)),
        }
        self.end(None)
    }

    fn intent_is_free(call: Option<&CheckedCall>, ctx: &Context<'_>) -> bool {
        call.is_some_and(|call| Self::before_read(call, ctx).is_ok())
    }

    /// Asks the six other gates about a call that passed the first, over what was read through the writing sign-in.
    #[must_use]
    pub fn finish(mut self, call: &CheckedCall, read: Result<&Observed, &Refusal>, ctx: &Context<'_>) -> Verdict {
        let bound = match read {
            Ok(observed) => self.ask_observed(call, observed, ctx),
            Err(refusal) => {
                self.results.extend([GateId::DeviceResolve, GateId::Capability].map(not_reached));
                self.push(GateId::Freshness, Notes::default(), Err(refusal.clone()));
                None
            }
        };
        self.ask_policy(Some(call), read.ok(), ctx);
        if self.refusal.is_some() {
            self.results.extend([GateId::DryRun, GateId::Exec].map(not_reached));
            return self.end(None);
        }
        let mut notes = Notes::default();
        let dry = dry_run::check(ctx, &mut notes);
        self.results.push(notes.result(GateId::DryRun, &dry));
        self.ask_exec(ctx);
        let admitted = bound.map(|(fingerprint, referents)| AdmittedChange {
            call: call.clone(),
            fingerprint,
            referents,
            targets: units(call),
            results: self.results.clone(),
        });
        let mut verdict = self.end(admitted);
        verdict.would_run = verdict.would_run.and(dry);
        verdict
    }

    /// Gates 2 to 4, each only when the one before passed.
    fn ask_observed(&mut self, call: &CheckedCall, observed: &Observed, ctx: &Context<'_>) -> Option<freshness::Bound> {
        self.ask(GateId::DeviceResolve, |notes| device_resolve::check(call, observed, notes));
        self.ask(GateId::Capability, |notes| capability::check(call, observed, notes));
        self.ask(GateId::Freshness, |notes| freshness::check(call, observed, ctx.now_boot_ms, notes))
    }

    fn ask<T>(&mut self, gate: GateId, check: impl FnOnce(&mut Notes) -> Result<T, Refusal>) -> Option<T> {
        if self.refusal.is_some() {
            self.results.push(not_reached(gate));
            return None;
        }
        let mut notes = Notes::default();
        let (found, outcome) = match check(&mut notes) {
            Ok(found) => (Some(found), Ok(())),
            Err(refusal) => (None, Err(refusal)),
        };
        self.push(gate, notes, outcome);
        found
    }

    fn ask_policy(&mut self, call: Option<&CheckedCall>, observed: Option<&Observed>, ctx: &Context<'_>) {
        let mut notes = Notes::default();
        let outcome = policy::check(call, observed, ctx, &mut notes);
        self.push(GateId::Policy, notes, outcome);
    }

    fn ask_exec(&mut self, ctx: &Context<'_>) {
        let mut notes = Notes::default();
        let outcome = exec::check(ctx, &mut notes);
        self.push(GateId::Exec, notes, outcome);
    }

    fn push(&mut self, gate: GateId, notes: Notes, outcome: Result<(), Refusal>) {
        self.results.push(notes.result(gate, &outcome));
        if let Err(refusal) = outcome {
            self.refusal.get_or_insert(refusal);
        }
    }

    /// A refusal drops the admitted change, whatever made it; without either, nothing was decided and that is a refusal.
    fn end(self, admitted: Option<AdmittedChange>) -> Verdict {
        let unread = admitted.is_none().then(|| Refusal::new(RefusalCode::ReadFailed, "nothing was read"));
        let refusal = self.refusal.or(unread);
        let would_run = refusal.clone().map_or(Ok(()), Err);
        let admitted = admitted.filter(|_| refusal.is_none());
        Verdict { results: self.results, refusal, admitted, would_run }
    }
}

fn units(call: &CheckedCall) -> Vec<MasterId> {
    let mut units: Vec<_> = call.targets().iter().map(|target| target.master.clone()).collect();
    units.sort_unstable();
    units.dedup();
    units
}

#[cfg(test)]
mod tests;
