//! What the watcher knows, for `fleetwatchctl digest` and `history`: as text that code wrote, or as redacted readings.

use crate::desk::Desk;
use crate::teller::Teller;
use crate::watch::replay::Parts;
use crate::watch::rules::Rules;
use crate::watch::seen::{Raw, Readings};
use host::link::LinkError;
use protocol::ask::{AssistantSays, MAX_DAYS, PART};
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Language;

/// `digest`: what the last look knows.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn digest(desk: &Desk, language: Language, teller: &mut Teller<'_>) -> Result<(), LinkError> {
    let (text, good) = desk.watch.digest(language, desk.clock.unix());
    teller.tell(AssistantSays::Report { text, good }).await?;
    // What it knows is older then, and nothing but a new sign-in makes it newer.
    match desk.fleet.over_refusal(language) {
        Some(refusal) => teller.tell(AssistantSays::Refused(refusal)).await,
        None => Ok(()),
    }
}

/// `history`: a line a day.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn history(
    desk: &Desk,
    (days, language): (u16, Language),
    teller: &mut Teller<'_>,
) -> Result<(), LinkError> {
    let text = desk.watch.history(usize::from(days.clamp(1, MAX_DAYS)), language);
    teller.tell(AssistantSays::Report { text, good: true }).await
}

/// `digest --capture`: one look now, each reading redacted and in parts.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn capture(desk: &Desk, teller: &mut Teller<'_>) -> Result<(), LinkError> {
    let readings = Readings::Fleet(&desk.fleet, &desk.policy);
    let Some(raw) = Raw::read(readings, desk.clock.unix()).await else {
        let failed = || Refusal::new(RefusalCode::ReadFailed, "the device list could not be read");
        let refusal = desk.fleet.over_refusal(Language::English).unwrap_or_else(failed);
        return teller.tell(AssistantSays::Refused(refusal)).await;
    };
    for (tool, value) in raw.kept() {
        let text = value.to_string().into_bytes();
        let mut rest = text.chunks(PART).peekable();
        while let Some(part) = rest.next() {
            let last = rest.peek().is_none();
            teller.tell(AssistantSays::CapturePart { tool: tool.to_owned(), bytes: part.to_vec(), last }).await?;
        }
    }
    Ok(())
}

/// `digest --replay`: the digest of readings from files.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn replay(
    desk: &Desk,
    parts: Parts,
    language: Language,
    teller: &mut Teller<'_>,
) -> Result<(), LinkError> {
    let rules: &Rules = &desk.watch.rules;
    match parts.play(rules, (language, desk.clock.unix())).await {
        Ok(text) => teller.tell(AssistantSays::Report { text, good: true }).await,
        Err(refusal) => teller.tell(AssistantSays::Refused(refusal)).await,
    }
}
