//! Text for a terminal. Everything here is pure: values in, text out. Texts of the daemons are already made safe;
//! they are made safe once more, so that a faulty daemon cannot move a cursor either.

pub(crate) mod card;
pub(crate) mod gates;
pub(crate) mod history;
pub(crate) mod page;
pub(crate) mod paint;
pub(crate) mod status;
pub(crate) mod table;
#[cfg(test)]
mod vt;

use protocol::ask::AnsweredBy;
use protocol::propose::News;
use protocol::refusal::Refusal;
use protocol::shown::{Language, Shown};
use serde_json::{Value, json};
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const NARROWEST: usize = 40;
const WIDEST: usize = 100;
/// The width of a terminal that does not say it.
pub(crate) const USUAL: usize = 80;

/// The width to fill, from what `COLUMNS` says.
pub(crate) fn columns(setting: Option<&str>) -> usize {
    let said = setting.and_then(|text| text.parse().ok()).unwrap_or(USUAL);
    said.clamp(NARROWEST, WIDEST)
}

/// Text that is already [`Shown`], with anything that still hides or moves written out. Line ends count as such.
pub(crate) fn safe(text: &str) -> String {
    let pieces: Vec<_> = text.split('\\').map(|piece| Shown::whole(piece).into_string()).collect();
    pieces.join("\\")
}

/// An answer, whose line ends are its own: the same, wrapped.
pub(crate) fn answer(text: &str, columns: usize) -> String {
    let mut page = page::Page::new(columns);
    for line in text.split('\n') {
        page.line(&safe(line));
    }
    page.into_text()
}

/// The lines of `text` when no line may be wider than `width`. Nothing is dropped: together they are the text. A
/// blank at a line's end may stand one column outside.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    // Where a new line may begin: behind the last blank.
    let mut place = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        let hangs = c == ' ' && used <= width;
        if used + columns > width && !hangs && !line.is_empty() {
            let rest = if place > 0 { line.split_off(place) } else { String::new() };
            used = rest.width();
            lines.push(std::mem::replace(&mut line, rest));
            place = 0;
        }
        line.push(c);
        used += columns;
        if c == ' ' {
            place = line.len();
        }
    }
    lines.push(line);
    lines
}

/// One of two fixed words.
pub(crate) fn pick(language: Language, en: &'static str, es: &'static str) -> &'static str {
    match language {
        Language::English => en,
        Language::Spanish => es,
    }
}

/// A length of time in its two largest units.
pub(crate) fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A refusal: code, place, and what to do.
pub(crate) fn refusal(refusal: &Refusal, language: Language) -> String {
    let words = policy::words::refusal(refusal.code);
    let mut text = refusal.code.as_str().to_owned();
    if !refusal.detail.is_empty() {
        let _fits = write!(text, " ({})", safe(&refusal.detail));
    }
    let _fits = write!(text, ". {}", words.get(language));
    text
}

/// A refusal for `--json`.
pub(crate) fn refusal_json(refusal: &Refusal) -> Value {
    json!({ "refused": refusal.code.as_str(), "detail": refusal.detail })
}

/// What became of a proposal, in one or two lines.
pub(crate) fn news(news: &News, language: Language) -> String {
    let proposal = pick(language, "Proposal", "Propuesta");
    let words = policy::words::state(news.state);
    let mut text = format!("{proposal} {}: {}. {}", news.number, news.state.as_str(), words.get(language));
    if let Some(why) = &news.refusal {
        let _fits = write!(text, "\n{}: {}", pick(language, "Refused", "Rechazada"), refusal(why, language));
    }
    if !news.detail.is_empty() {
        let _fits = write!(text, "\n{}: {}", pick(language, "Receipt", "Comprobante"), safe(&news.detail));
    }
    text
}

/// The same for `--json`.
pub(crate) fn news_json(news: &News) -> Value {
    json!({
        "number": news.number,
        "state": news.state.as_str(),
        "refusal": news.refusal.as_ref().map(refusal_json),
        "detail": news.detail,
    })
}

/// Who wrote an answer.
pub(crate) fn answered_by(by: &AnsweredBy, language: Language) -> String {
    let (words, rest) = match by {
        AnsweredBy::Keywords { why } => (pick(language, "Keyword answer:", "Respuesta por palabras clave:"), safe(why)),
        AnsweredBy::Model { name } => (pick(language, "Answered by the model", "Respondió el modelo"), safe(name)),
    };
    format!("{words} {rest}")
}

/// JSON on one line in which nothing hides: what [`Shown`] would write out is written as a JSON escape.
pub(crate) fn json_text(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        if c == '\\' || !Shown::whole(c.encode_utf8(&mut [0; 4])).was_flagged() {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _fits = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// Bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _fits = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[2J\u{202e}b\u{200b}\u{9b}1m\r\nc\u{7f}\\u{202e}é日本";

    #[test]
    fn what_is_already_shown_stays_and_what_is_not_is_written_out() {
        let shown = Shown::whole(HOSTILE).into_string();
        assert_eq!(safe(&shown), shown);
        assert!(safe(HOSTILE).chars().all(|c| !c.is_control() && c != '\u{202e}' && c != '\u{200b}'));
        assert_eq!(answer("one\ntwo\u{1b}", 60), "one\ntwo\\u{1b}\n");
    }

    #[test]
    fn wrapping_drops_nothing_and_keeps_the_width() {
        let long = "x".repeat(500);
        for text in ["", " ", "one two  three   four", &long, "日本語 日本語日本語日本語 mixed ábc", "a  b"]
        {
            for width in [8, 9, 20, 60] {
                let lines = wrap(text, width);
                assert_eq!(lines.concat(), text);
                for line in &lines {
                    assert!(line.trim_end().width() <= width, "{line:?} {width}");
                    assert!(line.width() <= width + 1, "{line:?} {width}");
                }
            }
        }
        assert_eq!(wrap("alpha beta gamma", 10), ["alpha beta ", "gamma"]);
    }

    #[test]
    fn json_stays_the_same_value_and_hides_nothing() {
        let value = json!({ "text": HOSTILE, "flag": "\u{e0041}" });
        let text = json_text(&value);
        assert!(text.chars().all(|c| !Shown::whole(&c.to_string()).was_flagged() || c == '\\'), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.contains('é'));
    }

    #[test]
    fn the_width_stays_between_forty_and_a_hundred() {
        for (setting, want) in [(None, 80), (Some("20"), 40), (Some("90"), 90), (Some("400"), 100), (Some("x"), 80)] {
            assert_eq!(columns(setting), want);
        }
    }

    #[test]
    fn spans_show_two_units() {
        for (seconds, want) in
            [(0, "0 s"), (59, "59 s"), (899, "14 min 59 s"), (7_260, "2 h 1 min"), (90_000, "1 d 1 h")]
        {
            assert_eq!(span(seconds), want);
        }
    }
}
