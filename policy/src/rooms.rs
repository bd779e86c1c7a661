//! `rooms:` of policy.yaml: what people here call a room, beside the name that its unit has (issue line 2.7). They are the
//! venue's own words: trusted like the rest of the file, shown beside the official name and never in its place.

use crate::fold::fold;
use crate::ids::MasterId;
use crate::yaml::{Listed, Mapped, PolicyError, Source, Text, given};
use protocol::shown::Shown;
use serde::Deserialize;
use serde_saphyr::Spanned;

const MOST_ROOMS: usize = 500;
const MOST_ALIASES: usize = 5;
/// Longest alias, in characters.
const LONGEST: usize = 60;
/// Longest note, in characters.
const LONGEST_NOTE: usize = 200;

/// One room as its venue knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    device: MasterId,
    aliases: Vec<String>,
    note: String,
}

impl Room {
    /// The room's unit.
    #[must_use]
    pub fn device(&self) -> &MasterId {
        &self.device
    }

    /// What people call it, as the file has it.
    #[must_use]
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// What is worth knowing about it; may be empty.
    #[must_use]
    pub fn note(&self) -> &str {
        &self.note
    }
}

/// The rooms of the file, by unit, each once; no two share an alias.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rooms(Vec<Room>);

impl Rooms {
    /// Every room, in the file's order.
    pub fn iter(&self) -> impl Iterator<Item = &Room> {
        self.0.iter()
    }

    /// What people call a unit's room; none when the file does not say.
    #[must_use]
    pub fn aliases(&self, device: &MasterId) -> &[String] {
        self.0.iter().find(|room| room.device == *device).map_or(&[], Room::aliases)
    }

    /// What the venue wants told about a unit's room; empty when the file does not say.
    #[must_use]
    pub fn note(&self, device: &MasterId) -> &str {
        self.0.iter().find(|room| room.device == *device).map_or("", Room::note)
    }

    pub(crate) fn read(source: Source<'_>, raw: &RawRooms) -> Result<Self, PolicyError> {
        let mut rooms: Vec<Room> = Vec::new();
        for (key, raw) in &raw.0 {
            if rooms.len() == MOST_ROOMS {
                return Err(source.refuse(key.referenced, "rooms: more than 500 rooms", "Shorten the list"));
            }
            let device = MasterId::new(&key.value).ok_or_else(|| {
                let what = "rooms: expected the id of a unit, in quotes, like \"20301000003\"";
                source.refuse(key.referenced, what, "Correct the id; fleetwatchctl's cards show it")
            })?;
            let aliases = aliases(source, key, &raw.aliases, &rooms)?;
            let note = match &raw.note {
                None => String::new(),
                Some(note) => plain(source, "note", note, LONGEST_NOTE)?,
            };
            if aliases.is_empty() && note.is_empty() {
                let what = format!("rooms.{}: neither an alias nor a note", key.value);
                return Err(source.refuse(key.referenced, &what, "Give one, or remove the room"));
            }
            rooms.push(Room { device, aliases, note });
        }
        Ok(Self(rooms))
    }
}

/// `rooms:` as written.
pub(crate) type RawRooms = Mapped<RawRoom>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRoom {
    #[serde(default)]
    aliases: Listed<Spanned<Text>>,
    #[serde(default, deserialize_with = "given")]
    note: Option<Spanned<Text>>,
}

fn aliases(
    source: Source<'_>,
    key: &Spanned<String>,
    raw: &Listed<Spanned<Text>>,
    before: &[Room],
) -> Result<Vec<String>, PolicyError> {
    if raw.0.len() > MOST_ALIASES {
        let what = format!("rooms.{}: more than {MOST_ALIASES} aliases", key.value);
        return Err(source.refuse(key.referenced, &what, "Keep those that people say"));
    }
    let mut found: Vec<String> = Vec::new();
    for one in &raw.0 {
        let alias = plain(source, "alias", one, LONGEST)?;
        let mut taken = before.iter().flat_map(Room::aliases).chain(&found);
        if taken.any(|other| fold(other) == fold(&alias)) {
            let what = format!("rooms: the alias {alias:?} is given twice");
            return Err(source.refuse(one.referenced, &what, "A name means one room; keep one of the two"));
        }
        found.push(alias);
    }
    Ok(found)
}

