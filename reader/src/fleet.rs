//! The fresh reads behind a proposal, a card and a run, as plain values. Several go out side by side; what one answer
//! must confirm of another is checked here.

use crate::error::{ReadError, Why};
use crate::parse::{ShapeError, cms, devices, events, recorders, streams, time};
use crate::session::{ReadAnswer, ReadClient};
use policy::ids::{ChannelId, MasterId};
use policy::limits::EVENT_HORIZON;
use policy::observed::{Device, Events, Observed, Recorders, Recording, StreamDestination, Team};
use protocol::canonical::Canonical;
use protocol::refusal::Refusal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// The device list. It takes no arguments, so nothing of ours can come back in its errors.
pub(crate) const TEAM: &str = "get_devices_in_my_team";
const STREAMS: &str = "get_stream_endpoints";
const CMS_NAMES: &str = "get_cms_names_for_devices";
const RECORDERS: &str = "get_recorder_status_for_devices";
const EVENTS: &str = "get_current_or_next_cms_events_for_devices";

/// CMS name by unit; a unit without one is absent.
pub type CmsNames = BTreeMap<MasterId, String>;

impl ReadClient {
    /// The whole team. No device at all, after there were some, is a failed read.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn team(&self) -> Result<Team, ReadError> {
        let answer = self.fresh(TEAM, &json!({})).await?;
        let team = devices::team(answer.value()).map_err(|error| shape(TEAM, error))?;
        if team.devices.is_empty() {
            if self.seen_devices.load(Ordering::Relaxed) {
                return Err(ReadError::failed(TEAM, Why::NoDevices));
            }
        } else {
            self.seen_devices.store(true, Ordering::Relaxed);
        }
        Ok(team)
    }

    /// Every stream destination, without its key.
    ///
    /// # Errors
    /// [`ReadError`]; an unreadable list is never an empty one.
    pub async fn streams(&self) -> Result<Vec<StreamDestination>, ReadError> {
        let answer = self.fresh(STREAMS, &json!({})).await?;
        streams::streams(answer.value()).map_err(|error| shape(STREAMS, error))
    }

    /// The CMS of those units that have one.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn cms_names(&self, ids: &[MasterId]) -> Result<CmsNames, ReadError> {
        let answer = self.fresh(CMS_NAMES, &for_devices(ids)).await?;
        cms::names(answer.value()).map_err(|error| shape(CMS_NAMES, error))
    }

    /// The recorder words of these units, which should be online.
    ///
    /// # Errors
    /// [`ReadError`] also when one of them is missing from the answer.
    pub async fn recorders(&self, ids: &[MasterId]) -> Result<Recorders, ReadError> {
        let answer = self.fresh(RECORDERS, &for_devices(ids)).await?;
        recorders::recorders(answer.value(), ids).map_err(|error| shape(RECORDERS, error))
    }

    /// The current or next event of each unit until that Unix second. A unit that the answer leaves out has none
    /// only if a fresh list of CMS names leaves it out too.
    ///
    /// # Errors
    /// [`ReadError`] also when a unit with a CMS is missing from the answer.
    pub async fn events(&self, ids: &[MasterId], until: i64) -> Result<Events, ReadError> {
        let found = self.scheduled(ids, until).await?;
        let missing: Vec<MasterId> = ids.iter().filter(|id| !found.contains_key(*id)).cloned().collect();
        if missing.is_empty() {
            return Ok(found);
        }
        let names = self.cms_names(&missing).await;
        complete(found, ids, names)
    }

    /// Everything that one proposal's checks look at, read side by side: team, events and recorders of the targets,
    /// and the destinations when `needs_streams`. A target that is not on the team's list has no entry elsewhere.
    ///
    /// # Errors
    /// The first [`ReadError`] that matters for a target on the list; the device list's own goes before the others, since it
    /// alone tells a sign-in that is over.
    pub async fn observe(&self, targets: &[MasterId], needs_streams: bool) -> Result<Observed, ReadError> {
        let targets: Vec<MasterId> = BTreeSet::from_iter(targets.iter().cloned()).into_iter().collect();
        let read_boot_ms = self.clock.boot_ms();
        let until = self.clock.unix().saturating_add(EVENT_HORIZON);
        let wanted_streams = async { if needs_streams { self.streams().await.map(Some) } else { Ok(None) } };
        // What is only needed for targets on the list must not fail the read before the list is known.
        let per_target = self.of_targets(&targets, until);
        let (team, streams, found) = tokio::join!(self.team(), wanted_streams, per_target);
        let (team, streams) = (team?, streams?);

        let known: Vec<&Device> = targets.iter().filter_map(|id| team.device(id)).collect();
        let ids: Vec<MasterId> = known.iter().map(|device| device.id.clone()).collect();
        let events = if ids.is_empty() { Events::new() } else { complete(found.events?, &ids, found.cms)? };
        let recorders = self.recorders_of(&known, found.recorders).await?;
        Ok(Observed { team, streams, recorders, events, read_boot_ms, read_unix: self.clock.unix() })
    }

    /// The targets' own recorders and events, by id and side by side: the last look before a write. `team` is a list
    /// that was just read.
    ///
    /// # Errors
    /// [`ReadError`] also when a target is not on that list.
    pub async fn look_again(&self, team: &Team, targets: &[MasterId]) -> Result<(Recorders, Events), ReadError> {
        let known: Vec<&Device> = targets.iter().filter_map(|id| team.device(id)).collect();
        if known.len() != targets.len() {
            return Err(shape(TEAM, ShapeError::new("device list", "a target is missing")));
        }
        let until = self.clock.unix().saturating_add(EVENT_HORIZON);
        let found = self.of_targets(targets, until).await;
        let events = complete(found.events?, targets, found.cms)?;
        let recorders = self.recorders_of(&known, found.recorders).await?;
        Ok((recorders, events))
    }

    async fn of_targets(&self, targets: &[MasterId], until: i64) -> OfTargets {
        if targets.is_empty() {
            return OfTargets {
                recorders: Ok(json!({"devices": {}})),
                events: Ok(Events::new()),
                cms: Ok(CmsNames::new()),
            };
        }
        let arguments = for_devices(targets);
        let (recorders, events, cms) =
            tokio::join!(self.fresh(RECORDERS, &arguments), self.scheduled(targets, until), self.cms_names(targets));
        OfTargets { recorders: recorders.map(ReadAnswer::into_value), events, cms }
    }

    // Units that are off have no recorder to ask, and their part of the answer may be missing or a failure.
    async fn recorders_of(&self, known: &[&Device], answer: Result<Value, ReadError>) -> Result<Recorders, ReadError> {
        let online: Vec<&Device> = known.iter().filter(|device| device.online).copied().collect();
        let ids: Vec<MasterId> = online.iter().map(|device| device.id.clone()).collect();
        if ids.is_empty() {
            return Ok(Recorders::new());
        }
        let words = match answer {
            Ok(value) => recorders::recorders(&value, &ids).map_err(|error| shape(RECORDERS, error))?,
            // It may have failed because a unit that is off was asked for with the others.
            Err(ReadError::Failed { .. }) if ids.len() < known.len() => self.recorders(&ids).await?,
            Err(error) => return Err(error),
        };
        if online.iter().all(|device| words.get(&device.id).is_some_and(|heard| covers(heard, device))) {
            return Ok(words);
        }
        Err(shape(RECORDERS, ShapeError::new("recorder list", "a channel of the device is missing")))
    }

    async fn scheduled(&self, ids: &[MasterId], until: i64) -> Result<Events, ReadError> {
        let until = time::until_text(until);
        let until = until.ok_or_else(|| shape(EVENTS, ShapeError::new("time", "not a time that can be asked for")))?;
        let mut arguments = for_devices(ids);
        if let Some(members) = arguments.as_object_mut() {
            members.insert("until".to_owned(), until.into());
        }
        let answer = self.fresh(EVENTS, &arguments).await?;
        events::events(answer.value(), ids).map_err(|error| shape(EVENTS, error))
    }

    async fn fresh(&self, name: &str, arguments: &Value) -> Result<ReadAnswer, ReadError> {
        let tool = self.policy.guard(name).map_err(ReadError::NotPermitted)?;
        let arguments =
            Canonical::from_value(arguments).map_err(|error| ReadError::NotPermitted(Refusal::from(error)))?;
        self.call(&tool, &arguments).await
    }
}

