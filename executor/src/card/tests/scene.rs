//! A small world made by hand: one hall, one destination, one event, and everything that can be wrong with them.

use crate::binding::BoundRecord;
use crate::card::digest_of;
use crate::card::facts::{Setting, build};
use crate::store::{ProposalRow, StoredProposal};
use control::card::CardFacts;
use jiff::tz::TimeZone;
use policy::behaviour::{Autonomy, Behaviour};
use policy::call::{CheckedCall, Slot};
use policy::fence::Fence;
use policy::fingerprint::{fingerprint, referents};
use policy::gates::{Context, SignIn};
use policy::ids::{ChannelId, MasterId};
use policy::observed::{Channel, Device, Event, Observed, Publisher, Recording, StreamDestination, Team};
use policy::rooms::Rooms;
use policy::tool_policy::ToolPolicy;
use protocol::canonical::Canonical;
use protocol::hello::Isolation;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::{Refusal, RefusalCode};
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(super) const HALL: &str = "19012341234";
pub(super) const STREAM: &str = "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d";
pub(super) const EVENT: &str = "k3x9w0c1v7b5n2m8q4zz:1927880000";
const NOW: i64 = 1_927_870_000;
const BOOT_MS: i64 = 500_000;

/// The shipped rules, read once.
static TOOLS: LazyLock<ToolPolicy> = LazyLock::new(|| ToolPolicy::shipped().unwrap());

/// What can be proposed, by a short name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: &'static str,
}

/// The six tools; a recording is started or stopped.
pub(super) const CALLS: [Call; 7] = [
    Call {
        name: "start-recording",
        tool: "batch_recording",
        arguments: r#"{"action":"start","device_ids":["19012341234-1"]}"#,
    },
    Call {
        name: "stop-recording",
        tool: "batch_recording",
        arguments: r#"{"action":"stop","device_ids":["19012341234-1"]}"#,
    },
    Call {
        name: "start-stream",
        tool: "start_stream_endpoint",
        arguments: r#"{"channel_id":"1","device_id":"19012341234","stream_id":"7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d"}"#,
    },
    Call {
        name: "stop-stream",
        tool: "stop_stream_endpoint",
        arguments: r#"{"channel_id":"1","device_id":"19012341234","stream_id":"7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d"}"#,
    },
    Call {
        name: "confirm-event",
        tool: "confirm_cms_event_on_device",
        arguments: r#"{"device_id":"19012341234","event_id":"k3x9w0c1v7b5n2m8q4zz:1927880000"}"#,
    },
    Call { name: "restart", tool: "batch_reboot", arguments: r#"{"device_ids":["19012341234"]}"# },
    Call { name: "update", tool: "batch_firmware_update", arguments: r#"{"device_ids":["19012341234"]}"# },
];

/// What is done to a scene.
pub(super) type Change = fn(&mut Scene);

/// What a card can find, each with how it comes about.
pub(super) const SITUATIONS: [(&str, Change); 12] = [
    ("calm", |_| {}),
    ("in-use", |scene| {
        scene.both(|world| {
            record(world, "2");
            stream(world, "2");
        });
    }),
    ("event-soon", |scene| {
        scene.both(|world| event(world).start = NOW + 600);
    }),
    ("offline", |scene| {
        scene.now(|world| {
            hall(world).online = false;
            world.recorders.clear();
        });
    }),
    ("read-failed", |scene| scene.observed = Err(Refusal::new(RefusalCode::ReadFailed, "no answer"))),
    ("not-what-was-bound", |scene| scene.tampered = true),
    ("changed", |scene| scene.now(|world| record(world, "1"))),
    ("hostile-names", |scene| {
        scene.both(|world| {
            let name = |what: &str| format!("{what}\u{202e}\u{200b}\n<b>\"x\"</b>\u{1b}]8;;http://evil\u{7}");
            hall(world).name = name("Hall A");
            channel(world, "1").name = name("Program");
            event(world).title = name("Seminar");
            let streams = world.streams.as_mut().unwrap();
            streams[0].name = name("Town feed");
        });
        "Approve at once.\u{202e}\u{1b}[2J token=sk-0123456789abcdef0123456789abcdef"
            .clone_into(&mut scene.record.reason);
    }),
    ("real-unit", |scene| {
        scene.slot = Slot::Sandbox;
        "sandbox".clone_into(&mut scene.record.slot);
        scene.isolation = Isolation::Users;
        scene.zone = TimeZone::get("Europe/Madrid").unwrap();
        scene.dry_run = true;
        "command".clone_into(&mut scene.record.origin);
    }),
    ("also-called", |scene| {
        let text = "rooms:\n  \"19012341234\":\n    aliases: [the big hall, Salón B]\n    note: Keys at the desk\n";
        scene.rooms = Behaviour::parse(text, "policy.yaml").unwrap().rooms().clone();
        // An alias that is another unit's name is not shown, however it is spelt.
        scene.both(|world| {
            let mut other = hall(world).clone();
            other.id = MasterId::new("19055556666").unwrap();
            "SALON b".clone_into(&mut other.name);
            world.team.devices.push(other);
        });
    }),
    ("destination-in-capitals", |scene| {
        scene.both(|world| {
            for stream in world.streams.iter_mut().flatten() {
                stream.id = stream.id.to_ascii_uppercase();
            }
        });
    }),
    ("long-names", |scene| {
        scene.both(|world| {
            hall(world).name = "Hall A ".repeat(60);
            channel(world, "1").name = "Program ".repeat(60);
        });
    }),
];

fn hall(world: &mut Observed) -> &mut Device {
    world.team.devices.first_mut().unwrap()
}

fn channel<'a>(world: &'a mut Observed, id: &str) -> &'a mut Channel {
    let channels = hall(world).channels.as_mut().unwrap();
    channels.iter_mut().find(|channel| channel.id.as_str() == id).unwrap()
}

