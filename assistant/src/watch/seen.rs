//! One look at the fleet: four guarded readings, side by side where they can be, understood strictly (`facts 8.1`).
//! Without the device list there is no look; any of the other three may be missing, and then nothing follows from it.

use crate::fleet::Fleet;
use jiff::Timestamp;
use policy::ids::MasterId;
use policy::limits::EVENT_HORIZON;
use policy::observed::{Device, Events, Recorders, Team};
use policy::tool_policy::ToolPolicy;
use protocol::ask::{DEVICES, EVENTS, RECORDERS, SYSTEM};
use protocol::shown::Worded;
use reader::parse::ShapeError;
use reader::parse::status::SystemStatus;
use reader::parse::warnings::Warning;
use reader::parse::{devices, events, recorders, status, warnings};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Most ids in one call.
const MOST_IDS: usize = 100;

/// Where the readings come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Readings<'a> {
    /// Files of an earlier capture, by tool; their times are already resolved.
    Files(&'a BTreeMap<String, Value>),
    /// The fleet, through the guard.
    Fleet(&'a Fleet, &'a ToolPolicy),
}

impl Readings<'_> {
    async fn get(&self, tool: &str, arguments: Value) -> Option<Value> {
        match self {
            Self::Files(files) => files.get(tool).cloned(),
            // The failure is logged and counted where it happens.
            Self::Fleet(fleet, policy) => fleet.read(policy, tool, &arguments).await.ok(),
        }
    }

    // Units are asked about a hundred at a time; the parts become one answer.
    async fn get_for(&self, tool: &str, ids: &[&MasterId]) -> Option<Value> {
        let most = match self {
            Self::Files(_) => usize::MAX,
            Self::Fleet(..) => MOST_IDS,
        };
        let mut whole: Option<Value> = None;
        for some in ids.chunks(most) {
            let ids: Vec<&str> = some.iter().map(|id| id.as_str()).collect();
            let part = self.get(tool, json!({ "device_ids": ids })).await?;
            whole = Some(match whole {
                None => part,
                Some(before) => joined(before, part)?,
            });
        }
        whole
    }
}

fn joined(before: Value, part: Value) -> Option<Value> {
    match (before, part) {
        (Value::Array(mut all), Value::Array(more)) => {
            all.extend(more);
            Some(Value::Array(all))
        }
        (Value::Object(mut all), Value::Object(more)) => {
            for (key, value) in more {
                let value = match all.remove(&key) {
                    None => value,
                    Some(before @ (Value::Array(_) | Value::Object(_))) => joined(before, value)?,
                    Some(before) if before == value => value,
                    Some(_) => return None,
                };
                all.insert(key, value);
            }
            Some(Value::Object(all))
        }
        _ => None,
    }
}

/// The four answers as they came.
#[derive(Debug)]
pub(crate) struct Raw {
    devices: Value,
    recorders: Option<Value>,
    system: Option<Value>,
    events: Option<Value>,
}

impl Raw {
    /// Reads them; nothing when there is no device list that can be understood.
    pub(crate) async fn read(readings: Readings<'_>, now: i64) -> Option<Self> {
        let devices = readings.get(DEVICES, json!({})).await?;
        let team = understood(DEVICES, devices::team(&devices))?;
        let online: Vec<&MasterId> = team.devices.iter().filter(|unit| unit.online).map(|unit| &unit.id).collect();
        let until = Timestamp::from_second(now.saturating_add(EVENT_HORIZON)).ok()?;
        let until = json!({ "until": until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() });
        let (recorders, system, events) = tokio::join!(
            readings.get_for(RECORDERS, &online),
            readings.get_for(SYSTEM, &online),
            readings.get(EVENTS, until)
        );
        Some(Self { devices, recorders, system, events })
    }

    /// Each answer that came, by tool, as it may be kept in a file.
    pub(crate) fn kept(self) -> Vec<(&'static str, Value)> {
        let all =
            [(DEVICES, Some(self.devices)), (EVENTS, self.events), (RECORDERS, self.recorders), (SYSTEM, self.system)];
        all.into_iter().filter_map(|(tool, value)| Some((tool, reader::quote::kept(value?)))).collect()
    }
}

