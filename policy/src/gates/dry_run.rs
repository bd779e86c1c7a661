//! Gate 6: is this a dry run? Then the proposal may be shown and approved, and ends before the write.

use super::Context;
use super::evidence::Notes;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};

pub(super) fn check(ctx: &Context<'_>, notes: &mut Notes) -> Result<(), Refusal> {
    notes.add("dry_run", if ctx.dry_run { "true" } else { "false" });
    if ctx.dry_run && stands(RefusalCode::DryRun) {
        return Err(Refusal::new(RefusalCode::DryRun, "dry_run is true in policy.yaml"));
    }
    Ok(())
}
