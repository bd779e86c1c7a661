//! One line as it is typed: keys in, what to write on the terminal out. Nothing here reads or writes. The lines of this
//! session can be had again with the arrow keys; they are kept nowhere else.

use protocol::shown::Shown;
use std::collections::VecDeque;
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Lines that are remembered.
const PAST: usize = 100;
/// Longest line, in characters; further ones are not taken.
const LONGEST: usize = 4_000;
/// Longest line where the system edits, in bytes; what comes behind it is dropped.
const LONGEST_BYTES: usize = 4 * LONGEST;
/// Longest escape sequence of a key, in bytes.
const SEQUENCE: usize = 16;

const ESCAPE: u8 = 0x1b;

/// What the keys did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The end of the input, or Ctrl-D on an empty line.
    Left,
    /// A whole line.
    Line {
        /// Its text.
        line: String,
        /// What was typed behind it.
        rest: Vec<u8>,
        /// What to write.
        shown: String,
    },
    /// Nothing yet but this to write.
    More(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Back,
    Char(char),
    Delete,
    Down,
    End,
    EndOfInput,
    Enter,
    Home,
    KillLine,
    KillRest,
    KillWord,
    Left,
    Right,
    Up,
}

/// A line and those before it.
#[derive(Debug, Default)]
pub(crate) struct Line {
    text: Vec<char>,
    /// The cursor stands before this character.
    at: usize,
    /// Columns of the prompt.
    indent: usize,
    /// The first character that is shown, and how many columns there are for them.
    from: usize,
    window: usize,
    /// Bytes that are no whole key or, where the system edits, no whole line yet.
    bytes: Vec<u8>,
    past: VecDeque<String>,
    place: usize,
    draft: Vec<char>,
}

impl Line {
    /// An empty line behind this prompt on a terminal of so many columns. The last one stays empty, since a terminal that
    /// has written there does not yet say where its cursor is.
    pub(crate) fn begin(&mut self, prompt: &str, columns: usize) {
        self.set(Vec::new());
        self.bytes.clear();
        self.draft.clear();
        self.from = 0;
        self.indent = prompt.width();
        self.window = columns.saturating_sub(self.indent + 1).max(1);
        self.place = self.past.len();
    }

    /// Whether nothing is typed.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes bytes, or the end of the input. With `edits` they are keys, else parts of lines.
    pub(crate) fn take(&mut self, typed: Option<&[u8]>, edits: bool) -> Step {
        match (typed, edits) {
            (Some(typed), true) => self.keys(typed),
            (Some(typed), false) => self.part(typed),
            (None, _) if self.bytes.is_empty() => Step::Left,
            (None, _) => self.whole(Vec::new()),
        }
    }

    /// What to write so that the line stands behind the prompt, with the cursor in its place.
    pub(crate) fn redrawn(&self) -> String {
        let mut shown = String::new();
        let mut used = 0;
        for c in &self.text[self.from..] {
            used += columns(*c);
            if used > self.window {
                break;
            }
            shown.push(*c);
        }
        let behind: usize = shown.chars().skip(self.at - self.from).map(columns).sum();
        let mut text = format!("\r\u{1b}[{}C{shown}\u{1b}[K", self.indent);
        if behind > 0 {
            let _fits = write!(text, "\u{1b}[{behind}D");
        }
        text
    }

    fn part(&mut self, typed: &[u8]) -> Step {
        let Some(end) = typed.iter().position(|byte| *byte == b'\n') else {
            self.append(typed);
            return Step::More(String::new());
        };
        self.append(&typed[..end]);
        self.whole(typed[end + 1..].to_vec())
    }

