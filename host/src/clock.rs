//! The one clock. No other file asks the operating system for the time (`clippy.toml` denies it).
//!
//! Two hands: the wall clock, which may step, and the boot clock, which only goes forward and counts suspend.
//! An approval's 300 s end on whichever comes first, so neither a stepped wall clock nor a restart lengthens it.

use nix::time::{ClockId, clock_gettime};
use std::fmt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

#[cfg(any(test, feature = "manual-clock"))]
pub use manual::ManualClock;

#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT_CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT_CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

// Later than every expiry, and half the range so that a caller's addition cannot overflow.
const NEVER: i64 = i64::MAX / 2;

/// The time, from the operating system or, in tests, from a hand that moves it. Clones tell the same time.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    #[cfg(any(test, feature = "manual-clock"))]
    Manual(ManualClock),
    System {
        boot_id: Arc<str>,
    },
}

impl Clock {
    /// The operating system's clock. Reads the boot id once; where there is none (not Linux) it is a random id
    /// made now, so that a new process counts as a new boot.
    ///
    /// # Errors
    /// [`ClockError`] when there is no boot id or no boot clock.
    pub fn system() -> Result<Self, ClockError> {
        let boot_id = read_boot_id()?;
        clock_gettime(BOOT_CLOCK).map_err(|errno| ClockError::NoBootClock(errno.into()))?;
        Ok(Self { source: Source::System { boot_id: boot_id.into() } })
    }

    /// A clock that stands still until its hand moves it, for tests: `unix` in whole seconds since 1970,
    /// `boot_ms` in milliseconds since boot.
    #[cfg(any(test, feature = "manual-clock"))]
    #[must_use]
    pub fn dangerous_manual(unix: i64, boot_ms: i64, boot_id: &str) -> (Self, ManualClock) {
        let hand = ManualClock::new(unix, boot_ms, boot_id);
        let clock = Self { source: Source::Manual(hand.clone()) };
        (clock, hand)
    }

    /// Wall time in whole seconds since 1970, UTC. May step in both directions.
    #[must_use]
    pub fn unix(&self) -> i64 {
        match &self.source {
            #[cfg(any(test, feature = "manual-clock"))]
            Source::Manual(hand) => hand.unix(),
            Source::System { .. } => system_unix(),
        }
    }

    /// Milliseconds since boot, suspend included where the system counts it. Never goes back within a boot.
    #[must_use]
    pub fn boot_ms(&self) -> i64 {
        match &self.source {
            #[cfg(any(test, feature = "manual-clock"))]
            Source::Manual(hand) => hand.boot_ms(),
            // It answered in `system()`; if it ever stops, everything has expired.
            Source::System { .. } => clock_gettime(BOOT_CLOCK)
                .map_or(NEVER, |time| time.tv_sec().saturating_mul(1000).saturating_add(time.tv_nsec() / 1_000_000)),
        }
    }

    /// The name of this boot; two different names mean that the boot clock started anew in between.
    #[must_use]
    pub fn boot_id(&self) -> &str {
        match &self.source {
            #[cfg(any(test, feature = "manual-clock"))]
            Source::Manual(hand) => hand.boot_id(),
            Source::System { boot_id } => boot_id,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one file that knows the time")]
fn system_unix() -> i64 {
    let now = std::time::SystemTime::now();
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(NEVER),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(-NEVER, |seconds| -seconds),
    }
}

#[cfg(target_os = "linux")]
fn read_boot_id() -> Result<String, ClockError> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(ClockError::NoBootId)?;
    let id = text.trim();
    let plain = |c: char| c.is_ascii_hexdigit() || c == '-';
    if id.is_empty() || id.len() > 64 || !id.chars().all(plain) {
        return Err(ClockError::OddBootId);
    }
    Ok(id.to_owned())
}

#[cfg(not(target_os = "linux"))]
fn read_boot_id() -> Result<String, ClockError> {
    let bytes = crate::secret::random_bytes::<16>().map_err(ClockError::NoRandom)?;
    Ok(crate::secret::hex(&bytes))
}

/// Why the system's clock cannot be used.
#[derive(Debug)]
pub enum ClockError {
    /// The boot clock did not answer.
    NoBootClock(std::io::Error),
    /// `/proc/sys/kernel/random/boot_id` cannot be read.
    NoBootId(std::io::Error),
    /// No random bytes for a boot id.
    NoRandom(crate::secret::RandomError),
    /// The boot id is not a short word of hexadecimal digits and hyphens.
    OddBootId,
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBootClock(error) => write!(f, "the system's boot clock does not answer: {error}"),
            Self::NoBootId(error) => {
                write!(f, "cannot read /proc/sys/kernel/random/boot_id: {error}; mount /proc for this service")
            }
            Self::NoRandom(error) => write!(f, "cannot make a boot id: {error}"),
            Self::OddBootId => f.write_str(
                "/proc/sys/kernel/random/boot_id does not hold a boot id; mount the real /proc for this service",
            ),
        }
    }
}

