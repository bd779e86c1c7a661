//! Secrets out of everything that leaves a parser: what goes to a model, a log, the audit, or a gate's evidence.
//!
//! It masks by field name, by address, and by the look of a value (`names`, `address`, `text`, `table`). It errs towards
//! masking; identifiers that the schemas accept always stay. Masking twice is the same as masking once.

mod address;
mod json;
mod names;
mod selftest;
mod table;
mod text;

pub use selftest::self_test;

use serde_json::Value;

/// What stands in place of a secret.
pub const MASK: &str = "[hidden]";

/// The longest text that is looked through, in characters. A longer one is withheld whole.
pub const MOST_TEXT: usize = 200_000;

/// How often a text is looked through until nothing changes any more.
const ROUNDS: usize = 6;

/// The text without its secrets; JSON inside it is understood as such and comes back compact.
#[must_use]
pub fn redact_text(text: &str) -> String {
    settle(text, |round| json::redact_string(round, 0))
}

/// Masks the secrets of a value in place, also those inside its strings.
pub fn redact_value(value: &mut Value) {
    json::redact(value, 0);
}

/// Looks until nothing changes, so that masking again changes nothing; what does not settle is withheld.
fn settle(text: &str, look: impl Fn(&str) -> String) -> String {
    if text.chars().nth(MOST_TEXT).is_some() {
        return MASK.to_owned();
    }
    let mut before = text.to_owned();
    for _ in 0..ROUNDS {
        let after = look(&before);
        if after == before {
            return if after.chars().nth(MOST_TEXT).is_some() { MASK.to_owned() } else { after };
        }
        before = after;
    }
    MASK.to_owned()
}

#[cfg(test)]
mod tests;