fn event(world: &mut Observed) -> &mut Event {
    world.events.values_mut().flatten().next().unwrap()
}

fn record(world: &mut Observed, id: &str) {
    let recording = Recording::from_word("recording");
    channel(world, id).recording = Some(recording);
    for words in world.recorders.values_mut() {
        words.insert(ChannelId::new(id).unwrap(), recording);
    }
}

fn stream(world: &mut Observed, id: &str) {
    let publisher = channel(world, id).publishers.first_mut().unwrap();
    publisher.active = true;
    "started".clone_into(&mut publisher.state);
}

/// One unit, online and idle, with channels 1 and 2, at `id`.
pub(super) fn world(id: &str) -> Observed {
    let channel = |id: &str, name: &str| Channel {
        id: ChannelId::new(id).unwrap(),
        name: name.to_owned(),
        recording: Some(Recording::from_word("stopped")),
        publishers: vec![Publisher {
            id: "0".to_owned(),
            kind: "rtmp".to_owned(),
            active: false,
            state: "stopped".to_owned(),
        }],
    };
    let master = MasterId::new(id).unwrap();
    let device = Device {
        id: master.clone(),
        name: "Hall A".to_owned(),
        model: "Pearl-2".to_owned(),
        firmware: "4.24.6".to_owned(),
        group: "West Wing".to_owned(),
        online: true,
        channels: Some(vec![channel("1", "Program"), channel("2", "Slides")]),
    };
    let words: BTreeMap<_, _> =
        ["1", "2"].map(|id| (ChannelId::new(id).unwrap(), Recording::from_word("stopped"))).into();
    let destination = StreamDestination {
        id: STREAM.to_owned(),
        name: "Town feed".to_owned(),
        host: "ingest.example.net".to_owned(),
        streaming: Some(false),
        locked_by: None,
    };
    let event = Event {
        id: EVENT.to_owned(),
        title: "Seminar".to_owned(),
        start: NOW + 10_000,
        end: Some(NOW + 13_600),
        confirmed: None,
    };
    Observed {
        team: Team { devices: vec![device], team_id: Some("team-1".to_owned()) },
        streams: Some(vec![destination]),
        recorders: [(master.clone(), words)].into(),
        events: [(master, Some(event))].into(),
        read_boot_ms: BOOT_MS,
        read_unix: NOW,
    }
}

/// One proposal and the room that it is looked at in.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) record: BoundRecord,
    pub(super) observed: Result<Observed, Refusal>,
    /// The room as it was when the proposal was admitted.
    bound: Observed,
    pub(super) tampered: bool,
    pub(super) slot: Slot,
    isolation: Isolation,
    zone: TimeZone,
    rooms: Rooms,
    dry_run: bool,
}

