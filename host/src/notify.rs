//! Words to the service manager: up, one line of status, still alive, stopping (`sd_notify`; issue line 4.2). Where nobody
//! asked for them nothing is sent.

use sd_notify::NotifyState;
use std::fmt;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior};

/// Longest line of status, in characters.
const LONGEST: usize = 200;

/// Everything serves now; `status` is one short line without secrets.
pub fn ready(status: &str) {
    let line = one_line(status);
    send(&[NotifyState::Ready, NotifyState::Status(&line)]);
}

/// The process ends in order; from here on no sign of life is expected.
pub fn stopping() {
    send(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
}

/// Gives a sign of life at a third of the time that the service manager waits for one, each time only after `prove`
/// has shown that there is life. A proof that took all of its time is tried again at once, so that a single slow one ends
/// nothing. Never returns; where no watchdog is set it only waits.
pub async fn keep_alive<F, E>(prove: impl Fn() -> F)
where
    F: Future<Output = Result<(), E>>,
    E: fmt::Display,
{
    let Some(patience) = sd_notify::watchdog_enabled() else {
        return std::future::pending().await;
    };
    let every = third(patience);
    let mut beat = beats(every);
    loop {
        beat.tick().await;
        match tokio::time::timeout(every, prove()).await {
            Ok(Ok(())) => send(&[NotifyState::Watchdog]),
            Ok(Err(why)) => tracing::error!(%why, "no sign of life for the service manager"),
            Err(_late) => tracing::error!(?every, "no sign of life for the service manager: the proof took too long"),
        }
    }
}

/// Whether the service manager waits for signs of life, and how long.
#[must_use]
pub fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled()
}

fn third(patience: Duration) -> Duration {
    (patience / 3).max(Duration::from_millis(1))
}

// From begin to begin, whatever the proofs cost.
fn beats(every: Duration) -> Interval {
    let mut beats = tokio::time::interval(every);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats
}

fn send(words: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(words) {
        tracing::warn!(%error, "the service manager does not hear this process");
    }
}

// A line break would begin another word of the protocol.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_cannot_say_another_word_and_is_short() {
        assert_eq!(one_line("up\nWATCHDOG=1\rX"), "up WATCHDOG=1 X");
        assert_eq!(one_line(&"x".repeat(999)).len(), LONGEST);
    }

    #[tokio::test]
    async fn after_a_proof_that_took_all_of_its_time_the_next_one_begins_at_once() {
        let every = third(Duration::from_millis(300));
        let mut beat = beats(every);
        beat.tick().await;
        // The proof that begins with the second beat hangs for all of its time.
        beat.tick().await;
        tokio::time::timeout(every, std::future::pending::<()>()).await.unwrap_err();
        // A time of nothing: the beat is there when it is asked for.
        tokio::time::timeout(Duration::ZERO, beat.tick()).await.unwrap();
    }

    #[test]
    fn a_sign_of_life_comes_thrice_in_the_time_that_is_waited() {
        assert_eq!(third(Duration::from_secs(30)), Duration::from_secs(10));
        assert!(third(Duration::ZERO) > Duration::ZERO);
    }
}
