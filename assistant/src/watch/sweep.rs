//! The nightly check: totals, who is offline, who is behind on firmware, and what changed since the last one. It is made
//! at its hour and posted once the quiet hours are over (`facts 8.4`).

use crate::watch::diff::counted;
use crate::watch::digest::unread;
use crate::watch::findings::{Finding, is_behind};
use crate::watch::posts::Post;
use crate::watch::rules::{Rules, room_name};
use crate::watch::seen::Seen;
use crate::watch::state::{State, Sweep};
use protocol::shown::{Language, Worded};
use std::collections::BTreeMap;

/// Names in one line.
const NAMES: usize = 10;

/// Makes the check when it is due, and gives the one that may be posted now.
pub(crate) fn step(state: &mut State, seen: &Seen, found: &[Finding], rules: &Rules) -> Option<Post> {
    let now = seen.at;
    let today = rules.date(now);
    let due = rules.behaviour.sweep_at().is_some_and(|at| rules.is_past(at, now));
    if due && state.sweep.as_ref().is_none_or(|last| last.date != today) {
        let before = state.sweep.take();
        // The first day's fleet check has just said it all.
        let first = before.is_none() && !state.begun;
        let mut new = made(seen, found, rules, today);
        new.waiting = (!first).then(|| post(&new, before.as_ref(), seen, (found, rules)));
        state.sweep = Some(new);
    }
    if rules.is_quiet(now) {
        return None;
    }
    state.sweep.as_mut()?.waiting.take()
}

fn made(seen: &Seen, found: &[Finding], rules: &Rules, date: String) -> Sweep {
    let away = seen.team.devices.iter().filter(|device| rules.watches(device) && !device.online);
    let unit = |finding: &Finding| finding.key.split(':').next().unwrap_or_default().to_owned();
    Sweep {
        date,
        offline: away.map(|device| (device.id.to_string(), room_name(device))).collect(),
        behind: found.iter().filter(|one| is_behind(one)).map(unit).collect(),
        waiting: None,
    }
}

fn post(now: &Sweep, before: Option<&Sweep>, seen: &Seen, (found, rules): (&[Finding], &Rules)) -> Post {
    let rooms = seen.team.devices.iter().filter(|device| rules.watches(device)).count();
    let online = rooms.saturating_sub(now.offline.len());
    let rooms = counted(rooms, ("room", "rooms"), ("sala", "salas"));
    let title = match rules.language {
        Language::English => format!("Nightly check: {}, {online} online", rooms.en),
        Language::Spanish => format!("Revisión nocturna: {}, {online} en línea", rooms.es),
    };
    let behind = found.iter().filter(|one| is_behind(one)).map(|one| one.room.clone()).collect();
    let none = BTreeMap::new();
    let earlier = before.map_or(&none, |before| &before.offline);
    let only = |here: &BTreeMap<String, String>, there: &BTreeMap<String, String>| {
        here.iter().filter(|(unit, _)| !there.contains_key(*unit)).map(|(_, name)| name.clone()).collect::<Vec<_>>()
    };
    let lists = [
        (Worded::new("Offline", "Desconectadas"), now.offline.values().cloned().collect()),
        (Worded::new("Behind on firmware", "Con firmware atrasado"), behind),
        (
            Worded::new("Went offline since the last check", "Desconectadas desde la última revisión"),
            only(&now.offline, earlier),
        ),
        (Worded::new("Back since the last check", "De vuelta desde la última revisión"), only(earlier, &now.offline)),
    ];
    let shown = if before.is_some() { &lists[..] } else { &lists[..2] };
    let mut lines: Vec<String> =
        shown.iter().flat_map(|(title, names)| listed(title.get(rules.language), names)).collect();
    let missing = unread(&seen.missing(), rules.language);
    if lines.is_empty() && missing.is_none() {
        lines.push(Worded::new("All clear.", "Todo en orden.").get(rules.language).to_owned());
    }
    lines.extend(missing);
    Post { title, lines }
}

fn listed(title: &str, names: &[String]) -> Vec<String> {
    let lines = names.chunks(NAMES).enumerate();
    lines
        .map(|(at, names)| {
            let names = names.join(", ");
            if at == 0 { format!("{title}: {names}") } else { format!("  {names}") }
        })
        .collect()
}
