//! What the terminal shows, seen through a terminal emulator: hostile texts change nothing but the cells of their own
//! written-out form (issue line 2.16).

use super::{card, gates, history, status};
use crate::session::Session;
use crate::status::Both;
use crate::testing::{self, assistant_status, executor_status, sample_card, sample_row};
use control::card::Card;
use protocol::shown::{Language, Worded};
use std::path::Path;

/// A hostile text, and what must stand on the screen for it.
const HOSTILE: [(&str, &str); 13] = [
    ("a\u{1b}[2J\u{1b}[1;1Hb", "a\\u{1b}[2J\\u{1b}[1;1Hb"),
    ("a\u{1b}[8mhidden\u{1b}[0m", "a\\u{1b}[8mhidden\\u{1b}[0m"),
    (
        "\u{1b}]8;;http://evil.example\u{1b}\\Hall A\u{1b}]8;;\u{1b}\\",
        "\\u{1b}]8;;http://evil.example\\u{1b}\\Hall A\\u{1b}]8;;\\u{1b}\\",
    ),
    ("\u{1b}]52;c;cm0gLXJm\u{7}", "\\u{1b}]52;c;cm0gLXJm\\u{7}"),
    ("\u{1b}]0;title\u{7}x", "\\u{1b}]0;title\\u{7}x"),
    ("\u{1b}Pq#0\u{1b}\\x", "\\u{1b}Pq#0\\u{1b}\\x"),
    ("a\u{9b}2Jb\u{90}q\u{9c}", "a\\u{9b}2Jb\\u{90}q\\u{9c}"),
    ("approve\rdeny", "approve\\u{d}deny"),
    ("Hall A\u{8}\u{8}\u{8}B", "Hall A\\u{8}\\u{8}\\u{8}B"),
    ("one\ntwo\tthree\u{b}\u{c}", "one\\u{a}two\\u{9}three\\u{b}\\u{c}"),
    ("a\u{202e}b\u{2066}c\u{2069}", "a\\u{202e}b\\u{2066}c\\u{2069}"),
    ("a\u{200b}b\u{feff}c\u{ad}d", "a\\u{200b}b\\u{feff}c\\u{ad}d"),
    ("\u{1b}(0lqk\u{e}\u{f}", "\\u{1b}(0lqk\\u{e}\\u{f}"),
];

/// Counts everything that a terminal would do besides showing text.
#[derive(Default)]
struct Effects(Vec<String>);

impl vt100::Callbacks for Effects {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("bell".to_owned());
    }

    fn visual_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("visual bell".to_owned());
    }

    fn resize(&mut self, _: &mut vt100::Screen, _: (u16, u16)) {
        self.0.push("resize".to_owned());
    }

    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("icon".to_owned());
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("title".to_owned());
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.0.push("clipboard".to_owned());
    }

    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("paste".to_owned());
    }

    fn unhandled_char(&mut self, _: &mut vt100::Screen, c: char) {
        self.0.push(format!("char {c:?}"));
    }

    fn unhandled_control(&mut self, _: &mut vt100::Screen, byte: u8) {
        self.0.push(format!("control {byte:#x}"));
    }

    fn unhandled_escape(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, byte: u8) {
        self.0.push(format!("escape {byte:#x}"));
    }

    fn unhandled_csi(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, _: &[&[u16]], c: char) {
        self.0.push(format!("csi {c}"));
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, _: &[&[u8]]) {
        self.0.push("osc".to_owned());
    }
}

