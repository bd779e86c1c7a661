//! What could be changed, told to the assistant: the units of the fence that are on the writing sign-in's own list, by fresh
//! reads (issue 4). The model reads through the normal sign-in, which on a real team reaches other units; without this list
//! it could name no unit that a change is admitted for.
//!
//! Nothing here admits anything. One reading at a time, kept for [`CHANGEABLE_LIFE`], good or bad, and a bucket for each
//! agent: whoever asks again and again costs the vendor a reading every ten seconds. It gives way to a person's yes: while a
//! change is prepared nothing is read here, since a read can renew the sign-in that the change is bound to.

use crate::app::App;
use crate::bucket::{Buckets, Take};
use host::clock::Clock;
use policy::fence::Fence;
use policy::ids::{ChannelId, MasterId};
use policy::observed::{Channel, Device, Event, Recording, StreamDestination, Team};
use protocol::canonical::Canonical;
use protocol::ids::Label;
use protocol::propose::CHANGEABLE_LIFE;
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Longest time for one reading. What hangs longer is a failed read.
const READING: Duration = Duration::from_secs(20);
/// Units in one call.
const AT_A_TIME: usize = 100;
/// Most units that are told of: five calls of each kind.
const MOST_UNITS: usize = 500;
/// Most stream destinations that are told of, and most bytes of them together.
const MOST_STREAMS: usize = 200;
const STREAM_BYTES: usize = 48 * 1024;
/// Most bytes of the units together; a frame holds 256 KiB, and the rest of the answer has room beside them.
const MOST_BYTES: usize = 160 * 1024;
/// Most bytes of one unit, so that one with a thousand outputs does not push all others out.
const MOST_OF_ONE: usize = 16 * 1024;
/// Longest name or title, in characters.
const LONGEST: usize = 120;
/// Longest id of an event that is told, in bytes; no longer one can be proposed with.
const LONGEST_ID: usize = 200;

/// The list, and who may ask for it how often.
#[derive(Debug)]
pub(crate) struct Changeable {
    clock: Clock,
    buckets: Mutex<Buckets>,
    // Held while it is read: whoever comes meanwhile waits for that answer.
    last: tokio::sync::Mutex<Option<Last>>,
}

#[derive(Debug)]
struct Last {
    at_ms: i64,
    // Which sign-in it was read with.
    generation: u64,
    answer: Result<Vec<u8>, Refusal>,
}

impl Changeable {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), buckets: Mutex::new(Buckets::new(clock)), last: tokio::sync::Mutex::default() }
    }

    /// Its buckets; those of the proposals are others.
    pub(crate) fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this agent may ask now, and how many were turned away since the last time.
    ///
    /// # Errors
    /// `too_many_requests`.
    pub(crate) fn take(&self, agent: &Label) -> Result<u64, Refusal> {
        match self.buckets().take(agent) {
            Take::Go { turned_away } => Ok(turned_away),
            Take::Wait => Err(Refusal::bare(RefusalCode::TooManyRequests)),
        }
    }

    /// The list as canonical JSON.
    ///
    /// # Errors
    /// `no_fence`, `team_mismatch`, `read_failed`, `no_sign_in` and `sign_in_dead`.
    pub(crate) async fn list(&self, app: &App) -> Result<Vec<u8>, Refusal> {
        let generation = app.reads.sign_in().generation();
        self.kept(generation, READING, app.preparing.subscribe(), async || read(app).await).await
    }

    async fn kept(
        &self,
        generation: u64,
        longest: Duration,
        mut preparing: watch::Receiver<bool>,
        read: impl AsyncFnOnce() -> Result<Vec<u8>, Refusal>,
    ) -> Result<Vec<u8>, Refusal> {
        let mut last = self.last.lock().await;
        let age = |last: &Last| self.clock.boot_ms().saturating_sub(last.at_ms);
        let fresh = |last: &&Last| last.generation == generation && (0..CHANGEABLE_LIFE).contains(&age(last));
        if let Some(last) = last.as_ref().filter(fresh) {
            return last.answer.clone();
        }
        let read = tokio::select! {
            biased;
            // Not kept: it says nothing about the fleet.
            _ = preparing.wait_for(|preparing| *preparing) => return Err(gives_way()),
            read = tokio::time::timeout(longest, read()) => read,
        };
        let answer = read.unwrap_or_else(|_| Err(Refusal::new(RefusalCode::ReadFailed, "the list: no answer in time")));
        // From its end, so that those who waited for a slow one take its answer; when it was read stands in it.
        *last = Some(Last { at_ms: self.clock.boot_ms(), generation, answer: answer.clone() });
        answer
    }
}

