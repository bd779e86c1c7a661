//! The executor: the one part that holds a write credential. It admits proposals, shows them to a person, and after that
//! person's yes re-checks the room and writes once.
//!
//! The library exists for `tests/` alone; `main` is a few lines around [`serve()`]. Read it like the flow: `intake` →
//! `store::proposal` → `card` → `decide` → `store::consume` → `run` → `recheck` → `backends::epiphan::write` →
//! `store::outcome`.

mod alive;
mod app;
mod assistant_link;
mod backends;
mod barrier;
mod binding;
mod bucket;
mod card;
mod changeable;
mod codes;
mod config;
mod control_link;
pub mod decide;
mod desk;
mod intake;
mod keep;
mod launch;
mod listen;
mod login;
mod mac;
mod notify;
mod page;
mod principals;
mod recheck;
mod run;
mod seldom;
mod serve;
pub mod store;
mod sweep;

pub use config::ConfigError;
pub use launch::Launch;
pub use principals::Person;
pub use serve::{ServeError, serve};
