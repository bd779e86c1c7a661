//! Plain words in both languages (`seed 000, The approval page`). Code builds every sentence that a person decides on.
//!
//! Names from the fleet go through [`Shown`] here; whoever renders escapes for its own medium.

mod change;
mod refusal;
mod room;
mod state;

pub use change::{ChannelWord, DenyOnly, Named, PlainWords, deny_only, heading, plain_words};
pub use refusal::refusal;
pub use room::{
    event_line, no_event, not_known, online, publisher_word, recorder_word, recording_of, streaming_of, yes_no,
};
pub use state::{dry_run_note, origin, pause_note, reason_label, slot, state};

use crate::limits;
use protocol::shown::Shown;

/// A name as it is shown everywhere: escaped, at most [`limits::NAME`] characters.
#[must_use]
pub fn name(raw: &str) -> String {
    Shown::capped(raw, limits::NAME).into_string()
}

#[cfg(test)]
mod tests;