fn gives_way() -> Refusal {
    Refusal::new(RefusalCode::ReadFailed, "an approved change is being prepared; ask again in a quarter of a minute")
}

async fn read(app: &App) -> Result<Vec<u8>, Refusal> {
    let reads = app.reads()?;
    let fence = app.config.fence.as_ref().ok_or_else(|| Refusal::bare(RefusalCode::NoFence))?;
    let (team, streams) = tokio::try_join!(reads.team(), reads.streams()).map_err(|error| app.not_read(&error))?;
    app.was_read(&team);
    let units = inside(fence, &team)?;
    let mut listing = Listing::new(&streams, units.len(), app.clock.unix());
    for some in units.chunks(AT_A_TIME).take(MOST_UNITS / AT_A_TIME) {
        let ids: Vec<MasterId> = some.iter().map(|unit| unit.id.clone()).collect();
        let (recorders, events) = reads.look_again(&team, &ids).await.map_err(|error| app.not_read(&error))?;
        let event = |id: &MasterId| events.get(id).and_then(Option::as_ref);
        if !some.iter().all(|unit| listing.add(unit, recorders.get(&unit.id), event(&unit.id))) {
            break;
        }
    }
    listing.finish()
}

/// The units of the list that the fence allows. A whole team that is the wrong one is a refusal and no empty list.
fn inside<'a>(fence: &Fence, team: &'a Team) -> Result<Vec<&'a Device>, Refusal> {
    let mut units = Vec::new();
    for unit in &team.devices {
        match fence.allows(&unit.id, team.team_id.as_deref()) {
            Ok(()) => units.push(unit),
            Err(refusal) if refusal.code == RefusalCode::TeamMismatch => return Err(refusal),
            Err(_) => {}
        }
    }
    Ok(units)
}

struct Listing {
    read_at: Value,
    units: usize,
    devices: Vec<Value>,
    bytes: usize,
    streams: Vec<Value>,
    left_out: Vec<String>,
}

impl Listing {
    fn new(streams: &[StreamDestination], units: usize, now: i64) -> Self {
        let (mut shown, mut left_out, mut bytes) = (Vec::new(), Vec::new(), 0);
        for stream in streams.iter().take(MOST_STREAMS).map(destination) {
            bytes += stream.to_string().len() + 1;
            if bytes > STREAM_BYTES {
                break;
            }
            shown.push(stream);
        }
        if shown.len() < streams.len() {
            left_out.push(format!("{} of {} stream destinations are shown.", shown.len(), streams.len()));
        }
        Self { read_at: time(now), units, devices: Vec::new(), bytes: 0, streams: shown, left_out }
    }

    /// Adds one unit; no, when nothing more fits.
    fn add(&mut self, unit: &Device, words: Option<&BTreeMap<ChannelId, Recording>>, event: Option<&Event>) -> bool {
        let mut entry = device(unit, words, event);
        let mut size = entry.to_string().len();
        if size > MOST_OF_ONE {
            entry["channels"] = Value::Null;
            size = entry.to_string().len();
            self.left_out.push(format!("The channels of unit {} are too many to be shown.", unit.id));
        }
        if self.devices.len() >= MOST_UNITS || self.bytes + size > MOST_BYTES {
            return false;
        }
        self.bytes += size + 1;
        self.devices.push(entry);
        true
    }

    fn finish(mut self) -> Result<Vec<u8>, Refusal> {
        let shown = self.devices.len();
        if shown < self.units {
            self.left_out.insert(0, format!("{shown} of {} units are shown; the others do not fit.", self.units));
        }
        let mut whole = json!({
            "read_at": self.read_at,
            "units": self.units,
            "shown": shown,
            "devices": self.devices,
            "streams": self.streams,
        });
        if !self.left_out.is_empty() {
            whole["left_out"] = json!(self.left_out);
        }
        Ok(Canonical::from_value(&whole)?.as_str().as_bytes().to_vec())
    }
}

