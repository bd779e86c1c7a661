//! What is worth a person's attention in one look, by code alone (`facts 8.2`). Every finding has a key that stays the
//! same from look to look, so that it is said once.

use crate::watch::rules::{Rules, room_name, shown};
use crate::watch::seen::Seen;
use policy::ids::ChannelId;
use policy::observed::{Device, RecorderWord, Recording};
use protocol::shown::Worded;
use reader::parse::status::SystemStatus;
use reader::parse::warnings::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How soon somebody should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Priority {
    /// Before anything else.
    FixFirst,
    /// Today.
    FixSoon,
    /// Not a problem; said once.
    Fyi,
    /// When there is time.
    WhenConvenient,
}

impl Priority {
    /// In the order in which people read them.
    pub(crate) const ALL: [Self; 4] = [Self::FixFirst, Self::FixSoon, Self::WhenConvenient, Self::Fyi];

    /// Its name.
    pub(crate) fn words(self) -> Worded {
        match self {
            Self::FixFirst => Worded::new("Fix first", "Arreglar primero"),
            Self::FixSoon => Worded::new("Fix soon", "Arreglar pronto"),
            Self::Fyi => Worded::new("For your information", "Para tu información"),
            Self::WhenConvenient => Worded::new("When convenient", "Cuando convenga"),
        }
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// `<unit's id>:<kind>`.
    pub(crate) key: String,
    /// The room's name, safe to show.
    pub(crate) room: String,
    /// How soon.
    pub(crate) priority: Priority,
    /// What, in both languages.
    pub(crate) what: Worded,
}

impl Finding {
    /// The unit's id.
    pub(crate) fn unit(&self) -> &str {
        self.key.split_once(':').map_or(self.key.as_str(), |(unit, _)| unit)
    }
}

/// The kinds whose end is not worth a word, and which are not said again.
pub(crate) fn is_momentary(key: &str) -> bool {
    matches!(kind_of(key).split(':').next(), Some("reboot" | "storage"))
}

fn kind_of(key: &str) -> &str {
    key.split_once(':').map_or("", |(_, kind)| kind)
}

// `<channel>:recorder`; a warning may have any id, this word too.
fn is_recorder(kind: &str) -> bool {
    kind.split_once(':').is_some_and(|(channel, word)| channel != "warning" && word == "recorder")
}

/// Whether this look says nothing about an earlier finding: the unit cannot be reached now, or that reading failed. Such
/// a finding stays as it is.
pub(crate) fn is_unknown(key: &str, seen: &Seen) -> bool {
    let (id, kind) = key.split_once(':').unwrap_or((key, ""));
    let Some(device) = seen.device(id) else { return false };
    if matches!(kind, "offline" | "offline-recording" | "firmware") {
        return false;
    }
    if !device.online {
        return true;
    }
    if is_recorder(kind) {
        return !seen.recorders_read(device);
    }
    let status = seen.system.as_ref().and_then(|all| all.get(&device.id)).copied().unwrap_or_default();
    match kind.split(':').next() {
        Some("cpu") => status.cpu_load.is_none(),
        Some("temp") => status.cpu_temp.is_none(),
        Some("reboot") => status.up_since.is_none(),
        Some(_) | None => false,
    }
}

/// Everything found among the watched units, in the order of the device list.
pub(crate) fn findings(seen: &Seen, rules: &Rules) -> Vec<Finding> {
    let newest = newest_firmware(seen);
    let mut found = Vec::new();
    for device in seen.team.devices.iter().filter(|device| rules.watches(device)) {
        let mut list = List { device, room: room_name(device), found: &mut found };
        reach(&mut list, seen);
        recorders(&mut list);
        warned(&mut list, seen);
        firmware(&mut list, &newest);
        let status = seen.system.as_ref().and_then(|all| all.get(&device.id));
        if let (Some(status), true) = (status, device.online) {
            machine(&mut list, status, seen.at, rules);
        }
    }
    found
}

struct List<'a> {
    device: &'a Device,
    room: String,
    found: &'a mut Vec<Finding>,
}

impl List<'_> {
    fn add(&mut self, kind: &str, priority: Priority, en: impl Into<String>, es: impl Into<String>) {
        let key = format!("{}:{kind}", self.device.id);
        self.found.push(Finding { key, room: self.room.clone(), priority, what: Worded::new(en, es) });
    }
}