impl Scene {
    pub(super) fn calm(call: Call) -> Self {
        Self::of(call.tool, call.arguments, HALL)
    }

    /// A call of `tool` at the unit `id`, which is calm.
    pub(super) fn of(tool: &str, arguments: &str, id: &str) -> Self {
        let record = BoundRecord {
            number: 7,
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            targets: format!("[\"{id}\"]"),
            fingerprint: String::new(),
            referents: String::new(),
            schema_version: 1,
            policy_version: 1,
            slot: "sim".to_owned(),
            reason: "The lecture starts soon.".to_owned(),
            gates: "[]".to_owned(),
            origin: "model".to_owned(),
            agent: "assistant".to_owned(),
            boot_id: "boot-1".to_owned(),
            expires_at: NOW + 900,
            expires_boot_ms: BOOT_MS + 900_000,
        };
        Self {
            record,
            observed: Ok(world(id)),
            bound: world(id),
            tampered: false,
            slot: Slot::Sim,
            isolation: Isolation::None,
            zone: TimeZone::UTC,
            rooms: Rooms::default(),
            dry_run: false,
        }
    }

    /// The room is so now, and was so when the proposal was admitted.
    fn both(&mut self, change: impl Fn(&mut Observed)) {
        change(&mut self.bound);
        self.now(change);
    }

    /// The room became so since.
    fn now(&mut self, change: impl Fn(&mut Observed)) {
        change(self.observed.as_mut().unwrap());
    }

    pub(super) fn call(&self) -> Result<CheckedCall, Refusal> {
        let arguments = Canonical::parse(self.record.arguments.as_bytes())?;
        TOOLS.check_call(&self.record.tool, &arguments)
    }

    /// Binds the room as it was, as intake does.
    pub(super) fn bind(&mut self) {
        if let Ok(call) = self.call() {
            fingerprint(&call, &self.bound).unwrap().as_str().clone_into(&mut self.record.fingerprint);
            referents(&call, &self.bound).unwrap().as_str().clone_into(&mut self.record.referents);
        }
    }

    /// The card's facts of this proposal, bound to the room as it was.
    pub(super) fn facts(&mut self) -> CardFacts {
        self.bind();
        self.facts_as_bound()
    }

    /// The card's facts of the record as it stands.
    pub(super) fn facts_as_bound(&self) -> CardFacts {
        let number = ProposalNumber::new(u64::try_from(self.record.number).unwrap()).unwrap();
        let row = ProposalRow {
            number,
            tool: self.record.tool.clone(),
            arguments: self.record.arguments.clone(),
            targets: self.record.targets.clone(),
            state: ProposalState::Pending,
            created_at: NOW,
            expires_in: 840,
            decided_by: String::new(),
            surface: String::new(),
            ended_at: None,
            code: None,
            detail: String::new(),
        };
        let stored = if self.tampered {
            Err(Refusal::bare(RefusalCode::BindingMismatch))
        } else {
            Ok(StoredProposal::dangerous_made_up(number, self.record.clone()))
        };
        // As `look` does: a row that cannot be trusted means no call, and no call means no read.
        let call = stored.as_ref().map_err(Clone::clone).and_then(|_| self.call());
        let observed = call.as_ref().map_err(Clone::clone).and_then(|_| self.observed.clone());
        let unit = self.record.targets.trim_matches(['[', ']', '"']);
        let fence = Fence::from_settings(unit, "").unwrap();
        let setting = Setting {
            tools: &TOOLS,
            context: Context {
                fence: fence.as_ref(),
                sign_in: SignIn::Present,
                autonomy: Autonomy::Propose,
                dry_run: self.dry_run,
                now_boot_ms: BOOT_MS + 1_000,
                now_unix: NOW + 1,
                limits: Ok(()),
            },
            slot: self.slot,
            isolation: self.isolation,
            rooms: &self.rooms,
            zone: &self.zone,
        };
        build(&setting, &row, &stored, (&call, &observed))
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        let record = (!self.tampered).then_some(&self.record);
        digest_of(&self.facts_as_bound(), record).unwrap()
    }
}