fn device(unit: &Device, words: Option<&BTreeMap<ChannelId, Recording>>, next: Option<&Event>) -> Value {
    let channels = unit.channels.as_deref().map(|all| all.iter().map(|one| channel(one, words)).collect::<Vec<_>>());
    json!({
        "device_id": unit.id.as_str(),
        "name": short(&unit.name),
        "model": short(&unit.model),
        "online": unit.online,
        "channels": channels,
        "event": next.map(event),
    })
}

// The recorder's own word; nothing for a unit that is off, whose list keeps the last one.
fn channel(channel: &Channel, words: Option<&BTreeMap<ChannelId, Recording>>) -> Value {
    let outputs = channel.publishers.iter();
    let outputs =
        outputs.map(|one| json!({"output": short(&one.id), "kind": short(&one.kind), "state": short(&one.state)}));
    json!({
        "channel_id": channel.id.as_str(),
        "name": short(&channel.name),
        "recorder": words.and_then(|words| words.get(&channel.id)).map(|word| word.as_str()),
        "stream_outputs": outputs.collect::<Vec<_>>(),
    })
}

fn event(event: &Event) -> Value {
    let id = (event.id.len() <= LONGEST_ID).then_some(event.id.as_str());
    json!({"event_id": id, "title": short(&event.title), "start": time(event.start), "end": event.end.map(time)})
}

// Never a key or a whole address: neither is in what was parsed.
fn destination(stream: &StreamDestination) -> Value {
    json!({"stream_id": short(&stream.id), "name": short(&stream.name), "host": short(&stream.host)})
}

