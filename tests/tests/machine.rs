//! What the machine does to the real executor: its wall clock is set, its disk fails, is full or cannot
//! be written; what a service manager hands it, and what its own sandbox shuts; and in which order disk and wire are reached.

#[cfg(test)]
#[path = "machine/clock.rs"]
mod clock;
#[cfg(test)]
#[path = "machine/disk.rs"]
mod disk;
#[cfg(test)]
#[path = "machine/launchd.rs"]
mod launchd;
#[cfg(test)]
#[path = "machine/order.rs"]
mod order;
#[cfg(test)]
#[path = "machine/sandbox.rs"]
mod sandbox;
#[cfg(test)]
#[path = "machine/service.rs"]
mod service;
