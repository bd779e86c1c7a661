//! One change at a time, and now (issue line 3.12): what code says to somebody who asks for several rooms at once or for a
//! later time, with the words for the next step.

use crate::language::fold;
use policy::call::Tool;
use policy::redact::redact_text;
use protocol::shown::{Language, Shown};
use serde_json::Value;

/// Most rooms that are listed.
const LISTED: usize = 5;
/// Longest name in a list, in characters.
const MAX_NAME: usize = 60;

const NOW: &[&str] = &["ahora", "ahorita", "immediately", "inmediatamente", "now", "ya"];
const LATER: &[&str] = &["afterwards", "later", "manana", "tomorrow", "tonight"];
const DAYS: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "lunes",
    "martes",
    "miercoles",
    "jueves",
    "viernes",
    "sabado",
    "domingo",
];
const HOURS: &[&str] = &[
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "noon",
    "midnight",
    "dawn",
    "una",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "once",
    "doce",
    "mediodia",
    "medianoche",
];
const UNITS: &[&str] =
    &["second", "minute", "min", "mins", "hour", "day", "week", "segundo", "minuto", "hora", "dia", "semana"];
const COUNTS: &[&str] = &["a", "an", "half", "few", "couple", "un", "una", "unos", "unas", "media", "medio", "quarter"];
#[rustfmt::skip]
const ALL: &[&str] = &[
    "all", "every", "each", "both", "everything", "everywhere", "rooms", "halls", "units", "devices", "recorders",
    "todas", "todos", "todo", "cada", "ambas", "ambos", "salas", "aulas", "equipos", "grabadores",
];

/// Whether the operator's own words name a later time. Words for now win over it, and `/propose` always means now.
pub(crate) fn names_a_later_time(operator: &str) -> bool {
    let words = tokens(operator);
    if words.first().is_some_and(|word| word == "/propose") || words.iter().any(|word| has(NOW, word)) {
        return false;
    }
    let at = |place: usize| words.get(place).map_or("", String::as_str);
    (0..words.len()).any(|place| {
        let (word, next, third) = (at(place), at(place + 1), at(place + 2));
        match word {
            "at" | "from" | "around" | "by" => is_time(next, third),
            "a" | "desde" | "hacia" | "sobre" if matches!(next, "las" | "la") => is_time(third, at(place + 3)),
            "a" | "al" => matches!(next, "medianoche" | "mediodia"),
            "in" | "within" | "en" | "dentro" => is_span(words.get(place + 1..).unwrap_or_default()),
            "on" | "el" | "next" | "este" | "proximo" if is_day(next) => true,
            "next" | "proxima" | "otra" => matches!(next, "week" | "hour" | "semana" | "hora"),
            "this" | "esta" => matches!(next, "evening" | "afternoon" | "noche" | "tarde"),
            "mas" => next == "tarde",
            "o'clock" => true,
            _ => has(LATER, word) && !(word == "manana" && matches!(before(&words, place), "la" | "esta")),
        }
    })
}

/// Whether the operator's own words ask for many at once without naming them.
pub(crate) fn asks_for_all(operator: &str) -> bool {
    tokens(operator).iter().any(|word| has(ALL, word))
}

