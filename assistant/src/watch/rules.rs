//! What the watcher goes by: `policy.yaml`, the venue's zone, and the language of its posts.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use policy::behaviour::{Behaviour, TimeOfDay, Vertical};
use policy::ids::MasterId;
use policy::observed::Device;
use policy::redact::redact_text;
use protocol::shown::{Language, Shown, Worded};

/// Everything that decides what is found and when it is said.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// Thresholds, scope, quiet hours and the rest.
    pub(crate) behaviour: Behaviour,
    /// The venue's time zone.
    pub(crate) zone: TimeZone,
    /// Language of the posts.
    pub(crate) language: Language,
}

impl Rules {
    /// Whether this unit is watched (`policy.yaml`, `scope`).
    pub(crate) fn watches(&self, device: &Device) -> bool {
        let groups = self.behaviour.groups();
        let inside = groups.is_empty() || groups.contains(&device.group);
        inside && !self.behaviour.exclude_devices().contains(&device.name)
    }

    /// Seconds of the readiness window before an event.
    pub(crate) fn lead_seconds(&self) -> i64 {
        i64::from(self.behaviour.lead_minutes()) * 60
    }

    /// Whether this moment (Unix seconds) lies in the quiet hours; their end may be the next day.
    pub(crate) fn is_quiet(&self, now: i64) -> bool {
        let Some((from, to)) = self.behaviour.quiet_hours() else { return false };
        let minutes = self.minutes(now);
        let (from, to) = (from.minutes(), to.minutes());
        if from < to { (from..to).contains(&minutes) } else { minutes >= from || minutes < to }
    }

    /// Whether the local time of day is at or past this one.
    pub(crate) fn is_past(&self, at: TimeOfDay, now: i64) -> bool {
        self.minutes(now) >= at.minutes()
    }

    /// Local date as `2031-02-03`.
    pub(crate) fn date(&self, now: i64) -> String {
        self.local(now, "%Y-%m-%d").unwrap_or_default()
    }

    /// Local time with the zone named, UTC beside it.
    pub(crate) fn time(&self, at: i64) -> String {
        let utc = Timestamp::from_second(at).map(|at| at.strftime("%H:%M UTC").to_string()).unwrap_or_default();
        match self.zone.iana_name() {
            None | Some("UTC" | "Etc/UTC") => utc,
            Some(name) => format!("{} {name} ({utc})", self.local(at, "%H:%M").unwrap_or_default()),
        }
    }

    /// The word for what happens in a room, with its article: `the class`, `la clase`.
    pub(crate) fn happening(&self) -> Worded {
        match self.behaviour.vertical() {
            Vertical::Business => Worded::new("the meeting", "la reunión"),
            Vertical::Courts => Worded::new("the hearing", "la audiencia"),
            Vertical::Education => Worded::new("the class", "la clase"),
            Vertical::Events => Worded::new("the event", "el evento"),
            Vertical::Worship => Worded::new("the service", "el servicio"),
        }
    }

    /// What the venue wants told about the room of the unit with this id.
    pub(crate) fn note(&self, unit: &str) -> Option<String> {
        let unit = MasterId::new(unit)?;
        let note = self.behaviour.rooms().note(&unit);
        if note.is_empty() { None } else { Some(Shown::whole(note).into_string()) }
    }

    fn local(&self, at: i64, format: &str) -> Option<String> {
        let at = Timestamp::from_second(at).ok()?;
        Some(at.to_zoned_datetime(self.zone.clone()).strftime(format).to_string())
    }

    fn minutes(&self, at: i64) -> u16 {
        let Ok(at) = Timestamp::from_second(at) else { return 0 };
        let local = at.to_zoned_datetime(self.zone.clone());
        let (hour, minute) = (u16::try_from(local.hour()), u16::try_from(local.minute()));
        hour.unwrap_or_default() * 60 + minute.unwrap_or_default()
    }
}

/// A text of the fleet, safe to show: secrets masked, hidden characters visible, length capped.
pub(crate) fn shown(raw: &str) -> String {
    Shown::capped(redact_text(raw.trim()).trim(), policy::limits::NAME).into_string()
}

/// What people call this unit; its id when it has no name.
pub(crate) fn room_name(device: &Device) -> String {
    let name = shown(&device.name);
    if name.is_empty() { device.id.to_string() } else { name }
}

#[cfg(test)]
mod tests {
    use crate::watch::testing::{NOON, rules};

    #[test]
    fn quiet_hours_may_cross_midnight_and_follow_the_venues_zone() {
        // NOON is 12:00 UTC.
        for (hours, zone, hour, quiet) in [
            ("22:00-06:30", "UTC", 12, false),
            ("22:00-06:30", "UTC", 22, true),
            ("22:00-06:30", "UTC", 6, true),
            ("22:00-06:30", "UTC", 7, false),
            ("11:00-13:00", "UTC", 12, true),
            ("11:00-13:00", "UTC", 13, false),
            ("22:00-06:30", "America/Mexico_City", 5, true),
            ("22:00-06:30", "America/Mexico_City", 14, false),
            ("", "UTC", 3, false),
        ] {
            let rules = rules(&format!("quiet_hours: \"{hours}\"\ntimezone: {zone}\n"));
            assert_eq!(rules.is_quiet(NOON + (hour - 12) * 3_600), quiet, "{hours} {zone} {hour}");
        }
    }

    #[test]
    fn times_name_the_zone_with_utc_beside_it() {
        assert_eq!(rules("").time(NOON), "12:00 UTC");
        assert_eq!(rules("timezone: Europe/Madrid\n").time(NOON), "13:00 Europe/Madrid (12:00 UTC)");
    }
}
