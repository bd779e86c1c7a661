//! The state of the fleet, moved forward by the clock whenever it is read.

use std::collections::HashMap;
use std::ops::Range;

use crate::config::Caller;

/// Hardware models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// Pearl-2.
    Pearl2,
    /// Pearl Mini.
    Mini,
    /// Pearl Nano.
    Nano,
    /// Pearl Nexus.
    Nexus,
    /// EC20 camera: no recording or streaming on command.
    Ec20,
    /// Epiphan Venue: its own firmware family.
    Venue,
}

impl Model {
    /// The name in the results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pearl2 => "Pearl-2",
            Self::Mini => "Pearl Mini",
            Self::Nano => "Pearl Nano",
            Self::Nexus => "Pearl Nexus",
            Self::Ec20 => "EC20",
            Self::Venue => "Epiphan Venue",
        }
    }

    /// The firmware that a room starts with.
    pub(crate) fn firmware(self) -> &'static str {
        match self {
            Self::Pearl2 | Self::Mini | Self::Nano | Self::Nexus => "4.24.6",
            Self::Ec20 => "3.6.44",
            Self::Venue => "2.9.1",
        }
    }

    /// The firmware after an update.
    pub(crate) fn newest_firmware(self) -> &'static str {
        match self {
            Self::Pearl2 | Self::Mini | Self::Nano | Self::Nexus => "4.25.1",
            Self::Ec20 => "3.7.2",
            Self::Venue => "2.10.0",
        }
    }

    /// Can record and stream on command.
    pub(crate) fn records(self) -> bool {
        self != Self::Ec20
    }

    /// Reports audio levels.
    pub(crate) fn hears(self) -> bool {
        matches!(self, Self::Pearl2 | Self::Mini | Self::Nano | Self::Nexus)
    }
}

/// A stream output of a channel.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    /// `rtmp`, `srt`, ...
    pub(crate) protocol: &'static str,
    /// The name set on the device; equals the destination's name.
    pub(crate) name: String,
    /// Running.
    pub(crate) started: bool,
    /// When it started, in seconds; 0 when stopped.
    pub(crate) since: i64,
}

/// A channel of a device.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// `1`, `2`, ...
    pub(crate) id: String,
    /// The name a person gave it.
    pub(crate) name: String,
    /// The recorder's word: `recording`, `stopped`, or whatever a test sets.
    pub(crate) recorder: String,
    /// When the recorder's state last changed, in seconds.
    pub(crate) recorder_since: i64,
    /// Stream outputs.
    pub(crate) publishers: Vec<Publisher>,
    /// No picture on its input.
    pub(crate) no_signal: bool,
}

/// A scheduled event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// `<20 lower-case letters and digits>:<start in seconds>`.
    pub(crate) id: String,
    /// What it is called.
    pub(crate) title: String,
    /// Start, in seconds.
    pub(crate) start: i64,
    /// End, in seconds.
    pub(crate) finish: i64,
    /// Confirmed by someone.
    pub(crate) confirmed: bool,
}

/// A warning of the whole device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warning {
    /// An input without a picture.
    SourceNoSignal,
    /// Disk trouble.
    DiskSpace,
    /// No disk at all.
    NoStorage,
}

/// Away until a time, for a restart or an update.
#[derive(Clone, Debug)]
pub(crate) struct Outage {
    /// When it is back, in milliseconds.
    pub(crate) until_ms: i64,
    /// The firmware it comes back with.
    pub(crate) firmware: Option<&'static str>,
}

/// A room with its device.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// Master id: 11 digits.
    pub(crate) id: String,
    /// What people call it. Data, whatever it says.
    pub(crate) name: String,
    /// Hardware model.
    pub(crate) model: Model,
    /// Group name.
    pub(crate) group: &'static str,
    /// Group id.
    pub(crate) group_id: &'static str,
    /// Position in the team list, for serial number and address.
    pub(crate) number: usize,
    /// Installed firmware.
    pub(crate) firmware: String,
    /// Reachable.
    pub(crate) online: bool,
    /// Still in the team's list.
    pub(crate) listed: bool,
    /// When `online` last changed, in seconds.
    pub(crate) state_since: i64,
    /// Start time of the device, in seconds.
    pub(crate) uptime_since: i64,
    /// Away right now, because someone restarted it.
    pub(crate) outage: Option<Outage>,
    /// The CMS it is paired with.
    pub(crate) cms: Option<String>,
    /// Its channels.
    pub(crate) channels: Vec<Channel>,
    /// Its timeline, by start.
    pub(crate) events: Vec<Event>,
    /// Warnings of the device.
    pub(crate) warnings: Vec<Warning>,
}

