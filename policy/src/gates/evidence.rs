//! What a gate looked at, redacted and bounded before anybody stores it.

use crate::redact::{MASK, redact_text};
use protocol::gate::{Evidence, GateId, GateResult, NOT_REACHED};
use protocol::refusal::Refusal;
use protocol::shown::Shown;

/// Most items that one gate keeps.
pub const MOST_ITEMS: usize = 20;

/// Longest value, in characters.
pub const MOST_VALUE: usize = 200;

/// Longest value that is looked through, in bytes; a longer one is withheld whole.
const MOST_LOOKED_AT: usize = 16_000;

/// Longest name, in characters; ours are shorter.
const MOST_NAME: usize = 60;

/// The notes that one gate takes while it looks.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<Evidence>);

impl Notes {
    /// Adds one fact: redacted, escaped and cut.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        if self.0.len() < MOST_ITEMS {
            self.0.push(Evidence {
                name: Shown::capped(name, MOST_NAME).into_string(),
                value: Shown::capped(&redacted(value), MOST_VALUE).into_string(),
            });
        }
    }

    /// The gate's result, with the refusal's detail as the last item when it is blocked.
    pub(super) fn result(mut self, gate_id: GateId, outcome: &Result<(), Refusal>) -> GateResult {
        let Err(refusal) = outcome else {
            return GateResult { gate_id, passed: true, blocked_reason: None, evidence: self.0 };
        };
        // The reason it was blocked must never be the item that no longer fits.
        self.0.truncate(MOST_ITEMS - 1);
        if !refusal.detail.is_empty() {
            self.0.push(Evidence { name: "detail".to_owned(), value: shown_detail(&refusal.detail) });
        }
        let blocked_reason = Some(refusal.code.as_str().to_owned());
        GateResult { gate_id, passed: false, blocked_reason, evidence: self.0 }
    }
}

/// Only the beginning is kept, so a text far longer than that is not worth looking through.
fn redacted(value: &str) -> String {
    if value.len() > MOST_LOOKED_AT { MASK.to_owned() } else { redact_text(value) }
}

/// A detail is escaped already; escaping it again would double its backslashes.
fn shown_detail(detail: &str) -> String {
    let redacted = redact_text(detail);
    if redacted.chars().count() <= MOST_VALUE {
        return redacted;
    }
    redacted.chars().take(MOST_VALUE - 1).chain(['…']).collect()
}

/// The result of a gate behind the one that failed.
pub(super) fn not_reached(gate_id: GateId) -> GateResult {
    GateResult { gate_id, passed: false, blocked_reason: Some(NOT_REACHED.to_owned()), evidence: Vec::new() }
}