fn reach(list: &mut List<'_>, seen: &Seen) {
    if list.device.online {
        return;
    }
    // A camera only shows; a recorder that is away loses what should be kept.
    let priority = if list.device.is_camera() { Priority::FixSoon } else { Priority::FixFirst };
    list.add("offline", priority, "offline", "desconectada");
    if seen.records(list.device) {
        let (en, es) = ("was recording when it was last seen", "grababa cuando se vio por última vez");
        list.add("offline-recording", Priority::FixFirst, en, es);
    }
}

fn recorders(list: &mut List<'_>) {
    if !list.device.online {
        return;
    }
    for (channel, name) in failing_recorders(list.device) {
        let (en, es) = (
            format!("the recorder of channel {name} reports an error"),
            format!("el grabador del canal {name} informa de un error"),
        );
        list.add(&format!("{channel}:recorder"), Priority::FixFirst, en, es);
    }
}

/// Number and name of each channel whose recorder reports an error.
pub(crate) fn failing_recorders(device: &Device) -> Vec<(String, String)> {
    let channels = device.channels.as_deref().unwrap_or_default();
    let failing = channels.iter().filter(|channel| channel.recording == Some(Recording::Active(RecorderWord::Error)));
    failing.map(|channel| (channel.id.to_string(), channel_name(&channel.id, &channel.name))).collect()
}

/// What people call a channel; its number when it has no name.
pub(crate) fn channel_name(id: &ChannelId, name: &str) -> String {
    if name.trim().is_empty() { id.to_string() } else { shown(name) }
}

fn warned(list: &mut List<'_>, seen: &Seen) {
    let (mut idle, mut storage) = (Vec::new(), false);
    for warning in seen.warnings_of(list.device) {
        match warning {
            Warning::ChannelNoSignal { channel, name } => {
                let name = channel_name(channel, name);
                let (en, es) = (format!("no picture on channel {name}"), format!("sin imagen en el canal {name}"));
                list.add(&format!("{channel}:no-signal"), Priority::FixFirst, en, es);
            }
            Warning::Other { id } => {
                let id = shown(id);
                let en = format!("reports {id}, which Fleetwatch does not know");
                let es = format!("informa de {id}, que Fleetwatch no conoce");
                list.add(&format!("warning:{id}"), Priority::WhenConvenient, en, es);
            }
            Warning::SourceNoSignal { source } => idle.push(shown(source)),
            Warning::Storage => storage = true,
        }
    }
    if !idle.is_empty() {
        idle.retain(|name| !name.is_empty());
        let names = if idle.is_empty() { String::new() } else { format!(" ({})", idle.join(", ")) };
        let (en, es) =
            (format!("an unused input has no signal{names}"), format!("una entrada sin uso no tiene señal{names}"));
        list.add("idle-input", Priority::WhenConvenient, en, es);
    }
    if storage {
        list.add("storage", Priority::Fyi, "little or no storage", "poco o ningún almacenamiento");
    }
}

fn machine(list: &mut List<'_>, status: &SystemStatus, now: i64, rules: &Rules) {
    let limits = rules.behaviour.thresholds();
    if let Some(load) = status.cpu_load.filter(|load| *load >= f64::from(limits.cpu_load_pct)) {
        list.add(
            "cpu",
            Priority::FixSoon,
            format!("processor load {load:.0} %"),
            format!("carga del procesador {load:.0} %"),
        );
    }
    if let Some(temp) = status.cpu_temp.filter(|temp| *temp >= f64::from(limits.cpu_temp_c)) {
        list.add("temp", Priority::FixSoon, format!("processor at {temp:.0} °C"), format!("procesador a {temp:.0} °C"));
    }
    let recent = i64::from(limits.recent_reboot_minutes) * 60;
    if let Some(since) = status.up_since.filter(|since| (0..recent).contains(&now.saturating_sub(*since))) {
        let time = rules.time(since);
        let (en, es) = (format!("restarted at {time}"), format!("se reinició a las {time}"));
        list.add(&format!("reboot:{}", since / 60), Priority::FixSoon, en, es);
    }
}

