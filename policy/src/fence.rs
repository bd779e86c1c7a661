//! The fence: which units a change may touch at all (`seed 000, Fence`). No fence, no proposal.

use crate::ids::{MasterId, split_channel_device};
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Shown;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// Longest entry or team id that an error repeats, in characters.
const ECHO: usize = 60;

/// Longest team id, in bytes.
const TEAM_ID: usize = 128;

/// An allowlist of units, a team id, or both. There is no fence that allows everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    devices: BTreeSet<MasterId>,
    team: Option<String>,
}

/// A fence setting that can't be understood. The executor refuses to propose until it is corrected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FenceError {
    /// An entry names a channel of a unit.
    Channel {
        /// The entry, safe to show.
        entry: String,
        /// The unit that it is on.
        master: MasterId,
    },
    /// An entry is no unit id.
    Device {
        /// The entry, safe to show.
        entry: String,
    },
    /// Something is written there, but no unit id.
    Empty,
    /// The team id has blanks or odd characters, or is too long.
    Team {
        /// The team id, safe to show.
        team: String,
    },
}

impl fmt::Display for FenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel { entry, master } => {
                write!(f, "FLEETWATCH_WRITE_DEVICE_IDS: \"{entry}\" is a channel; write the unit's id, {master}")
            }
            Self::Device { entry } => write!(
                f,
                "FLEETWATCH_WRITE_DEVICE_IDS: \"{entry}\" is not a unit id; write 8 to 32 characters of 0-9 and a-f, \
                 several with commas between them"
            ),
            Self::Empty => write!(
                f,
                "FLEETWATCH_WRITE_DEVICE_IDS names no unit; write unit ids with commas between them, or leave it empty"
            ),
            Self::Team { team } => write!(
                f,
                "FLEETWATCH_WRITE_TEAM_ID: \"{team}\" is not a team id; write it without blanks, at most {TEAM_ID} \
                 characters"
            ),
        }
    }
}

impl std::error::Error for FenceError {}

impl Fence {
    /// Reads the two settings: a comma list of unit ids (case and blanks ignored) and a team id. Both empty gives `None`.
    ///
    /// # Errors
    /// [`FenceError`] names the entry that is no unit id and says what to write; nothing is silently dropped.
    pub fn from_settings(device_ids: &str, team_id: &str) -> Result<Option<Self>, FenceError> {
        let devices = read_devices(device_ids)?;
        let team = read_team(team_id)?;
        if devices.is_empty() && team.is_none() {
            return Ok(None);
        }
        Ok(Some(Self { devices, team }))
    }

    /// Whether this unit, on the team that was observed, may be changed (`seed 000, Fence`).
    ///
    /// # Errors
    /// `outside_fence` when the allowlist lacks it, `team_mismatch` when the team is another one or unknown.
    pub fn allows(&self, target: &MasterId, team_id: Option<&str>) -> Result<(), Refusal> {
        self.allows_unit(target)?;
        let Some(wanted) = self.team.as_deref() else { return Ok(()) };
        if team_id == Some(wanted) || !stands(RefusalCode::TeamMismatch) {
            return Ok(());
        }
        let detail = match team_id {
            Some(found) => format!("the sign-in is on team {found}"),
            None => "the answer names no team".to_owned(),
        };
        Err(Refusal::new(RefusalCode::TeamMismatch, &detail))
    }

    /// The half of [`Fence::allows`] that needs no read.
    ///
    /// # Errors
    /// `outside_fence` when the allowlist lacks it.
    pub fn allows_unit(&self, target: &MasterId) -> Result<(), Refusal> {
        let allowed = self.devices.is_empty() || self.devices.contains(target);
        if allowed || !stands(RefusalCode::OutsideFence) {
            return Ok(());
        }
        Err(Refusal::new(RefusalCode::OutsideFence, &format!("unit {target}")))
    }