    fn append(&mut self, typed: &[u8]) {
        let room = LONGEST_BYTES.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&typed[..typed.len().min(room)]);
    }

    fn whole(&mut self, rest: Vec<u8>) -> Step {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.bytes)).into_owned();
        Step::Line { line, rest, shown: String::new() }
    }

    fn keys(&mut self, typed: &[u8]) -> Step {
        // Characters at the line's end are just written; anything else draws the line anew.
        let (mut written, mut anew) = (String::new(), false);
        for (place, byte) in typed.iter().enumerate() {
            let Some(key) = self.key(*byte) else { continue };
            match key {
                Key::Enter => return self.entered(typed[place + 1..].to_vec(), &written, anew),
                Key::EndOfInput if self.text.is_empty() => return Step::Left,
                Key::EndOfInput => self.remove(self.at..self.at + 1),
                Key::Char(c) if self.takes(c) => {
                    let at_the_end = self.at == self.text.len();
                    self.text.insert(self.at, c);
                    self.at += 1;
                    if at_the_end && !self.scroll() {
                        written.push(c);
                        continue;
                    }
                }
                Key::Char(_) => continue,
                Key::Back
                | Key::Delete
                | Key::Down
                | Key::End
                | Key::Home
                | Key::KillLine
                | Key::KillRest
                | Key::KillWord
                | Key::Left
                | Key::Right
                | Key::Up => self.moved(key),
            }
            anew = true;
        }
        if self.bytes == [ESCAPE] {
            // The key itself: a sequence arrives as one piece.
            self.bytes.clear();
        }
        self.scroll();
        Step::More(if anew { self.redrawn() } else { written })
    }

    fn entered(&mut self, rest: Vec<u8>, written: &str, anew: bool) -> Step {
        let line: String = self.text.iter().collect();
        let shown = if anew || self.from > 0 || self.at < self.text.len() {
            // Cleared first: a line that ends in the last column would lose its last character.
            format!("\r\u{1b}[{}C\u{1b}[K{line}\n", self.indent)
        } else {
            format!("{written}\n")
        };
        if !line.trim().is_empty() && self.past.back() != Some(&line) {
            self.past.push_back(line.clone());
            if self.past.len() > PAST {
                self.past.pop_front();
            }
        }
        Step::Line { line, rest, shown }
    }

    // Whether a character may stand in a line: none that moves, hides or reorders.
    fn takes(&self, c: char) -> bool {
        let harmless = c == '\\' || !Shown::whole(c.encode_utf8(&mut [0; 4])).was_flagged();
        self.text.len() < LONGEST && harmless
    }

    fn moved(&mut self, key: Key) {
        match key {
            Key::Back => self.remove(self.at.saturating_sub(1)..self.at),
            Key::Delete => self.remove(self.at..self.at + 1),
            Key::Down => self.remember(self.place + 1),
            Key::End => self.at = self.text.len(),
            Key::Home => self.at = 0,
            Key::KillLine => self.remove(0..self.at),
            Key::KillRest => self.remove(self.at..self.text.len()),
            Key::KillWord => {
                let before = &self.text[..self.at];
                let word = before
                    .iter()
                    .rposition(|c| *c != ' ')
                    .map_or(0, |end| before[..end].iter().rposition(|c| *c == ' ').map_or(0, |blank| blank + 1));
                self.remove(word..self.at);
            }
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.text.len()),
            Key::Up => self.remember(self.place.wrapping_sub(1)),
            Key::Char(_) | Key::EndOfInput | Key::Enter => {}
        }
    }

    fn remove(&mut self, which: std::ops::Range<usize>) {
        let end = which.end.min(self.text.len());
        let start = which.start.min(end);
        self.text.drain(start..end);
        self.at = start;
    }

    fn remember(&mut self, place: usize) {
        if place > self.past.len() {
            return;
        }
        if self.place == self.past.len() {
            self.draft = self.text.clone();
        }
        let text = self.past.get(place).map_or_else(|| self.draft.clone(), |line| line.chars().collect());
        self.place = place;
        self.set(text);
    }

    fn set(&mut self, text: Vec<char>) {
        self.at = text.len();
        self.text = text;
    }

    // Keeps the cursor in the window; says whether other characters are shown than before.
    fn scroll(&mut self) -> bool {
        let before = self.from;
        self.from = self.from.min(self.at);
        while self.text[self.from..self.at].iter().copied().map(columns).sum::<usize>() > self.window {
            self.from += 1;
        }
        self.from != before
    }

    fn key(&mut self, byte: u8) -> Option<Key> {
        if self.bytes.is_empty() {
            return match byte {
                b'\r' | b'\n' => Some(Key::Enter),
                0x01 => Some(Key::Home),
                0x02 => Some(Key::Left),
                0x04 => Some(Key::EndOfInput),
                0x05 => Some(Key::End),
                0x06 => Some(Key::Right),
                0x08 | 0x7f => Some(Key::Back),
                0x0b => Some(Key::KillRest),
                0x0e => Some(Key::Down),
                0x10 => Some(Key::Up),
                0x15 => Some(Key::KillLine),
                0x17 => Some(Key::KillWord),
                ESCAPE | 0x80.. => {
                    self.bytes.push(byte);
                    None
                }
                0..0x20 => None,
                0x20..0x7f => Some(Key::Char(char::from(byte))),
            };
        }
        self.bytes.push(byte);
        let key = if self.bytes[0] == ESCAPE { sequence(&self.bytes) } else { character(&self.bytes) };
        let (over, key) = key?;
        if over {
            self.bytes.clear();
        }
        key
    }
}

