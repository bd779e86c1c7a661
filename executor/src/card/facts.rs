//! The facts of one card, as a pure function of the stored row, the call that it means, a fresh read, and the settings in
//! force.

use super::when;
use crate::app::App;
use crate::store::{ProposalRow, StoredProposal};
use control::card::{ArgumentFact, CardFacts, NamedFact, TargetFact};
use jiff::tz::TimeZone;
use policy::call::{CheckedCall, Slot, Target, Tool};
use policy::fold::fold;
use policy::gates::Context;
use policy::ids::MasterId;
use policy::limits;
use policy::observed::{Device, Observed, StreamDestination};
use policy::rooms::Rooms;
use policy::tool_policy::ToolPolicy;
use policy::words::{self, ChannelWord, DenyOnly, Named};
use protocol::canonical::Canonical;
use protocol::hello::Isolation;
use protocol::propose::Origin;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::{Shown, Worded};
use serde_json::Value;

type Look<'a> = (&'a Result<CheckedCall, Refusal>, &'a Result<Observed, Refusal>);

/// What a card needs to know beside the row and the room.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) tools: &'a ToolPolicy,
    pub(crate) context: Context<'a>,
    pub(crate) slot: Slot,
    pub(crate) rooms: &'a Rooms,
    pub(crate) isolation: Isolation,
    pub(crate) zone: &'a TimeZone,
}

impl<'a> Setting<'a> {
    /// The running executor's, now.
    pub(crate) fn of(app: &'a App) -> Self {
        Self {
            tools: &app.config.tools,
            context: crate::intake::context(app, Ok(())),
            slot: app.config.slot,
            rooms: app.config.behaviour.rooms(),
            isolation: app.isolation(),
            zone: &app.zone,
        }
    }
}

/// Builds the facts. Whatever cannot be read, checked or shown leaves a reason in `deny_only`.
pub(super) fn build(
    setting: &Setting<'_>,
    row: &ProposalRow,
    stored: &Result<StoredProposal, Refusal>,
    look: Look<'_>,
) -> CardFacts {
    let (call, observed) = look;
    let mut deny_only = Vec::new();
    let arguments = argument_facts(row, call, &mut deny_only);
    if stored.is_err() {
        deny_only.push(words::deny_only(&DenyOnly::Record));
    } else if let Err(refusal) = call.as_ref().and(observed.as_ref()) {
        deny_only.push(words::deny_only(&DenyOnly::Check(refusal.code)));
    }
    let both = call.as_ref().ok().zip(observed.as_ref().ok());
    if let (Some((call, observed)), Ok(stored)) = (both, stored) {
        deny_only.extend(
            standing_refusal(setting, stored, call, observed).map(|code| words::deny_only(&DenyOnly::Check(code))),
        );
    }
    let plain = call.as_ref().ok().and_then(|call| words::plain_words(call.tool(), call.action()));
    if call.is_ok() && plain.is_none() {
        deny_only.push(words::deny_only(&DenyOnly::NoPlainWords));
    }
    let targets = both.map(|(call, observed)| target_facts(setting, call, observed)).unwrap_or_default();
    if both.is_some_and(|(call, observed)| any_name_is_cut(call, observed)) {
        deny_only.push(words::deny_only(&DenyOnly::Unshowable));
    }
    let disruptive = call.as_ref().map_or(true, |call| call.rules().disruptive);
    let record = stored.as_ref().ok().map(StoredProposal::record);
    let (effect, undo) = plain.map_or_else(|| (no_words(), no_words()), |plain| (plain.effect, plain.undo));
    CardFacts {
        number: row.number,
        tool: Shown::whole(&row.tool).into_string(),
        heading: both.and_then(heading).unwrap_or_else(|| heading_without_read(setting, row, MasterId::to_string)),
        confirm: (disruptive && !targets.is_empty())
            .then(|| targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(", ")),
        targets,
        arguments,
        named: both.map(|(call, observed)| named_facts(setting, call, observed)).unwrap_or_default(),
        effect,
        undo,
        disruptive,
        deny_only,
        reason: record.map(|record| reason(&record.reason)).unwrap_or_default(),
        origin: record.and_then(|record| Origin::from_text(&record.origin)).map_or_else(no_words, words::origin),
        slot: record.and_then(|record| Slot::from_text(&record.slot)).map_or_else(no_words, words::slot),
        dry_run: setting.context.dry_run,
        isolation: setting.isolation.as_str().to_owned(),
    }
}

