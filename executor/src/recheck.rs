//! Every check again, on the last read: what turns a consumed approval into a write that is ready.

use crate::app::App;
use crate::backends::epiphan::wire::PreparedCall;
use crate::intake::context;
use crate::store::ConsumedApproval;
use policy::call::{CheckedCall, Tool};
use policy::observed::Observed;
use protocol::canonical::Canonical;
use protocol::refusal::{Refusal, RefusalCode};

/// The right to write, with the bytes to send. `write` takes it by value.
#[derive(Debug)]
pub(crate) struct ReadyWrite {
    // Never read: holding it is the point. Only a person's approval becomes one.
    _approval: ConsumedApproval,
    call: PreparedCall,
    tool: Tool,
}

impl ReadyWrite {
    /// Gives up the right for the bytes.
    pub(crate) fn into_call(self) -> (PreparedCall, Tool) {
        (self.call, self.tool)
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
    if record.slot != app.config.slot.as_str() {
        return Err(Refusal::bare(RefusalCode::BindingMismatch));
    }
    // What is about to be sent is what was approved, byte for byte.
    if record.tool != look.call.tool().as_str() || record.arguments != look.call.arguments().as_str() {
        return Err(Refusal::bare(RefusalCode::BindingMismatch));
    }
    let fingerprint = Canonical::parse(record.fingerprint.as_bytes())?;
    let referents = Canonical::parse(record.referents.as_bytes())?;
    policy::gates::recheck(look.call, look.observed, &fingerprint, &referents, &context(app, Ok(())))?;
    Ok(ReadyWrite { _approval: approval, call, tool: look.call.tool() })
}
