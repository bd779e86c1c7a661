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
use std::ops::Range;

/// Most words that `*` stands for.
const MAX_GAP: usize = 6;

/// One place of a phrase: any of these words, or a gap.
type Place = Option<Vec<String>>;

/// One phrase of a verb list: words, and gaps between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    places: Vec<Place>,
    spanish: bool,
}

impl Phrase {
    /// Reads a phrase: one to six places, `/` between words that may stand at one, `*` only between two of them.
    pub(crate) fn parse(text: &str, spanish: bool) -> Option<Self> {
        let folded = fold(text);
        let words = |place: &str| place.split('/').map(str::to_owned).collect();
        let places: Vec<Place> = folded.split_whitespace().map(|place| (place != "*").then(|| words(place))).collect();
        let is_plain = |word: &String| !word.is_empty() && word.chars().all(char::is_alphanumeric);
        let plain = places.iter().flatten().flatten().all(is_plain);
        let gaps_inside = places.first()?.is_some() && places.last()?.is_some();
        let apart = places.windows(2).all(|pair| pair.iter().any(Option::is_some));
        (plain && gaps_inside && apart && places.len() <= 6).then_some(Self { places, spanish })
    }

    /// Where the phrase ends when it begins at a word of the clause.
    fn end(&self, words: &[String], at: usize) -> Option<usize> {
        end_of(&self.places, words, at)
    }

    /// A verb alone says less than a verb with its object, so it must stand where an order stands.
    fn is_bare(&self) -> bool {
        self.places.len() == 1
    }

    /// Whether it begins with one of these words.
    fn begins_with(&self, any: &[&str]) -> bool {
        matches!(self.places.first(), Some(Some(words)) if words.iter().any(|word| has(any, word)))
    }

    /// Whether it is one gap between two words: "get * recording".
    fn ends_in_a_state(&self) -> bool {
        self.places.len() == 3
    }

    /// Whether a gap follows its first word.
    fn has_gap(&self) -> bool {
        self.places.get(1).is_some_and(Option::is_none)
    }
}

