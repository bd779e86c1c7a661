//! The words of `control.sock`, the operator's socket. Only `fleetwatchctl` and the executor may name them: a crate is
//! the wall that keeps the assistant from saying "approve" (`architecture.md, The walls`).

pub mod card;
pub mod message;
pub mod pin;
pub mod status;
