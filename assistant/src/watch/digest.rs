//! The words of a post and of the digest. Code chooses every word; only names and titles come from the fleet.

use crate::watch::diff::{News, counted, is_clear};
use crate::watch::findings::{Finding, Priority, findings};
use crate::watch::readiness::checks;
use crate::watch::rules::Rules;
use crate::watch::seen::Seen;
use crate::watch::state::{Day, Open, State};
use policy::limits::EVENT_HORIZON;
use protocol::shown::{Language, Worded};

/// Most lines of one post.
const MOST_LINES: usize = 60;
/// Most rooms in the line about storage.
const MOST_STORAGE: usize = 20;

/// The first line of a post. No name stands in it.
pub(crate) fn title(news: &News, seen: &Seen, rules: &Rules) -> Worded {
    if news.first {
        let checked = checked(seen, rules);
        return Worded::new(format!("Fleet check: {}", checked.en), format!("Revisión de la flota: {}", checked.es));
    }
    let checks = counted(news.checks.len(), ("room check", "room checks"), ("revisión de sala", "revisiones de sala"));
    let parts = [
        (news.checks.len(), checks),
        (
            news.fresh.len(),
            Worded::new(
                format!("{} new", news.fresh.len()),
                counted(news.fresh.len(), ("", ""), ("nuevo", "nuevos")).es,
            ),
        ),
        (
            news.again.len(),
            Worded::new(
                format!("{} still open", news.again.len()),
                counted(news.again.len(), ("", ""), ("sigue abierto", "siguen abiertos")).es,
            ),
        ),
        (
            news.over.len(),
            Worded::new(
                format!("{} resolved", news.over.len()),
                counted(news.over.len(), ("", ""), ("resuelto", "resueltos")).es,
            ),
        ),
    ];
    let said = parts.iter().filter(|(count, _)| *count > 0).map(|(_, words)| words);
    let (en, es): (Vec<_>, Vec<_>) = said.map(|words| (words.en.as_str(), words.es.as_str())).unzip();
    Worded::new(format!("Fleetwatch: {}", en.join(", ")), format!("Fleetwatch: {}", es.join(", ")))
}

/// How many rooms there are and how many are online.
pub(crate) fn checked(seen: &Seen, rules: &Rules) -> Worded {
    let watched = || seen.team.devices.iter().filter(|device| rules.watches(device));
    let online = watched().filter(|device| device.online).count();
    let rooms = counted(watched().count(), ("room", "rooms"), ("sala", "salas"));
    Worded::new(format!("{}, {online} online", rooms.en), format!("{}, {online} en línea", rooms.es))
}

/// The lines of a post, in the order in which people read them.
pub(crate) fn lines(news: &News, rules: &Rules, now: i64) -> Vec<String> {
    let language = rules.language;
    let mut lines: Vec<String> =
        news.checks.iter().map(|(check, was)| check.line(*was, now, (rules, language))).collect();
    grouped(&mut lines, &news.fresh, (rules, language));
    let other =
        [(Worded::new("Still open", "Sigue abierto"), &news.again), (Worded::new("Resolved", "Resuelto"), &news.over)];
    for (title, list) in other {
        if !list.is_empty() {
            lines.push(format!("{}:", title.get(language)));
            lines.extend(by_room(list, language).into_iter().map(|(line, _)| line));
        }
    }
    if news.first && news.missing.is_empty() && news.clear {
        lines.insert(0, Worded::new("All clear.", "Todo en orden.").get(language).to_owned());
    }
    if news.other_account {
        let words = Worded::new(
            "Another account is signed in. What was found with the earlier one is no longer followed.",
            "Ha iniciado sesión otra cuenta. Lo que se encontró con la anterior ya no se sigue.",
        );
        lines.insert(0, words.get(language).to_owned());
    }
    if news.first {
        lines.extend(unread(&news.missing, language));
    }
    capped(lines, language)
}

/// The line that names what could not be read; nothing when all was.
pub(crate) fn unread(missing: &[Worded], language: Language) -> Option<String> {
    let names: Vec<&str> = missing.iter().map(|name| name.get(language)).collect();
    let title = Worded::new("Could not be read", "No se pudo leer");
    (!names.is_empty()).then(|| format!("{}: {}.", title.get(language), names.join(", ")))
}

