//! Signing in by the rules of MCP (issue lines 3.1 and 3.2; facts 1.2): metadata of the server and of who signs people
//! in for it, registration as a public client, PKCE, a callback on this machine, rotating tokens, revocation.
//!
//! Everything goes over https (on 127.0.0.1 over http for the simulator), nothing is redirected, and every answer has a
//! largest size and a longest wait. What a server sends is never shown: errors are fixed words.

pub(crate) mod callback;
mod discover;
mod error;
mod flow;
mod net;
mod register;
mod tokens;

pub use error::OauthError;
pub use flow::Attempt;
pub(crate) use flow::{begin, revoke_unwanted};
pub(crate) use net::{Net, Place};
pub(crate) use tokens::{Revoked, renew, revoke};