/// What stands on a terminal of this width after the text, and what else the text did.
fn seen(text: &str, columns: usize) -> (Vec<String>, Vec<String>) {
    let width = u16::try_from(columns).unwrap();
    let rows = u16::try_from(text.lines().count() + 30).unwrap();
    let mut parser = vt100::Parser::new_with_callbacks(rows, width, 0, Effects::default());
    parser.process(text.replace('\n', "\r\n").as_bytes());
    let screen = parser.screen();
    let mut effects = parser.callbacks().0.clone();
    for row in 0..rows {
        for column in 0..width {
            let cell = screen.cell(row, column).unwrap();
            let plain = cell.fgcolor() == vt100::Color::Default && cell.bgcolor() == vt100::Color::Default;
            if !plain || cell.bold() || cell.dim() || cell.italic() || cell.underline() || cell.inverse() {
                effects.push(format!("attributes at {row},{column}"));
            }
        }
    }
    if screen.alternate_screen() || screen.hide_cursor() || screen.application_cursor() || screen.bracketed_paste() {
        effects.push("a mode".to_owned());
    }
    (screen.rows(0, width).map(|row| row.trim_end().to_owned()).collect(), effects)
}

fn lines(text: &str, rows: usize) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.resize(rows, String::new());
    lines
}

fn card_of(text: &str) -> Card {
    let mut card = sample_card(7);
    let words = Worded::same(text);
    let own = || text.to_owned();
    let facts = &mut card.facts;
    (facts.heading, facts.effect, facts.undo) = (words.clone(), words.clone(), words.clone());
    (facts.origin, facts.slot, facts.deny_only) = (words.clone(), words.clone(), vec![words.clone()]);
    (facts.tool, facts.reason, facts.isolation) = (own(), own(), own());
    for target in &mut facts.targets {
        (target.id, target.name, target.model, target.firmware) = (own(), own(), own(), own());
        (target.known_as, target.note) = (vec![own(), own()], own());
        (target.event, target.online) = (words.clone(), words.clone());
        (target.recording, target.streaming) = (words.clone(), words.clone());
    }
    for argument in &mut facts.arguments {
        (argument.name, argument.json) = (own(), own());
    }
    for named in &mut facts.named {
        (named.label, named.value) = (words.clone(), words.clone());
    }
    for gate in &mut card.gates {
        gate.blocked_reason = gate.blocked_reason.as_ref().map(|_| own());
        for evidence in &mut gate.evidence {
            (evidence.name, evidence.value) = (own(), own());
        }
    }
    (card.notes, card.read_at) = (vec![words.clone()], words);
    card
}

/// Every text that a person gets, with `text` in each place where a device, a model or a daemon may have written.
fn shown(text: &str, language: Language, columns: usize) -> [String; 5] {
    let session = Session { language, columns, ..testing::session(Path::new("/r")) };
    let card = card_of(text);
    let mut row = sample_row(7);
    (row.heading, row.created_at, row.ended_at) = (Worded::same(text), Worded::same(text), Worded::same(text));
    (row.detail, row.decided_by, row.surface) = (text.to_owned(), text.to_owned(), text.to_owned());
    row.targets = vec![text.to_owned()];
    row.undoable = true;
    let mut both = Both { executor: Ok(executor_status()), assistant: Ok(assistant_status()), me: text.to_owned() };
    if let Ok(status) = &mut both.executor {
        (status.slot, status.fence, status.autonomy) = (text.to_owned(), text.to_owned(), text.to_owned());
        status.paused_agents = vec![text.to_owned()];
    }
    if let Ok(status) = &mut both.assistant {
        (status.model, status.model_host) = (Some(text.to_owned()), Some(text.to_owned()));
        status.problems = vec![text.to_owned()];
    }
    [
        card::card(&card, language, columns),
        card::compact(&card, language, columns),
        gates::gates(&card.gates, language, columns),
        history::history(&[row], &session),
        status::both(&both, columns),
    ]
}

