//! Every check again, on the last read: what turns a consumed approval into a write that is ready.

use crate::app::App;
use crate::backends::epiphan::answer::answering_ids;
use crate::backends::epiphan::wire::PreparedCall;
use crate::intake::context;
use crate::store::ConsumedApproval;
use policy::call::CheckedCall;
use policy::observed::Observed;
use protocol::canonical::Canonical;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::json;
use std::collections::BTreeSet;

/// The right to write, with the bytes to send. `write` takes it by value.
#[derive(Debug)]
pub(crate) struct ReadyWrite {
    // Never read: holding it is the point. Only a person's approval becomes one.
    _approval: ConsumedApproval,
    call: PreparedCall,
    ids: Vec<String>,
}

impl ReadyWrite {
    /// Gives up the right for the bytes, and the ids under which the targets may answer.
    pub(crate) fn into_call(self) -> (PreparedCall, Vec<String>) {
        (self.call, self.ids)
    }
}

/// What the last look found, with the call as it was bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastLook<'a> {
    pub(crate) call: &'a CheckedCall,
    pub(crate) observed: &'a Observed,
}

/// Weighs the last read. Any doubt is a refusal, and the approval stays spent.
pub(crate) fn recheck(
    app: &App,
    approval: ConsumedApproval,
    look: LastLook<'_>,
    call: PreparedCall,
) -> Result<ReadyWrite, Refusal> {
    let record = approval.proposal().record();
    // The slot that was bound is the one that this process writes through.
    if record.slot != app.config.slot.as_str() && stands(RefusalCode::BindingMismatch) {
        return Err(Refusal::bare(RefusalCode::BindingMismatch));
    }
    // What is about to be sent is what was approved, byte for byte.
    let same = record.tool == look.call.tool().as_str()
        && record.arguments == look.call.arguments().as_str()
        && record.targets == target_list(look.call)?.as_str();
    if !same && stands(RefusalCode::BindingMismatch) {
        return Err(Refusal::bare(RefusalCode::BindingMismatch));
    }
    let fingerprint = Canonical::parse(record.fingerprint.as_bytes())?;
    let referents = Canonical::parse(record.referents.as_bytes())?;
    policy::gates::recheck(look.call, look.observed, &fingerprint, &referents, &context(app, Ok(())))?;
    Ok(ReadyWrite { _approval: approval, call, ids: answering_ids(look.call) })
}

/// The resolved units as the bound record holds them: canonical, sorted, each once.
pub(crate) fn target_list(call: &CheckedCall) -> Result<Canonical, Refusal> {
    let units: BTreeSet<&str> = call.targets().iter().map(|target| target.master.as_str()).collect();
    Ok(Canonical::from_value(&json!(units))?)
}
