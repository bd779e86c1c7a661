//! Splits the operator's words into clauses: folded words, with what their sentence says about them.

use super::tables;

/// One clause of a sentence.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations about one clause")]
pub(super) struct Clause {
    /// Its words, folded.
    pub(super) words: Vec<String>,
    /// Index of the first word that is no filler.
    pub(super) start: usize,
    /// Its sentence is a question.
    pub(super) question: bool,
    /// It asks politely for something: "can you", "please".
    pub(super) polite: bool,
    /// Some clause of its sentence does.
    pub(super) sentence_polite: bool,
    /// A negation of an earlier clause of the sentence still holds.
    pub(super) negated: bool,
    /// Its sentence began with a question about state.
    pub(super) after_state_question: bool,
}

impl Clause {
    fn new(words: Vec<String>, question: bool) -> Self {
        let start = first_real_word(&words);
        let polite = is_polite(&words, start);
        let (sentence_polite, negated, after_state_question) = (false, false, false);
        Self { words, start, question, polite, sentence_polite, negated, after_state_question }
    }

    /// Whether it begins like a question about how things are.
    pub(super) fn asks_about_state(&self) -> bool {
        let Some(first) = self.words.get(self.start) else { return false };
        let second = self.words.get(self.start + 1).map_or("", String::as_str);
        match first.as_str() {
            "can" | "could" => !has(&["you", "we", "someone", "somebody"], second),
            "will" | "would" => second != "you",
            "shall" => second != "we",
            "hay" => self.question || second != "que",
            "que" if self.bids(second) => false,
            "do" if second == "the" && self.words.get(self.start + 2).is_some_and(|word| has(tables::DONE, word)) => {
                self.question
            }
            "do" => has(&["you", "we", "they", "i", "the", "any", "all", "rooms"], second),
            word => has(tables::STATE_QUESTIONS, word),
        }
    }

    /// "Que se grabe la sala", "que salga en directo".
    fn bids(&self, second: &str) -> bool {
        let verb = if second == "se" { self.words.get(self.start + 2).map_or("", String::as_str) } else { second };
        !self.question && has(tables::BIDS, verb)
    }

    /// "Don't, whatever happens, restart it": the negation waits for its verb.
    fn leaves_negation_open(&self) -> bool {
        match self.words.as_slice() {
            [.., before, last] if last == "not" => before == "do",
            [.., last] => has(&["dont", "never", "nunca", "jamas"], last),
            [] => false,
        }
    }

    fn asks_which(&self) -> bool {
        self.words.get(self.start).is_some_and(|word| has(tables::ASKS_WHICH, word))
    }
}

/// Whether a table holds a word.
pub(super) fn has(table: &[&str], word: &str) -> bool {
    table.contains(&word)
}

/// Lower case, without accents and apostrophes.
pub(super) fn fold(text: &str) -> String {
    crate::fold::fold(text).replace(['\'', '`'], "")
}

/// All clauses, in order. Quoted text and quoted lines are not the operator's own words and are left out.
pub(super) fn read(words: &str) -> Vec<Clause> {
    let own: Vec<&str> = words.lines().filter(|line| !line.trim_start().starts_with('>')).collect();
    let own = fold(&without_quotes(&own.join("\n")));
    let mut clauses = Vec::new();
    let mut reported = false;
    for Sentence { text: sentence, question, colon } in sentences(&own) {
        let follows = colon && sentence.split_whitespace().any(|word| has(tables::REPORTS, word));
        // "The note reads: stop recording" are the note's words.
        if std::mem::replace(&mut reported, follows) {
            continue;
        }
        let mut of_one: Vec<Clause> = sentence
            .split(',')
            .flat_map(split_at_breaks)
            .filter(|words| !words.is_empty())
            .map(|words| Clause::new(words, question))
            .collect();
        relate(&mut of_one);
        clauses.append(&mut of_one);
    }
    clauses
}

/// What one clause says about those after it.
fn relate(clauses: &mut [Clause]) {
    let polite = clauses.iter().any(|clause| clause.polite);
    let state_first =
        clauses.first().is_some_and(|first| first.asks_about_state() && (first.question || first.asks_which()));
    let mut negated = false;
    for (index, clause) in clauses.iter_mut().enumerate() {
        clause.sentence_polite = polite;
        clause.negated = negated;
        clause.after_state_question = state_first && index > 0;
        negated = negated || clause.leaves_negation_open();
    }
}

