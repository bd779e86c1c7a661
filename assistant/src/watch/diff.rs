//! From one look to the next: what is new, what is still so, what is over (`facts 8.2`). Each is said once; in the quiet
//! hours only what is to be fixed first and the verdicts before an event are said, the rest waits.

use crate::units;
use crate::watch::findings::{Finding, Priority, findings, is_momentary, is_unknown};
use crate::watch::posts::{Post, Timed};
use crate::watch::readiness::{Check, Verdict, checks};
use crate::watch::rules::Rules;
use crate::watch::seen::Seen;
use crate::watch::state::{Open, Posted, State, Told};
use crate::watch::{digest, sweep};
use protocol::shown::Worded;
use std::collections::BTreeSet;

/// How long the verdict about an occurrence is remembered after its start, in seconds.
const REMEMBERED: i64 = 86_400;

/// What there is to say after one look.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// This is the first look ever, or the first one with another account.
    pub(crate) first: bool,
    /// It is the first one with another account.
    pub(crate) other_account: bool,
    /// No finding is more than a piece of information.
    pub(crate) clear: bool,
    /// The parts of the look that could not be read.
    pub(crate) missing: Vec<Worded>,
    /// Findings said for the first time.
    pub(crate) fresh: Vec<Open>,
    /// Findings said again.
    pub(crate) again: Vec<Open>,
    /// Findings that are over.
    pub(crate) over: Vec<Open>,
    /// Verdicts, each with the one before when it changed.
    pub(crate) checks: Vec<(Check, Option<Verdict>)>,
}

impl News {
    fn is_empty(&self) -> bool {
        !self.first
            && [&self.fresh, &self.again, &self.over].iter().all(|list| list.is_empty())
            && self.checks.is_empty()
    }
}

/// Takes one good look in and gives what is to be posted now.
pub(crate) fn step(state: &mut State, seen: &Seen, rules: &Rules) -> Vec<Timed> {
    let now = seen.at;
    let other_account = account(state, seen);
    let mut found = merged(findings(seen, rules), state);
    // The list's older word about a recorder that could not be read begins nothing.
    found.retain(|one| !is_unknown(&one.key, seen));
    let quiet = rules.is_quiet(now);
    state.had_units |= !seen.team.devices.is_empty();
    take_in(state, &found, seen, rules);
    let first = !state.begun || other_account;
    let mut news = News { first, other_account, clear: is_clear(&found), missing: seen.missing(), ..News::default() };
    say(state, &mut news, rules, (quiet, seen));
    judge(state, &mut news, seen, rules);
    count(state, &news, seen, rules);
    let mut posts = Vec::new();
    if !news.is_empty() {
        state.posted = Some(Posted { at: now, title: digest::title(&news, seen, rules) });
        posts.push(timed(news, seen, rules));
    }
    posts.extend(sweep::step(state, seen, &found, rules).map(Timed::always));
    state.begun = true;
    posts
}

// Whether this look is another account's or team's, by the teams' ids or, without them, since no unit is the same. What was
// found with the earlier one is then not over but out of sight: it goes without a word. A unit that is missing says nothing
// of the account: it may have been taken out of the team.
fn account(state: &mut State, seen: &Seen) -> bool {
    let now: BTreeSet<String> = seen.team.devices.iter().map(|unit| unit.id.to_string()).collect();
    let before = std::mem::replace(&mut state.units, now);
    let team = state.team.take();
    let other = !before.is_empty() && units::is_of_another(team.as_deref(), |unit| before.contains(unit), &seen.team);
    state.team = seen.team.team_id.clone().or_else(|| team.filter(|_| !other));
    if other {
        tracing::warn!("the sign-in is another account's now; what was found with the earlier one is dropped");
        let here = |unit: &str| state.units.contains(unit);
        state.open.retain(|_, open| here(&open.unit));
        if let Some(sweep) = &mut state.sweep {
            sweep.offline.retain(|unit, _| here(unit));
            sweep.behind.retain(|unit| here(unit));
        }
    }
    other
}

// A verdict is for the time before its event; what else the post says stays true after it.
fn timed(mut news: News, seen: &Seen, rules: &Rules) -> Timed {
    let of = |news: &News| Post {
        title: digest::title(news, seen, rules).get(rules.language).to_owned(),
        lines: digest::lines(news, rules, seen.at),
    };
    let (post, until) = (of(&news), news.checks.iter().map(|(check, _)| check.start).min());
    news.checks.clear();
    let rest = (until.is_some() && !news.is_empty()).then(|| of(&news));
    Timed { post, until, rest }
}

