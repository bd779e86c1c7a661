//! Whether the operator's own words name the room that a draft is for (`seed 000, Prompt injection`).
//!
//! Tool and id can both be right and the room still be one that asked for it in its own name. So every unit read in the
//! turn is scored by how much of its name the operator said, and only the best may be a target; or the operator wrote
//! its id.

use crate::language::{fold, words};
use crate::later::Other;
use crate::tools::CHANGEABLE;
use policy::ids::{MasterId, split_channel_device};
use policy::observed::Team;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The readings whose entries are units. Elsewhere a name beside an id is a channel's or a scheduling system's.
const HOLD_UNITS: [&str; 4] = [CHANGEABLE, "get_device_info", "get_devices_by_cms", "get_devices_in_my_team"];
const ID_FIELDS: [&str; 4] = ["Id", "id", "ID", "device_id"];
const NAME_FIELDS: [&str; 2] = ["Name", "name"];
/// Deepest nesting that is looked at.
const MAX_DEPTH: usize = 32;
/// Most units that are kept; a team has a few thousand at most.
const MAX_UNITS: usize = 100_000;
/// Longest part of a name that is looked at, in characters.
const MAX_NAME: usize = 1_000;

/// Words that say nothing about which room is meant, folded. They do not count in a name.
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "the", "an", "of", "in", "on", "at", "to", "for", "from", "with", "and", "or", "not", "please", "now", "it", "this",
    "that", "these", "those", "all", "every", "each", "any", "is", "are", "can", "could", "would", "you", "me", "my", "we",
    "our", "start", "stop", "begin", "record", "restart", "reboot", "update", "upgrade", "firmware", "confirm", "propose",
    "el", "la", "los", "las", "lo", "un", "una", "de", "del", "en", "al", "para", "por", "con", "no", "favor", "ahora",
    "este", "esta", "esto", "ese", "esa", "todo", "toda", "cada", "que", "se", "inicia", "iniciar", "empieza", "empezar",
    "comienza", "comenzar", "graba", "grabar", "deten", "detener", "parar", "termina", "terminar", "reinicia", "reiniciar",
    "reinicie", "actualiza", "actualizar", "confirma", "confirmar", "quiero", "puede", "puedes", "end", "finish", "inicie",
    "empiece", "comience", "grabe", "transmite", "transmita", "transmitir", "detenga", "pare", "termine", "finalice",
    "finalizar", "actualice", "confirme",
];
/// Words that people say of any room, and letters that are words. They count only beside a word of the same name, so that
/// "a recording" is not Hall A and "the room" is no name.
#[rustfmt::skip]
const WEAK: &[&str] = &[
    "a", "e", "i", "o", "u", "y", "room", "sala", "aula", "salon", "unit", "unidad", "device", "equipo", "dispositivo",
    "recorder", "grabadora", "channel", "canal", "recording", "grabacion", "grabacione", "stream", "livestream", "streaming",
    "transmision", "transmisione", "event", "evento", "lecture", "class", "clase", "session", "sesion", "sesione",
];
/// Of these, what is recorded or shown and no part of where that is, folded.
#[rustfmt::skip]
const HAPPENS: &[&str] = &[
    "recording", "grabacion", "grabacione", "stream", "livestream", "streaming", "transmision", "transmisione", "event",
    "evento", "lecture", "class", "clase", "session", "sesion", "sesione",
];

/// The units of one turn's readings, by id, with the words of each name that they were read under.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    /// Whether the whole team was read: before that, the best name of a few is no answer to which room is meant.
    whole: bool,
    units: BTreeMap<String, Vec<Vec<String>>>,
    // As they were read; untrusted.
    names: BTreeMap<String, String>,
    // The units that can be changed, once all of them were read.
    changeable: Option<BTreeSet<String>>,
}

impl Rooms {
    /// Adds the units of one reading, when it is one that holds units.
    pub(crate) fn collect(&mut self, reading: &str, answer: &Value) {
        self.whole |= reading == crate::tools::DEVICES;
        if reading == CHANGEABLE {
            let all = answer["units"].is_u64() && answer["units"] == answer["shown"];
            let units = answer["devices"].as_array().into_iter().flatten();
            let ids = units.filter_map(|unit| unit["device_id"].as_str().map(str::to_owned));
            self.changeable = all.then(|| ids.collect());
            // A part of the list is no answer to which room is meant.
            self.whole |= all;
        }
        if HOLD_UNITS.contains(&reading) {
            self.walk(answer, 0);
        }
    }

    /// Adds the names of a team that was read before this turn: "Hall A" of the one team is not "Hall 3" of the other, also
    /// when only the other was read in this turn.
    pub(crate) fn rivals(&mut self, team: &Team) {
        for unit in team.devices.iter().take(MAX_UNITS) {
            self.add(&unit.id, &unit.name);
        }
    }