fn end_of(places: &[Place], words: &[String], at: usize) -> Option<usize> {
    match places.split_first() {
        None => Some(at),
        Some((Some(any), rest)) => {
            let fits = words.get(at).is_some_and(|word| any.contains(word));
            fits.then(|| end_of(rest, words, at + 1))?
        }
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

/// Whether the operator's own words speak of a change that may be proposed, asked for or not: then somebody who was not
/// understood is told of `/propose`. What they deny or tell of is not meant.
#[must_use]
pub fn mentions_change(policy: &ToolPolicy, words: &str) -> bool {
    let clauses = clauses::read(words);
    let speaks_of = |phrase: &Phrase, clause: &Clause| {
        let denies = clause.negated || clause.words.iter().any(|word| has(tables::NEGATIONS, word));
        !denies && (0..clause.words.len()).any(|at| phrase.end(&clause.words, at).is_some())
    };
    let is_proposable = |tool: Tool| policy.proposable().any(|entry| entry.tool() == tool);
    policy.phrases().filter(|(tool, _)| is_proposable(*tool)).any(|(_, phrases)| {
        phrases.iter().any(|phrase| !phrase.is_bare() && clauses.iter().any(|clause| speaks_of(phrase, clause)))
    })
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
                && !tells_how_things_are(tool, words, at..end)
                && !is_about_the_verb(tool, phrase, words, at..end)
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
    if phrase.begins_with(tables::GETS) {
        return gets_it_done(phrase, clause, before);
    }
    let before = match before {
        [before @ .., que, se] if phrase.spanish && que == "que" && se == "se" => before_and(clause, before.len() + 1),
        [before @ .., leads, a] if phrase.spanish && a == "a" && has(tables::LEADS_TO, leads) => before,
        all => all,
    };
    let (Some(first), Some(last)) = (before.first(), before.last()) else { return true };
    if phrase.spanish && last == "que" {
        let bids = before.len() == 1 && !clause.question;
        return bids || before.iter().any(|word| has(tables::WANTS_THAT, word));
    }
    if !phrase.spanish && has(tables::ASKED, last) {
        return before.iter().rev().nth(1).is_some_and(|word| has(tables::ASKING, word));
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

fn before_and(clause: &Clause, count: usize) -> &[String] {
    clause.words.get(clause.start..clause.start + count).unwrap_or_default()
}

/// "Get Hall A recording" and "we need a recording going" ask; "lecturers get Hall A recorded" tells. So nothing but
/// words of asking may stand in front.
fn gets_it_done(phrase: &Phrase, clause: &Clause, before: &[String]) -> bool {
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    if phrase.begins_with(tables::WISHES)
        && matches!(before.as_slice(), ["i" | "we" | "id" | "wed"] | ["i" | "we", "would" | "do" | "really"])
    {
        return !clause.question;
    }
    match before.as_slice() {
        [] => true,
        [.., "to"] => before.iter().any(|word| has(tables::WISHES, word)),
        [.., asking, asked] if has(tables::ASKED, asked) => has(tables::ASKING, asking),
        [.., last] => has(tables::SETS_GOING, last),
    }
}

/// A question is a request only with "can you", "please" or the like; in English an order may end in a question mark.
fn is_requested(phrase: &Phrase, clause: &Clause, before: &[String]) -> bool {
    let strict = clause.after_state_question && !clause.polite;
    !strict && (!clause.question || clause.sentence_polite || (!phrase.spanish && before.is_empty()))
}

/// "Confirm the event is on" asks, "stream to the lobby is down" reports, and "para la grabación" can mean "for it".
fn tells_how_things_are(tool: Tool, words: &[String], phrase: Range<usize>) -> bool {
    let Some(verb) = words.get(phrase.start) else { return false };
    let after = words.get(phrase.end..).unwrap_or_default();
    let may_tell = tool == Tool::ConfirmEvent || has(tables::VERB_OR_THING, verb);
    let holds = |(place, word): (usize, &String)| {
        let before = place.checked_sub(1).and_then(|place| after.get(place));
        has(tables::HOLDS, word) && !before.is_some_and(|word| has(tables::NAMES_ON, word))
    };
    (may_tell && after.iter().enumerate().any(holds))
        || (verb == "para" && after.iter().any(|word| has(tables::MEANS_FOR, word)))
}

/// "Restart history", "start time of the recording" and "stop recording failed" are about the verb; "restart the
/// recording" is no reboot.
fn is_about_the_verb(tool: Tool, phrase: &Phrase, words: &[String], found: Range<usize>) -> bool {
    let after = words.get(found.end..).unwrap_or_default();
    let about = |word: &String| has(tables::ABOUT_THE_VERB, word);
    if phrase.is_bare() {
        let is_reboot = tool == Tool::Reboot;
        return first_noun(after)
            .is_some_and(|word| about(word) || word == "of" || (is_reboot && has(tables::MEDIA, word)));
    }
    if phrase.begins_with(tables::GETS) {
        let gap = words.get(found.start + 1..found.end.saturating_sub(1)).unwrap_or_default();
        let is_thing = |word: &String| has(tables::NOT_BEFORE_ORDER, word) || has(tables::NO_ROOM, word);
        // "Get the recording" means a file; "get the recording going" and "get the hall recorded" do not.
        let is_noun = words.get(found.end.saturating_sub(1)).is_some_and(|word| word != "recorded");
        let of_thing = phrase.ends_in_a_state() && is_noun && gap.first().is_some_and(is_thing);
        let joined = gap.iter().any(|word| has(tables::JOINS, word))
            || after.first().is_some_and(|word| word == "of" || word == "from");
        if gap.is_empty() || of_thing || joined {
            return true;
        }
    }
    let gap = if phrase.has_gap() { words.get(found.start + 1..found.end).unwrap_or_default() } else { &[] };
    after.first().is_some_and(about)
        || first_noun(gap).is_some_and(about)
        || gap.first().is_some_and(|word| has(tables::MAKES_A_NOUN, word))
}

fn first_noun(words: &[String]) -> Option<&String> {
    words.iter().find(|word| !has(tables::DETERMINERS, word))
}
