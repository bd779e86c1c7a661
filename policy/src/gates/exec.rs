//! Gate 7: is proposing and running switched on? In observe mode nothing is proposed (`seed 000, Tests: observe mode`).

use super::Context;
use super::evidence::Notes;
use crate::behaviour::Autonomy;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};

pub(super) fn check(ctx: &Context<'_>, notes: &mut Notes) -> Result<(), Refusal> {
    match ctx.autonomy {
        Autonomy::Observe => {
            notes.add("autonomy", "observe");
            if stands(RefusalCode::ObserveMode) {
                return Err(Refusal::new(RefusalCode::ObserveMode, "autonomy is observe in policy.yaml"));
            }
        }
        Autonomy::Propose => notes.add("autonomy", "propose"),
    }
    Ok(())
}