/// A row's plain words without a fresh read; `name` gives what stands for a unit.
pub(super) fn heading_without_read(
    setting: &Setting<'_>,
    row: &ProposalRow,
    name: impl Fn(&MasterId) -> String,
) -> Worded {
    let call = Canonical::parse(row.arguments.as_bytes())
        .ok()
        .and_then(|arguments| setting.tools.check_call(&row.tool, &arguments).ok());
    let tool = Shown::whole(&row.tool).into_string();
    call.map_or_else(|| Worded::same(tool), |call| heading_of_call(&call, name))
}

/// A call's plain words without a fresh read.
pub(super) fn heading_of_call(call: &CheckedCall, name: impl Fn(&MasterId) -> String) -> Worded {
    let Some(target) = call.targets().first() else { return Worded::same(call.tool().as_str()) };
    let named = Named { channel: target.channel.as_ref().map(ChannelWord::Number), ..Named::default() };
    words::heading(call.tool(), call.action(), &name(&target.master), named)
}

fn heading((call, observed): (&CheckedCall, &Observed)) -> Option<Worded> {
    let target = call.targets().first()?;
    let device = observed.team.device(&target.master)?;
    let channel = target.channel.as_ref().and_then(|id| device.channel(id));
    let event = observed.events.get(&target.master).and_then(Option::as_ref);
    let event = event.filter(|event| call.event_id() == Some(event.id.as_str()));
    let named = Named {
        channel: channel.map(|channel| ChannelWord::Named(&channel.name)),
        destination: destination(call, observed).map(|stream| stream.name.as_str()),
        event: event.map(|event| event.title.as_str()),
    };
    Some(words::heading(call.tool(), call.action(), &device.name, named))
}

/// The destination that the call names, as the checks find it on the team's list: without it they refuse, and the card is
/// Deny only.
fn destination<'a>(call: &CheckedCall, observed: &'a Observed) -> Option<&'a StreamDestination> {
    policy::fingerprint::destination_of(call, observed).ok()
}

/// What stands against the change whatever a person says: the checks of intake again, the bound state, the bound names.
fn standing_refusal(
    setting: &Setting<'_>,
    stored: &StoredProposal,
    call: &CheckedCall,
    observed: &Observed,
) -> Option<RefusalCode> {
    let record = stored.record();
    if record.slot != setting.slot.as_str() {
        return Some(RefusalCode::BindingMismatch);
    }
    let bound = Canonical::parse(record.fingerprint.as_bytes())
        .and_then(|fingerprint| Ok((fingerprint, Canonical::parse(record.referents.as_bytes())?)));
    let Ok((fingerprint, referents)) = bound else { return Some(RefusalCode::BindingMismatch) };
    let Err(refusal) = policy::gates::recheck(call, observed, &fingerprint, &referents, &setting.context) else {
        return None;
    };
    // The room may be free again by the time of the run, and a dry run is said on the card: notes, not walls.
    let passing = matches!(
        refusal.code,
        RefusalCode::DryRun
            | RefusalCode::EventLive
            | RefusalCode::EventSoon
            | RefusalCode::RoomRecording
            | RefusalCode::RoomStreaming
    );
    (!passing).then_some(refusal.code)
}

fn argument_facts(
    row: &ProposalRow,
    call: &Result<CheckedCall, Refusal>,
    deny_only: &mut Vec<Worded>,
) -> Vec<ArgumentFact> {
    let parsed = Canonical::parse(row.arguments.as_bytes());
    let Some(map) = parsed.as_ref().ok().and_then(|arguments| arguments.value().as_object()) else {
        deny_only.push(words::deny_only(&DenyOnly::Record));
        let json = Shown::whole(&row.arguments).into_string();
        return vec![ArgumentFact { name: String::new(), json, defaulted: false }];
    };
    let defaulted = call.as_ref().map(|call| call.defaulted().to_vec()).unwrap_or_default();
    map.iter()
        .map(|(name, value)| {
            if !showable(value) {
                deny_only.push(words::deny_only(&DenyOnly::Argument(name.clone())));
            }
            let json = Canonical::from_value(value).map(|text| text.as_str().to_owned()).unwrap_or_default();
            ArgumentFact {
                name: Shown::whole(name).into_string(),
                json: Shown::whole(&json).into_string(),
                defaulted: defaulted.contains(name),
            }
        })
        .collect()
}

