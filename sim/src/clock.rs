//! The simulator's own clock, and the time formats of the Epiphan results.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The wall clock, in milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "the simulator has its own clock and depends on none of our crates")]
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Whole seconds as `2031-02-03T10:00:00Z`.
pub(crate) fn rfc3339(seconds: i64) -> String {
    format(seconds, "%Y-%m-%dT%H:%M:%SZ")
}

/// Whole seconds as `2031-02-03T10:00Z`, the form of `StateTime`.
pub(crate) fn minute_stamp(seconds: i64) -> String {
    format(seconds, "%Y-%m-%dT%H:%MZ")
}

/// Reads an RFC 3339 time into seconds; nothing if it is not one.
pub(crate) fn parse(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

fn format(seconds: i64, pattern: &str) -> String {
    Timestamp::from_second(seconds).map(|at| at.strftime(pattern).to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_live_spellings_and_read_back() {
        assert_eq!(rfc3339(1_927_880_000), "2031-02-03T10:13:20Z");
        assert_eq!(minute_stamp(1_927_880_000), "2031-02-03T10:13Z");
        assert_eq!(parse("2031-02-03T10:13:20Z"), Some(1_927_880_000));
        assert_eq!(parse("tomorrow"), None);
    }
}
