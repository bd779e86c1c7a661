//! What the watcher remembers across a restart: one private JSON file in the assistant's state folder. A damaged file
//! means that it starts anew; nothing is then said to be over that was never checked.

use crate::watch::findings::{Finding, Priority};
use crate::watch::posts::{Post, Queued};
use crate::watch::readiness::Verdict;
use host::files::{self, FileError};
use protocol::shown::Worded;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Another layout of the file is another number.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Most days that are kept.
const DAYS: usize = 90;

/// A finding that is open, or was and has not been said to be over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open {
    /// The unit's id.
    pub(crate) unit: String,
    /// The room's name, safe to show.
    pub(crate) room: String,
    /// How soon.
    pub(crate) priority: Priority,
    /// What, in both languages.
    pub(crate) what: Worded,
    /// When it was first seen, Unix seconds.
    pub(crate) first_seen: i64,
    /// When it was last said; nothing while it waits for the end of the quiet hours.
    pub(crate) last_sent: Option<i64>,
    /// When it was found to be over, until that has been said.
    pub(crate) gone: Option<i64>,
}

impl Open {
    /// A finding as it is when it is first seen.
    pub(crate) fn of(found: &Finding, now: i64) -> Self {
        Self {
            unit: found.unit().to_owned(),
            room: found.room.clone(),
            priority: found.priority,
            what: found.what.clone(),
            first_seen: now,
            last_sent: None,
            gone: None,
        }
    }
}

/// What was last said about one occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// Its start, Unix seconds.
    pub(crate) start: i64,
}

/// The last nightly check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sweep {
    /// Local date of it.
    pub(crate) date: String,
    /// Names of the rooms that were offline, by unit.
    pub(crate) offline: BTreeMap<String, String>,
    /// Units that were behind on firmware.
    pub(crate) behind: BTreeSet<String>,
    /// Its post, while it waits for the end of the quiet hours.
    pub(crate) waiting: Option<Post>,
}

/// One day in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Day {
    /// Local date.
    pub(crate) date: String,
    /// Looks that worked.
    pub(crate) looks: u32,
    /// Looks that did not.
    pub(crate) failed: u32,
    /// Most rooms in one look.
    pub(crate) rooms: u32,
    /// Most rooms offline in one look.
    pub(crate) offline: u32,
    /// Findings that began.
    pub(crate) began: u32,
    /// Findings that ended.
    pub(crate) ended: u32,
    /// Verdicts of ready, with or without notes, that were said.
    pub(crate) ready: u32,
    /// Verdicts of not ready that were said.
    pub(crate) not_ready: u32,
}

/// The last digest that was posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Posted {
    /// When, Unix seconds.
    pub(crate) at: i64,
    /// Its first line, in both languages.
    pub(crate) title: Worded,
}

/// Everything that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "members of a file, each a fact of its own")]
pub(crate) struct State {
    version: u32,
    /// The first look has been told.
    pub(crate) begun: bool,
    /// Some look found a unit; a list without any is then a failed look.
    pub(crate) had_units: bool,
    /// Findings by key.
    pub(crate) open: BTreeMap<String, Open>,
    /// Verdicts by occurrence.
    pub(crate) told: BTreeMap<String, Told>,
    /// The last nightly check.
    pub(crate) sweep: Option<Sweep>,
    /// Posts that a channel has not taken yet, oldest first.
    pub(crate) queue: Vec<Queued>,
    /// One line a day, oldest first.
    pub(crate) days: Vec<Day>,
    /// The last digest.
    pub(crate) posted: Option<Posted>,
    /// The units of the last good look; an older file has none.
    #[serde(default)]
    pub(crate) units: BTreeSet<String>,
    /// Their team, where it has an id.
    #[serde(default)]
    pub(crate) team: Option<String>,
    /// Looks that did not work, one after another; an older file has none.
    #[serde(default)]
    pub(crate) failures: u32,
    /// It has been said that the fleet is not seen, and not yet that it is again; an older file has none.
    #[serde(default)]
    pub(crate) blind: bool,
    /// It has been said that the executor's sign-in is over; an older file has none.
    #[serde(default)]
    pub(crate) writing_over: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            version: VERSION,
            begun: false,
            had_units: false,
            open: BTreeMap::new(),
            told: BTreeMap::new(),
            sweep: None,
            queue: Vec::new(),
            days: Vec::new(),
            posted: None,
            units: BTreeSet::new(),
            team: None,
            failures: 0,
            blind: false,
            writing_over: false,
        }
    }
}

