//! Pure decisions: no I/O, no clock, no async. Text comes in, verdicts with reasons come out.

#![cfg_attr(not(test), warn(clippy::as_conversions, clippy::indexing_slicing))]

pub mod behaviour;
pub mod call;
pub mod fence;
pub mod fingerprint;
pub mod fold;
pub mod gates;
pub mod ids;
pub mod intent;
pub mod limits;
pub mod observed;
pub mod principals;
pub mod redact;
pub mod room;
pub mod rooms;
pub mod tool_policy;
pub mod undo;
pub mod words;
pub mod yaml;

#[cfg(test)]
mod sample;