impl std::error::Error for ClockError {}

#[cfg(any(test, feature = "manual-clock"))]
mod manual {
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    /// The hand that moves a manual clock. Clones move the same clock.
    #[derive(Clone, Debug)]
    pub struct ManualClock {
        state: Arc<Mutex<State>>,
    }

    #[derive(Debug)]
    struct State {
        unix: i64,
        boot_ms: i64,
        boot_id: &'static str,
    }

    impl ManualClock {
        pub(super) fn new(unix: i64, boot_ms: i64, boot_id: &str) -> Self {
            let state = State { unix, boot_ms, boot_id: kept(boot_id) };
            Self { state: Arc::new(Mutex::new(state)) }
        }

        /// Time passes: both the wall clock and the boot clock go forward by `seconds`.
        pub fn advance(&self, seconds: i64) {
            let mut state = self.lock();
            state.unix += seconds;
            state.boot_ms += seconds * 1000;
        }

        /// Somebody sets the wall clock: it steps by `seconds` (negative: back), the boot clock does not move.
        pub fn step_wall(&self, seconds: i64) {
            self.lock().unix += seconds;
        }

        /// The machine starts anew: another boot id, and the boot clock at zero. The wall clock does not move.
        pub fn reboot(&self, boot_id: &str) {
            let mut state = self.lock();
            state.boot_ms = 0;
            state.boot_id = kept(boot_id);
        }

        pub(super) fn unix(&self) -> i64 {
            self.lock().unix
        }

        pub(super) fn boot_ms(&self) -> i64 {
            self.lock().boot_ms
        }

        pub(super) fn boot_id(&self) -> &'static str {
            self.lock().boot_id
        }

        fn lock(&self) -> MutexGuard<'_, State> {
            self.state.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    // A clock lends its boot id, so the old one must outlive a reboot; a few bytes of a test stay behind.
    fn kept(boot_id: &str) -> &'static str {
        Box::leak(boot_id.to_owned().into_boxed_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_tells_a_plausible_time_and_a_boot_id() {
        let clock = Clock::system().unwrap();
        assert!(clock.unix() > 1_700_000_000);
        let before = clock.boot_ms();
        assert!(before > 0 && before < NEVER);
        assert!(clock.boot_ms() >= before);
        assert!(!clock.boot_id().is_empty());
        assert_eq!(clock.boot_id(), Clock::system().unwrap().boot_id());
    }

    #[test]
    fn advancing_moves_both_hands_for_every_clone() {
        let (clock, hand) = Clock::dangerous_manual(1000, 5000, "boot-a");
        let other = clock.clone();
        hand.clone().advance(3);
        assert_eq!((other.unix(), other.boot_ms()), (1003, 8000));
    }

    #[test]
    fn a_stepped_wall_clock_leaves_the_boot_clock_alone() {
        let (clock, hand) = Clock::dangerous_manual(1000, 5000, "boot-a");
        hand.step_wall(-600);
        assert_eq!((clock.unix(), clock.boot_ms()), (400, 5000));
        assert_eq!(clock.boot_id(), "boot-a");
    }

    #[test]
    fn a_reboot_changes_the_id_and_starts_the_boot_clock_anew() {
        let (clock, hand) = Clock::dangerous_manual(1000, 5000, "boot-a");
        let lent = clock.boot_id();
        hand.reboot("boot-b");
        assert_eq!(lent, "boot-a");
        assert_eq!(clock.boot_id(), "boot-b");
        assert_eq!((clock.unix(), clock.boot_ms()), (1000, 0));
    }
}
