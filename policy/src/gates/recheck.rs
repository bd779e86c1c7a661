//! Every check again, on the last read before the write (`seed 000, Flow 5`).

use super::evidence::Notes;
use super::{Context, capability, device_resolve, dry_run, exec, freshness, policy};
use crate::call::CheckedCall;
use crate::fingerprint::{differences, fingerprint, referents};
use crate::observed::Observed;
use crate::room::room_rule;
use protocol::canonical::Canonical;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use std::collections::BTreeMap;

/// Whether a consumed approval may be written now: every gate again on what was read last, fingerprint and referents equal
/// to the bound ones, and for a disruptive change a room that is not in use. `ctx.limits` has no part in a run.
///
/// # Errors
/// The first refusal; `dry_run` comes last, so it means that everything else passed.
pub fn recheck(
    call: &CheckedCall,
    observed: &Observed,
    bound_fingerprint: &Canonical,
    bound_referents: &Canonical,
    ctx: &Context<'_>,
) -> Result<(), Refusal> {
    let notes = &mut Notes::default();
    exec::check(ctx, notes)?;
    device_resolve::check(call, observed, notes)?;
    capability::check(call, observed, notes)?;
    freshness::check_age(observed, ctx.now_boot_ms)?;
    // The limits held when it was proposed; this very proposal may be what fills them.
    policy::decide(Some(call), Some(observed), &Context { limits: Ok(()), ..ctx.clone() })?;
    same(RefusalCode::FingerprintChanged, bound_fingerprint, &fingerprint(call, observed)?)?;
    same(RefusalCode::ReferentChanged, bound_referents, &referents(call, observed)?)?;
    check_rooms(call, observed, ctx.now_unix)?;
    dry_run::check(ctx, notes)
}

fn same(code: RefusalCode, bound: &Canonical, now: &Canonical) -> Result<(), Refusal> {
    if bound.as_str() == now.as_str() || !stands(code) {
        return Ok(());
    }
    Err(Refusal::new(code, &differences(bound, now)))
}

fn check_rooms(call: &CheckedCall, observed: &Observed, now: i64) -> Result<(), Refusal> {
    let none = BTreeMap::new();
    for target in call.targets() {
        let device = crate::fingerprint::device_of(&observed.team, &target.master)?;
        let recorders = observed.recorders.get(&target.master).unwrap_or(&none);
        let event = crate::fingerprint::event_of(observed, &target.master)?;
        // One event per unit is told: one that is over may hide the next.
        let over = event.and_then(|event| event.end).is_some_and(|end| end <= now);
        if call.rules().disruptive && over && stands(RefusalCode::ReadFailed) {
            return Err(Refusal::new(RefusalCode::ReadFailed, "the answer names an event that is over"));
        }
        if let Some(blocked) = room_rule(call, device, recorders, event, now).first() {
            return Err(blocked.refusal());
        }
    }
    Ok(())
}