    /// Whether the operator's words name every unit that these arguments are for. Several rooms may be named, and rooms
    /// whose names fit equally well are all named. What people here call a room counts as its name.
    pub(crate) fn named(&self, operator: &str, arguments: &Value, venue: &policy::rooms::Rooms) -> bool {
        let fits = self.fitting(operator, venue);
        targets(arguments).all(|target| fits(&target))
    }

    /// Every unit that the operator's words name; of those that can be changed, once they are known.
    pub(crate) fn all_named(&self, operator: &str, venue: &policy::rooms::Rooms) -> Vec<Other<'_>> {
        let fits = self.fitting(operator, venue);
        let can = |id: &String| self.changeable.as_ref().is_none_or(|units| units.contains(id));
        let named = self.units.keys().filter(|id| can(id) && fits(id));
        named.map(|id| Other { id, name: self.names.get(id).map_or("", String::as_str) }).collect()
    }

    /// The one unit that can be changed and has the name of a target that cannot: a room with a unit in both teams. Nothing
    /// while it is not known what can be changed.
    pub(crate) fn namesake(&self, arguments: &Value) -> Option<&str> {
        let units = self.changeable.as_ref()?;
        let other = targets(arguments).find(|target| !units.contains(target))?;
        let names = self.units.get(&other)?;
        let shares = |id: &&String| {
            let theirs = self.units.get(*id).map(Vec::as_slice).unwrap_or_default();
            theirs.iter().any(|name| !name.is_empty() && names.contains(name))
        };
        let mut same = units.iter().filter(shares);
        let found = same.next()?;
        same.next().is_none().then_some(found)
    }

    fn fitting(&self, operator: &str, venue: &policy::rooms::Rooms) -> impl Fn(&str) -> bool {
        let own = own_words(operator);
        let said = self.said(&own);
        let share = move |id: &str, said: &[String]| self.share(id, said).max(self.share_of_aliases(id, said, venue));
        let best = self.units.keys().map(|id| share(id, &said)).max().unwrap_or_default();
        move |unit| {
            let is_best = || best >= LEAST && share(unit, &said) == best && !self.is_inside_another(unit, &said);
            holds_id(&own, unit) || (self.whole && is_best())
        }
    }

    fn add(&mut self, id: &MasterId, name: &str) {
        let name: String = name.chars().take(MAX_NAME).collect();
        self.names.entry(id.as_str().to_owned()).or_insert_with(|| name.clone());
        let name = split(&name);
        let names = self.units.entry(id.as_str().to_owned()).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }

    fn walk(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH || self.units.len() > MAX_UNITS {
            return;
        }
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.walk(item, depth + 1)),
            Value::Object(members) => {
                let text = |fields: &[&str]| fields.iter().find_map(|field| members.get(*field)?.as_str());
                if let Some(id) = text(&ID_FIELDS).and_then(MasterId::new) {
                    self.add(&id, text(&NAME_FIELDS).unwrap_or_default());
                }
                members.values().for_each(|inner| self.walk(inner, depth + 1));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    // What the operator said that can be part of a name: no ids of units, since a name may hold another unit's id, and no
    // channel's number.
    fn said(&self, own: &str) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        let mut before_number = false;
        let is_id = |word: &str| self.units.contains_key(&word.to_ascii_lowercase());
        for word in words(own) {
            let is_number = word.chars().all(char::is_numeric);
            if !(is_id(word) || is_number && before_number) {
                said.extend(split(word).into_iter().filter(|piece| !is_id(piece)));
            }
            before_number = is_id(word) || ["channel", "canal"].contains(&fold(word).as_str());
        }
        said
    }

    fn share(&self, unit: &str, said: &[String]) -> Share {
        let names = self.units.get(unit).map(Vec::as_slice).unwrap_or_default();
        names.iter().map(|name| Share::of(name, said)).max().unwrap_or_default()
    }

    // "Hall" is a part of "Hall A" and not a room of its own where only "Hall A" was said.
    fn is_inside_another(&self, unit: &str, said: &[String]) -> bool {
        let names = self.units.get(unit).map(Vec::as_slice).unwrap_or_default();
        let mut whole = names.iter().map(|name| core(name)).filter(|name| !found(said, name).is_empty()).peekable();
        let others = || self.units.iter().filter(|(other, _)| *other != unit).flat_map(|(_, names)| names);
        let inside = |name: &[String]| {
            let longer: Vec<_> =
                others().filter(|other| core(other).len() > name.len()).flat_map(|other| found(said, other)).collect();
            found(said, name).iter().all(|at| longer.iter().any(|it| it.start <= at.start && at.end <= it.end))
        };
        whole.peek().is_some() && whole.all(inside)
    }

    // An alias counts like a name, unless another unit has that name: then it means the other one.
    fn share_of_aliases(&self, unit: &str, said: &[String], venue: &policy::rooms::Rooms) -> Share {
        let aliases = MasterId::new(unit).map(|id| venue.aliases(&id).to_vec()).unwrap_or_default();
        let is_anothers =
            |alias: &Vec<String>| self.units.iter().any(|(other, names)| other != unit && names.contains(alias));
        let aliases = aliases.iter().map(|alias| split(alias)).filter(|alias| !is_anothers(alias));
        aliases.map(|alias| Share::of(&alias, said)).max().unwrap_or_default()
    }
}

