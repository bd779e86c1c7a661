//! The simulated fleet: its rooms, its state, and what the write tools do to it.

pub(crate) mod effects;
pub(crate) mod rooms;
pub(crate) mod state;

use std::fmt;

/// A tool that answers `isError` with these words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolError(pub(crate) String);

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ToolError {}
