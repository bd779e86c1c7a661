//! Which rooms a question means (`facts 5.3`): a whole name or alias first, else the words that are left after fillers.
//! Words shared by over half of the units say nothing, and a number in the question must stand in the name.

use crate::language::{fold, words};
use crate::watch::rules::Rules;
use policy::observed::{Device, Team};
use std::collections::{BTreeMap, BTreeSet};

/// Most rooms that one answer names.
pub(super) const MOST_NAMED: usize = 6;

/// Words that name no room.
const FILLERS: [&str; 109] = [
    "a",
    "ahora",
    "al",
    "algo",
    "all",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "aren",
    "at",
    "bien",
    "can",
    "check",
    "clase",
    "class",
    "como",
    "comprueba",
    "cual",
    "cuales",
    "de",
    "del",
    "do",
    "does",
    "doing",
    "el",
    "en",
    "esta",
    "estado",
    "estan",
    "event",
    "evento",
    "everything",
    "favor",
    "fine",
    "for",
    "go",
    "going",
    "good",
    "hay",
    "how",
    "hoy",
    "i",
    "in",
    "is",
    "it",
    "la",
    "las",
    "lista",
    "listas",
    "listo",
    "listos",
    "look",
    "los",
    "manana",
    "me",
    "mi",
    "my",
    "next",
    "no",
    "not",
    "now",
    "of",
    "ok",
    "okay",
    "on",
    "our",
    "para",
    "please",
    "por",
    "preparada",
    "preparadas",
    "preparado",
    "preparados",
    "que",
    "quien",
    "ready",
    "revisa",
    "room",
    "rooms",
    "s",
    "sala",
    "salas",
    "se",
    "set",
    "show",
    "something",
    "state",
    "status",
    "still",
    "t",
    "tell",
    "the",
    "there",
    "to",
    "todas",
    "today",
    "todo",
    "todos",
    "tomorrow",
    "un",
    "una",
    "up",
    "we",
    "what",
    "which",
    "with",
    "y",
];
/// Words that ask for a list and not for one room.
const LISTING: [&str; 12] =
    ["all", "any", "aulas", "cuales", "everything", "que", "rooms", "salas", "todas", "todo", "todos", "which"];

/// What the words of a question come to.
#[derive(Debug)]
pub(super) enum Meant<'a> {
    /// No room in particular.
    Any,
    /// These, the best first, and how many more fit as well.
    Rooms(Vec<&'a Device>, usize),
    /// A room that is not there.
    Unknown,
}

/// Rooms whose whole name or alias stands in the question; a longer name wins over one inside it.
pub(super) fn named<'a>(folded: &str, team: &'a Team, rules: &Rules) -> Vec<&'a Device> {
    let mut found: Vec<(usize, usize, &Device)> = Vec::new();
    for (device, names) in names(team, rules) {
        for name in names {
            if let Some(start) = whole(folded, &name) {
                found.push((start, start + name.len(), device));
            }
        }
    }
    let inside = |one: &(usize, usize, &Device)| {
        found.iter().any(|other| other.0 <= one.0 && one.1 <= other.1 && other.1 - other.0 > one.1 - one.0)
    };
    let mut rooms: Vec<&Device> = Vec::new();
    for one in found.iter().filter(|one| !inside(one)) {
        if !rooms.iter().any(|known| known.id == one.2.id) {
            rooms.push(one.2);
        }
    }
    rooms.truncate(MOST_NAMED);
    rooms
}

/// Rooms that share most of the question's own words.
pub(super) fn meant<'a>(folded: &str, team: &'a Team, rules: &Rules) -> Meant<'a> {
    let asked: BTreeSet<&str> = words(folded).filter(|word| !FILLERS.contains(word)).collect();
    if asked.is_empty() {
        return Meant::Any;
    }
    let common = common(team);
    let (numbers, plain): (Vec<&str>, Vec<&str>) = asked.iter().partition(|word| is_number(word));
    let score = |names: &[String]| {
        let of = |name: &String| {
            let own: BTreeSet<&str> = words(name).collect();
            if !numbers.iter().all(|number| own.contains(number)) {
                return 0;
            }
            let said = plain.iter().filter(|word| own.contains(**word) && !common.contains(**word)).count();
            said + numbers.len()
        };
        names.iter().map(of).max().unwrap_or(0)
    };
    let scored: Vec<(usize, &Device)> =
        names(team, rules).into_iter().map(|(device, names)| (score(&names), device)).collect();
    let best = scored.iter().map(|(score, _)| *score).max().unwrap_or(0);
    if best == 0 {
        let lists = words(folded).any(|word| LISTING.contains(&word));
        return if lists { Meant::Any } else { Meant::Unknown };
    }
    let fit: Vec<&Device> = scored.iter().filter(|(score, _)| *score == best).map(|(_, device)| *device).collect();
    let more = fit.len().saturating_sub(MOST_NAMED);
    Meant::Rooms(fit.into_iter().take(MOST_NAMED).collect(), more)
}

fn is_number(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit())
}

// In one unit, or two, every word is shared.
fn common(team: &Team) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for device in &team.devices {
        let name = fold(&device.name);
        let own: BTreeSet<&str> = words(&name).collect();
        for word in own {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    let half = team.devices.len() / 2;
    counts.into_iter().filter(|(_, count)| half > 1 && *count > half).map(|(word, _)| word).collect()
}

// Each unit with its own name and what `policy.yaml` calls it, folded. An alias that some unit has for its own name
// would point at the wrong room: left out.
fn names<'a>(team: &'a Team, rules: &Rules) -> Vec<(&'a Device, Vec<String>)> {
    let own = |device: &Device| fold(device.name.trim());
    let official: BTreeSet<String> = team.devices.iter().map(own).collect();
    let rooms = rules.behaviour.rooms();
    let all = |device: &'a Device| {
        let aliases = rooms.aliases(&device.id).iter().map(|alias| fold(alias));
        let aliases = aliases.filter(|alias| !official.contains(alias));
        (device, std::iter::once(own(device)).chain(aliases).collect())
    };
    team.devices.iter().map(all).collect()
}

fn whole(text: &str, name: &str) -> Option<usize> {
    if name.chars().filter(|c| c.is_alphanumeric()).count() < 2 {
        return None;
    }
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let fits = |start: &usize| {
        let before = text.get(..*start).and_then(|text| text.chars().next_back());
        let after = text.get(start + name.len()..).and_then(|text| text.chars().next());
        edge(before) && edge(after)
    };
    text.match_indices(name).map(|(start, _)| start).find(fits)
}
