//! A whole Fleetwatch for one test: the simulated fleet and both daemons as real processes in a folder of their own, and
//! clients for every way in.
//!
//! ```no_run
//! use fleetwatch_tests::world::{World, recording};
//!
//! let world = World::builder().start();
//! let hall = world.room("Hall A");
//! let mut turn = world.turn("agent-1");
//! let number = turn.propose("batch_recording", &recording("start", &hall, 1)).unwrap();
//! turn.end();
//! let news = world.approve(number).unwrap(); // shows the card, reads for 2.1 s, says yes
//! assert_eq!(world.writes().len(), 1);
//! ```
//!
//! Each world has its own ports, sockets and state, so worlds run side by side. Dropping one ends its processes by their
//! own pids; if the test itself is killed, the pipe to their standard input closes and they end by themselves. Methods
//! panic with what went wrong, since a harness that fails is a test that fails; what a daemon *refuses* comes back as
//! `Err(Refusal)`.

#![expect(clippy::missing_panics_doc, reason = "everything here panics when it fails, as said above")]

mod ask;
mod builder;
mod control;
mod daemon;
mod http;
mod link;
mod must;
mod page;
mod propose;
mod proxy;
mod recorder;
mod running;
mod sim;
mod skip;
mod tls;

pub use ask::{AskClient, answered, proposed};
pub use builder::Builder;
pub use control::ControlClient;
pub use daemon::Daemon;
pub use http::{Answer, Asking};
pub use link::{Asker, Frames};
pub use must::{must, some, until};
pub use page::PageClient;
pub use propose::{ProposeClient, draft};
pub use proxy::{Fate, Proxy, Seen};
pub use recorder::Recorder;
pub use running::World;
pub use sim::Sim;
pub use skip::skipped;
pub use tls::{TlsFront, certificates};

use protocol::refusal::RefusalCode;
use serde_json::{Value, json};
use std::time::Duration;

/// A little more than a card must have been on screen before it may be decided.
pub const READING: Duration = Duration::from_millis(2_100);

/// One call of a tool as it arrived at the fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Whose token came with it: `normal`, `sandbox` or `unknown`.
    pub token: String,
}

/// Arguments of `batch_recording`: `start` or `stop` on one channel of a unit.
#[must_use]
pub fn recording(action: &str, unit: &str, channel: u32) -> Value {
    json!({ "action": action, "device_ids": [format!("{unit}-{channel}")] })
}

/// Arguments of `batch_reboot` and `batch_firmware_update`.
#[must_use]
pub fn units(unit: &str) -> Value {
    json!({ "device_ids": [unit] })
}

/// The code of a refusal; panics when there is none.
#[track_caller]
pub fn code_of<T: std::fmt::Debug>(answer: Result<T, protocol::refusal::Refusal>) -> RefusalCode {
    match answer {
        Err(refusal) => refusal.code,
        Ok(done) => must(Err(format!("{done:?}")), "this was to be refused"),
    }
}