fn capped(mut lines: Vec<String>, language: Language) -> Vec<String> {
    let over = lines.len().saturating_sub(MOST_LINES);
    if over > 0 {
        lines.truncate(MOST_LINES);
        lines.push(match language {
            Language::English => format!("and {over} more lines; fleetwatchctl digest shows all"),
            Language::Spanish => format!("y {over} líneas más; fleetwatchctl digest las muestra todas"),
        });
    }
    lines
}

/// Findings under their priorities, each room once; storage is one line and no problem.
pub(crate) fn grouped(lines: &mut Vec<String>, list: &[Open], (rules, language): (&Rules, Language)) {
    // A note stands under its room's first item.
    let mut noted: Vec<&str> = Vec::new();
    for priority in Priority::ALL {
        let some: Vec<&Open> = list.iter().filter(|open| open.priority == priority).collect();
        if some.is_empty() {
            continue;
        }
        let title = priority.words();
        if priority == Priority::Fyi {
            let mut rooms: Vec<String> = some.iter().take(MOST_STORAGE).map(|open| open.room.clone()).collect();
            if some.len() > MOST_STORAGE {
                rooms.push(format!("+{}", some.len() - MOST_STORAGE));
            }
            let what = Worded::new("little or no storage in", "poco o ningún almacenamiento en");
            lines.push(format!("{}: {} {}", title.get(language), what.get(language), rooms.join(", ")));
            continue;
        }
        lines.push(format!("{}:", title.get(language)));
        for (line, unit) in by_room(some, language) {
            lines.push(line);
            if !noted.contains(&unit) {
                let title = Worded::new("note", "nota");
                lines.extend(rules.note(unit).map(|note| format!("  {}: {note}", title.get(language))));
                noted.push(unit);
            }
        }
    }
}