/// Versions compare by number, and only within one family.
fn firmware(list: &mut List<'_>, newest: &BTreeMap<String, (Vec<u64>, String)>) {
    let Some((version, text)) = newest.get(&family(list.device)) else { return };
    let own = shown(&list.device.firmware);
    if numbers(&list.device.firmware).is_some_and(|own| own < *version) {
        let en = format!("firmware {own}, the newest of its kind here is {text}");
        let es = format!("firmware {own}; el más nuevo de su tipo aquí es {text}");
        list.add("firmware", Priority::FixSoon, en, es);
    }
}

/// Whether this unit is behind the newest firmware of its family in the fleet.
pub(crate) fn is_behind(finding: &Finding) -> bool {
    kind_of(&finding.key) == "firmware"
}

fn newest_firmware(seen: &Seen) -> BTreeMap<String, (Vec<u64>, String)> {
    let mut newest: BTreeMap<String, (Vec<u64>, String)> = BTreeMap::new();
    for device in &seen.team.devices {
        let Some(version) = numbers(&device.firmware) else { continue };
        let known = newest.entry(family(device)).or_default();
        if version > known.0 {
            *known = (version, shown(&device.firmware));
        }
    }
    newest
}

fn family(device: &Device) -> String {
    let model = device.model.trim().to_lowercase();
    if model.contains("venue") || model.contains("duo") {
        return "venue".to_owned();
    }
    if model.starts_with("pearl") { "pearl".to_owned() } else { model }
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.trim().split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{NOON, look, names, readings, rules, unit};
    use protocol::ask::{DEVICES, RECORDERS, SYSTEM};
    use serde_json::{Value, json};

    async fn found(change: impl FnOnce(&mut BTreeMap<String, Value>), policy: &str) -> Vec<Finding> {
        let mut files = readings();
        change(&mut files);
        findings(&look(&files, NOON).await, &rules(policy))
    }

    #[tokio::test]
    async fn a_calm_fleet_has_no_findings() {
        assert_eq!(found(|_| {}, "").await, []);
    }

    #[tokio::test]
    async fn each_rule_finds_its_own_and_nothing_else() {
        let warning = |id: &str, label: &str| json!([{"id": id, "label": label, "data": null}]);
        for (unit_at, change, kind, priority) in [
            (0, json!({"Status": "offline"}), "offline", Priority::FixFirst),
            (0, json!({"Status": "rebooting"}), "offline", Priority::FixFirst),
            (3, json!({"Status": "offline"}), "offline", Priority::FixSoon),
            (0, json!({"Firmware": "4.9.10"}), "firmware", Priority::FixSoon),
            (0, json!({"Warnings": warning("source_no_signal", "source")}), "idle-input", Priority::WhenConvenient),
            (0, json!({"Warnings": warning("disk_space_error", "storage")}), "storage", Priority::Fyi),
            (0, json!({"Warnings": warning("fan", "fan")}), "warning:fan", Priority::WhenConvenient),
            (
                3,
                json!({"Channels": [{"channel_id": "2", "recording_status": {"state": "error"}}]}),
                "2:recorder",
                Priority::FixFirst,
            ),
        ] {
            let found = found(|files| unit(files, unit_at, &change), "").await;
            let all: Vec<_> = found.iter().map(|one| (kind_of(&one.key), one.priority)).collect();
            assert_eq!(all, [(kind, priority)], "{change}");
        }
    }

    #[tokio::test]
    async fn a_unit_that_is_away_while_it_shows_a_recording_is_two_findings_and_its_warnings_are_old() {
        let change = json!({"Status": "offline", "Warnings": [{"id": "no_storage_detected"}],
            "Channels": [{"channel_id": "1", "recording_status": {"state": "recording"}, "Warnings": [{"id": "channel_no_signal"}]}]});
        let found = found(|files| unit(files, 0, &change), "").await;
        let kinds: Vec<_> = found.iter().map(|one| kind_of(&one.key)).collect();
        assert_eq!(kinds, ["offline", "offline-recording"]);
    }

    #[tokio::test]
    async fn a_channel_without_a_picture_is_to_be_fixed_first() {
        let change =
            json!({"Channels": [{"channel_id": "2", "name": "Program", "Warnings": [{"id": "channel_no_signal"}]}]});
        let found = found(|files| unit(files, 0, &change), "").await;
        assert_eq!((kind_of(&found[0].key), found[0].priority), ("2:no-signal", Priority::FixFirst));
        assert_eq!(found[0].what.es, "sin imagen en el canal Program");
    }

    #[tokio::test]
    async fn thresholds_count_from_the_value_on() {
        for (status, kinds) in [
            (json!({"cpu_load_pct": 90}), vec!["cpu"]),
            (json!({"cpu_load_pct": 89.9}), vec![]),
            (json!({"cpu_temp_c": 80}), vec!["temp"]),
            (json!({"cpu_temp_c": 79}), vec![]),
            (json!({"uptime": 60 * 29}), vec!["reboot"]),
            (json!({"uptime": 60 * 30}), vec![]),
        ] {
            let found = found(
                |files| {
                    files.get_mut(SYSTEM).unwrap()["status"][0]
                        .as_object_mut()
                        .unwrap()
                        .extend(status.as_object().unwrap().clone())
                },
                "",
            )
            .await;
            let all: Vec<_> = found.iter().map(|one| kind_of(&one.key).split(':').next().unwrap()).collect();
            assert_eq!(all, kinds, "{status}");
        }
        let hot = found(
            |files| files.get_mut(SYSTEM).unwrap()["status"][0]["cpu_temp_c"] = json!(60),
            "thresholds:\n  cpu_temp_c: 60\n",
        )
        .await;
        assert_eq!(hot.len(), 1);
    }

    #[tokio::test]
    async fn firmware_is_compared_by_number_within_a_family_over_the_whole_fleet() {
        // Unit 3 is a camera with 3.6.44, unit 4 a Venue with 2.9.1: neither is behind a Pearl.
        let behind = found(|files| unit(files, 1, &json!({"Firmware": "4.100.0"})), "").await;
        assert!(behind.iter().all(is_behind));
        assert_eq!(names(&behind), ["Hall A", "Hall C"]);
        let outside = "scope:\n  exclude_devices: [Hall B]\n";
        assert_eq!(names(&found(|files| unit(files, 1, &json!({"Firmware": "4.100.0"})), outside).await).len(), 2);
        assert_eq!(found(|files| unit(files, 1, &json!({"Firmware": "beta"})), "").await, []);
    }

    #[tokio::test]
    async fn only_the_watched_units_count() {
        let away =
            |files: &mut BTreeMap<String, Value>| (0..3).for_each(|at| unit(files, at, &json!({"Status": "offline"})));
        assert_eq!(names(&found(away, "").await), ["Hall A", "Hall B", "Hall C"]);
        assert_eq!(names(&found(away, "scope:\n  groups: [South]\n").await), ["Hall C"]);
        assert_eq!(names(&found(away, "scope:\n  exclude_devices: [Hall B]\n").await), ["Hall A", "Hall C"]);
    }

    #[tokio::test]
    async fn a_look_that_says_nothing_about_a_finding_leaves_it() {
        let mut files = readings();
        unit(&mut files, 1, &json!({"Status": "offline"}));
        files.get_mut(SYSTEM).unwrap()["status"][0]["cpu_temp_c"] = Value::Null;
        let seen = look(&files, NOON).await;
        let id = |at: usize| files[DEVICES]["devices"][at]["Id"].as_str().unwrap().to_owned();
        for (at, kind, unknown) in [
            (0, "temp", true),
            (0, "cpu", false),
            (0, "1:no-signal", false),
            (1, "1:no-signal", true),
            (1, "cpu", true),
            (1, "idle-input", true),
            (1, "offline", false),
            (1, "firmware", false),
        ] {
            assert_eq!(is_unknown(&format!("{}:{kind}", id(at)), &seen), unknown, "{at} {kind}");
        }
        assert!(!is_unknown("20399999999:cpu", &seen));
    }

    #[tokio::test]
    async fn without_the_recorders_nothing_is_known_of_a_recorder_and_all_else_as_before() {
        let mut files = readings();
        let (all, id) = (look(&files, NOON).await, files[DEVICES]["devices"][0]["Id"].as_str().unwrap().to_owned());
        files.remove(RECORDERS);
        let without = look(&files, NOON).await;
        for (kind, unknown) in
            [("1:recorder", true), ("12:recorder", true), ("warning:recorder", false), ("cpu", false)]
        {
            let key = format!("{id}:{kind}");
            assert_eq!((is_unknown(&key, &all), is_unknown(&key, &without)), (false, unknown), "{kind}");
        }
    }
}