impl Room {
    /// The channel with this id.
    pub(crate) fn channel_mut(&mut self, id: &str) -> Option<&mut Channel> {
        self.channels.iter_mut().find(|channel| channel.id == id)
    }

    /// The event that runs now or comes next before `until`.
    pub(crate) fn current_or_next(&self, now: i64, until: i64) -> Option<&Event> {
        self.events.iter().filter(|event| event.finish > now && event.start < until).min_by_key(|event| event.start)
    }

    fn come_back(&mut self, at: i64, firmware: Option<&'static str>) {
        self.online = true;
        self.state_since = at;
        self.uptime_since = at;
        if let Some(firmware) = firmware {
            firmware.clone_into(&mut self.firmware);
        }
        for channel in &mut self.channels {
            if channel.recorder != "stopped" {
                "stopped".clone_into(&mut channel.recorder);
                channel.recorder_since = at;
            }
            for publisher in &mut channel.publishers {
                publisher.started = false;
                publisher.since = 0;
            }
        }
    }
}

/// How a destination is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// RTMP with a stream key.
    Rtmp,
    /// SRT with a passphrase.
    Srt,
}

/// A stream destination of the team.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// UUID.
    pub(crate) id: String,
    /// What people call it.
    pub(crate) name: String,
    /// Where it goes.
    pub(crate) url: String,
    /// The key: must never be shown.
    pub(crate) key: &'static str,
    /// RTMP or SRT.
    pub(crate) protocol: Protocol,
    /// Still in the team's list.
    pub(crate) listed: bool,
    /// The device and channel that stream to it now.
    pub(crate) held_by: Option<(String, String)>,
}

/// The whole fleet.
#[derive(Debug)]
pub(crate) struct State {
    /// All rooms in list order.
    pub(crate) rooms: Vec<Room>,
    /// All stream destinations.
    pub(crate) streams: Vec<Destination>,
    /// A `team_id` on the device list, if a test wants one.
    pub(crate) team_id: Option<String>,
    sandbox_rooms: usize,
    two_teams: bool,
    places: HashMap<String, usize>,
}

impl State {
    /// A fleet of these rooms; the sandbox sign-in sees the first `sandbox_rooms`.
    pub(crate) fn new(rooms: Vec<Room>, streams: Vec<Destination>, sandbox_rooms: usize) -> Self {
        let places = rooms.iter().enumerate().map(|(place, room)| (room.id.clone(), place)).collect();
        Self { rooms, streams, team_id: None, sandbox_rooms, two_teams: false, places }
    }

    /// The same as two teams: the normal sign-in sees only the rooms that the sandbox sign-in does not.
    pub(crate) fn apart(mut self) -> Self {
        self.two_teams = true;
        self
    }

    /// Lets time pass: restarts that are over are over.
    pub(crate) fn settle(&mut self, now_ms: i64) {
        let mut back = Vec::new();
        for room in &mut self.rooms {
            let over = room.outage.take_if(|outage| outage.until_ms <= now_ms);
            if let Some(outage) = over {
                room.come_back(outage.until_ms / 1000, outage.firmware);
                back.push(room.id.clone());
            }
        }
        if back.is_empty() {
            return;
        }
        for stream in &mut self.streams {
            stream.held_by.take_if(|(device, _)| back.contains(device));
        }
    }

    /// The rooms that this caller sees.
    pub(crate) fn visible(&self, caller: Caller) -> impl Iterator<Item = &Room> {
        let places = self.places_for(caller);
        self.rooms.get(places).unwrap_or_default().iter().filter(|room| room.listed)
    }

    /// The room with this master id, if the caller sees it.
    pub(crate) fn room(&self, caller: Caller, id: &str) -> Option<&Room> {
        let place = self.place(caller, id)?;
        self.rooms.get(place)
    }

    /// The same, to change it.
    pub(crate) fn room_mut(&mut self, caller: Caller, id: &str) -> Option<&mut Room> {
        let place = self.place(caller, id)?;
        self.rooms.get_mut(place)
    }

    /// Any room, for the control channel.
    pub(crate) fn any_room_mut(&mut self, id: &str) -> Option<&mut Room> {
        let place = *self.places.get(id)?;
        self.rooms.get_mut(place)
    }

    fn place(&self, caller: Caller, id: &str) -> Option<usize> {
        let place = *self.places.get(id)?;
        let seen = self.places_for(caller).contains(&place) && self.rooms.get(place)?.listed;
        seen.then_some(place)
    }

    fn places_for(&self, caller: Caller) -> Range<usize> {
        match caller {
            Caller::Normal if self.two_teams => self.sandbox_rooms..self.rooms.len(),
            Caller::Everyone | Caller::Normal => 0..self.rooms.len(),
            Caller::Sandbox => 0..self.sandbox_rooms,
            Caller::Unknown => 0..0,
        }
    }
}
