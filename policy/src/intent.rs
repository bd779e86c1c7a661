//! Whether the operator's own words ask for a change (architecture, "Where the specifications meet"; issue line 1.23).
//!
//! Only then is the model given `propose_change` in that turn. Words of the fleet, quoted text, questions about state,
//! negations and tales of the past do not count. In doubt it says no: `/propose` always says yes.

mod clauses;
mod tables;
#[cfg(test)]
mod tests;

use crate::call::Tool;
use crate::tool_policy::ToolPolicy;
use clauses::{Clause, fold, has};

/// Most words that `*` stands for.
const MAX_GAP: usize = 4;

/// One phrase of a verb list: words, and gaps between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    words: Vec<Option<String>>,
    spanish: bool,
}

impl Phrase {
    /// Reads a phrase: one to six words, `*` only between two words.
    pub(crate) fn parse(text: &str, spanish: bool) -> Option<Self> {
        let folded = fold(text);
        let words: Vec<Option<String>> =
            folded.split_whitespace().map(|word| (word != "*").then(|| word.to_owned())).collect();
        let plain = words.iter().flatten().all(|word| word.chars().all(char::is_alphanumeric));
        let gaps_inside = words.first()?.is_some() && words.last()?.is_some();
        let apart = words.windows(2).all(|pair| pair.iter().any(Option::is_some));
        (plain && gaps_inside && apart && words.len() <= 6).then_some(Self { words, spanish })
    }

    /// Where the phrase ends when it begins at a word of the clause.
    fn end(&self, words: &[String], at: usize) -> Option<usize> {
        end_of(&self.words, words, at)
    }

    /// A verb alone says less than a verb with its object, so it must stand where an order stands.
    fn is_bare(&self) -> bool {
        self.words.len() == 1
    }
}

fn end_of(pattern: &[Option<String>], words: &[String], at: usize) -> Option<usize> {
    match pattern.split_first() {
        None => Some(at),
        Some((Some(word), rest)) => (words.get(at) == Some(word)).then(|| end_of(rest, words, at + 1))?,
        Some((None, rest)) => (0..=MAX_GAP).find_map(|skip| {
            let gap = words.get(at..at + skip)?;
            let open = !gap.iter().any(|word| has(tables::ENDS_A_GAP, word));
            open.then(|| end_of(rest, words, at + skip))?
        }),
    }
}

/// The tools whose change the operator's words ask for, in the order of [`Tool::ALL`]; only proposable ones.
///
/// Words that begin with `/propose` ask for any of them.
#[must_use]
pub fn asks_for_change(policy: &ToolPolicy, words: &str) -> Vec<Tool> {
    let proposable = policy.proposable().map(crate::tool_policy::ProposeEntry::tool);
    if words.split_whitespace().next().is_some_and(|first| first.eq_ignore_ascii_case("/propose")) {
        return proposable.collect();
    }
    let clauses = clauses::read(words);
    let asked = |tool: Tool| {
        let phrases = policy.phrases().filter(|(of, _)| *of == tool).flat_map(|(_, phrases)| phrases);
        phrases.into_iter().any(|phrase| clauses.iter().any(|clause| orders(tool, phrase, clause)))
    };
    proposable.filter(|tool| asked(*tool)).collect()
}

fn orders(tool: Tool, phrase: &Phrase, clause: &Clause) -> bool {
    if clause.negated || clause.asks_about_state() {
        return false;
    }
    (clause.start..clause.words.len()).any(|at| {
        phrase.end(&clause.words, at).is_some_and(|end| {
            let words = clause.words.as_slice();
            let before = words.get(clause.start..at).unwrap_or_default();
            !is_blocked(words.get(..at).unwrap_or_default(), before)
                && stands_as_order(phrase, clause, before)
                && is_requested(phrase, clause, before)
                && !(phrase.is_bare() && is_followed_by_noun(tool, words.get(end..).unwrap_or_default()))
        })
    })
}

/// A negation before the verb, or words that make it a tale, a condition or a question.
fn is_blocked(all: &[String], before: &[String]) -> bool {
    let since_link = before.rsplit(|word| has(tables::LINKS, word)).next().unwrap_or_default();
    all.iter().any(|word| has(tables::NEGATIONS, word))
        || before.iter().any(|word| has(tables::NO_ORDER, word))
        || since_link.iter().any(|word| has(tables::ONLY_INFORMS, word))
}

/// Whether the verb stands where an order stands: first, after "please", "can you", "quiero que" and the like, after
/// the place ("in Hall A ..."), or after a bare room name when an object follows.
fn stands_as_order(phrase: &Phrase, clause: &Clause, before: &[String]) -> bool {
    let (Some(first), Some(last)) = (before.first(), before.last()) else { return true };
    if phrase.spanish && last == "que" {
        return before.iter().any(|word| has(tables::WANTS_THAT, word));
    }
    let lead_in = if phrase.spanish { tables::LEAD_IN_ES } else { tables::LEAD_IN_EN };
    if has(lead_in, last) {
        return true;
    }
    let told = before.iter().any(|word| has(tables::MODALS, word)) || has(tables::NOT_BEFORE_ORDER, last);
    let place_first = has(tables::PLACES, first);
    let room_first = !phrase.spanish
        && !phrase.is_bare()
        && before.len() <= 4
        && !has(tables::SUBJECTS, first)
        && !before.iter().any(|word| has(tables::OTHER_VERBS, word));
    !told && !clause.question && (place_first || room_first)
}

/// A question is a request only with "can you", "please" or the like; in English an order may end in a question mark.
fn is_requested(phrase: &Phrase, clause: &Clause, before: &[String]) -> bool {
    let strict = clause.after_state_question && !clause.polite;
    !strict && (!clause.question || clause.sentence_polite || (!phrase.spanish && before.is_empty()))
}

/// "Restart history" and "restart the recording" are no reboot.
fn is_followed_by_noun(tool: Tool, after: &[String]) -> bool {
    let next = after.iter().find(|word| !has(tables::DETERMINERS, word));
    next.is_some_and(|word| has(tables::ABOUT_THE_VERB, word) || (tool == Tool::Reboot && has(tables::MEDIA, word)))
}
