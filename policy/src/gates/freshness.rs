//! Gate 4: is what was read recent and complete enough to bind a change to?

use super::evidence::Notes;
use crate::call::CheckedCall;
use crate::fingerprint::{fingerprint, referents};
use crate::limits;
use crate::observed::Observed;
use protocol::canonical::Canonical;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};

/// The fingerprint and the referents.
pub(super) type Bound = (Canonical, Canonical);

pub(super) fn check(
    call: &CheckedCall,
    observed: &Observed,
    now_boot_ms: i64,
    notes: &mut Notes,
) -> Result<Bound, Refusal> {
    let age = now_boot_ms.saturating_sub(observed.read_boot_ms);
    notes.add("age of the read", &format!("{age} ms of at most {}", limits::READ_TO_WRITE_MS));
    check_age(observed, now_boot_ms)?;
    let bound = (fingerprint(call, observed)?, referents(call, observed)?);
    notes.add("fingerprint", bound.0.as_str());
    notes.add("referents", bound.1.as_str());
    Ok(bound)
}

/// A read from the future has another clock behind it and is as good as none.
pub(super) fn check_age(observed: &Observed, now_boot_ms: i64) -> Result<(), Refusal> {
    let age = now_boot_ms.saturating_sub(observed.read_boot_ms);
    if (0..=limits::READ_TO_WRITE_MS).contains(&age) || !stands(RefusalCode::Stale) {
        return Ok(());
    }
    let detail = format!("the first read is {age} ms old; at most {}", limits::READ_TO_WRITE_MS);
    Err(Refusal::new(RefusalCode::Stale, &detail))
}
