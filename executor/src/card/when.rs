//! Times for people: the venue's zone, named, with UTC beside it (`issue line 2.7`).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use protocol::shown::Worded;

/// One instant in both languages. Unix seconds outside the calendar are shown as a number.
pub(crate) fn when(zone: &TimeZone, unix: i64) -> Worded {
    let Ok(at) = Timestamp::from_second(unix) else { return Worded::same(format!("{unix} s")) };
    let local = at.to_zoned_datetime(zone.clone());
    let utc = at.to_zoned_datetime(TimeZone::UTC);
    let text = local.strftime("%Y-%m-%d %H:%M");
    let name = name_of(zone, local.strftime("%Z").to_string());
    if name == "UTC" {
        return Worded::same(format!("{text} UTC"));
    }
    Worded::same(format!("{text} {name} ({})", utc.strftime("%H:%M UTC")))
}

/// Half of America has no short name but a number such as -05, which names no zone: then it is the name of the settings.
fn name_of(zone: &TimeZone, short: String) -> String {
    if short.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return short;
    }
    zone.iana_name().map_or(short, str::to_owned)
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

    #[test]
    fn a_zone_without_letters_is_named_as_in_the_settings() {
        for (name, text) in [
            ("America/Bogota", "2031-02-03 05:53 America/Bogota (10:53 UTC)"),
            ("America/Lima", "2031-02-03 05:53 America/Lima (10:53 UTC)"),
            ("America/Sao_Paulo", "2031-02-03 07:53 America/Sao_Paulo (10:53 UTC)"),
            ("America/New_York", "2031-02-03 05:53 EST (10:53 UTC)"),
        ] {
            let words = when(&TimeZone::get(name).unwrap(), 1_927_882_380);
            assert_eq!((words.en.as_str(), words.es.as_str()), (text, text));
        }
    }
}
