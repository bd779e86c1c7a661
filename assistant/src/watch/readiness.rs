//! Is a room ready for what comes next in it (`facts 8.3`).

use crate::watch::findings::{channel_name, failing_recorders};
use crate::watch::rules::{Rules, room_name, shown};
use crate::watch::seen::Seen;
use policy::observed::{Device, Event};
use protocol::shown::{Language, Worded};
use reader::parse::warnings::Warning;
use serde::{Deserialize, Serialize};

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// Something stands against it.
    NotReady,
    /// Nothing does.
    Ready,
    /// Ready, with something to know.
    ReadyWithNotes,
}

impl Verdict {
    /// As people read it.
    pub(crate) fn words(self) -> Worded {
        match self {
            Self::NotReady => Worded::new("Not ready", "No está lista"),
            Self::Ready => Worded::new("Ready", "Lista"),
            Self::ReadyWithNotes => Worded::new("Ready, with notes", "Lista, con notas"),
        }
    }
}

/// One room before one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// The occurrence: unit, event and start.
    pub(crate) key: String,
    /// The room's name, safe to show.
    pub(crate) room: String,
    /// The event's title, safe to show.
    pub(crate) title: String,
    /// Its start, Unix seconds.
    pub(crate) start: i64,
    /// The answer.
    pub(crate) verdict: Verdict,
    /// The unit is online and its recorders could not be read, so that the verdict is not to be announced.
    pub(crate) unread: bool,
    /// What stands against it, or what is to be known.
    pub(crate) reasons: Vec<Worded>,
}

impl Check {
    /// One line: room, verdict, what it is for, when, and why.
    pub(crate) fn line(&self, was: Option<Verdict>, now: i64, to: (&Rules, Language)) -> String {
        format!("{}: {}", self.room, self.said(was, now, to))
    }

    /// The same without the room.
    pub(crate) fn said(&self, was: Option<Verdict>, now: i64, (rules, language): (&Rules, Language)) -> String {
        let verdict = self.verdict.words();
        let changed = was.map(|was| {
            let was = was.words();
            match language {
                Language::English => format!(" now (was: {})", was.en),
                Language::Spanish => format!(" ahora (antes: {})", was.es),
            }
        });
        let minutes = self.start.saturating_sub(now).saturating_add(59) / 60;
        let happening = rules.happening();
        let title = if self.title.is_empty() { String::new() } else { format!(" \"{}\"", self.title) };
        let time = rules.time(self.start);
        let what = match language {
            Language::English => format!("for {}{title} at {time}, in {minutes} min", happening.en),
            Language::Spanish => format!("para {}{title} a las {time}, en {minutes} min", happening.es),
        };
        let mut line = format!("{}{} {what}", verdict.get(language), changed.unwrap_or_default());
        if !self.reasons.is_empty() {
            let reasons: Vec<&str> = self.reasons.iter().map(|reason| reason.get(language)).collect();
            line.push_str(": ");
            line.push_str(&reasons.join("; "));
        }
        line
    }
}

/// The rooms whose next event starts within `window` seconds, in the order of the device list. Nothing once it has
/// started, and nothing when the events could not be read.
pub(crate) fn checks(seen: &Seen, rules: &Rules, window: i64) -> Vec<Check> {
    let devices = seen.team.devices.iter().filter(|device| rules.watches(device));
    devices.filter_map(|device| check(seen, device, window)).collect()
}

/// One room, if its next event starts within `window` seconds.
pub(crate) fn check(seen: &Seen, device: &Device, window: i64) -> Option<Check> {
    let event = seen.events.as_ref()?.get(&device.id)?.as_ref()?;
    let ahead = event.start.saturating_sub(seen.at);
    (ahead > 0 && ahead <= window).then(|| judged(seen, device, event))
}

fn judged(seen: &Seen, device: &Device, event: &Event) -> Check {
    let (blockers, notes) = reasons(seen, device);
    let (verdict, reasons) = match (blockers.is_empty(), notes.is_empty()) {
        (false, _) => (Verdict::NotReady, blockers),
        (true, false) => (Verdict::ReadyWithNotes, notes),
        (true, true) => (Verdict::Ready, notes),
    };
    Check {
        key: format!("{}:{}@{}", device.id, event.id, event.start),
        room: room_name(device),
        title: shown(&event.title),
        start: event.start,
        verdict,
        unread: device.online && !seen.recorders_read(device),
        reasons,
    }
}

