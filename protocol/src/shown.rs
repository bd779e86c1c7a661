//! Text that is safe to put before a person: what hides, reorders or moves a cursor is written out visibly.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A sentence in both languages of the product. Built by code; names in it went through [`Shown`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worded {
    /// English.
    pub en: String,
    /// Spanish.
    pub es: String,
}

impl Worded {
    /// Both forms.
    #[must_use]
    pub fn new(en: impl Into<String>, es: impl Into<String>) -> Self {
        Self { en: en.into(), es: es.into() }
    }

    /// The same text in both languages: a name, an id, a number.
    #[must_use]
    pub fn same(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { es: text.clone(), en: text }
    }

    /// The form for one language.
    #[must_use]
    pub fn get(&self, language: Language) -> &str {
        match language {
            Language::English => &self.en,
            Language::Spanish => &self.es,
        }
    }
}

/// The two languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Language {
    /// English, the default.
    English,
    /// Spanish.
    Spanish,
}

/// Text from anybody, safe to show. Hidden, reordering, control and unassigned characters, odd spaces, and the
/// backslash itself are written as `\u{hex}`, so two different texts never look the same for a hidden reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    text: String,
    flagged: bool,
    cut: bool,
}

impl Shown {
    /// All of the text, escaped.
    #[must_use]
    pub fn whole(raw: &str) -> Self {
        Self::build(raw, None)
    }

    /// At most `most` characters of escaped text; a longer text ends in an ellipsis and says so.
    #[must_use]
    pub fn capped(raw: &str, most: usize) -> Self {
        Self::build(raw, Some(most))
    }

    fn build(raw: &str, most: Option<usize>) -> Self {
        let mut shown = Self { text: String::new(), flagged: false, cut: false };
        let mut used = 0;
        let mut before = ' ';
        for c in raw.chars() {
            let plain = is_plain(c, before);
            let piece = if plain { c.to_string() } else { format!("\\u{{{:x}}}", u32::from(c)) };
            used += piece.chars().count();
            if most.is_some_and(|most| used > most) {
                shown.cut_at(most.unwrap_or(0));
                break;
            }
            shown.flagged |= !plain;
            shown.text.push_str(&piece);
            before = c;
        }
        shown
    }

    fn cut_at(&mut self, most: usize) {
        while self.text.chars().count() >= most.max(1) {
            self.text.pop();
        }
        self.text.push('…');
        self.cut = true;
    }

    /// The safe text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The safe text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }

    /// Whether anything had to be written out.
    #[must_use]
    pub fn was_flagged(&self) -> bool {
        self.flagged
    }

    /// Whether the end is missing.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.cut
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A character that shows as itself: printable, not a backslash, no space but U+0020, and an accent only on a letter.
fn is_plain(c: char, before: char) -> bool {
    match c {
        ' ' => true,
        '\\' => false,
        '\'' | '"' => true,
        // Fillers that draw nothing although Unicode calls them letters or symbols.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' => false,
        '\u{300}'..='\u{34e}' | '\u{350}'..='\u{36f}' => before.is_alphabetic(),
        _ => !c.is_whitespace() && c.escape_debug().count() == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(raw: &str) -> String {
        Shown::whole(raw).into_string()
    }

    #[test]
    fn ordinary_names_show_as_themselves() {
        for name in ["Hall A", "Aula 3 – Niño", "日本語", "Café", "Cafe\u{301}", "R&D <lab>", "it's \"A\""] {
            assert_eq!(shown(name), name);
        }
    }

    #[test]
    fn hidden_and_reordering_characters_are_written_out() {
        for c in [
            '\0',
            '\u{1b}',
            '\n',
            '\t',
            '\r',
            '\u{7f}',
            '\u{9b}',
            '\u{a0}',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200e}',
            '\u{202e}',
            '\u{2028}',
            '\u{2066}',
            '\u{2069}',
            '\u{3000}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{e0041}',
            '\u{e000}',
            '\u{10ffff}',
            '\u{2800}',
            '\u{34f}',
            '\\',
        ] {
            let text = Shown::whole(&format!("a{c}b"));
            assert_eq!(text.as_str(), format!("a\\u{{{:x}}}b", u32::from(c)));
            assert!(text.was_flagged());
        }
    }

    #[test]
    fn a_typed_escape_does_not_look_like_a_real_one() {
        assert_ne!(shown("\u{202e}"), shown("\\u{202e}"));
    }

    #[test]
    fn a_cap_counts_what_is_shown_and_says_that_it_cut() {
        let text = Shown::capped(&"\u{202e}".repeat(50), 20);
        assert!(text.was_cut());
        assert!(text.as_str().chars().count() <= 20);
        assert!(text.as_str().ends_with('…'));
        assert!(!Shown::capped("Hall A", 6).was_cut());
    }
}
