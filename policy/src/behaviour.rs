//! `policy.yaml`: how Fleetwatch behaves (issue line 1.9). Every key is optional; the shipped values are the defaults.

use crate::rooms::{RawRooms, Rooms};
use crate::yaml::{Flag, Listed, PolicyError, Source, Text, Whole, given};
use protocol::canonical::Canonical;
use serde::Deserialize;
use serde_json::json;
use serde_saphyr::Spanned;

/// The file that ships, as text.
pub const SHIPPED: &str = include_str!("../policy.yaml");

/// Whether changes may be proposed at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Autonomy {
    /// Answers only.
    Observe,
    /// A person may approve changes, one at a time.
    Propose,
}

impl Autonomy {
    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Propose => "propose",
        }
    }
}

/// What happens in the rooms; only words depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vertical {
    /// Meetings.
    Business,
    /// Hearings.
    Courts,
    /// Classes.
    Education,
    /// Events.
    Events,
    /// Services.
    Worship,
}

/// A time of day in minutes since midnight, 0 to 1439, in the venue's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeOfDay(u16);

impl TimeOfDay {
    /// Minutes since midnight.
    #[must_use]
    pub fn minutes(self) -> u16 {
        self.0
    }

    fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let two = |part: &str| {
            (part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse::<u16>().ok())
        };
        let (hours, minutes) = (two(hours)??, two(minutes)??);
        (hours < 24 && minutes < 60).then_some(Self(hours * 60 + minutes))
    }
}

/// From where on a value is worth a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Processor load, percent.
    pub cpu_load_pct: u32,
    /// Processor temperature, degrees Celsius.
    pub cpu_temp_c: u32,
    /// A restart this many minutes ago is recent.
    pub recent_reboot_minutes: u32,
}

