//! Times for people: the venue's zone, named, with UTC beside it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use protocol::shown::Worded;

/// One instant in both languages. Unix seconds outside the calendar are shown as a number.
pub(crate) fn when(zone: &TimeZone, unix: i64) -> Worded {
    let Ok(at) = Timestamp::from_second(unix) else { return Worded::same(format!("{unix} s")) };
    let local = at.to_zoned_datetime(zone.clone());
    let utc = at.to_zoned_datetime(TimeZone::UTC);
    let text = local.strftime("%Y-%m-%d %H:%M %Z").to_string();
    if text.ends_with(" UTC") {
        return Worded::same(text);
    }
    Worded::same(format!("{text} ({})", utc.strftime("%H:%M UTC")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_named_and_utc_stands_beside_it() {
        let zone = TimeZone::get("Europe/Madrid").unwrap();
        assert_eq!(when(&zone, 1_927_882_380).en, "2031-02-03 11:53 CET (10:53 UTC)");
        for zone in [TimeZone::UTC, TimeZone::get("UTC").unwrap()] {
            assert_eq!(when(&zone, 1_927_882_380).en, "2031-02-03 10:53 UTC");
        }
    }
}
