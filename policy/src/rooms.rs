//! What people call a room besides its name, and what they want to be reminded of (`policy.yaml`, `rooms`; issue line 3.15).
//! These are words for people; nothing is decided by them.

use crate::yaml::{Listed, PolicyError, Source, Text};
use serde::Deserialize;
use serde_saphyr::Spanned;
use std::collections::BTreeSet;

/// Longest note, in characters.
const NOTE: usize = 280;

/// One room's other names and notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// The unit's name, as the fleet has it.
    pub name: String,
    /// Other names that people use in questions.
    pub aliases: Vec<String>,
    /// One line each, newest last.
    pub notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRoom {
    name: Spanned<Text>,
    #[serde(default)]
    aliases: Listed<Spanned<Text>>,
    #[serde(default)]
    notes: Listed<Spanned<Text>>,
}

/// Checks the rooms of a file: no name is empty, no name or alias stands twice, and a note is one line.
pub(crate) fn rooms(source: Source<'_>, raw: &[RawRoom]) -> Result<Vec<Room>, PolicyError> {
    let mut known = BTreeSet::new();
    let mut own = |text: &Spanned<Text>| {
        let name = text.value.0.trim().to_owned();
        if name.is_empty() || !known.insert(name.to_lowercase()) {
            let what = "rooms: a name or alias is empty or stands twice";
            return Err(source.refuse(text.referenced, what, "Remove it"));
        }
        Ok(name)
    };
    let mut rooms = Vec::new();
    for one in raw {
        let name = own(&one.name)?;
        let aliases = one.aliases.0.iter().map(&mut own).collect::<Result<_, _>>()?;
        let notes = one.notes.0.iter().map(|text| note(source, text)).collect::<Result<_, _>>()?;
        rooms.push(Room { name, aliases, notes });
    }
    Ok(rooms)
}

fn note(source: Source<'_>, text: &Spanned<Text>) -> Result<String, PolicyError> {
    let note = text.value.0.trim();
    let fits = (1..=NOTE).contains(&note.chars().count()) && !note.chars().any(char::is_control);
    let refuse = || {
        let what = format!("rooms: a note is one line of 1 to {NOTE} characters");
        source.refuse(text.referenced, &what, "Shorten it")
    };
    if fits { Ok(note.to_owned()) } else { Err(refuse()) }
}

#[cfg(test)]
mod tests {
    use crate::behaviour::Behaviour;

    #[test]
    fn aliases_and_notes_are_read() {
        let text = "rooms:\n  - name: Hall A\n    aliases: [Main hall, Salón grande]\n    notes: [The HDMI plate is loose]\n  - name: Hall B\n";
        let file = Behaviour::parse(text, "policy.yaml").unwrap();
        let [hall, other] = file.rooms() else { panic!("{file:?}") };
        assert_eq!((hall.aliases.len(), hall.notes[0].as_str()), (2, "The HDMI plate is loose"));
        assert_eq!((other.name.as_str(), other.notes.len()), ("Hall B", 0));
        assert!(Behaviour::shipped().unwrap().rooms().is_empty());
    }

    #[test]
    fn what_is_ambiguous_or_too_long_is_refused_with_its_line() {
        let long = format!("rooms:\n  - name: A\n    notes: [\"{}\"]\n", "x".repeat(281));
        for (text, line) in [
            ("rooms:\n  - name: Hall A\n  - name: hall a\n", 3),
            ("rooms:\n  - name: Hall A\n    aliases: [Hall A]\n", 3),
            ("rooms:\n  - name: \"\"\n", 2),
            ("rooms:\n  - aliases: [x]\n", 2),
            ("rooms:\n  - name: A\n    color: red\n", 3),
            (long.as_str(), 3),
        ] {
            let error = Behaviour::parse(text, "policy.yaml").unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
        }
    }
}