/// Whether none of these is a problem.
pub(crate) fn is_clear(found: &[Finding]) -> bool {
    found.iter().all(|one| one.priority == Priority::Fyi)
}

// A start that a unit gives as its uptime moves by a second from look to look, and so may its minute.
fn merged(mut found: Vec<Finding>, state: &State) -> Vec<Finding> {
    for one in &mut found {
        let Some((unit, minute)) = one.key.split_once(":reboot:") else { continue };
        let Ok(minute) = minute.parse::<i64>() else { continue };
        let near = [minute - 1, minute + 1].map(|minute| format!("{unit}:reboot:{minute}"));
        if let Some(known) = near.into_iter().find(|key| state.open.contains_key(key)) {
            one.key = known;
        }
    }
    found
}

fn take_in(state: &mut State, found: &[Finding], seen: &Seen, rules: &Rules) {
    let now = seen.at;
    let (mut began, mut ended) = (0, 0);
    for one in found {
        let new = Open::of(one, now);
        match state.open.get_mut(&one.key) {
            Some(known) => {
                *known = Open { first_seen: known.first_seen, last_sent: known.last_sent, ..new };
            }
            None => {
                began += 1;
                state.open.insert(one.key.clone(), new);
            }
        }
    }
    state.open.retain(|key, open| {
        if open.gone.is_some() || found.iter().any(|one| one.key == *key) || is_unknown(key, seen) {
            return true;
        }
        ended += 1;
        open.gone = Some(now);
        // What was never said, or whose end is no news, just goes.
        open.last_sent.is_some() && !is_momentary(key)
    });
    let day = state.day(&rules.date(now));
    (day.began, day.ended) = (day.began + began, day.ended + ended);
}

fn say(state: &mut State, news: &mut News, rules: &Rules, (quiet, seen): (bool, &Seen)) {
    let now = seen.at;
    let remind = i64::from(rules.behaviour.remind_after_minutes()) * 60;
    state.open.retain(|key, open| {
        if quiet && open.priority != Priority::FixFirst {
            return true;
        }
        if open.gone.is_some() {
            news.over.push(open.clone());
            return false;
        }
        match open.last_sent {
            None => news.fresh.push(open.clone()),
            Some(sent) if now.saturating_sub(sent) >= remind && !is_momentary(key) && !is_unknown(key, seen) => {
                news.again.push(open.clone());
            }
            Some(_) => return true,
        }
        open.last_sent = Some(now);
        true
    });
}

fn judge(state: &mut State, news: &mut News, seen: &Seen, rules: &Rules) {
    state.told.retain(|_, told| told.start.saturating_add(REMEMBERED) > seen.at);
    // A verdict without the recorders' own words is none: the earlier one stays.
    for check in checks(seen, rules, rules.lead_seconds()).into_iter().filter(|check| !check.unread) {
        let now = Told { verdict: check.verdict, start: check.start };
        let before = state.told.insert(check.key.clone(), now).map(|told| told.verdict);
        if before != Some(check.verdict) {
            news.checks.push((check, before));
        }
    }
}

fn count(state: &mut State, news: &News, seen: &Seen, rules: &Rules) {
    let watched = || seen.team.devices.iter().filter(|device| rules.watches(device));
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let (rooms, offline) = (number(watched().count()), number(watched().filter(|device| !device.online).count()));
    let not_ready = number(news.checks.iter().filter(|(check, _)| check.verdict == Verdict::NotReady).count());
    let day = state.day(&rules.date(seen.at));
    day.looks = day.looks.saturating_add(1);
    (day.rooms, day.offline) = (day.rooms.max(rooms), day.offline.max(offline));
    day.not_ready = day.not_ready.saturating_add(not_ready);
    day.ready = day.ready.saturating_add(number(news.checks.len()) - not_ready);
}

/// Counts a look that did not work; nothing else follows from it.
pub(crate) fn failed(state: &mut State, rules: &Rules, now: i64) {
    let day = state.day(&rules.date(now));
    day.failed = day.failed.saturating_add(1);
}

/// Number and noun in both languages.
pub(crate) fn counted(count: usize, (one, many): (&str, &str), (uno, varios): (&str, &str)) -> Worded {
    let (en, es) = if count == 1 { (one, uno) } else { (many, varios) };
    Worded::new(format!("{count} {en}"), format!("{count} {es}"))
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