/// What one look found.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Every unit.
    pub(crate) team: Team,
    /// The warnings of every unit.
    pub(crate) warnings: BTreeMap<MasterId, Vec<Warning>>,
    /// Recorder words of the online units.
    pub(crate) recorders: Option<Recorders>,
    /// Load, temperature and start of the online units.
    pub(crate) system: Option<BTreeMap<MasterId, SystemStatus>>,
    /// The current or next event of those units that have one.
    pub(crate) events: Option<Events>,
    /// When it was read, Unix seconds.
    pub(crate) at: i64,
}

impl Seen {
    /// Looks once; nothing when the device list could not be read or understood.
    pub(crate) async fn look(readings: Readings<'_>, now: i64) -> Option<Self> {
        Self::of(&Raw::read(readings, now).await?, now)
    }

    fn of(raw: &Raw, now: i64) -> Option<Self> {
        let mut team = understood(DEVICES, devices::team(&raw.devices))?;
        let warnings = understood(DEVICES, warnings::warnings(&raw.devices))?;
        let online: Vec<MasterId> =
            team.devices.iter().filter(|unit| unit.online).map(|unit| unit.id.clone()).collect();
        let all: Vec<MasterId> = team.devices.iter().map(|unit| unit.id.clone()).collect();
        let recorders = match &raw.recorders {
            Some(value) => understood(RECORDERS, recorders::recorders(value, &online)),
            // Nobody was online, so nobody was asked.
            None => online.is_empty().then(Recorders::new),
        };
        if let Some(words) = &recorders {
            put_words(&mut team, words);
        }
        let system = match &raw.system {
            Some(value) => understood(SYSTEM, status::system(value, now)),
            None => online.is_empty().then(BTreeMap::new),
        };
        let events = raw.events.as_ref().and_then(|value| understood(EVENTS, events::events(value, &all)));
        Some(Self { team, warnings, recorders, system, events, at: now })
    }

    /// The unit with this id.
    pub(crate) fn device(&self, id: &str) -> Option<&Device> {
        self.team.devices.iter().find(|unit| unit.id.as_str() == id)
    }