/// A behaviour file that passed every check of its loader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    autonomy: Autonomy,
    dry_run: bool,
    lead_minutes: u32,
    timezone: String,
    heartbeat_seconds: u32,
    vertical: Vertical,
    remind_after_minutes: u32,
    quiet_hours: Option<(TimeOfDay, TimeOfDay)>,
    sweep_at: Option<TimeOfDay>,
    groups: Vec<String>,
    exclude_devices: Vec<String>,
    thresholds: Thresholds,
    rooms: Rooms,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBehaviour {
    #[serde(default, deserialize_with = "given")]
    autonomy: Option<Spanned<Text>>,
    #[serde(default, deserialize_with = "given")]
    dry_run: Option<Flag>,
    #[serde(default, deserialize_with = "given")]
    lead_minutes: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    timezone: Option<Spanned<Text>>,
    #[serde(default, deserialize_with = "given")]
    heartbeat_seconds: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    vertical: Option<Spanned<Text>>,
    #[serde(default, deserialize_with = "given")]
    remind_after_minutes: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    quiet_hours: Option<Spanned<Text>>,
    #[serde(default, deserialize_with = "given")]
    sweep_at: Option<Spanned<Text>>,
    #[serde(default)]
    scope: RawScope,
    #[serde(default)]
    thresholds: RawThresholds,
    #[serde(default)]
    rooms: RawRooms,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScope {
    #[serde(default)]
    groups: Listed<Spanned<Text>>,
    #[serde(default)]
    exclude_devices: Listed<Spanned<Text>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawThresholds {
    #[serde(default, deserialize_with = "given")]
    cpu_load_pct: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    cpu_temp_c: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    recent_reboot_minutes: Option<Spanned<Whole>>,
}

impl Behaviour {
    /// Reads a behaviour text; `file` is the name that refusals show.
    ///
    /// # Errors
    /// [`PolicyError`] for the first thing that is wrong, with its place and what to do.
    pub fn parse(text: &str, file: &str) -> Result<Self, PolicyError> {
        let source = Source { text, file };
        let raw: RawBehaviour = source.read()?;
        let number =
            |raw: &Option<Spanned<Whole>>, name, bounds, otherwise| number(source, raw, (name, bounds), otherwise);
        Ok(Self {
            autonomy: word(
                source,
                raw.autonomy.as_ref(),
                "autonomy: expected observe or propose",
                Autonomy::Observe,
                autonomy,
            )?,
            dry_run: raw.dry_run.is_none_or(|flag| flag.0),
            lead_minutes: number(&raw.lead_minutes, "lead_minutes", (1, 1_440), 30)?,
            timezone: word(
                source,
                raw.timezone.as_ref(),
                "timezone: expected an IANA name like Europe/Madrid",
                "UTC".to_owned(),
                timezone,
            )?,
            heartbeat_seconds: number(&raw.heartbeat_seconds, "heartbeat_seconds", (30, 3_600), 180)?,
            vertical: word(
                source,
                raw.vertical.as_ref(),
                "vertical: expected events, education, business, courts or worship",
                Vertical::Events,
                vertical,
            )?,
            remind_after_minutes: number(&raw.remind_after_minutes, "remind_after_minutes", (1, 10_080), 240)?,
            quiet_hours: word(
                source,
                raw.quiet_hours.as_ref(),
                "quiet_hours: expected HH:MM-HH:MM, or \"\" for none",
                Some((TimeOfDay(22 * 60), TimeOfDay(6 * 60 + 30))),
                quiet_hours,
            )?,
            sweep_at: word(
                source,
                raw.sweep_at.as_ref(),
                "sweep_at: expected HH:MM, or \"\" for none",
                Some(TimeOfDay(180)),
                sweep_at,
            )?,
            groups: list(source, "scope.groups", &raw.scope.groups.0)?,
            exclude_devices: list(source, "scope.exclude_devices", &raw.scope.exclude_devices.0)?,
            thresholds: Thresholds {
                cpu_load_pct: number(&raw.thresholds.cpu_load_pct, "thresholds.cpu_load_pct", (1, 100), 90)?,
                cpu_temp_c: number(&raw.thresholds.cpu_temp_c, "thresholds.cpu_temp_c", (1, 150), 80)?,
                recent_reboot_minutes: number(
                    &raw.thresholds.recent_reboot_minutes,
                    "thresholds.recent_reboot_minutes",
                    (1, 1_440),
                    30,
                )?,
            },
            rooms: Rooms::read(source, &raw.rooms)?,
        })
    }

    /// The shipped behaviour, for tests of other crates.
    ///
    /// # Errors
    /// [`PolicyError`] if the shipped file were broken.
    pub fn shipped() -> Result<Self, PolicyError> {
        Self::parse(SHIPPED, "policy.yaml")
    }

    /// Whether changes may be proposed; `observe` unless the file says otherwise.
    #[must_use]
    pub fn autonomy(&self) -> Autonomy {
        self.autonomy
    }

    /// Whether an approved change is refused instead of sent; true unless the file says otherwise.
    #[must_use]
    pub fn dry_run(&self) -> bool {
        self.dry_run
    }

    /// Readiness window in minutes, 1 to 1440, of tools without their own.
    #[must_use]
    pub fn lead_minutes(&self) -> u32 {
        self.lead_minutes
    }

    /// Name of the venue's time zone; its shape is checked here, its existence where zones are known.
    #[must_use]
    pub fn timezone(&self) -> &str {
        &self.timezone
    }

    /// Seconds between two looks at the fleet.
    #[must_use]
    pub fn heartbeat_seconds(&self) -> u32 {
        self.heartbeat_seconds
    }

    /// What happens in the rooms.
    #[must_use]
    pub fn vertical(&self) -> Vertical {
        self.vertical
    }

    /// Minutes until an open problem is said again.
    #[must_use]
    pub fn remind_after_minutes(&self) -> u32 {
        self.remind_after_minutes
    }

    /// Begin and end of the quiet hours; the end may be the next day.
    #[must_use]
    pub fn quiet_hours(&self) -> Option<(TimeOfDay, TimeOfDay)> {
        self.quiet_hours
    }

    /// Time of the nightly check.
    #[must_use]
    pub fn sweep_at(&self) -> Option<TimeOfDay> {
        self.sweep_at
    }

    /// Group names that are watched; none means all.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Device names that are not watched.
    #[must_use]
    pub fn exclude_devices(&self) -> &[String] {
        &self.exclude_devices
    }

    /// From where on values are worth a note.
    #[must_use]
    pub fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    /// What people here call the rooms.
    #[must_use]
    pub fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// Canonical text of what decides about proposals: autonomy, dry run, lead.
    #[must_use]
    pub fn slice_text(&self) -> String {
        let slice = json!({
            "autonomy": self.autonomy.as_str(),
            "dry_run": self.dry_run,
            "lead_minutes": self.lead_minutes,
        });
        Canonical::from_value(&slice).map_or_else(|_| slice.to_string(), |text| text.as_str().to_owned())
    }
}

fn number(
    source: Source<'_>,
    raw: &Option<Spanned<Whole>>,
    (name, (least, most)): (&str, (i64, i64)),
    otherwise: u32,
) -> Result<u32, PolicyError> {
    let Some(raw) = raw else { return Ok(otherwise) };
    let fits = (least..=most).contains(&raw.value.0).then(|| u32::try_from(raw.value.0).ok()).flatten();
    fits.ok_or_else(|| {
        let what = format!("{name}: expected a whole number from {least} to {most}");
        source.refuse(raw.referenced, &what, "Correct the number")
    })
}

fn word<T>(
    source: Source<'_>,
    raw: Option<&Spanned<Text>>,
    expected: &str,
    otherwise: T,
    read: fn(&str) -> Option<T>,
) -> Result<T, PolicyError> {
    let Some(raw) = raw else { return Ok(otherwise) };
    read(&raw.value.0).ok_or_else(|| source.refuse(raw.referenced, expected, "Correct the value"))
}

fn list(source: Source<'_>, name: &str, raw: &[Spanned<Text>]) -> Result<Vec<String>, PolicyError> {
    let mut names: Vec<String> = Vec::new();
    for one in raw {
        let text = one.value.0.trim();
        if text.is_empty() || names.iter().any(|known| known == text) {
            let what = format!("{name}: a name is empty or listed twice");
            return Err(source.refuse(one.referenced, &what, "Remove it"));
        }
        names.push(text.to_owned());
    }
    Ok(names)
}

fn autonomy(text: &str) -> Option<Autonomy> {
    [Autonomy::Observe, Autonomy::Propose].into_iter().find(|one| one.as_str() == text)
}

fn timezone(text: &str) -> Option<String> {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-/".contains(&b));
    let fits = (1..=64).contains(&text.len()) && !text.starts_with('/') && !text.ends_with('/');
    (plain && fits).then(|| text.to_owned())
}

fn vertical(text: &str) -> Option<Vertical> {
    match text {
        "business" => Some(Vertical::Business),
        "courts" => Some(Vertical::Courts),
        "education" => Some(Vertical::Education),
        "events" => Some(Vertical::Events),
        "worship" => Some(Vertical::Worship),
        _ => None,
    }
}

#[expect(clippy::option_option, reason = "the outer one says whether the text could be read")]
fn quiet_hours(text: &str) -> Option<Option<(TimeOfDay, TimeOfDay)>> {
    if text.is_empty() {
        return Some(None);
    }
    let (from, to) = text.split_once('-')?;
    let (from, to) = (TimeOfDay::parse(from)?, TimeOfDay::parse(to)?);
    (from != to).then_some(Some((from, to)))
}

#[expect(clippy::option_option, reason = "the outer one says whether the text could be read")]
fn sweep_at(text: &str) -> Option<Option<TimeOfDay>> {
    if text.is_empty() { Some(None) } else { TimeOfDay::parse(text).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_file_observes_and_runs_dry() {
        let shipped = Behaviour::shipped().unwrap();
        assert_eq!((shipped.autonomy(), shipped.dry_run(), shipped.lead_minutes()), (Autonomy::Observe, true, 30));
        assert_eq!(shipped.quiet_hours().map(|(a, b)| (a.minutes(), b.minutes())), Some((1_320, 390)));
        assert_eq!(shipped.sweep_at().map(TimeOfDay::minutes), Some(180));
        assert_eq!(shipped.timezone(), "UTC");
    }

    #[test]
    fn what_the_file_leaves_out_is_the_shipped_value() {
        for text in ["", "# nothing\n", "autonomy: observe\n", "scope: {}\nthresholds: {}\n"] {
            assert_eq!(Behaviour::parse(text, "policy.yaml").unwrap(), Behaviour::shipped().unwrap(), "{text:?}");
        }
    }

    #[test]
    fn only_the_deciding_keys_change_the_slice() {
        let slice = |text: &str| Behaviour::parse(text, "policy.yaml").unwrap().slice_text();
        let base = slice("autonomy: observe\n");
        assert_eq!(base, r#"{"autonomy":"observe","dry_run":true,"lead_minutes":30}"#);
        assert_eq!(slice("heartbeat_seconds: 60\n"), base);
        for text in ["autonomy: propose\n", "dry_run: false\n", "lead_minutes: 31\n"] {
            assert_ne!(slice(text), base, "{text}");
        }
    }

    #[test]
    fn empty_times_switch_their_part_off() {
        let off = Behaviour::parse("quiet_hours: \"\"\nsweep_at: \"\"\n", "policy.yaml").unwrap();
        assert_eq!((off.quiet_hours(), off.sweep_at()), (None, None));
    }

    #[test]
    fn every_odd_value_is_refused_with_its_line() {
        let rows = [
            ("autonomy: approve\n", 1, "autonomy"),
            ("autonomy: Observe\n", 1, "autonomy"),
            ("autonomy: true\n", 1, "autonomy"),
            ("autonomy:\n", 1, "autonomy"),
            ("dry_run: no\n", 1, "dry_run"),
            ("dry_run: \"false\"\n", 1, "dry_run"),
            ("dry_run: 0\n", 1, "dry_run"),
            ("dry_run:\n", 1, "dry_run"),
            ("\nlead_minutes: 0\n", 2, "lead_minutes"),
            ("lead_minutes: 1441\n", 1, "lead_minutes"),
            ("lead_minutes: 1.5\n", 1, "lead_minutes"),
            ("lead_minutes: \"30\"\n", 1, "lead_minutes"),
            ("lead_minutes: true\n", 1, "lead_minutes"),
            ("preclass_lead_minutes: 30\n", 1, "preclass_lead_minutes"),
            ("timezone: Europe Madrid\n", 1, "timezone"),
            ("timezone: ../etc\n", 1, "timezone"),
            ("vertical: school\n", 1, "vertical"),
            ("quiet_hours: 22-06\n", 1, "quiet_hours"),
            ("quiet_hours: 24:00-06:00\n", 1, "quiet_hours"),
            ("sweep_at: 3:00\n", 1, "sweep_at"),
            ("scope:\n  groups: [a, a]\n", 2, "scope.groups"),
            ("scope:\n  group: []\n", 2, "group"),
            ("scope: []\n", 1, "scope"),
            ("scope:\n  groups:\n", 2, "scope.groups"),
            ("scope:\n  exclude_devices: [1]\n", 2, "text"),
            ("thresholds:\n  cpu_load_pct: 101\n", 2, "thresholds.cpu_load_pct"),
            ("autonomy: observe\nautonomy: propose\n", 2, "autonomy"),
            ("slack: {}\n", 1, "slack"),
            ("[]\n", 1, "mapping"),
        ];
        for (text, line, word) in rows {
            let error = Behaviour::parse(text, "policy.yaml").expect_err(text);
            assert_eq!((error.line, error.file.as_str()), (line, "policy.yaml"), "{text}: {error}");
            assert!(error.what.contains(word), "{text}: {error}");
            assert!(error.advice.ends_with('.') && !error.to_string().contains('\n'), "{error}");
        }
    }
}
