//! What the machine does to the real executor: its wall clock is set, its disk fails, is full or cannot be written.

#[cfg(test)]
#[path = "machine/clock.rs"]
mod clock;
#[cfg(test)]
#[path = "machine/disk.rs"]
mod disk;
