//! The whole file: its lists, its entries, its verb lists.

use super::ToolPolicy;
use super::entry::{self, ProposeEntry};
use super::raw::{RawFile, RawVerbs, Words};
use super::schema::is_name;
use super::{KNOWN_WRITE, reads};
use crate::call::Tool;
use crate::intent::Phrase;
use crate::yaml::{Mapped, PolicyError, Source};
use serde_saphyr::Spanned;
use std::collections::{BTreeMap, BTreeSet};

/// Readiness window when neither the entry nor policy.yaml says.
const LEAD_MINUTES: u32 = 30;

pub(super) fn load(source: Source<'_>) -> Result<ToolPolicy, PolicyError> {
    let raw: RawFile = source.read()?;
    let write = names(source, "write", &raw.write)?;
    let read = names(source, "read", &raw.read)?;
    for name in &raw.read.0 {
        check_read(source, name.referenced, &name.value.0, &write)?;
    }
    let disruptive = names(source, "disruptive", &raw.disruptive)?;
    if let Some(odd) = raw.disruptive.0.iter().find(|name| !write.contains(&name.value.0)) {
        let what = format!("disruptive: `{}` is not under write", odd.value.0);
        return Err(source.refuse(odd.referenced, &what, "Add it to write, or remove it here"));
    }
    let mut entries = BTreeMap::new();
    for (name, raw) in &raw.propose.0 {
        let tool = proposed_tool(source, name, &read, &write)?;
        entries.insert(tool, entry::compile(source, (name, tool), raw, disruptive.contains(&name.value))?);
    }
    let verbs = verbs(source, &raw.verbs, &entries)?;
    Ok(ToolPolicy { read, write, disruptive, entries, verbs, default_lead: LEAD_MINUTES })
}

fn names(source: Source<'_>, section: &str, raw: &Words) -> Result<BTreeSet<String>, PolicyError> {
    let mut names = BTreeSet::new();
    for name in &raw.0 {
        let what = if !is_name(&name.value.0) {
            "is not a tool name"
        } else if !names.insert(name.value.0.clone()) {
            "is listed twice"
        } else {
            continue;
        };
        let what = format!("{section}: `{}` {what}", name.value.0);
        return Err(source.refuse(name.referenced, &what, "Correct or remove it"));
    }
    Ok(names)
}

fn check_read(
    source: Source<'_>,
    at: serde_saphyr::Location,
    name: &str,
    write: &BTreeSet<String>,
) -> Result<(), PolicyError> {
    let (what, advice) = if KNOWN_WRITE.contains(&name) {
        ("changes devices and can never be read", "Remove it from read")
    } else if write.contains(name) {
        ("is under read and under write", "Keep it under write only")
    } else if !name.starts_with("get_") && !name.starts_with("kb_") {
        ("does not start with get_ or kb_", "Remove it from read")
    } else if !reads::is_known(name) {
        ("takes arguments that Fleetwatch does not know", "Remove it from read")
    } else {
        return Ok(());
    };
    Err(source.refuse(at, &format!("read: `{name}` {what}"), advice))
}

fn proposed_tool(
    source: Source<'_>,
    name: &Spanned<String>,
    read: &BTreeSet<String>,
    write: &BTreeSet<String>,
) -> Result<Tool, PolicyError> {
    let what = if read.contains(&name.value) {
        "is a read tool"
    } else if !write.contains(&name.value) {
        "is not under write"
    } else if let Some(tool) = Tool::from_name(&name.value) {
        return Ok(tool);
    } else {
        "has no checks of its own in Fleetwatch"
    };
    let what = format!("propose: `{}` {what}", name.value);
    Err(source.refuse(name.referenced, &what, "Remove the entry"))
}

fn verbs(
    source: Source<'_>,
    raw: &Mapped<RawVerbs>,
    entries: &BTreeMap<Tool, ProposeEntry>,
) -> Result<Vec<(Tool, Vec<Phrase>)>, PolicyError> {
    let mut all = Vec::new();
    for (name, words) in &raw.0 {
        let Some(tool) = Tool::from_name(&name.value).filter(|tool| entries.contains_key(tool)) else {
            let what = format!("verbs: `{}` is not under propose", name.value);
            return Err(source.refuse(name.referenced, &what, "Remove these words, or add the entry"));
        };
        let mut phrases = Vec::new();
        for (list, spanish) in [(&words.en, false), (&words.es, true)] {
            for phrase in &list.0 {
                let parsed = Phrase::parse(&phrase.value.0, spanish).ok_or_else(|| {
                    let what = format!("verbs: {}: `{}` is not one to six words", name.value, phrase.value.0);
                    source.refuse(
                        phrase.referenced,
                        &what,
                        "Use plain words, / between words that may stand at one place, * only between two of them",
                    )
                })?;
                phrases.push(parsed);
            }
        }
        all.push((tool, phrases));
    }
    Ok(all)
}