// Quoted lines are somebody else's words.
fn tokens(operator: &str) -> Vec<String> {
    let own = operator.lines().filter(|line| !line.trim_start().starts_with('>'));
    let words = own
        .flat_map(str::split_whitespace)
        .map(|word| fold(word).trim_matches(|c: char| !c.is_alphanumeric() && c != '/').to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

fn before(words: &[String], place: usize) -> &str {
    place.checked_sub(1).and_then(|place| words.get(place)).map_or("", String::as_str)
}

fn has(table: &[&str], word: &str) -> bool {
    table.contains(&word)
}

fn is_day(word: &str) -> bool {
    has(DAYS, word)
}

// "ten", "10", "10:30", "10pm", "10 h"; not "one of the rooms".
fn is_time(word: &str, next: &str) -> bool {
    if has(HOURS, word) {
        return !matches!(next, "of" | "de");
    }
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    let rest = word.strip_prefix(digits.as_str()).unwrap_or_default();
    let hour = digits.parse::<u32>().is_ok_and(|hour| hour <= 24);
    hour && (matches!(rest, "" | "am" | "pm" | "a.m" | "p.m" | "h" | "hs") || is_minutes(rest))
}

fn is_minutes(rest: &str) -> bool {
    let minutes = rest.strip_prefix([':', '.', 'h']).unwrap_or_default();
    let digits: String = minutes.chars().take(2).collect();
    digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit())
}

// "in ten minutes", "en media hora", "dentro de 5 minutos".
fn is_span(words: &[String]) -> bool {
    let counts = |word: &&String| {
        has(COUNTS, word) || has(HOURS, word) || word.parse::<u32>().is_ok() || matches!(word.as_str(), "de" | "of")
    };
    let counted = words.iter().take(3).take_while(counts).count();
    let unit = words.get(counted).map(|word| word.strip_suffix('s').unwrap_or(word));
    counted > 0 && unit.is_some_and(|unit| has(UNITS, unit))
}

/// One room that the operator named as well as the one that was proposed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other<'a> {
    /// The unit's id.
    pub(crate) id: &'a str,
    /// Its name; untrusted.
    pub(crate) name: &'a str,
}

/// What to say about a time that was named.
pub(crate) fn nothing_is_scheduled(language: Language) -> &'static str {
    match language {
        Language::English => {
            "(Nothing was proposed: a change is proposed for now and never for later. Ask again when it is time.)"
        }
        Language::Spanish => {
            "(No se propuso nada: un cambio se propone para ahora y nunca para más tarde. Pídelo otra vez cuando sea la hora.)"
        }
    }
}

/// What to say to somebody who asked for all and named no room.
pub(crate) fn one_room_at_a_time(language: Language) -> &'static str {
    match language {
        Language::English => {
            "(One change is proposed at a time, for a room that your message names. Name the first one.)"
        }
        Language::Spanish => "(Se propone un cambio a la vez, para una sala que tu mensaje nombre. Nombra la primera.)",
    }
}

