//! The guarded reader of Epiphan's MCP server: one session, read tools only, answers as plain values.
//!
//! Nothing here names the MCP library to the outside, and no function takes the name of a tool to call: only a
//! `ReadTool`, which the tool policy's guard alone makes.

mod answer;
pub mod client;
pub mod doctor;
pub mod endpoint;
pub mod error;
pub mod fleet;
mod http;
pub mod json;
mod keychain;
pub mod oauth;
pub mod parse;
pub mod quote;
mod reach;
pub mod session;
mod sse;
mod store;
pub mod token;
pub mod webhook;
