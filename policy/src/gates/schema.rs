//! Gate 1: is the proposal well formed? Strict JSON, a tool that may be proposed, arguments that fit its schema.

use super::evidence::Notes;
use crate::call::CheckedCall;
use crate::tool_policy::ToolPolicy;
use protocol::canonical::Canonical;
use protocol::guard::stands;
use protocol::propose::MAX_REASON;
use protocol::refusal::{Refusal, RefusalCode};

pub(super) fn check(
    policy: &ToolPolicy,
    tool: &str,
    arguments: &[u8],
    reason: &str,
    notes: &mut Notes,
) -> Result<CheckedCall, Refusal> {
    notes.add("tool", tool);
    notes.add("argument bytes", &arguments.len().to_string());
    let length = reason.chars().count();
    notes.add("reason characters", &length.to_string());
    let canonical = Canonical::parse(arguments)?;
    let call = policy.check_call(tool, &canonical)?;
    notes.add("schema version", &call.schema_version().to_string());
    notes.add("arguments", call.arguments().as_str());
    if !call.defaulted().is_empty() {
        notes.add("filled in", &call.defaulted().join(", "));
    }
    if length > MAX_REASON && stands(RefusalCode::ReasonTooLong) {
        let detail = format!("{length} characters; at most {MAX_REASON}");
        return Err(Refusal::new(RefusalCode::ReasonTooLong, &detail));
    }
    Ok(call)
}