fn reasons(seen: &Seen, device: &Device) -> (Vec<Worded>, Vec<Worded>) {
    let (mut blockers, mut notes) = (Vec::new(), Vec::new());
    if !device.online {
        blockers.push(Worded::new("offline", "desconectada"));
        return (blockers, notes);
    }
    if device.is_camera() {
        notes.push(Worded::new(
            "an EC20 camera, which records nothing itself",
            "una cámara EC20, que no graba por sí misma",
        ));
    }
    if !seen.recorders_read(device) {
        notes.push(Worded::new("its recorders could not be read", "no se pudieron leer sus grabadores"));
    }
    let failing = failing_recorders(device);
    for (_, name) in &failing {
        let (en, es) = (
            format!("the recorder of channel {name} reports an error"),
            format!("el grabador del canal {name} informa de un error"),
        );
        blockers.push(Worded::new(en, es));
    }
    if failing.is_empty() && seen.records(device) {
        notes.push(Worded::new("already recording", "ya está grabando"));
    }
    for warning in seen.warnings_of(device) {
        match warning {
            Warning::ChannelNoSignal { channel, name } => {
                let name = channel_name(channel, name);
                let (en, es) = (format!("no picture on channel {name}"), format!("sin imagen en el canal {name}"));
                blockers.push(Worded::new(en, es));
            }
            Warning::SourceNoSignal { source } => {
                let name = shown(source);
                notes.push(Worded::new(
                    format!("input {name} has no signal"),
                    format!("la entrada {name} no tiene señal"),
                ));
            }
            Warning::Storage => notes.push(Worded::new("little or no storage", "poco o ningún almacenamiento")),
            Warning::Other { .. } => {}
        }
    }
    (blockers, notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{NOON, event, look, readings, rules, unit};
    use serde_json::{Value, json};

    async fn verdict(at: usize, change: Value) -> Option<Check> {
        let mut files = readings();
        event(&mut files, at, NOON + 600, "Seminar");
        unit(&mut files, at, &change);
        checks(&look(&files, NOON).await, &rules(""), 1_800).into_iter().next()
    }

    #[tokio::test]
    async fn blockers_make_not_ready_and_notes_do_not() {
        let dark =
            json!({"Channels": [{"channel_id": "1", "name": "Program", "Warnings": [{"id": "channel_no_signal"}]}]});
        for (at, change, want, why) in [
            (0, json!({}), Verdict::Ready, ""),
            (0, json!({"Status": "offline"}), Verdict::NotReady, "offline"),
            (0, dark, Verdict::NotReady, "no picture on channel Program"),
            (0, json!({"Warnings": [{"id": "disk_space_error"}]}), Verdict::ReadyWithNotes, "little or no storage"),
            (
                0,
                json!({"Warnings": [{"id": "source_no_signal", "data": {"source_name": "HDMI-A"}}]}),
                Verdict::ReadyWithNotes,
                "input HDMI-A has no signal",
            ),
            (
                0,
                json!({"Channels": [{"channel_id": "2", "name": "Side", "recording_status": {"state": "error"}}]}),
                Verdict::NotReady,
                "the recorder of channel Side reports an error",
            ),
            (3, json!({}), Verdict::ReadyWithNotes, "an EC20 camera, which records nothing itself"),
        ] {
            let check = verdict(at, change.clone()).await.unwrap();
            assert_eq!(check.verdict, want, "{change}");
            assert_eq!(check.reasons.first().map_or("", |reason| &reason.en), why, "{change}");
        }
    }

    #[tokio::test]
    async fn a_recorder_that_runs_is_a_note() {
        let mut files = readings();
        event(&mut files, 0, NOON + 600, "Seminar");
        let id = files[protocol::ask::DEVICES]["devices"][0]["Id"].as_str().unwrap().to_owned();
        files.get_mut(protocol::ask::RECORDERS).unwrap()["devices"][&id]["Channels"]["1"] =
            json!({"state": "recording"});
        let check = checks(&look(&files, NOON).await, &rules(""), 1_800).remove(0);
        assert_eq!((check.verdict, check.reasons[0].es.as_str()), (Verdict::ReadyWithNotes, "ya está grabando"));
    }

    #[tokio::test]
    async fn recorders_that_could_not_be_read_are_a_note_and_the_verdict_is_marked() {
        let mut files = readings();
        event(&mut files, 0, NOON + 600, "Seminar");
        files.remove(protocol::ask::RECORDERS);
        let check = checks(&look(&files, NOON).await, &rules(""), 1_800).remove(0);
        assert_eq!((check.verdict, check.unread), (Verdict::ReadyWithNotes, true));
        assert_eq!(check.reasons[0].en, "its recorders could not be read");
        unit(&mut files, 0, &json!({"Status": "offline"}));
        let check = checks(&look(&files, NOON).await, &rules(""), 1_800).remove(0);
        assert_eq!((check.verdict, check.unread), (Verdict::NotReady, false));
    }

    #[tokio::test]
    async fn the_window_opens_with_the_lead_and_closes_at_the_start() {
        for (ahead, inside) in [(1_801, false), (1_800, true), (1, true), (0, false), (-60, false)] {
            let mut files = readings();
            event(&mut files, 0, NOON + ahead, "Seminar");
            assert_eq!(checks(&look(&files, NOON).await, &rules(""), 1_800).len(), usize::from(inside), "{ahead}");
        }
        let mut files = readings();
        files.remove(protocol::ask::EVENTS);
        assert!(checks(&look(&files, NOON).await, &rules(""), 1_800).is_empty());
    }

    #[tokio::test]
    async fn a_line_says_room_verdict_event_time_and_why_in_both_languages() {
        let check = verdict(0, json!({"Status": "offline"})).await.unwrap();
        let rules = rules("vertical: education\n");
        assert_eq!(
            check.line(None, NOON, (&rules, Language::English)),
            "Hall A: Not ready for the class \"Seminar\" at 12:10 UTC, in 10 min: offline"
        );
        let line = check.line(Some(Verdict::Ready), NOON, (&rules, Language::Spanish));
        assert_eq!(
            line,
            "Hall A: No está lista ahora (antes: Lista) para la clase \"Seminar\" a las 12:10 UTC, en 10 min: desconectada"
        );
    }
}
