//! Gate 5: do fence, sign-in and limits allow it? It looks at the intent, so it answers even when nothing could be read.

use super::evidence::Notes;
use super::{Context, SignIn};
use crate::call::CheckedCall;
use crate::fence::Fence;
use crate::observed::Observed;
use crate::room::room_rule;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use std::collections::BTreeMap;

/// `call` is missing when the schema refused, `observed` when nothing could be read.
pub(super) fn check(
    call: Option<&CheckedCall>,
    observed: Option<&Observed>,
    ctx: &Context<'_>,
    notes: &mut Notes,
) -> Result<(), Refusal> {
    notes.add("fence", &ctx.fence.map_or_else(|| "none".to_owned(), Fence::describe));
    notes.add("sign-in", ctx.sign_in.as_str());
    notes.add("limits", ctx.limits.as_ref().map_or_else(|refusal| refusal.code.as_str(), |()| "free"));
    if let Some(call) = call {
        note_rules(call, notes);
    }
    if let (Some(call), Some(observed)) = (call, observed) {
        note_rooms(call, observed, ctx.now_unix, notes);
    }
    decide(call, observed, ctx)
}

/// The decision without the notes.
pub(super) fn decide(
    call: Option<&CheckedCall>,
    observed: Option<&Observed>,
    ctx: &Context<'_>,
) -> Result<(), Refusal> {
    match ctx.fence {
        Some(fence) => inside(fence, call, observed)?,
        None if stands(RefusalCode::NoFence) => return Err(Refusal::bare(RefusalCode::NoFence)),
        None => {}
    }
    match ctx.sign_in {
        SignIn::Dead if stands(RefusalCode::SignInDead) => return Err(Refusal::bare(RefusalCode::SignInDead)),
        SignIn::Missing if stands(RefusalCode::NoSignIn) => return Err(Refusal::bare(RefusalCode::NoSignIn)),
        SignIn::Dead | SignIn::Missing | SignIn::Present => {}
    }
    ctx.limits.clone()
}

fn inside(fence: &Fence, call: Option<&CheckedCall>, observed: Option<&Observed>) -> Result<(), Refusal> {
    for target in call.into_iter().flat_map(CheckedCall::targets) {
        // Without a read the team is not known, and the gate before has refused already.
        match observed {
            Some(observed) => fence.allows(&target.master, observed.team.team_id.as_deref())?,
            None => fence.allows_unit(&target.master)?,
        }
    }
    Ok(())
}

fn note_rules(call: &CheckedCall, notes: &mut Notes) {
    let rules = call.rules();
    notes.add("disruptive", if rules.disruptive { "yes" } else { "no" });
    notes.add("window", &format!("{} minutes", rules.lead_minutes));
}

/// The room rule is information here: it decides when the change runs.
fn note_rooms(call: &CheckedCall, observed: &Observed, now: i64, notes: &mut Notes) {
    let none = BTreeMap::new();
    for target in call.targets() {
        let Some(device) = observed.team.device(&target.master) else { continue };
        let recorders = observed.recorders.get(&target.master).unwrap_or(&none);
        let event = observed.events.get(&target.master).and_then(Option::as_ref);
        let blocked = room_rule(call, device, recorders, event, now);
        let codes: Vec<_> = blocked.iter().map(|one| one.refusal().code.as_str()).collect();
        let text = if codes.is_empty() { "free".to_owned() } else { codes.join(", ") };
        notes.add(&format!("room rule for {}", target.master), &text);
    }
}
