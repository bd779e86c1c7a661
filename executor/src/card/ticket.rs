//! Tickets: the proof that this very card was put before this very session, and when. Every decision carries one.

use crate::store::{Keys, StoreError};
use host::secret::hex;
use policy::limits;
use protocol::guard::stands;
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
    let ours = host::secret::same(wanted.as_bytes(), given.as_bytes()) && at <= now_boot_ms;
    if !ours && stands(RefusalCode::BadTicket) {
        return Err(bad());
    }
    if now_boot_ms - at < limits::TOO_SOON_MS && stands(RefusalCode::TooSoon) {
        return Err(Refusal::bare(RefusalCode::TooSoon));
    }
    Ok((now_boot_ms - at) / 1_000)
}

fn mac(keys: &Keys, shown: Shown<'_>, boot_ms: i64) -> Result<String, StoreError> {
    let number = shown.number.get().to_be_bytes();
    let parts: [&[u8]; 4] = [&number, shown.digest, shown.session, &boot_ms.to_be_bytes()];
    Ok(hex(&crate::mac::sign(&keys.tickets, "fleetwatch ticket 1", &parts)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::secret::Key32;

    const AT: i64 = 7_000_000;

    fn keys() -> Keys {
        let key = || Key32::random().unwrap();
        Keys { store_id: "store".to_owned(), audit: key(), binding: key(), tickets: key() }
    }

    fn shown(number: u64) -> Shown<'static> {
        Shown { number: ProposalNumber::new(number).unwrap(), digest: &[1; 32], session: &[2; 32] }
    }

    #[test]
    fn a_ticket_is_of_one_card_one_session_and_one_start() {
        let (keys, now) = (keys(), AT + limits::TOO_SOON_MS);
        let code = |ticket: &str, shown| check(&keys, ticket, shown, now).map_err(|refusal| refusal.code);
        let ticket = issue(&keys, shown(7), AT).unwrap();
        assert_eq!(code(&ticket, shown(7)), Ok(2));
        for other in [shown(8), Shown { digest: &[3; 32], ..shown(7) }, Shown { session: &[3; 32], ..shown(7) }] {
            assert_eq!(code(&ticket, other), Err(RefusalCode::BadTicket), "{other:?}");
        }
        let other_start = issue(&self::keys(), shown(7), AT).unwrap();
        let from_the_future = issue(&keys, shown(7), now + 1).unwrap();
        let earlier = ticket.replacen(&AT.to_string(), &(AT - 1).to_string(), 1);
        for bad in ["", ".", "7000000.", "garbage", &other_start, &from_the_future, &earlier] {
            assert_eq!(code(bad, shown(7)), Err(RefusalCode::BadTicket), "{bad:?}");
        }
    }

    #[test]
    fn a_ticket_is_good_after_two_seconds_and_not_before() {
        let keys = keys();
        let ticket = issue(&keys, shown(7), AT).unwrap();
        for early in [0, 1, limits::TOO_SOON_MS - 1] {
            let refused = check(&keys, &ticket, shown(7), AT + early).unwrap_err();
            assert_eq!(refused.code, RefusalCode::TooSoon, "{early} ms");
        }
        check(&keys, &ticket, shown(7), AT + limits::TOO_SOON_MS).unwrap();
    }
}
