//! Times as the server writes them, read liberally: RFC 3339, without seconds, or epoch seconds as text or number.

use super::ShapeError;
use serde_json::Value;

const PLACE: &str = "time";
/// The last second of the year 9999.
const LAST: i64 = 253_402_300_799;

/// Unix seconds.
///
/// # Errors
/// Anything that names no single instant: no zone, no number, after the year 9999, before 1970.
pub fn unix_seconds(value: &Value) -> Result<i64, ShapeError> {
    let seconds = match value {
        Value::String(text) => from_text(text.trim()),
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    seconds
        .filter(|seconds| (0..=LAST).contains(seconds))
        .ok_or(ShapeError::new(PLACE, "not a time that is understood"))
}

fn from_text(text: &str) -> Option<i64> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    if let Some((whole, fraction)) = text.split_once('.')
        && [whole, fraction].iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    {
        return whole.parse().ok();
    }
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

// A bounded float, its fraction cut.
#[expect(clippy::cast_possible_truncation, reason = "the bounds are checked first; the fraction is meant to go")]
fn whole(number: f64) -> Option<i64> {
    (0.0..=1e12).contains(&number).then_some(number as i64)
}

/// `until` as the tools take it: UTC, whole seconds.
pub(crate) fn until_text(unix: i64) -> Option<String> {
    let time = jiff::Timestamp::from_second(unix).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_known_spelling_is_read() {
        let want = 1_789_591_000;
        for value in [
            json!("2026-09-16T20:36:40Z"),
            json!("2026-09-16T20:36:40.750Z"),
            json!("2026-09-16T22:36:40+02:00"),
            json!("2026-09-16 20:36:40Z"),
            json!("2026-09-16T20:36:40+00:00"),
            json!(" 1789591000 "),
            json!("1789591000.9"),
            json!(1_789_591_000),
            json!(1_789_591_000.9),
        ] {
            assert_eq!(unix_seconds(&value), Ok(want), "{value}");
        }
        assert_eq!(unix_seconds(&json!("2026-09-16T20:36Z")), Ok(1_789_590_960));
    }

    #[test]
    fn what_names_no_instant_is_refused() {
        for value in [
            json!(""),
            json!("soon"),
            json!("2026-09-16T20:36:40"),
            json!("2026-09-16"),
            json!("1789591000000"),
            json!(1_789_591_000_000_i64),
            json!(-1),
            json!(1e300),
            json!("-5"),
            json!("99999999999999999999"),
            json!(null),
            json!(true),
            json!([1]),
            json!({}),
        ] {
            assert!(unix_seconds(&value).is_err(), "{value}");
        }
    }

    #[test]
    fn the_horizon_is_written_in_whole_utc_seconds() {
        assert_eq!(until_text(1_789_591_000).as_deref(), Some("2026-09-16T20:36:40Z"));
        assert_eq!(until_text(i64::MAX), None);
    }
}
