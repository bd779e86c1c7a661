//! The auth scenarios of the MCP conformance suite, by name, against the real assistant and `fleetwatchctl login` (issue
//! line 3.6). `tests/peers/conformance_client.py` is the person with the browser.

use fleetwatch_tests::conformance::{Outcome, expected, judge, outcomes, run};
use fleetwatch_tests::world::must;
use fleetwatch_tests::{binary, peers_python, workspace_root};
use std::collections::BTreeMap;

/// For one scenario beside all the others, in milliseconds.
const LATE: &str = "180000";

// The suites of one revision together; what is not about signing in is left out.
#[track_caller]
fn signed_in_at(revision: &str, suites: &[&str]) {
    let place = binary("fleetwatchctl");
    let place = must(place.parent().ok_or("no parent"), "where the binaries are");
    let client = workspace_root().join("tests/peers/conformance_client.py");
    let command = format!("{} {} {}", peers_python().display(), client.display(), place.display());
    let mut found: BTreeMap<String, Outcome> = BTreeMap::new();
    for suite in suites {
        let folder = must(tempfile::tempdir(), "a folder");
        let words = ["client", "--suite", suite, "--spec-version", revision, "--timeout", LATE, "--command", &command];
        run(&words, folder.path());
        found.extend(outcomes(folder.path()).into_iter().filter(|(name, _)| name.starts_with("auth/")));
    }
    judge(&expected("client", revision), &found);
}

#[test]
fn the_conformance_suite_signs_in_at_the_newest_revision() {
    signed_in_at("2026-07-28", &["auth", "draft"]);
}

#[test]
fn the_conformance_suite_signs_in_at_the_revision_with_sessions() {
    signed_in_at("2025-11-25", &["auth"]);
}

#[test]
fn the_conformance_suite_signs_in_at_the_oldest_revision() {
    signed_in_at("2025-03-26", &["backcompat"]);
}