struct OfTargets {
    recorders: Result<Value, ReadError>,
    events: Result<Events, ReadError>,
    cms: Result<CmsNames, ReadError>,
}

// Every channel that the list names must have a word. No word at all is believed only of a unit without channels.
fn covers(heard: &BTreeMap<ChannelId, Recording>, device: &Device) -> bool {
    match &device.channels {
        Some(channels) => channels.iter().all(|channel| heard.contains_key(&channel.id)),
        None => device.is_camera() || !heard.is_empty(),
    }
}

// The CMS names count only when a device is left out.
fn complete(mut found: Events, ids: &[MasterId], names: Result<CmsNames, ReadError>) -> Result<Events, ReadError> {
    found.retain(|id, _| ids.contains(id));
    let missing: Vec<&MasterId> = ids.iter().filter(|id| !found.contains_key(*id)).collect();
    if missing.is_empty() {
        return Ok(found);
    }
    let names = names?;
    if missing.iter().any(|id| names.contains_key(*id)) {
        return Err(shape(EVENTS, ShapeError::new("event list", "a device with a CMS is missing")));
    }
    found.extend(missing.into_iter().map(|id| (id.clone(), None)));
    Ok(found)
}

fn for_devices(ids: &[MasterId]) -> Value {
    json!({"device_ids": ids.iter().map(MasterId::as_str).collect::<Vec<_>>()})
}

fn shape(tool: &str, error: ShapeError) -> ReadError {
    let error = ReadError::failed(tool, error.into());
    tracing::warn!("{error}");
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::samples::{HALL, LAB, master};
    use policy::observed::Event;

    #[test]
    fn a_unit_left_out_has_no_event_only_without_a_cms() {
        let ids = [master(HALL), master(LAB)];
        let event = Event { id: "a".into(), title: String::new(), start: 1, end: None, confirmed: None };
        let found = Events::from([(master(HALL), Some(event))]);
        let events = complete(found.clone(), &ids, Ok(CmsNames::new())).unwrap();
        assert_eq!(events.get(&master(LAB)), Some(&None));
        assert!(events.get(&master(HALL)).unwrap().is_some());
        let names = CmsNames::from([(master(LAB), "panopto".to_owned())]);
        complete(found.clone(), &ids, Ok(names.clone())).unwrap_err();
        // A CMS elsewhere proves nothing against the ones that were asked for.
        assert_eq!(complete(found.clone(), &ids[..1], Ok(names)).unwrap().len(), 1);
        // An unread list of names matters only when a unit is left out.
        let unread = || Err(ReadError::failed(CMS_NAMES, Why::Timeout));
        assert_eq!(complete(found.clone(), &ids[..1], unread()).unwrap().len(), 1);
        complete(found, &ids, unread()).unwrap_err();
    }
}
