//! The MCP conformance suite (`@modelcontextprotocol/conformance`) as a peer: which of its scenarios are run, how each must
//! end, and what it said. `tests/data/conformance.txt` is the list.

use crate::places::{peers_new_node, peers_node, workspace_root};
use crate::world::must;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// How one scenario must end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The first line that our client must say; nothing for a scenario that asks a server.
    pub end: Option<String>,
    /// The checks that fail, each with a reason in the list.
    pub fails: BTreeSet<String>,
}

/// How one scenario ended.
#[derive(Debug)]
pub struct Outcome {
    /// The first line that our client said.
    pub end: Option<String>,
    /// Checks that passed.
    pub passed: usize,
    /// Checks that did not, with the suite's own words: failures and warnings.
    pub failed: BTreeMap<String, String>,
}

/// The scenarios of the list for this side (`client` or `server`) and this revision of the protocol, by name.
///
/// # Panics
/// When a line of the list says nothing known, or a check is expected to fail without a reason.
#[must_use]
#[track_caller]
pub fn expected(side: &str, revision: &str) -> BTreeMap<String, Expected> {
    let path = workspace_root().join("tests/data/conformance.txt");
    let text = must(fs::read_to_string(&path), "the list of scenarios");
    let mut found: BTreeMap<String, Expected> = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        if let Some(check) = line.strip_prefix("  ") {
            let (check, reason) = check.split_once(": ").unwrap_or((check, ""));
            assert!(!reason.trim().is_empty(), "{check} has no reason in {}", path.display());
            if let Some(expected) = last.as_ref().and_then(|name| found.get_mut(name)) {
                expected.fails.insert(check.to_owned());
            }
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let (end, [its_side, its_revision, name]) = match words[..] {
            [side @ "client", revision, name, end @ ("refused" | "signed-in")] => (Some(end), [side, revision, name]),
            [side @ "server", revision, name] => (None, [side, revision, name]),
            _ => return must(Err(line), "a line of the list"),
        };
        last = (its_side == side && its_revision == revision).then(|| name.to_owned());
        if let Some(name) = &last {
            let expected = Expected { end: end.map(str::to_owned), fails: BTreeSet::new() };
            assert!(found.insert(name.clone(), expected).is_none(), "{line} stands there twice");
        }
    }
    assert!(!found.is_empty(), "no scenario of {side} {revision} is listed");
    found
}

/// Runs the suite with these words until it ends; its results go to `folder`.
///
/// # Panics
/// When it is not installed, or knows the words no more.
#[track_caller]
pub fn run(words: &[&str], folder: &Path) {
    let suite = peers_node().join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    assert!(suite.is_file(), "the MCP conformance suite is missing: run tests/install-peers");
    let mut command = Command::new(peers_new_node());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.arg("--import").arg(workspace_root().join("tests/peers/on_this_machine.mjs"));
    command.arg(suite).args(words).arg("--output-dir").arg(folder);
    let output = must(command.stdin(Stdio::null()).output(), "the conformance suite");
    // Its exit code says whether a check failed; what may fail is for the list to say.
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(folder.is_dir() && !outcomes(folder).is_empty(), "{words:?} gave nothing:\n{said}\n{errors}");
}

/// What the suite left in a folder, by the scenario's name.
#[must_use]
#[track_caller]
pub fn outcomes(folder: &Path) -> BTreeMap<String, Outcome> {
    let mut found = BTreeMap::new();
    gather(folder, "", &mut found);
    found
}

// A scenario's name may hold a slash; its folder ends with the time.
#[track_caller]
fn gather(folder: &Path, above: &str, found: &mut BTreeMap<String, Outcome>) {
    for entry in must(fs::read_dir(folder), "the results").map(|entry| must(entry, "a result")) {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let checks = path.join("checks.json");
        if checks.is_file() {
            let name = name.strip_prefix("server-").unwrap_or(&name);
            let name = name.get(..name.len().saturating_sub("-2026-01-01T00-00-00-000Z".len())).unwrap_or_default();
            found.insert(format!("{above}{name}"), outcome(&path, &checks));
        } else if path.is_dir() {
            gather(&path, &format!("{above}{name}/"), found);
        }
    }
}

#[track_caller]
fn outcome(folder: &Path, checks: &Path) -> Outcome {
    let text = must(fs::read_to_string(checks), "the checks");
    let checks: Vec<Value> = must(serde_json::from_str(&text), "the checks");
    let of = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let failed = checks.iter().filter(|check| ["FAILURE", "WARNING"].contains(&of(check, "status").as_str()));
    let failed =
        failed.map(|check| (of(check, "id"), format!("{} {}", of(check, "description"), of(check, "errorMessage"))));
    let end = fs::read_to_string(folder.join("stdout.txt")).ok();
    Outcome {
        end: end.map(|text| text.lines().next().unwrap_or_default().to_owned()),
        passed: checks.iter().filter(|check| check["status"] == "SUCCESS").count(),
        failed: failed.collect(),
    }
}

/// Compares what happened with the list: the same scenarios, each with at least one check, the same failures and no other.
///
/// # Panics
/// With every difference, when there is one.
#[track_caller]
pub fn judge(expected: &BTreeMap<String, Expected>, outcomes: &BTreeMap<String, Outcome>) {
    let mut wrong = Vec::new();
    for name in expected.keys().chain(outcomes.keys()).collect::<BTreeSet<_>>() {
        match (expected.get(name), outcomes.get(name)) {
            (Some(expected), Some(outcome)) => {
                wrong.extend(differences(expected, outcome).map(|why| format!("{name}: {why}")))
            }
            (Some(_), None) => wrong.push(format!("{name}: was not run")),
            (None, _) => wrong.push(format!("{name}: is not in the list")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn differences(expected: &Expected, outcome: &Outcome) -> impl Iterator<Item = String> {
    let mut wrong = Vec::new();
    if outcome.passed + outcome.failed.len() == 0 {
        wrong.push("nothing was checked".to_owned());
    }
    if expected.end != outcome.end {
        wrong.push(format!("ended with {:?}, not {:?}", outcome.end, expected.end));
    }
    let failed = outcome.failed.iter().filter(|(check, _)| !expected.fails.contains(*check));
    wrong.extend(failed.map(|(check, why)| format!("{check} fails: {why}")));
    let passed = expected.fails.iter().filter(|check| !outcome.failed.contains_key(*check));
    wrong.extend(passed.map(|check| format!("{check} does not fail any more: take it off the list")));
    wrong.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(end: &str, passed: usize, failed: &[&str]) -> Outcome {
        let failed = failed.iter().map(|check| ((*check).to_owned(), "why".to_owned())).collect();
        Outcome { end: Some(end.to_owned()), passed, failed }
    }

    fn wrong(outcome: &Outcome) -> Vec<String> {
        let fails = BTreeSet::from(["odd".to_owned()]);
        differences(&Expected { end: Some("signed-in".to_owned()), fails }, outcome).collect()
    }

    #[test]
    fn a_scenario_must_end_as_listed_with_a_check_and_no_other_failure() {
        assert_eq!(wrong(&outcome("signed-in", 3, &["odd"])), Vec::<String>::new());
        for (end, passed, failed, why) in [
            ("refused", 3, &["odd"][..], "ended with"),
            ("signed-in", 3, &["odd", "new"], "new fails"),
            ("signed-in", 3, &[], "take it off"),
            ("signed-in", 0, &[], "nothing was checked"),
        ] {
            let wrong = wrong(&outcome(end, passed, failed));
            assert!(wrong.iter().any(|text| text.contains(why)), "{why}: {wrong:?}");
        }
    }
}