fn without_quotes(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let inside = &rest[c.len_utf8()..];
        match quoted(before, c, inside) {
            Quoted::No => {
                kept.push(c);
                rest = inside;
            }
            Quoted::Open => break,
            // The name of a room in quotes still stands between the words around it.
            Quoted::Until(end) => {
                kept.push_str(" quoted ");
                rest = &inside[end..];
            }
        }
        before = c;
    }
    kept.push_str(rest);
    kept
}

/// What a character opens.
enum Quoted {
    /// Nothing.
    No,
    /// A quotation that nobody closes.
    Open,
    /// A quotation; behind it goes on at this byte.
    Until(usize),
}

fn quoted(before: char, open: char, inside: &str) -> Quoted {
    let close = match open {
        '"' | '\'' | '`' => open,
        '\u{201c}' => '\u{201d}',
        '\u{ab}' => '\u{bb}',
        '\u{2018}' => '\u{2019}',
        _ => return Quoted::No,
    };
    // These are apostrophes as well, so they must stand at the edges of words.
    let single = matches!(open, '\'' | '`' | '\u{2018}');
    if single && before.is_alphanumeric() {
        return Quoted::No;
    }
    let ends = |at: &usize| {
        let next = inside[*at..].chars().nth(1);
        !(single && next.is_some_and(char::is_alphanumeric))
    };
    match inside.match_indices(close).map(|(at, _)| at).find(ends) {
        Some(at) => Quoted::Until(at + close.len_utf8()),
        None if single => Quoted::No,
        None => Quoted::Open,
    }
}

/// One sentence, whether it is a question, and whether a colon ends it.
struct Sentence {
    text: String,
    question: bool,
    colon: bool,
}

/// Sentences. A dot or colon inside a word or number ends nothing.
fn sentences(text: &str) -> Vec<Sentence> {
    let mut all = Vec::new();
    let (mut now, mut question) = (String::new(), false);
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let inside = before.is_alphanumeric() && chars.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '.' | ':' if inside => now.push(' '),
            '.' | ':' | ';' | '!' | '?' | '\n' | '¡' | '¿' | '(' | ')' | '\u{2013}' | '\u{2014}' | '\u{2026}' => {
                // "Para la grabación, ¿qué ...?" is one question, and "para" no order.
                let leads = c == '¿' && now.trim_end().ends_with(',') && now.split_whitespace().next() == Some("para");
                let text = std::mem::take(&mut now);
                all.push(Sentence { text, question: question || leads || c == '?', colon: c == ':' });
                question = c == '¿';
            }
            other => now.push(other),
        }
        before = c;
    }
    all.push(Sentence { text: now, question, colon: false });
    all
}

/// Splits before words that begin a new thought: "please", "but", "so", "can you".
fn split_at_breaks(text: &str) -> Vec<Vec<String>> {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut clauses = vec![Vec::new()];
    for (index, word) in words.iter().enumerate() {
        let next = words.get(index + 1).copied().unwrap_or_default();
        let before = index.checked_sub(1).and_then(|index| words.get(index)).copied().unwrap_or_default();
        let told = has(&["que", "si", "that", "if", "whether"], before);
        let begins = (has(tables::BREAKS, word) && !told)
            || (*word == "por" && next == "favor")
            || (*word == "asi" && next == "que")
            || (has(&["can", "could", "would", "will"], word) && next == "you");
        if begins {
            clauses.push(Vec::new());
        }
        if let Some(last) = clauses.last_mut() {
            last.push((*word).to_owned());
        }
    }
    clauses
}

fn first_real_word(words: &[String]) -> usize {
    let mut start = 0;
    loop {
        let rest = words.get(start..).unwrap_or_default();
        start += match rest {
            [a, b, _, ..] if a == "if" && b == "not" => 2,
            [a, b, ..] if a == "por" && b == "favor" => 2,
            [a, b, ..] if a == "asi" && b == "que" => 2,
            [a, ..] if has(tables::FILLERS, a) => 1,
            _ => return start,
        };
    }
}

fn is_polite(words: &[String], start: usize) -> bool {
    let asks_you = words.iter().zip(words.iter().skip(1)).any(|(first, second)| {
        has(&["can", "could", "would", "will", "shall"], first) && has(&["you", "we", "someone", "somebody"], second)
    });
    let does_me = words.get(start).is_some_and(|word| word == "me" || word == "nos");
    asks_you || does_me || words.iter().any(|word| has(tables::POLITE, word))
}