/// What to say about the rooms that are left, with the words that ask for the next one.
pub(crate) fn the_next_one(language: Language, others: &[Other<'_>], next: &str) -> String {
    let named = |other: &Other<'_>| format!("\u{201c}{}\u{201d}", Shown::capped(&redact_text(other.name), MAX_NAME));
    let mut list = others.iter().take(LISTED).map(named).collect::<Vec<_>>().join(", ");
    if others.len() > LISTED {
        list.push_str(&format!(" (+{})", others.len() - LISTED));
    }
    match language {
        Language::English => {
            format!("(One change is proposed at a time. Not proposed yet: {list}. For the next one, ask: {next})")
        }
        Language::Spanish => {
            format!("(Se propone un cambio a la vez. Aún sin proponer: {list}. Para la siguiente, pide: {next})")
        }
    }
}

/// An order in plain words for the same change in another room, or nothing when the change is for no room.
pub(crate) fn order(language: Language, tool: Tool, arguments: &Value, room: &str) -> Option<String> {
    let stops = arguments["action"] == "stop";
    let (english, spanish) = match tool {
        Tool::FirmwareUpdate => ("Update the firmware of", "Actualiza el firmware de"),
        Tool::Reboot => ("Restart", "Reinicia"),
        Tool::Recording if stops => ("Stop recording in", "Detén la grabación en"),
        Tool::Recording => ("Start recording in", "Inicia la grabación en"),
        Tool::ConfirmEvent => ("Confirm the event in", "Confirma el evento en"),
        Tool::StartStream | Tool::StopStream => return None,
    };
    let verb = match language {
        Language::English => english,
        Language::Spanish => spanish,
    };
    Some(format!("{verb} {room}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::intent::asks_for_change;
    use policy::tool_policy::ToolPolicy;
    use serde_json::json;

    #[test]
    fn later_times_are_seen_in_both_languages() {
        for words in [
            "Start recording in Hall A at ten o'clock",
            "Start recording in Hall A at 10",
            "record Hall A at 10:30 please",
            "at 9pm, stop recording in Hall 7",
            "Start recording in Hall A at noon.",
            "restart Chapel tomorrow",
            "Restart Chapel tonight",
            "restart Hall A later",
            "Stop recording in Hall A in ten minutes",
            "restart Chapel in half an hour",
            "Restart Chapel in an hour",
            "update the firmware of Hall A next week",
            "restart Hall A on Monday",
            "start recording in Hall A this evening",
            "Graba en Hall A a las diez",
            "graba en el Aula 3 a las 10:30",
            "Reinicia Chapel a la una",
            "Reinicia Chapel mañana",
            "detén la grabación en Hall A en 5 minutos",
            "reinicia Hall A dentro de media hora",
            "Reinicia Hall A más tarde",
            "reinicia Hall A el lunes",
            "graba en Hall A esta noche",
            "graba en Hall A al mediodía",
        ] {
            assert!(names_a_later_time(words), "{words}");
        }
    }

    #[test]
    fn rooms_numbers_and_now_are_no_later_time() {
        for words in [
            "Start recording in Hall A",
            "Start recording in Hall A now, it is ten o'clock",
            "restart Room 10",
            "restart rooms 3 and 5",
            "Restart the unit at room 12",
            "start recording in one of the halls",
            "record at one of the halls",
            "Graba en Sala 10",
            "graba ya en Hall A",
            "Reinicia la sala de la mañana",
            "graba en las salas 3 y 4",
            "reinicia las 3",
            "Restart the Monday Hall",
            "restart 20301000003 please",
            "> at ten o'clock\nrestart Chapel",
            "/propose start recording in Hall A at ten",
            "Start recording in Hall A on channel 2",
            "graba en hall a, canal 1",
            "",
        ] {
            assert!(!names_a_later_time(words), "{words}");
        }
    }

    #[test]
    fn the_words_for_the_next_card_ask_for_that_change_and_no_other() {
        let policy = ToolPolicy::shipped().unwrap();
        for (tool, arguments) in [
            (Tool::FirmwareUpdate, json!({})),
            (Tool::Reboot, json!({})),
            (Tool::Recording, json!({"action": "start"})),
            (Tool::Recording, json!({"action": "stop"})),
            (Tool::ConfirmEvent, json!({})),
        ] {
            for language in [Language::English, Language::Spanish] {
                for room in ["Hall B", "20301000004"] {
                    let words = order(language, tool, &arguments, room).unwrap();
                    assert_eq!(asks_for_change(&policy, &words), [tool], "{words}");
                    assert!(!names_a_later_time(&words) && !asks_for_all(&words), "{words}");
                }
            }
        }
        assert_eq!(order(Language::English, Tool::StartStream, &json!({}), "x"), None);
    }

    #[test]
    fn many_rooms_are_listed_in_part_and_safely() {
        let names: Vec<_> = (0..7).map(|number| format!("Hall {number}\u{202e}")).collect();
        let others: Vec<_> = names.iter().map(|name| Other { id: "1", name }).collect();
        let text = the_next_one(Language::English, &others, "Restart Hall 0");
        assert!(text.contains("Hall 0\\u{202e}") && text.contains("(+2)") && !text.contains("Hall 5"), "{text}");
        assert!(asks_for_all("Restart all rooms in Building B") && asks_for_all("reinicia todas las salas"));
        assert!(asks_for_all("start recording everywhere") && asks_for_all("reinicia las salas del Edificio B"));
        assert!(!asks_for_all("restart Hall A") && !asks_for_all("> restart all\nrestart Hall A"));
    }
}
