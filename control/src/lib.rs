//! The words of `control.sock`, the operator's socket. Only `fleetwatchctl` and the executor may name them: a crate is
//! the wall that keeps the assistant from saying "approve" (`architecture.md, The walls`).

#![cfg_attr(not(test), warn(clippy::as_conversions, clippy::indexing_slicing))]

pub mod card;
pub mod message;
pub mod pin;
pub mod status;