fn time(unix: i64) -> Value {
    let time = jiff::Timestamp::from_second(unix).ok();
    time.map_or(Value::Null, |time| json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::observed::{Publisher, RecorderWord};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn master(number: usize) -> MasterId {
        MasterId::new(&format!("{}", 20_301_000_000 + number)).unwrap()
    }

    fn unit(number: usize, name: &str) -> Device {
        let output = Publisher { id: "0".into(), kind: "rtmp".into(), active: false, state: "stopped".into() };
        let channel = Channel {
            id: ChannelId::new("1").unwrap(),
            name: "Program".into(),
            recording: Some(Recording::Active(RecorderWord::Recording)),
            publishers: vec![output],
        };
        Device {
            id: master(number),
            name: name.into(),
            model: "Pearl-2".into(),
            firmware: "4.24.6".into(),
            group: "North".into(),
            online: true,
            channels: Some(vec![channel]),
        }
    }

    // Nothing is being prepared, for as long as the sender lives.
    fn calm() -> (watch::Sender<bool>, watch::Receiver<bool>) {
        watch::channel(false)
    }

    fn whole(listing: Listing) -> Value {
        serde_json::from_slice(&listing.finish().unwrap()).unwrap()
    }

    fn idle() -> BTreeMap<ChannelId, Recording> {
        BTreeMap::from([(ChannelId::new("1").unwrap(), Recording::Idle(RecorderWord::Stopped))])
    }

    #[test]
    fn a_unit_is_told_with_what_a_change_needs_and_the_recorders_own_word() {
        let stream = StreamDestination {
            id: "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d".into(),
            name: "Town".into(),
            host: "town.example.net".into(),
            streaming: None,
            locked_by: None,
        };
        let event = Event { id: "k3:1".into(), title: "Law".into(), start: 1_927_886_400, end: None, confirmed: None };
        let mut listing = Listing::new(&[stream], 2, 1_927_886_400);
        assert!(listing.add(&unit(1, "Hall A"), Some(&idle()), Some(&event)));
        assert!(listing.add(&Device { online: false, ..unit(2, "Hall B") }, None, None));
        let want = json!({
            "read_at": "2031-02-03T12:00:00Z", "units": 2, "shown": 2,
            "streams": [{"stream_id": "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d", "name": "Town", "host": "town.example.net"}],
            "devices": [
                {"device_id": "20301000001", "name": "Hall A", "model": "Pearl-2", "online": true,
                 "channels": [{"channel_id": "1", "name": "Program", "recorder": "stopped",
                    "stream_outputs": [{"output": "0", "kind": "rtmp", "state": "stopped"}]}],
                 "event": {"event_id": "k3:1", "title": "Law", "start": "2031-02-03T12:00:00Z", "end": null}},
                {"device_id": "20301000002", "name": "Hall B", "model": "Pearl-2", "online": false,
                 "channels": [{"channel_id": "1", "name": "Program", "recorder": null,
                    "stream_outputs": [{"output": "0", "kind": "rtmp", "state": "stopped"}]}],
                 "event": null},
            ]
        });
        assert_eq!(whole(listing), want);
    }

    #[test]
    fn the_largest_fleet_with_the_longest_names_fits_a_frame_and_says_what_is_left_out() {
        let name = "\u{1}\"\u{202e}é\\".repeat(1_000);
        let streams = vec![
            StreamDestination {
                id: name.clone(),
                name: name.clone(),
                host: name.clone(),
                streaming: None,
                locked_by: None,
            };
            5_000
        ];
        let mut listing = Listing::new(&streams, 5_000, 0);
        let many: Vec<_> = (0..5_000).map(|number| unit(number, &name)).collect();
        assert!(!many.iter().all(|unit| listing.add(unit, Some(&idle()), None)));
        let bytes = listing.finish().unwrap();
        let say = protocol::propose::ExecutorSays::Changeable { json: bytes.clone() };
        protocol::frame::encode(&protocol::hello::Reply { id: u32::MAX, say }).unwrap();
        let whole: Value = serde_json::from_slice(&bytes).unwrap();
        let shown = whole["devices"].as_array().unwrap().len();
        assert!(shown > 50 && whole["shown"] == shown && whole["units"] == 5_000, "{shown}");
        assert_eq!(whole["left_out"][0], format!("{shown} of 5000 units are shown; the others do not fit."));
        let streams = whole["streams"].as_array().unwrap().len();
        assert!(streams > 20, "{streams}");
        assert_eq!(whole["left_out"][1], format!("{streams} of 5000 stream destinations are shown."));
    }

    #[test]
    fn a_plain_fleet_of_thousands_is_told_of_five_hundred() {
        let mut listing = Listing::new(&[], 2_000, 0);
        let added = (0..2_000).take_while(|number| listing.add(&unit(*number, "Room"), None, None)).count();
        assert_eq!(added, MOST_UNITS);
        assert_eq!(whole(listing)["shown"], 500);
    }

    #[test]
    fn one_unit_with_a_thousand_outputs_keeps_its_place_and_the_others_theirs() {
        let mut odd = unit(1, "Odd");
        let one = odd.channels.as_ref().unwrap()[0].clone();
        odd.channels = Some(vec![one; 999]);
        let mut listing = Listing::new(&[], 2, 0);
        assert!(listing.add(&odd, None, None) && listing.add(&unit(2, "Hall B"), None, None));
        let whole = whole(listing);
        assert_eq!((&whole["devices"][0]["channels"], &whole["shown"]), (&Value::Null, &json!(2)));
        assert!(whole["left_out"][0].as_str().unwrap().contains("20301000001"), "{whole}");
    }

    #[test]
    fn only_what_the_fence_allows_is_told_and_another_team_is_a_refusal() {
        let team = |id: Option<&str>| Team {
            devices: vec![unit(1, "Hall A"), unit(2, "Hall B")],
            team_id: id.map(str::to_owned),
        };
        let fence = |devices: &str, team: &str| Fence::from_settings(devices, team).unwrap().unwrap();
        let one = team(None);
        let inside_one = inside(&fence("20301000002", ""), &one).unwrap();
        assert_eq!(inside_one.iter().map(|unit| unit.name.as_str()).collect::<Vec<_>>(), ["Hall B"]);
        assert_eq!(inside(&fence("", "t1"), &team(Some("t1"))).unwrap().len(), 2);
        for other in [None, Some("t2")] {
            assert_eq!(inside(&fence("", "t1"), &team(other)).unwrap_err().code, RefusalCode::TeamMismatch);
        }
        assert!(inside(&fence("29999999999", ""), &one).unwrap().is_empty());
    }

    #[tokio::test]
    async fn it_is_read_once_in_ten_seconds_good_or_bad_and_anew_for_another_sign_in() {
        let (clock, manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let changeable = Changeable::new(&clock);
        let (reads, (_sender, calm)) = (AtomicUsize::new(0), calm());
        let ask = async |generation, good: bool| {
            let read = async || {
                let count = reads.fetch_add(1, Ordering::SeqCst);
                if good { Ok(vec![u8::try_from(count).unwrap()]) } else { Err(Refusal::bare(RefusalCode::ReadFailed)) }
            };
            changeable.kept(generation, READING, calm.clone(), read).await
        };
        assert_eq!(ask(1, true).await, Ok(vec![0]));
        manual.advance(9);
        assert_eq!(ask(1, true).await, Ok(vec![0]));
        assert_eq!(ask(2, true).await, Ok(vec![1]));
        manual.advance(10);
        assert_eq!(ask(2, false).await.unwrap_err().code, RefusalCode::ReadFailed);
        manual.advance(9);
        assert_eq!(ask(2, true).await.unwrap_err().code, RefusalCode::ReadFailed, "a server that is down is spared");
        manual.advance(1);
        assert_eq!((ask(2, true).await, reads.load(Ordering::SeqCst)), (Ok(vec![3]), 4));
    }

    #[tokio::test]
    async fn a_reading_that_hangs_ends_and_whoever_waited_for_it_starts_no_other() {
        let (clock, _manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let changeable = Changeable::new(&clock);
        let (reads, (_sender, calm)) = (AtomicUsize::new(0), calm());
        let ask = async || {
            let read = async || {
                reads.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            };
            changeable.kept(1, Duration::from_millis(50), calm.clone(), read).await.map_err(|refusal| refusal.code)
        };
        let all = tokio::join!(ask(), ask(), ask());
        let failed: Result<Vec<u8>, RefusalCode> = Err(RefusalCode::ReadFailed);
        assert_eq!((all, reads.load(Ordering::SeqCst)), ((failed.clone(), failed.clone(), failed), 1));
    }

    #[tokio::test]
    async fn a_reading_gives_way_to_a_change_that_is_prepared_and_what_is_kept_is_still_told() {
        let (clock, manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let changeable = Changeable::new(&clock);
        let (reads, (prepares, preparing)) = (AtomicUsize::new(0), calm());
        let ask = async |hangs: bool| {
            let read = async || {
                reads.fetch_add(1, Ordering::SeqCst);
                if hangs {
                    prepares.send_replace(true);
                    std::future::pending::<()>().await;
                }
                Ok(vec![7])
            };
            changeable.kept(1, READING, preparing.clone(), read).await.map_err(|refusal| refusal.code)
        };
        let failed = Err(RefusalCode::ReadFailed);
        // One that is under way ends when a run begins, and is not kept.
        assert_eq!(ask(true).await, failed);
        assert_eq!((ask(false).await, reads.load(Ordering::SeqCst)), (failed.clone(), 1), "none begins beside it");
        prepares.send_replace(false);
        assert_eq!(ask(false).await, Ok(vec![7]));
        prepares.send_replace(true);
        assert_eq!(ask(false).await, Ok(vec![7]), "what is kept reads nothing");
        manual.advance(10);
        assert_eq!((ask(false).await, reads.load(Ordering::SeqCst)), (failed, 2));
    }

    #[test]
    fn a_flood_of_one_agent_is_turned_away_and_counted() {
        let (clock, _manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let changeable = Changeable::new(&clock);
        let agent = Label::new("model").unwrap();
        let let_in = (0..100).filter(|_| changeable.take(&agent).is_ok()).count();
        assert_eq!(let_in, 20);
        assert_eq!(changeable.take(&agent).unwrap_err().code, RefusalCode::TooManyRequests);
        changeable.take(&Label::new("front").unwrap()).unwrap();
        assert_eq!(changeable.buckets().stopped(true), [(Some(agent), 81)]);
    }
}
