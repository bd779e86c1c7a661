//! How the harness gives up: loudly, at the test's own line.

use std::fmt::Display;
use std::thread::sleep;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(20);

/// The value, or the end of the test with what was tried and why it failed.
#[track_caller]
#[expect(clippy::panic, reason = "a harness that fails is a test that fails")]
pub fn must<T, E: Display>(result: Result<T, E>, what: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error}"),
    }
}

/// The value, or the end of the test with what is missing.
#[track_caller]
pub fn some<T>(option: Option<T>, what: &str) -> T {
    must(option.ok_or("there is none"), what)
}

/// Looks every 20 ms until there is a value; the end of the test after `patience`.
#[track_caller]
pub fn until<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let looks = patience.as_millis() / LOOK.as_millis();
    for _ in 0..looks {
        if let Some(value) = look() {
            return value;
        }
        sleep(LOOK);
    }
    must(Err(format!("not within {patience:?}")), what)
}