    /// Plain text for status pages, such as `3 devices, team 5f1e`.
    #[must_use]
    pub fn describe(&self) -> String {
        let devices = match self.devices.len() {
            0 => None,
            1 => Some("1 device".to_owned()),
            more => Some(format!("{more} devices")),
        };
        let team = self.team.as_deref().map(|team| format!("team {}", Shown::capped(team, ECHO)));
        [devices, team].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Canonical text of the fence, for the version of the policy slice that was evaluated.
    #[must_use]
    pub fn slice_text(&self) -> String {
        let devices: Vec<_> = self.devices.iter().map(MasterId::as_str).collect();
        let team = self.team.as_deref().map_or(Value::Null, Value::from);
        json!({ "devices": devices, "team": team }).to_string()
    }
}

fn read_devices(text: &str) -> Result<BTreeSet<MasterId>, FenceError> {
    let mut devices = BTreeSet::new();
    for raw in text.split(',') {
        let entry = raw.trim().to_ascii_lowercase();
        if entry.is_empty() {
            continue;
        }
        let Some(master) = MasterId::new(&entry) else {
            let shown = Shown::capped(raw.trim(), ECHO).into_string();
            return Err(match split_channel_device(&entry) {
                Some((master, _)) => FenceError::Channel { entry: shown, master },
                None => FenceError::Device { entry: shown },
            });
        };
        devices.insert(master);
    }
    // A list of nothing but commas was meant to name something.
    if devices.is_empty() && !text.trim().is_empty() {
        return Err(FenceError::Empty);
    }
    Ok(devices)
}

fn read_team(text: &str) -> Result<Option<String>, FenceError> {
    let team = text.trim();
    if team.is_empty() {
        return Ok(None);
    }
    if team.len() > TEAM_ID || !team.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(FenceError::Team { team: Shown::capped(team, ECHO).into_string() });
    }
    Ok(Some(team.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(devices: &str, team: &str) -> Fence {
        Fence::from_settings(devices, team).unwrap().unwrap()
    }

    fn master(text: &str) -> MasterId {
        MasterId::new(text).unwrap()
    }

    fn code(result: Result<(), Refusal>) -> Option<RefusalCode> {
        result.err().map(|refusal| refusal.code)
    }

    #[test]
    fn no_setting_is_no_fence() {
        for (devices, team) in [("", ""), ("  ", " \n"), ("\t", "")] {
            assert_eq!(Fence::from_settings(devices, team), Ok(None));
        }
    }

    #[test]
    fn the_allowlist_ignores_case_and_blanks_and_allows_nothing_else() {
        let fence = fence(" 190ABCDEF12 , 19012341234,,", "");
        assert_eq!(code(fence.allows(&master("190abcdef12"), None)), None);
        assert_eq!(code(fence.allows(&master("19012341234"), Some("any"))), None);
        let outside = fence.allows(&master("19012341235"), None).unwrap_err();
        assert_eq!(outside.code, RefusalCode::OutsideFence);
        assert!(outside.detail.contains("19012341235"));
    }

    #[test]
    fn an_entry_that_is_no_unit_id_is_named() {
        let unit = "19012341234";
        for bad in ["Hall A", "1234567", "19012341234x", "\"19012341234\"", "1901234-1234", "../19012341234"] {
            let error = Fence::from_settings(&format!("{unit},{bad}"), "").unwrap_err();
            assert!(matches!(error, FenceError::Device { .. }), "{bad}: {error}");
            assert!(error.to_string().contains(&Shown::whole(bad).into_string()), "{error}");
        }
        let channel = Fence::from_settings("19012341234-2", "").unwrap_err();
        assert!(channel.to_string().contains("write the unit's id, 19012341234"), "{channel}");
        assert_eq!(Fence::from_settings(" , ", "team"), Err(FenceError::Empty));
    }

    #[test]
    fn a_team_id_alone_allows_any_unit_of_exactly_that_team() {
        let fence = fence("", " 5f1e-aa ");
        let unit = master("19012341234");
        assert_eq!(code(fence.allows(&unit, Some("5f1e-aa"))), None);
        assert_eq!(code(fence.allows(&unit, Some("5f1e-ab"))), Some(RefusalCode::TeamMismatch));
        assert_eq!(code(fence.allows(&unit, None)), Some(RefusalCode::TeamMismatch));
        for bad in ["a b", "a\u{202e}b", &"a".repeat(129)] {
            assert!(matches!(Fence::from_settings("", bad), Err(FenceError::Team { .. })), "{bad}");
        }
    }

    #[test]
    fn both_settings_hold_together() {
        let fence = fence("19012341234", "5f1e");
        assert_eq!(code(fence.allows(&master("19012341234"), Some("5f1e"))), None);
        assert_eq!(code(fence.allows(&master("19012341234"), None)), Some(RefusalCode::TeamMismatch));
        assert_eq!(code(fence.allows(&master("29012341234"), Some("5f1e"))), Some(RefusalCode::OutsideFence));
        assert_eq!(code(fence.allows_unit(&master("19012341234"))), None);
    }

    #[test]
    fn the_description_and_the_slice_name_what_is_set() {
        assert_eq!(fence("19012341234", "").describe(), "1 device");
        assert_eq!(fence("19012341234,29012341234", "5f1e").describe(), "2 devices, team 5f1e");
        assert_eq!(fence("", "5f1e").describe(), "team 5f1e");
        let one = fence("29012341234,19012341234", "").slice_text();
        assert_eq!(one, r#"{"devices":["19012341234","29012341234"],"team":null}"#);
        assert_eq!(one, fence("19012341234, 29012341234", "").slice_text());
        assert_ne!(one, fence("19012341234", "").slice_text());
    }
}
