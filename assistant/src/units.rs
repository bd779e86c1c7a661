//! The units that the normal sign-in has ever listed, kept across restarts: `login --sandbox` is compared with them too,
//! also when the fleet can't be read (issue line 3.5). Another account's are put to them, since it may be the wrong one
//! that somebody signed in with by mistake; only signing out forgets them.

use host::files::{self, FileError};
use policy::observed::Team;
use protocol::signin::MAX_IDS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const FILE: &str = "units-seen.json";
/// Another layout of the file is another number.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// What the normal sign-in has listed.
#[derive(Debug, Default)]
pub(crate) struct Units {
    file: Option<PathBuf>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    kept: Kept,
    trouble: Option<String>,
}

/// The file. Each id stands in it once, the one listed last at the end.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    /// Of the list that was read last, where it said so.
    team: Option<String>,
    ids: Vec<String>,
}

/// Whether a list is that of another account or team than an earlier one: the teams' ids say so, or without them no unit
/// is the same.
pub(crate) fn is_of_another(team: Option<&str>, had: impl Fn(&str) -> bool, list: &Team) -> bool {
    match (team, list.team_id.as_deref()) {
        (Some(before), Some(now)) => before != now,
        (None, _) | (_, None) => !list.devices.iter().any(|unit| had(unit.id.as_str())),
    }
}

impl Units {
    /// What an earlier run kept in this folder. A file that can't be used is logged, and the list begins anew.
    pub(crate) fn load(state_dir: &Path) -> Self {
        let file = state_dir.join(FILE);
        let (kept, trouble) = match read(&file) {
            Ok(kept) => (kept, None),
            Err(error) => {
                tracing::warn!(error, "the units that the normal sign-in has listed begin anew");
                (Kept::default(), Some(error))
            }
        };
        Self { file: Some(file), known: Mutex::new(Known { kept, trouble }) }
    }

    /// Takes in a list that was read, whichever account's it is. An empty one says nothing.
    pub(crate) fn note(&self, team: &Team) {
        if team.devices.is_empty() {
            return;
        }
        let mut known = self.known();
        let before = &known.kept;
        let now: BTreeSet<&str> = team.devices.iter().map(|unit| unit.id.as_str()).collect();
        let earlier = before.ids.iter().filter(|id| !now.contains(id.as_str()));
        let mut ids: Vec<String> = earlier.cloned().chain(now.iter().map(|id| (*id).to_owned())).collect();
        // The ones that were not listed for the longest time go first.
        ids.drain(..ids.len().saturating_sub(MAX_IDS));
        let team = team.team_id.clone().or_else(|| before.team.clone());
        let kept = Kept { version: VERSION, team, ids };
        if kept != known.kept {
            known.kept = kept;
            self.save(&mut known);
        }
    }

