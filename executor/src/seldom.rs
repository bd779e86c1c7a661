//! At most one word a minute about something that anybody can repeat at will; the rest is counted.

use host::clock::Clock;
use std::sync::{Mutex, PoisonError};

const PAUSE_MS: i64 = 60_000;

/// Lets one through a minute.
#[derive(Debug)]
pub(crate) struct Seldom {
    clock: Clock,
    state: Mutex<(Option<i64>, u64)>,
}

impl Seldom {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), state: Mutex::new((None, 0)) }
    }

    /// How many were held back since the last one, when this one may be told; else it is held back too.
    pub(crate) fn take(&self) -> Option<u64> {
        let now = self.clock.boot_ms();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0.is_some_and(|last| now < last + PAUSE_MS) {
            state.1 += 1;
            return None;
        }
        state.0 = Some(now);
        Some(std::mem::take(&mut state.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_a_minute_with_the_number_of_the_others() {
        let (clock, time) = Clock::dangerous_manual(1, 1, "boot");
        let seldom = Seldom::new(&clock);
        assert_eq!([seldom.take(), seldom.take(), seldom.take()], [Some(0), None, None]);
        time.advance(60);
        assert_eq!(seldom.take(), Some(2));
    }
}