/// Short text that a person reads as it is: nothing hidden, no blank at its ends, on one line.
fn plain(source: Source<'_>, kind: &str, raw: &Spanned<Text>, longest: usize) -> Result<String, PolicyError> {
    let text = &raw.value.0;
    let fits = (1..=longest).contains(&text.chars().count());
    if fits && text.trim() == text && !Shown::whole(text).was_flagged() {
        return Ok(text.clone());
    }
    let what =
        format!("rooms: expected a {kind} of 1 to {longest} characters without hidden ones or blanks at its ends");
    Err(source.refuse(raw.referenced, &what, "Correct it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::Behaviour;

    fn rooms(text: &str) -> Result<Rooms, PolicyError> {
        Behaviour::parse(text, "policy.yaml").map(|behaviour| behaviour.rooms().clone())
    }

    #[test]
    fn a_room_has_its_aliases_and_its_note() {
        let found = rooms(
            "rooms:\n  \"20301000003\":\n    aliases: [Aula Magna, the big hall]\n    note: Keys at the desk\n  \"20301000004\": {note: Loud}\n",
        )
        .unwrap();
        let id = |text| MasterId::new(text).unwrap();
        assert_eq!(found.aliases(&id("20301000003")), ["Aula Magna", "the big hall"]);
        assert_eq!(found.aliases(&id("20301000004")), [""; 0]);
        assert_eq!(found.aliases(&id("20301000005")), [""; 0]);
        assert_eq!(found.iter().map(Room::note).collect::<Vec<_>>(), ["Keys at the desk", "Loud"]);
        assert_eq!(rooms("").unwrap(), Rooms::default());
    }

    #[test]
    fn what_could_mean_two_rooms_or_hide_something_is_refused_with_its_line() {
        let long = "x".repeat(61);
        for (text, line, word) in [
            ("rooms:\n  \"Hall A\": {aliases: [x]}\n", 2, "the id of a unit"),
            ("rooms:\n  \"20301000003-1\": {aliases: [x]}\n", 2, "the id of a unit"),
            ("rooms:\n  \"20301000003\": {}\n", 2, "neither"),
            ("rooms:\n  \"20301000003\": {aliases: [x]}\n  \"20301000003\": {aliases: [y]}\n", 3, "twice"),
            ("rooms:\n  \"20301000003\": {aliases: [x]}\n  \"20301000004\": {aliases: [X]}\n", 3, "given twice"),
            ("rooms:\n  \"20301000003\": {aliases: [x, x]}\n", 2, "given twice"),
            (
                "rooms:\n  \"20301000003\": {aliases: [Salón]}\n  \"20301000004\": {aliases: [salon]}\n",
                3,
                "given twice",
            ),
            ("rooms:\n  \"20301000003\": {aliases: [a, b, c, d, e, f]}\n", 2, "more than 5"),
            ("rooms:\n  \"20301000003\": {aliases: [\" x\"]}\n", 2, "alias of 1 to 60"),
            ("rooms:\n  \"20301000003\": {aliases: [\"a\\u202Eb\"]}\n", 2, "alias of 1 to 60"),
            ("rooms:\n  \"20301000003\": {aliases: [\"\"]}\n", 2, "alias of 1 to 60"),
            (&format!("rooms:\n  \"20301000003\": {{aliases: [{long}]}}\n"), 2, "alias of 1 to 60"),
            ("rooms:\n  \"20301000003\": {aliases: [101]}\n", 2, "text"),
            ("rooms:\n  \"20301000003\": {alias: [x]}\n", 2, "alias"),
            ("rooms:\n  \"20301000003\": {note: \"\"}\n", 2, "note of 1 to 200"),
            ("rooms: []\n", 1, "mapping"),
        ] {
            let error = rooms(text).expect_err(text);
            assert!(error.line == line && error.what.contains(word), "{text}: {error}");
        }
    }
}