#[test]
fn on_the_emulated_screen_stands_the_expected_grid_and_nothing_else_happens() {
    for (hostile, written) in HOSTILE {
        for (language, columns) in
            [(Language::English, 80), (Language::Spanish, 60), (Language::English, 100), (Language::Spanish, 40)]
        {
            for (text, expected) in shown(hostile, language, columns).iter().zip(shown(written, language, columns)) {
                let (grid, effects) = seen(text, columns);
                assert_eq!(effects, Vec::<String>::new(), "{hostile:?}");
                assert_eq!(grid, lines(&expected, grid.len()), "{hostile:?}");
                let packed: String = grid.concat().chars().filter(|c| *c != ' ').collect();
                let piece: String = written.chars().filter(|c| *c != ' ').take(10).collect();
                assert!(packed.contains(&piece), "{hostile:?}: {piece} is not seen in {packed}");
            }
        }
    }
}

#[test]
fn an_answer_of_the_model_stays_in_its_lines() {
    for (hostile, written) in HOSTILE {
        // An answer may have line ends of its own.
        if hostile.contains('\n') {
            continue;
        }
        let (grid, effects) = seen(&super::answer(hostile, 80), 80);
        assert!(effects.is_empty(), "{hostile:?}: {effects:?}");
        assert_eq!(grid, lines(written, grid.len()), "{hostile:?}");
    }
}

#[test]
fn the_emulator_does_notice_what_is_not_written_out() {
    for (hostile, written) in HOSTILE {
        let (grid, effects) = seen(&format!("before\n{hostile}\nafter\n"), 80);
        let expected = lines(&format!("before\n{written}\nafter\n"), grid.len());
        assert!(!effects.is_empty() || grid != expected, "{hostile:?}");
    }
}

/// Xorshift: the same numbers at every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }

    fn text(&mut self, least: usize, most: usize) -> String {
        const FROM: [char; 16] =
            ['a', 'Z', '0', ' ', ' ', '"', '\\', '<', '{', ',', '\n', '\u{1b}', '\u{202e}', '\u{200b}', 'é', '字'];
        let length = least + self.roll(most - least + 1);
        (0..length).map(|_| FROM[self.roll(FROM.len())]).collect()
    }
}

// A card as an executor could send it, or as one that was taken over could.
fn random_card(seed: u64) -> Card {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut card = sample_card(7);
    card.facts.targets.truncate(1);
    for _ in 0..dice.roll(3) {
        card.facts.targets.push(card.facts.targets[0].clone());
    }
    for target in &mut card.facts.targets {
        target.id = dice.text(1, 40);
        target.name = dice.text(0, 120);
    }
    card.facts.arguments.truncate(1);
    for _ in 0..dice.roll(4) {
        card.facts.arguments.push(card.facts.arguments[0].clone());
    }
    for argument in &mut card.facts.arguments {
        argument.name = dice.text(1, 30);
        argument.json = serde_json::Value::from(dice.text(0, 300)).to_string();
    }
    card.facts.reason = dice.text(0, 300);
    card
}

fn packed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

// `issue line 2.6`, for the terminal.
#[test]
fn every_argument_byte_and_every_target_id_of_any_card_can_be_read_on_the_terminal() {
    for seed in 0..150 {
        let one = random_card(seed);
        let ids = one.facts.targets.iter().map(|target| &target.id);
        let names = one.facts.arguments.iter().map(|argument| &argument.name);
        let texts: Vec<String> = ids
            .chain(names)
            .chain(one.facts.arguments.iter().map(|argument| &argument.json))
            .map(|text| super::safe(text))
            .collect();
        for language in [Language::English, Language::Spanish] {
            for columns in [40, 60, 80, 100] {
                let (rows, effects) = seen(&card::card(&one, language, columns), columns);
                assert_eq!(effects, [""; 0], "seed {seed}");
                let shown = packed(&rows.join("\n"));
                for text in &texts {
                    assert!(
                        shown.contains(&packed(text)),
                        "seed {seed}, {columns}: {text:?} is not in\n{}",
                        rows.join("\n")
                    );
                }
            }
            // On a line without end the blanks are there one by one, too.
            let flat = card::card(&one, language, 10_000);
            for text in &texts {
                assert!(flat.contains(text.trim_end()), "seed {seed}: {text:?} is not in\n{flat}");
            }
        }
    }
}
