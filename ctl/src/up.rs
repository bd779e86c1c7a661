//! `up` and `down`: both daemons as one ordinary user, without root and without a service manager (`issue line 4.10`).
//! The PIN is the only boundary then, and everything says so: `isolation: none`.
//!
//! What makes a kill at any instant harmless: every file is made whole or not at all; each daemon is recorded by itself,
//! before it becomes the daemon (`detach`); a record counts only while its process lives (`process`); and one lock lets
//! one `up` or `down` work at a time.

mod detach;
mod error;
mod first;
mod layout;
mod process;
mod settings;
mod start;
mod stop;
mod words;

pub(crate) use detach::{keep_log, start_detached};
pub(crate) use layout::own_run_dir;
pub(crate) use start::up;
pub(crate) use stop::down;
