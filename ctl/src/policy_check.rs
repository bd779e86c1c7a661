//! `policy check`: a policy file read with the loader that the daemons use, and what it means in plain words. No daemon
//! is asked (issue line 3.18).

mod meaning;

use crate::cli::PolicyKind;
use crate::exit::Exit;
use crate::out::Out;
use crate::render::page::Page;
use crate::render::{pick, safe};
use crate::session::Session;
use meaning::Meaning;
use policy::behaviour::Behaviour;
use policy::principals::Principals;
use policy::tool_policy::ToolPolicy;
use policy::yaml::{MAX_BYTES, PolicyError};
use protocol::shown::Language;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a file is not good.
#[derive(Debug)]
enum Fault {
    /// It is not understood, at a place.
    Refused(PolicyError),
    /// Neither its name nor its first key says what it is.
    Unnamed,
    /// It cannot be read.
    Unreadable(io::Error),
}

/// Checks every file; exit 1 when one of them would keep a daemon from starting.
pub(crate) fn check(
    session: &Session,
    out: &mut Out,
    (files, said): (&[PathBuf], Option<PolicyKind>),
    json: bool,
) -> Exit {
    let mut exit = Exit::Done;
    let mut told = Vec::new();
    for path in files {
        let (kind, verdict) = one(path, said, session.language);
        if verdict.is_err() {
            exit = Exit::Wrong;
        }
        if json {
            told.push(verdict_json(path, kind, &verdict));
        } else {
            out.text(&verdict_text(path, kind, &verdict, session));
        }
    }
    if json {
        out.json(&Value::Array(told));
    }
    exit
}

fn one(path: &Path, said: Option<PolicyKind>, language: Language) -> (Option<PolicyKind>, Result<Meaning, Fault>) {
    let text = match read(path) {
        Ok(text) => text,
        Err(error) => return (said, Err(Fault::Unreadable(error))),
    };
    let Some(kind) = said.or_else(|| kind_by_name(path)).or_else(|| kind_by_text(&text)) else {
        return (None, Err(Fault::Unnamed));
    };
    let file = path.to_string_lossy();
    let verdict = match kind {
        PolicyKind::Policy => Behaviour::parse(&text, &file)
            .and_then(|behaviour| zone_is_known(behaviour, &text, &file))
            .map(|behaviour| meaning::of_behaviour(&behaviour, language)),
        PolicyKind::Principals => {
            Principals::parse(&text, &file).map(|people| meaning::of_principals(&people, language))
        }
        PolicyKind::ToolPolicy => ToolPolicy::parse(&text, &file).map(|tools| meaning::of_tools(&tools, language)),
    };
    (Some(kind), verdict.map_err(Fault::Refused))
}

// One byte more than the loader takes, so that it refuses a file that is too large by itself.
fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("this is no file"));
    }
    let mut text = String::new();
    let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_string(&mut text)?;
    Ok(text)
}

fn kind_by_name(path: &Path) -> Option<PolicyKind> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    [("tool_policy", PolicyKind::ToolPolicy), ("principals", PolicyKind::Principals), ("policy", PolicyKind::Policy)]
        .into_iter()
        .find_map(|(part, kind)| name.contains(part).then_some(kind))
}

// By its first line that says anything.
fn kind_by_text(text: &str) -> Option<PolicyKind> {
    let says = |line: &&str| !line.trim().is_empty() && !line.starts_with('#') && *line != "---";
    let first = text.lines().find(says)?;
    if first.starts_with(['-', '[']) {
        return Some(PolicyKind::Principals);
    }
    match first.split(':').next()? {
        "disruptive" | "propose" | "read" | "verbs" | "write" => Some(PolicyKind::ToolPolicy),
        "autonomy"
        | "dry_run"
        | "heartbeat_seconds"
        | "lead_minutes"
        | "quiet_hours"
        | "remind_after_minutes"
        | "rooms"
        | "scope"
        | "sweep_at"
        | "thresholds"
        | "timezone"
        | "vertical" => Some(PolicyKind::Policy),
        _ => None,
    }
}

// The loader knows the shape of a zone's name; the daemons look it up when they start, and so does this.
fn zone_is_known(behaviour: Behaviour, text: &str, file: &str) -> Result<Behaviour, PolicyError> {
    if jiff::tz::TimeZone::get(behaviour.timezone()).is_ok() {
        return Ok(behaviour);
    }
    let place = text.lines().position(|line| line.starts_with("timezone"));
    Err(PolicyError {
        file: safe(file),
        line: place.map_or(1, |place| place + 1),
        column: 1,
        what: format!("timezone: this system knows no zone {}", safe(behaviour.timezone())),
        advice: "Correct the name, for example Europe/Madrid, or install the system's time zones.".to_owned(),
    })
}

fn words(kind: PolicyKind, language: Language) -> &'static str {
    match kind {
        PolicyKind::Policy => {
            pick(language, "policy.yaml, how Fleetwatch behaves", "policy.yaml, cómo se comporta Fleetwatch")
        }
        PolicyKind::Principals => {
            pick(language, "principals.yaml, who may decide", "principals.yaml, quién puede decidir")
        }
        PolicyKind::ToolPolicy => pick(
            language,
            "tool_policy.yaml, what may be read and proposed",
            "tool_policy.yaml, qué se puede leer y proponer",
        ),
    }
}

fn verdict_text(path: &Path, kind: Option<PolicyKind>, verdict: &Result<Meaning, Fault>, session: &Session) -> String {
    let language = session.language;
    let mut page = Page::new(session.columns);
    let file = safe(&path.to_string_lossy());
    let taken = kind
        .map_or(String::new(), |kind| format!("{} {}", pick(language, "read as", "leído como"), words(kind, language)));
    match verdict {
        Ok(meaning) => {
            page.line(&format!("{file}: ok, {taken}"));
            for (label, value) in &meaning.fields {
                page.field(label, value);
            }
        }
        Err(fault) => {
            let refused = pick(language, "refused", "rechazado");
            let taken = if taken.is_empty() { taken } else { format!(", {taken}") };
            page.line(&format!("{file}: {refused}{taken}"));
            page.line(&fault_text(fault, language));
        }
    }
    page.into_text()
}

fn fault_text(fault: &Fault, language: Language) -> String {
    match fault {
        Fault::Refused(error) => error.to_string(),
        Fault::Unnamed => pick(
            language,
            "Neither its name nor its first key says which file it is. Say it with --as.",
            "Ni su nombre ni su primera clave dicen qué archivo es. Dígalo con --as.",
        )
        .to_owned(),
        Fault::Unreadable(error) => {
            format!("{}: {error}", pick(language, "It cannot be read", "No se puede leer"))
        }
    }
}

fn verdict_json(path: &Path, kind: Option<PolicyKind>, verdict: &Result<Meaning, Fault>) -> Value {
    let file = path.to_string_lossy();
    let kind = kind.map(PolicyKind::as_str);
    match verdict {
        Ok(meaning) => json!({ "file": file, "kind": kind, "ok": true, "means": meaning.json }),
        Err(Fault::Refused(error)) => json!({
            "file": file, "kind": kind, "ok": false, "line": error.line, "column": error.column,
            "what": error.what, "advice": error.advice,
        }),
        Err(fault @ (Fault::Unnamed | Fault::Unreadable(_))) => {
            json!({ "file": file, "kind": kind, "ok": false, "what": fault_text(fault, Language::English) })
        }
    }
}

#[cfg(test)]
mod tests;