/// Below a third, a long name that happens to share a word with the sentence is not what the operator named.
const LEAST: Share = Share { said: 1, of: 3 };

/// How much of a name was said. Compared as a fraction; the default is nothing.
#[derive(Debug, Clone, Copy)]
struct Share {
    said: usize,
    of: usize,
}

impl Share {
    fn of(name: &[String], said: &[String]) -> Self {
        let telling: Vec<usize> =
            name.iter().enumerate().filter(|(_, word)| !has(FILLERS, word)).map(|(place, _)| place).collect();
        // A part of the name, as it stands there.
        let holds = |first: usize, last: usize| {
            let part = name.get(first..=last).unwrap_or_default();
            !part.is_empty() && said.windows(part.len()).any(|words| words == part)
        };
        let beside = |place: usize| {
            telling.windows(2).any(|pair| matches!(pair, [a, b] if (*a == place || *b == place) && holds(*a, *b)))
        };
        let counts = |place: &&usize| {
            let weak = name.get(**place).is_some_and(|word| has(WEAK, word));
            if weak { beside(**place) } else { holds(**place, **place) }
        };
        Self { said: telling.iter().filter(counts).count(), of: telling.len().max(1) }
    }
}

/// Where a name stands as a whole in what was said.
fn found(said: &[String], name: &[String]) -> Vec<Range<usize>> {
    let windows = said.windows(name.len().max(1)).enumerate();
    windows.filter(|(_, words)| *words == name).map(|(at, words)| at..at + words.len()).collect()
}

/// A name without the words at its edges that name no place, so that a room called "recording in Hall A" is not taken for
/// a longer name than Hall A.
fn core(name: &[String]) -> &[String] {
    let tells = |word: &String| !has(FILLERS, word) && !has(HAPPENS, word);
    let Some(first) = name.iter().position(tells) else { return &[] };
    let last = name.iter().rposition(tells).unwrap_or(first);
    name.get(first..=last).unwrap_or_default()
}

fn has(table: &[&str], word: &str) -> bool {
    table.contains(&word)
}

impl Default for Share {
    fn default() -> Self {
        Self { said: 0, of: 1 }
    }
}

impl Ord for Share {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.said.saturating_mul(other.of).cmp(&other.said.saturating_mul(self.of))
    }
}

impl PartialOrd for Share {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Share {}

// Quoted lines are somebody else's words.
fn own_words(operator: &str) -> String {
    let own: Vec<_> = operator.lines().filter(|line| !line.trim_start().starts_with('>')).collect();
    own.join("\n")
}

fn holds_id(own: &str, unit: &str) -> bool {
    MasterId::new(unit).is_some() && words(own).any(|word| word.eq_ignore_ascii_case(unit))
}

// Folded words; letters and digits are words of their own, so that "Aula3" is "Aula 3".
fn split(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut found = Vec::new();
    for word in words(&folded) {
        let mut piece = String::new();
        for c in word.chars() {
            if piece.chars().next_back().is_some_and(|last| last.is_numeric() != c.is_numeric()) {
                found.push(plain(&std::mem::take(&mut piece)));
            }
            piece.push(c);
        }
        found.push(plain(&piece));
    }
    found
}

// Without leading zeros or the s of a plural: "rooms 3 and 5" names Room 0003.
fn plain(word: &str) -> String {
    if has(FILLERS, word) {
        return word.to_owned();
    }
    let number = word.trim_start_matches('0');
    let word = if number.starts_with(|c: char| c.is_ascii_digit()) { number } else { word };
    let singular = word.strip_suffix('s').filter(|rest| rest.chars().count() >= 3 && !rest.ends_with('s'));
    singular.unwrap_or(word).to_owned()
}

// The units that a change is for.
fn targets(arguments: &Value) -> impl Iterator<Item = String> {
    let unit =
        |target: &str| split_channel_device(target).map_or_else(|| target.to_owned(), |(unit, _)| unit.to_string());
    texts(arguments.get("device_ids")).chain(texts(arguments.get("device_id"))).map(unit)
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let (one, many) = match value {
        Some(Value::String(text)) => (Some(text.as_str()), None),
        Some(Value::Array(items)) => (None, Some(items)),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => (None, None),
    };
    one.into_iter().chain(many.into_iter().flatten().filter_map(Value::as_str))
}

#[cfg(test)]
#[path = "named_tests.rs"]
mod tests;