impl State {
    /// What an earlier run remembered; the beginning when there is no file or it cannot be used, which is logged.
    pub(crate) fn load(file: &Path) -> Self {
        let text = match files::read_private(file, LARGEST) {
            Ok(text) => text,
            Err(FileError::NotFound { .. }) => return Self::default(),
            Err(error) => {
                tracing::warn!(%error, "what the watcher remembered cannot be read; it starts anew");
                return Self::default();
            }
        };
        match parsed(&text) {
            Some(state) if state.version == VERSION => state,
            Some(_) | None => {
                let file = file.display();
                tracing::warn!(%file, "what the watcher remembered is damaged or of another version; it starts anew");
                Self::default()
            }
        }
    }

    /// Puts it on the disk: whole or not at all.
    ///
    /// # Errors
    /// In words, with what to do.
    pub(crate) fn save(&self, file: &Path) -> Result<(), String> {
        let text = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        files::write_private(file, &text).map_err(|error| error.to_string())
    }

    /// The line of this local date, made when it is new.
    pub(crate) fn day(&mut self, date: &str) -> &mut Day {
        let at = self.days.iter().position(|day| day.date == date).unwrap_or_else(|| {
            self.days.push(Day { date: date.to_owned(), ..Day::default() });
            let over = self.days.len().saturating_sub(DAYS);
            self.days.drain(..over);
            self.days.len() - 1
        });
        &mut self.days[at]
    }
}

fn parsed(text: &str) -> Option<State> {
    let mut whole: serde_json::Value = serde_json::from_str(text).ok()?;
    // An older file has it, and nothing follows from it any more.
    whole.as_object_mut()?.remove("signed_in_anew");
    serde_json::from_value(whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_saved_is_loaded_again_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watch.json");
        assert_eq!(State::load(&file), State::default());
        let mut state = State { begun: true, had_units: true, ..State::default() };
        state.day("2031-02-03").looks = 7;
        state.writing_over = true;
        state.told.insert("k".into(), Told { verdict: Verdict::NotReady, start: 9 });
        state.save(&file).unwrap();
        assert_eq!(State::load(&file), state);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_file_or_another_version_starts_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watch.json");
        let good = serde_json::to_string(&State { begun: true, ..State::default() }).unwrap();
        for bad in ["", "{", "null", &good.replace("\"version\":1", "\"version\":2"), &good.replace("begun", "began")] {
            files::write_private(&file, bad.as_bytes()).unwrap();
            assert_eq!(State::load(&file), State::default(), "{bad}");
        }
        files::write_private(&file, good.as_bytes()).unwrap();
        assert!(State::load(&file).begun);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(State::load(&file), State::default());
    }

    #[test]
    fn a_queue_of_an_earlier_version_is_loaded_and_its_posts_have_no_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watch.json");
        let post = Post { title: "t".into(), lines: vec!["l".into()] };
        let queued = Queued { channel: "teams".into(), post, until: None, rest: None };
        let state = State { begun: true, queue: vec![queued], ..State::default() };
        let text = serde_json::to_string(&state).unwrap();
        let old = text.replace(",\"until\":null,\"rest\":null", "").replace(",\"writing_over\":false", "");
        assert_ne!(old, text);
        files::write_private(&file, old.as_bytes()).unwrap();
        assert_eq!(State::load(&file), state);
    }

    #[test]
    fn an_older_file_is_loaded_whichever_of_the_later_members_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watch.json");
        let state = State { begun: true, ..State::default() };
        let later = ["units", "team", "failures", "blind", "writing_over"];
        for lacks in later.iter().map(std::slice::from_ref).chain([&later[..]]) {
            let mut old = serde_json::to_value(&state).unwrap();
            let members = old.as_object_mut().unwrap();
            for member in lacks {
                members.remove(*member).unwrap();
            }
            members.insert("signed_in_anew".to_owned(), true.into());
            files::write_private(&file, old.to_string().as_bytes()).unwrap();
            assert_eq!(State::load(&file), state, "{lacks:?}");
            // What nobody knows is still no state of ours.
            old["more"] = true.into();
            files::write_private(&file, old.to_string().as_bytes()).unwrap();
            assert_eq!(State::load(&file), State::default());
        }
    }

    #[test]
    fn ninety_days_are_kept() {
        let mut state = State::default();
        for day in 0..100 {
            state.day(&format!("d{day}")).looks = 1;
        }
        assert_eq!((state.days.len(), state.days[0].date.as_str()), (90, "d10"));
        state.day("d50").looks += 1;
        assert_eq!((state.days.len(), state.day("d50").looks), (90, 2));
    }
}
