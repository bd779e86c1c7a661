//! Tickets: the proof that this very card was put before this very session, and when. Every decision carries one.

use crate::store::{Keys, StoreError};
use host::secret::hex;
use policy::limits;
use protocol::ids::ProposalNumber;
use protocol::refusal::{Refusal, RefusalCode};

/// What a ticket is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) number: ProposalNumber,
    pub(crate) digest: &'a [u8; 32],
    pub(crate) session: &'a [u8; 32],
}

/// A ticket for a card that is shown at `boot_ms`: the time and a MAC, as text.
pub(crate) fn issue(keys: &Keys, shown: Shown<'_>, boot_ms: i64) -> Result<String, StoreError> {
    Ok(format!("{boot_ms}.{}", mac(keys, shown, boot_ms)?))
}

/// Checks a ticket at `now_boot_ms`.
///
/// Gives how many whole seconds ago the card was shown. `bad_ticket` when it is not this card's and session's, `too_soon`
/// when the card was shown less than two seconds ago.
pub(crate) fn check(keys: &Keys, ticket: &str, shown: Shown<'_>, now_boot_ms: i64) -> Result<i64, Refusal> {
    let bad = || Refusal::bare(RefusalCode::BadTicket);
    let (at, given) = ticket.split_once('.').ok_or_else(bad)?;
    let at: i64 = at.parse().map_err(|_| bad())?;
    let wanted = mac(keys, shown, at).map_err(StoreError::into_refusal)?;
    if !host::secret::same(wanted.as_bytes(), given.as_bytes()) || at > now_boot_ms {
        return Err(bad());
    }
    if now_boot_ms - at < limits::TOO_SOON_MS {
        return Err(Refusal::bare(RefusalCode::TooSoon));
    }
    Ok((now_boot_ms - at) / 1_000)
}

fn mac(keys: &Keys, shown: Shown<'_>, boot_ms: i64) -> Result<String, StoreError> {
    let number = shown.number.get().to_be_bytes();
    let parts: [&[u8]; 4] = [&number, shown.digest, shown.session, &boot_ms.to_be_bytes()];
    Ok(hex(&crate::mac::sign(&keys.tickets, "fleetwatch ticket 1", &parts)?))
}
