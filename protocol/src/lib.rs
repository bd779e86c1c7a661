//! Words only: what the three sockets say, and the small values every crate must agree on.
//!
//! Nothing in this crate names a decision: the words of the operator's socket live in `control`, so a program that
//! depends on `protocol` alone cannot say "approve" (`seed 000, Parts`).

#![cfg_attr(not(test), warn(clippy::as_conversions, clippy::indexing_slicing))]

pub mod ask;
pub mod canonical;
pub mod doctor;
pub mod frame;
pub mod gate;
pub mod guard;
pub mod hello;
pub mod ids;
mod json;
pub mod propose;
pub mod refusal;
pub mod shown;
pub mod signin;