// Each room once: its line, and its unit.
fn by_room<'a>(list: impl IntoIterator<Item = &'a Open>, language: Language) -> Vec<(String, &'a str)> {
    let mut rooms: Vec<(&Open, Vec<&str>)> = Vec::new();
    for open in list {
        let what = open.what.get(language);
        match rooms.iter_mut().find(|(room, _)| room.unit == open.unit) {
            Some((_, whats)) => whats.push(what),
            None => rooms.push((open, vec![what])),
        }
    }
    let line =
        |(open, whats): &(&'a Open, Vec<&str>)| (format!("- {}: {}", open.room, whats.join("; ")), open.unit.as_str());
    rooms.iter().map(line).collect()
}

/// The findings of a look as the lists of a post take them.
pub(crate) fn as_open(found: &[Finding], now: i64) -> Vec<Open> {
    found.iter().map(|one| Open::of(one, now)).collect()
}

/// What needs attention now, grouped; a sentence when nothing does; and what could not be read.
pub(crate) fn attention(seen: &Seen, rules: &Rules, language: Language) -> String {
    let found = findings(seen, rules);
    let mut lines = Vec::new();
    if is_clear(&found) {
        let words = if seen.missing().is_empty() {
            Worded::new("Nothing needs attention.", "Nada necesita atención.")
        } else {
            Worded::new(
                "Nothing needs attention in what could be read.",
                "Nada necesita atención en lo que se pudo leer.",
            )
        };
        lines.push(words.get(language).to_owned());
    }
    grouped(&mut lines, &as_open(&found, seen.at), (rules, language));
    lines.extend(unread(&seen.missing(), language));
    lines.join("\n")
}

/// Everything that one look says: totals, what needs attention, and what comes next within a day.
pub(crate) fn digest(seen: &Seen, rules: &Rules, (language, now): (Language, i64)) -> String {
    let read = Worded::new("read at", "leído a las");
    let mut text = format!("{}, {} {}.\n", checked(seen, rules).get(language), read.get(language), rules.time(seen.at));
    text.push_str(&attention(seen, rules, language));
    let mut ahead = checks(seen, rules, EVENT_HORIZON);
    ahead.sort_by_key(|check| check.start);
    // A look may be older than the start of what it announced.
    ahead.retain(|check| check.start > now);
    if !ahead.is_empty() {
        let title = Worded::new("Within a day:", "En las próximas 24 horas:");
        text.push('\n');
        text.push_str(title.get(language));
        for check in &ahead {
            text.push_str("\n- ");
            text.push_str(&check.line(None, now, (rules, language)));
        }
    }
    text
}

/// One line a day, newest first.
pub(crate) fn history(state: &State, days: usize, language: Language) -> String {
    if state.days.is_empty() {
        return Worded::new("Nothing has been watched yet.", "Todavía no se ha vigilado nada.")
            .get(language)
            .to_owned();
    }
    let line = |day: &Day| match language {
        Language::English => format!(
            "{}: looks {} (did not work: {}), rooms {}, most offline {}, findings begun {}, ended {}, ready {}, not ready {}",
            day.date, day.looks, day.failed, day.rooms, day.offline, day.began, day.ended, day.ready, day.not_ready
        ),
        Language::Spanish => format!(
            "{}: lecturas {} (sin resultado: {}), salas {}, máximo desconectadas {}, avisos nuevos {}, terminados {}, lista {}, no lista {}",
            day.date, day.looks, day.failed, day.rooms, day.offline, day.began, day.ended, day.ready, day.not_ready
        ),
    };
    let lines: Vec<String> = state.days.iter().rev().take(days).map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{NOON, event, look, readings, rules, unit};
    use serde_json::json;

    #[tokio::test]
    async fn a_digest_says_totals_attention_and_what_comes_next_in_both_languages() {
        let mut files = readings();
        unit(&mut files, 0, &json!({"Status": "offline"}));
        unit(&mut files, 1, &json!({"Warnings": [{"id": "disk_space_error"}]}));
        event(&mut files, 0, NOON + 7_200, "Seminar");
        let (seen, rules) = (look(&files, NOON).await, rules(""));
        let text = digest(&seen, &rules, (Language::English, NOON));
        let want = "5 rooms, 4 online, read at 12:00 UTC.\nFix first:\n- Hall A: offline\nFor your information: little or no storage in Hall B\n\
                    Within a day:\n- Hall A: Not ready for the event \"Seminar\" at 14:00 UTC, in 120 min: offline";
        assert_eq!(text, want);
        let text = digest(&seen, &rules, (Language::Spanish, NOON));
        assert!(
            text.contains("5 salas, 4 en línea") && text.contains("Arreglar primero:\n- Hall A: desconectada"),
            "{text}"
        );
        assert!(!digest(&seen, &rules, (Language::English, NOON + 7_200)).contains("Seminar"));
    }

    #[tokio::test]
    async fn a_part_that_could_not_be_read_is_named_and_the_rest_is_not_called_calm() {
        let mut files = readings();
        files.remove(protocol::ask::EVENTS);
        let text = digest(&look(&files, NOON).await, &rules(""), (Language::English, NOON));
        assert!(
            text.contains("Nothing needs attention in what could be read.")
                && text.ends_with("Could not be read: events."),
            "{text}"
        );
    }

    #[tokio::test]
    async fn a_note_stands_once_under_its_own_units_first_item() {
        let mut files = readings();
        unit(&mut files, 0, &json!({"Status": "offline", "Firmware": "4.1.0"}));
        // Another unit of the same name has no note of its own.
        unit(&mut files, 1, &json!({"Status": "offline", "Name": "Hall A"}));
        let rules = rules("rooms:\n  \"20300000000\": {note: Keys at the desk}\n");
        let text = attention(&look(&files, NOON).await, &rules, Language::English);
        let want = "- Hall A: offline\n  note: Keys at the desk\n- Hall A: offline\nFix soon:\n- Hall A: firmware";
        assert!(text.contains(want), "{text}");
        assert_eq!(text.matches("note:").count(), 1);
    }

    #[test]
    fn long_posts_are_cut_and_say_so() {
        let lines = capped(vec!["x".to_owned(); 70], Language::English);
        assert_eq!((lines.len(), lines[60].as_str()), (61, "and 10 more lines; fleetwatchctl digest shows all"));
    }
}