    /// The warnings of a unit that is online; an unreachable unit's are old.
    pub(crate) fn warnings_of(&self, device: &Device) -> &[Warning] {
        let found = self.warnings.get(&device.id).filter(|_| device.online);
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the recorders of this unit told their own words in this look; without them the list's word is an older one.
    pub(crate) fn recorders_read(&self, device: &Device) -> bool {
        self.recorders.as_ref().is_some_and(|all| all.contains_key(&device.id))
    }

    /// The names of the parts that could not be read, in both languages.
    pub(crate) fn missing(&self) -> Vec<Worded> {
        let parts = [
            (self.recorders.is_none(), Worded::new("recorders", "grabadores")),
            (self.system.is_none(), Worded::new("load and temperature", "carga y temperatura")),
            (self.events.is_none(), Worded::new("events", "eventos")),
        ];
        parts.into_iter().filter(|(missing, _)| *missing).map(|(_, name)| name).collect()
    }

    /// Whether any recorder of this unit runs: by the recorder's own word, else by the list, which keeps the last state
    /// of a unit that is off.
    pub(crate) fn records(&self, device: &Device) -> bool {
        let own = self.recorders.as_ref().and_then(|all| all.get(&device.id)).filter(|_| device.online);
        match own {
            Some(words) => words.values().any(|word| word.is_active()),
            None => {
                let channels = device.channels.as_deref().unwrap_or_default();
                channels.iter().any(|channel| channel.recording.is_some_and(|word| word.is_active()))
            }
        }
    }
}

// The recorder's own word goes before the list's.
fn put_words(team: &mut Team, recorders: &Recorders) {
    for device in team.devices.iter_mut().filter(|device| device.online) {
        let Some(words) = recorders.get(&device.id) else { continue };
        for channel in device.channels.iter_mut().flatten() {
            channel.recording = words.get(&channel.id).copied().or(channel.recording);
        }
    }
}

/// Tools whose answers were not understood and were already complained of.
#[derive(Debug)]
struct Said(BTreeSet<String>);

impl Said {
    // Whether this is to be said now: once for each tool, until its answers are understood again.
    fn is_news(&mut self, tool: &str, understood: bool) -> bool {
        if understood {
            self.0.remove(tool);
            return false;
        }
        self.0.insert(tool.to_owned())
    }
}

static SAID: Mutex<Said> = Mutex::new(Said(BTreeSet::new()));

fn understood<T>(tool: &str, read: Result<T, ShapeError>) -> Option<T> {
    let news = SAID.lock().unwrap_or_else(PoisonError::into_inner).is_news(tool, read.is_ok());
    read.inspect_err(|error| {
        if news {
            tracing::warn!(tool, %error, "a reading was not understood");
        }
    })
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{NOON, readings};

    async fn look(files: &BTreeMap<String, Value>) -> Option<Seen> {
        Seen::look(Readings::Files(files), NOON).await
    }

    #[test]
    fn a_shape_that_is_not_known_is_said_once_until_it_is_understood_again() {
        let mut said = Said(BTreeSet::new());
        let mut news = |tool, understood| said.is_news(tool, understood);
        assert!(news(DEVICES, false) && news(EVENTS, false), "each tool by itself");
        assert!(!news(DEVICES, false) && !news(EVENTS, false));
        assert!(!news(DEVICES, true), "understood");
        assert!(news(DEVICES, false) && !news(EVENTS, false));
    }

    #[tokio::test]
    async fn the_four_readings_are_one_look() {
        let seen = look(&readings()).await.unwrap();
        assert_eq!(seen.team.devices.len(), 5);
        assert!(seen.recorders.is_some() && seen.system.is_some() && seen.events.is_some());
    }

    #[tokio::test]
    async fn without_the_device_list_there_is_no_look_and_any_other_part_may_be_missing() {
        for tool in [DEVICES, RECORDERS, SYSTEM, EVENTS] {
            for odd in
                [None, Some(json!({})), Some(json!("gone")), Some(json!({"devices": "x", "status": 1, "events": 2}))]
            {
                let mut files = readings();
                files.remove(tool);
                files.extend(odd.clone().map(|value| (tool.to_owned(), value)));
                let seen = look(&files).await;
                assert_eq!(seen.is_none(), tool == DEVICES, "{tool} {odd:?}");
                let Some(seen) = seen else { continue };
                let missing = [seen.recorders.is_none(), seen.system.is_none(), seen.events.is_none()];
                assert_eq!(missing, [tool == RECORDERS, tool == SYSTEM, tool == EVENTS], "{tool} {odd:?}");
            }
        }
    }

    #[test]
    fn the_parts_of_a_long_list_become_one_answer() {
        let maps = joined(json!({"devices": {"a": 1}, "n": 2}), json!({"devices": {"b": 1}, "n": 2})).unwrap();
        assert_eq!(maps, json!({"devices": {"a": 1, "b": 1}, "n": 2}));
        assert_eq!(joined(json!({"status": [1]}), json!({"status": [2]})).unwrap(), json!({"status": [1, 2]}));
        assert_eq!(joined(json!({"a": 1}), json!({"a": 2})), None);
        assert_eq!(joined(json!([1]), json!({"a": 2})), None);
    }

    #[tokio::test]
    async fn what_is_kept_of_a_look_holds_no_address_serial_number_or_key() {
        let mut files = readings();
        let unit = &mut files.get_mut(DEVICES).unwrap()["devices"][0];
        unit["IPAddress"] = json!("192.0.2.7");
        unit["SerialNumber"] = json!("SN00000007");
        unit["stream_key"] = json!("never-show");
        let kept = Raw::read(Readings::Files(&files), NOON).await.unwrap().kept();
        let text = format!("{kept:?}");
        assert!(!text.contains("192.0.2.7") && !text.contains("SN0000") && !text.contains("never-show"), "{text}");
        let again: BTreeMap<String, Value> = kept.into_iter().map(|(tool, value)| (tool.to_owned(), value)).collect();
        assert_eq!(look(&again).await.unwrap().team, look(&files).await.unwrap().team);
    }
}