// Whether the bytes are a whole sequence, and the key that it is.
fn sequence(bytes: &[u8]) -> Option<(bool, Option<Key>)> {
    let (last, inner) = bytes.split_last()?;
    let begun = matches!(inner, [ESCAPE]) && matches!(last, b'[' | b'O');
    if begun || (inner.len() > 1 && !(0x40..=0x7e).contains(last) && bytes.len() < SEQUENCE) {
        return None;
    }
    let key = match (inner.get(2..).unwrap_or_default(), last) {
        (b"", b'A') => Some(Key::Up),
        (b"", b'B') => Some(Key::Down),
        (b"", b'C') => Some(Key::Right),
        (b"", b'D') => Some(Key::Left),
        (b"", b'F') | (b"4" | b"8", b'~') => Some(Key::End),
        (b"", b'H') | (b"1" | b"7", b'~') => Some(Key::Home),
        (b"3", b'~') => Some(Key::Delete),
        _ => None,
    };
    // An Alt key is two bytes and no sequence.
    Some((true, key.filter(|_| inner.len() > 1)))
}

fn character(bytes: &[u8]) -> Option<(bool, Option<Key>)> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some((true, text.chars().next().map(Key::Char))),
        Err(error) if error.error_len().is_none() => None,
        Err(_) => Some((true, None)),
    }
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "fleetwatch> ";
    const WINDOW: usize = 20;
    const COLUMNS: usize = PROMPT.len() + WINDOW + 1;

    // What the terminal shows behind the prompt, and the column of the cursor in it.
    fn screen(steps: &[String]) -> (String, usize) {
        let mut parser = vt100::Parser::new(4, 80, 0);
        parser.process(PROMPT.as_bytes());
        for step in steps {
            parser.process(step.replace('\n', "\r\n").as_bytes());
        }
        let row = parser.screen().rows(0, 80).next().unwrap();
        let behind = row.get(PROMPT.len()..).unwrap_or_default().trim_end().to_owned();
        (behind, usize::from(parser.screen().cursor_position().1).saturating_sub(PROMPT.len()))
    }

    fn typed(line: &mut Line, pieces: &[&str]) -> Vec<String> {
        let more = |piece: &&str| match line.take(Some(piece.as_bytes()), true) {
            Step::More(shown) => shown,
            other @ (Step::Left | Step::Line { .. }) => panic!("{piece:?}: {other:?}"),
        };
        pieces.iter().map(more).collect()
    }

    fn fresh() -> Line {
        let mut line = Line::default();
        line.begin(PROMPT, COLUMNS);
        line
    }

    fn enter(line: &mut Line, keys: &str) -> String {
        let Step::Line { line: text, .. } = line.take(Some(format!("{keys}\r").as_bytes()), true) else { panic!() };
        line.begin(PROMPT, COLUMNS);
        text
    }

    #[test]
    fn what_is_seen_is_what_is_sent() {
        for (pieces, want, cursor) in [
            (&["hola"][..], "hola", 4),
            (&["hola", "\u{1b}[D\u{1b}[D", "X"], "hoXla", 3),
            (&["hola", "\u{1b}[H", "\u{1b}[3~", "\u{1b}[F", "!"], "ola!", 4),
            (&["a b  c", "\u{17}", "\u{17}"], "a ", 2),
            (&["niño", "\u{7f}\u{7f}", "nio"], "ninio", 5),
            (&["日本", "\u{2}", "x"], "日x本", 3),
            (&["abc", "\u{1}", "\u{b}", "z\u{15}", "y"], "y", 1),
            (&["ab\u{1b}x", "c\u{1b}", "d\u{1b}[200~e\u{1b}OA"], "abcde", 5),
            (&["abc\u{1b}[D", "\u{4}"], "ab", 2),
        ] {
            let mut line = fresh();
            let shown = typed(&mut line, pieces);
            let (seen, column) = screen(&shown);
            assert_eq!((seen.as_str(), column), (want.trim_end(), cursor), "{pieces:?} {shown:?}");
            assert_eq!(enter(&mut line, ""), want, "{pieces:?}");
        }
    }

    #[test]
    fn typing_at_the_end_writes_just_the_characters() {
        let mut line = fresh();
        assert_eq!(line.take(Some(b"Which rooms?"), true), Step::More("Which rooms?".to_owned()));
        let Step::Line { shown, rest, .. } = line.take(Some(b"!\nnext"), true) else { panic!() };
        assert_eq!((shown.as_str(), rest.as_slice()), ("!\n", &b"next"[..]));
    }

    #[test]
    fn a_long_line_scrolls_and_is_whole_once_it_is_sent() {
        let mut line = fresh();
        let long = "abcdefghijklmnopqrstuvwxyz0123456789";
        let mut shown = typed(&mut line, &[long]);
        let (seen, column) = screen(&shown);
        assert_eq!((seen.as_str(), column), (&long[16..], WINDOW));
        shown.extend(typed(&mut line, &["\u{1b}[H"]));
        assert_eq!(screen(&shown), (long[..WINDOW].to_owned(), 0));
        let Step::Line { line: text, shown: last, .. } = line.take(Some(b"\r"), true) else { panic!() };
        shown.push(last);
        assert_eq!((text.as_str(), screen(&shown).0.as_str()), (long, long));
    }

    // The rows of a terminal that is as wide as the line thinks.
    fn rows(prompt: &str, columns: usize, steps: &[String]) -> (Vec<String>, (u16, u16)) {
        let width = u16::try_from(columns).unwrap();
        let mut parser = vt100::Parser::new(12, width, 0);
        parser.process(prompt.as_bytes());
        for step in steps {
            parser.process(step.replace('\n', "\r\n").as_bytes());
        }
        let screen = parser.screen();
        let rows = screen.rows(0, width).map(|row| row.trim_end().to_owned()).collect();
        (rows, screen.cursor_position())
    }

    #[test]
    fn on_a_narrow_terminal_the_line_stays_on_its_row_until_it_is_sent_whole() {
        let long = "¿Qué salas del edificio B no están listas 日本語 para las 10?";
        for (prompt, columns) in [(PROMPT, 60), (PROMPT, 40), ("> ", 20), ("> ", 8), ("> ", 3), ("> ", 1)] {
            let mut line = Line::default();
            line.begin(prompt, columns);
            let pieces: Vec<String> = long.chars().map(String::from).collect();
            let mut shown: Vec<String> = Vec::new();
            for piece in pieces.iter().map(String::as_str).chain(["\u{1b}[D"; 12]).chain(["\u{1b}[H", "\u{1b}[F"]) {
                shown.extend(typed(&mut line, &[piece]));
                if columns > 3 {
                    let (rows, (row, column)) = rows(prompt, columns, &shown);
                    assert!(
                        rows[0].starts_with(prompt.trim_end()) && rows[1..].iter().all(String::is_empty),
                        "{rows:?}"
                    );
                    assert!(row == 0 && usize::from(column) < columns, "{row} {column}: {rows:?}");
                }
            }
            let Step::Line { line: text, shown: last, .. } = line.take(Some(b"\r"), true) else { panic!() };
            assert_eq!(text, long, "{columns}");
            if columns < 8 {
                continue;
            }
            shown.push(last);
            let (rows, _) = rows(prompt, columns, &shown);
            let whole: String = rows.concat().chars().filter(|c| *c != ' ').collect();
            let want: String = format!("{prompt}{long}").chars().filter(|c| *c != ' ').collect();
            assert_eq!(whole, want, "{columns}");
        }
    }

    #[test]
    fn a_line_that_ends_in_the_last_column_is_shown_to_its_end() {
        let mut line = Line::default();
        line.begin("> ", 20);
        let long = "0123456789abcdefgh";
        let mut shown = typed(&mut line, &[long]);
        let Step::Line { shown: last, .. } = line.take(Some(b"\r"), true) else { panic!() };
        shown.push(last);
        assert_eq!(rows("> ", 20, &shown).0[0], format!("> {long}"));
    }

    #[test]
    fn earlier_lines_come_back_and_the_draft_is_not_lost() {
        let mut line = fresh();
        for text in ["one", "two", "two", "  "] {
            enter(&mut line, text);
        }
        typed(&mut line, &["draft", "\u{1b}[A", "\u{1b}[A", "\u{1b}[A"]);
        assert_eq!(line.text.iter().collect::<String>(), "one");
        typed(&mut line, &["\u{1b}[B", "\u{1b}[B", "\u{1b}[B"]);
        assert_eq!(enter(&mut line, ""), "draft");
        for count in 0..300 {
            enter(&mut line, &format!("line {count}"));
        }
        assert_eq!(line.past.len(), PAST);
    }

    #[test]
    fn what_moves_or_hides_is_not_taken_from_the_keyboard_either() {
        let mut line = fresh();
        let shown = typed(&mut line, &["a\u{202e}b\u{200b}\u{9b}2J\u{7}\\c"]);
        assert_eq!((shown.concat().as_str(), enter(&mut line, "").as_str()), ("ab2J\\c", "ab2J\\c"));
        let mut line = fresh();
        // Bytes that are no text at all, one by one.
        for byte in [0xff, b'x', 0xc3, 0xb1, 0xe2, b'y', 0x1b, b'[', b'1', b';', b'5', b'C'] {
            assert!(matches!(line.take(Some(&[byte]), true), Step::More(_)));
        }
        assert!(enter(&mut line, "").contains('ñ'));
        let many = "x".repeat(LONGEST + 10);
        typed(&mut line, &[&many]);
        assert_eq!(line.text.len(), LONGEST);
    }

    #[test]
    fn the_end_of_the_input_leaves_and_a_last_line_without_end_counts() {
        let mut line = fresh();
        assert_eq!(line.take(Some(b"\x04"), true), Step::Left);
        assert_eq!(
            line.take(Some(b"one\ntwo"), false),
            Step::Line { line: "one".to_owned(), rest: b"two".to_vec(), shown: String::new() }
        );
        assert_eq!(line.take(Some(b"two"), false), Step::More(String::new()));
        assert!(matches!(line.take(None, false), Step::Line { line, .. } if line == "two"));
        assert_eq!(line.take(None, false), Step::Left);
        // A pipe that never ends its line fills no memory.
        for _ in 0..20 {
            assert_eq!(line.take(Some(&[b'x'; 8 * 1024]), false), Step::More(String::new()));
        }
        let Step::Line { line: text, rest, .. } = line.take(Some(b"yy\nzz"), false) else { panic!() };
        assert_eq!((text.len(), rest.as_slice()), (LONGEST_BYTES, &b"zz"[..]));
    }
}