/// Whether a person reads exactly what is sent: short text without hidden characters or blanks at its ends.
fn showable(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => {
            text.chars().count() <= limits::SHOWABLE_TEXT && text.trim() == text && !Shown::whole(text).was_flagged()
        }
        Value::Array(list) => list.len() <= 20 && list.iter().all(showable),
        Value::Object(map) => map.len() <= 20 && map.values().all(showable),
    }
}

fn target_facts(setting: &Setting<'_>, call: &CheckedCall, observed: &Observed) -> Vec<TargetFact> {
    call.targets()
        .iter()
        .filter_map(|target: &Target| {
            let device = observed.team.device(&target.master)?;
            Some(target_fact(setting, device, observed))
        })
        .collect()
}

fn target_fact(setting: &Setting<'_>, device: &Device, observed: &Observed) -> TargetFact {
    let event = match observed.events.get(&device.id) {
        None => words::not_known(),
        Some(None) => words::no_event(),
        Some(Some(event)) => {
            let end = event.end.map(|end| when(setting.zone, end));
            words::event_line(&event.title, &when(setting.zone, event.start), end.as_ref())
        }
    };
    TargetFact {
        id: device.id.as_str().to_owned(),
        name: words::name(&device.name),
        known_as: known_as(setting.rooms, device, observed),
        note: Shown::whole(setting.rooms.note(&device.id)).into_string(),
        model: Shown::capped(&device.model, limits::MODEL).into_string(),
        firmware: Shown::capped(&device.firmware, limits::MODEL).into_string(),
        online: words::online(device.online),
        recording: words::recording_of(observed.recorders.get(&device.id)),
        streaming: words::streaming_of(device),
        event,
    }
}

/// What people here call the room. An alias that another unit has for its name would point at the wrong room: left out.
fn known_as(rooms: &Rooms, device: &Device, observed: &Observed) -> Vec<String> {
    let is_anothers = |alias: &str| {
        let alias = fold(alias);
        observed.team.devices.iter().any(|other| other.id != device.id && fold(other.name.trim()) == alias)
    };
    let aliases = rooms.aliases(&device.id).iter().filter(|alias| !is_anothers(alias));
    aliases.map(|alias| Shown::whole(alias).into_string()).collect()
}

/// Names for the ids on the card: display text, bound through the referents.
fn named_facts(setting: &Setting<'_>, call: &CheckedCall, observed: &Observed) -> Vec<NamedFact> {
    let mut named = Vec::new();
    for target in call.targets() {
        let device = observed.team.device(&target.master);
        if let Some(channel) = target.channel.as_ref().and_then(|id| device.and_then(|device| device.channel(id))) {
            let value = format!("{} (\"{}\")", channel.id, words::name(&channel.name));
            named.push(NamedFact { label: Worded::new("Channel", "Canal"), value: Worded::same(value) });
        }
        if let (Tool::ConfirmEvent, Some(Some(event))) = (call.tool(), observed.events.get(&target.master)) {
            let end = event.end.map(|end| when(setting.zone, end));
            let value = words::event_line(&event.title, &when(setting.zone, event.start), end.as_ref());
            named.push(NamedFact { label: Worded::new("Event", "Evento"), value });
        }
    }
    if let Some(stream) = destination(call, observed) {
        let value = format!("\"{}\", {}", words::name(&stream.name), words::name(&stream.host));
        named.push(NamedFact { label: Worded::new("Destination", "Destino"), value: Worded::same(value) });
    }
    named
}

/// Whether a name that the card shows had to lose its end: two things could then look the same.
fn any_name_is_cut(call: &CheckedCall, observed: &Observed) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for target in call.targets() {
        let Some(device) = observed.team.device(&target.master) else { continue };
        names.push(&device.name);
        names.extend(target.channel.as_ref().and_then(|id| device.channel(id)).map(|channel| channel.name.as_str()));
        if let Some(Some(event)) = observed.events.get(&device.id) {
            names.push(&event.title);
        }
    }
    if let Some(stream) = destination(call, observed) {
        names.extend([stream.name.as_str(), stream.host.as_str()]);
    }
    names.iter().any(|name| Shown::capped(name, limits::NAME).was_cut())
}

/// The drafter's words: redacted, capped, hidden characters visible.
fn reason(raw: &str) -> String {
    Shown::capped(&policy::redact::redact_text(raw), 500).into_string()
}

fn no_words() -> Worded {
    Worded::same("")
}