    /// Every id that was listed.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.known().kept.ids.clone()
    }

    /// Forgets them all.
    pub(crate) fn forget(&self) {
        let mut known = self.known();
        known.kept = Kept::default();
        let Some(file) = &self.file else { return };
        known.trouble = match files::remove_private(file) {
            Ok(()) | Err(FileError::NotFound { .. }) => None,
            Err(error) => {
                tracing::error!(%error, "the units that the normal sign-in has listed could not be forgotten");
                Some(error.to_string())
            }
        };
    }

    /// What is wrong, with what to do.
    pub(crate) fn trouble(&self) -> Option<String> {
        let error = self.known().trouble.clone()?;
        Some(format!("the units that the normal sign-in has listed cannot be kept for login --sandbox: {error}"))
    }

    fn save(&self, known: &mut Known) {
        let Some(file) = &self.file else { return };
        let text = serde_json::to_vec(&known.kept).map_err(|error| error.to_string());
        let saved = text.and_then(|text| files::write_private(file, &text).map_err(|error| error.to_string()));
        if let Err(error) = &saved
            && known.trouble.as_ref() != Some(error)
        {
            tracing::error!(error, "the units that the normal sign-in has listed could not be kept");
        }
        known.trouble = saved.err();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(file: &Path) -> Result<Kept, String> {
    let text = match files::read_private(file, LARGEST) {
        Ok(text) => text,
        Err(FileError::NotFound { .. }) => return Ok(Kept::default()),
        Err(error) => return Err(error.to_string()),
    };
    let kept: Option<Kept> = serde_json::from_str(&text).ok();
    kept.filter(|kept| kept.version == VERSION && kept.ids.len() <= MAX_IDS)
        .ok_or_else(|| format!("{} is damaged or of another version; the next look writes it anew", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::parse::devices;
    use serde_json::{Value, json};
    use std::os::unix::fs::PermissionsExt;

    fn team(ids: &[&str], team_id: Option<&str>) -> Team {
        let units: Vec<Value> = ids
            .iter()
            .map(|id| json!({"Id": id, "Name": "Hall", "Model": "Pearl-2", "Firmware": "4.24.6", "Status": "online"}))
            .collect();
        devices::team(&json!({"devices": units, "team_id": team_id})).unwrap()
    }

    const A: &str = "20300000001";
    const B: &str = "20300000002";
    const C: &str = "20300000003";

    #[test]
    fn what_was_ever_listed_outlives_a_restart_in_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let units = Units::load(folder.path());
        units.note(&team(&[A, B], None));
        units.note(&team(&[B, C], None));
        units.note(&team(&[], None));
        assert_eq!(Units::load(folder.path()).ids(), [A, B, C]);
        assert_eq!(folder.path().join(FILE).metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(units.trouble(), None);
    }

    #[test]
    fn an_account_that_was_signed_in_by_mistake_takes_no_unit_of_the_right_one_away() {
        let folder = tempfile::tempdir().unwrap();
        let units = Units::load(folder.path());
        units.note(&team(&[A], None));
        units.note(&team(&[B, C], None));
        assert_eq!(units.ids(), [A, B, C]);
        units.note(&team(&[B], Some("t-1")));
        units.note(&team(&[A], Some("t-2")));
        assert_eq!(units.ids(), [C, B, A], "neither another team nor no common unit drops any");
        assert_eq!(Units::load(folder.path()).ids(), [C, B, A]);
    }

    #[test]
    fn signing_out_forgets_them_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let units = Units::load(folder.path());
        units.forget();
        units.note(&team(&[A], None));
        units.forget();
        assert!(units.ids().is_empty() && Units::load(folder.path()).ids().is_empty());
        assert!(!folder.path().join(FILE).exists() && units.trouble().is_none());
    }

    #[test]
    fn no_more_are_kept_than_travel_and_the_oldest_go_first() {
        let units = Units::default();
        let ids: Vec<String> = (0..MAX_IDS).map(|at| format!("203{at:08}")).collect();
        units.note(&team(&ids.iter().map(String::as_str).collect::<Vec<_>>(), None));
        units.note(&team(&[&ids[0], "20399999999"], None));
        let kept = units.ids();
        assert_eq!((kept.len(), kept.contains(&ids[1])), (MAX_IDS, false));
        assert!(kept.contains(&ids[0]) && kept.contains(&ids[2]) && kept.last().unwrap() == "20399999999");
    }

    #[test]
    fn a_damaged_file_is_told_and_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        for bad in ["", "{", r#"{"version":2,"team":null,"ids":[]}"#, r#"{"version":1,"team":null,"ids":[],"more":1}"#]
        {
            files::write_private(&folder.path().join(FILE), bad.as_bytes()).unwrap();
            let units = Units::load(folder.path());
            assert!(units.ids().is_empty() && units.trouble().is_some_and(|text| text.contains("damaged")), "{bad}");
            units.note(&team(&[A], None));
            assert!(units.trouble().is_none() && Units::load(folder.path()).ids() == [A], "{bad}");
        }
    }
}
