//! What a card says, written down in full: every tool in twelve situations, in both languages (`snapshots/`), and what must
//! hold for any proposal at all.

mod properties;
mod scene;
mod yes;

use control::card::CardFacts;
use protocol::shown::{Language, Worded};
use scene::{CALLS, SITUATIONS, Scene};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

/// Set to write the snapshots anew; look at the difference before you keep it.
const BLESS: &str = "FLEETWATCH_BLESS";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/card/snapshots")
}

/// The facts as a person could read them in one language, nothing left out.
fn listing(facts: &CardFacts, language: Language) -> String {
    let get = |worded: &Worded| worded.get(language).to_owned();
    let mut lines = vec![
        format!("number: {}", facts.number),
        format!("tool: {}", facts.tool),
        format!("heading: {}", get(&facts.heading)),
    ];
    for target in &facts.targets {
        lines.push(format!("target: {} ({}), {}, {}", target.name, target.id, target.model, target.firmware));
        if !(target.known_as.is_empty() && target.note.is_empty()) {
            lines.push(format!("  also called: {:?}, note: {}", target.known_as, target.note));
        }
        for (label, words) in [
            ("online", &target.online),
            ("recording", &target.recording),
            ("streaming", &target.streaming),
            ("event", &target.event),
        ] {
            lines.push(format!("  {label}: {}", get(words)));
        }
    }
    for argument in &facts.arguments {
        let defaulted = if argument.defaulted { " (filled in)" } else { "" };
        lines.push(format!("argument {} = {}{defaulted}", argument.name, argument.json));
    }
    lines.extend(facts.named.iter().map(|named| format!("{}: {}", get(&named.label), get(&named.value))));
    lines.push(format!("effect: {}", get(&facts.effect)));
    lines.push(format!("undo: {}", get(&facts.undo)));
    lines.push(format!("disruptive: {}, type: {:?}", facts.disruptive, facts.confirm));
    lines.extend(facts.deny_only.iter().map(|why| format!("deny only: {}", get(why))));
    lines.push(format!("reason: {}", facts.reason));
    lines.push(format!("origin: {}", get(&facts.origin)));
    lines.push(format!("slot: {}", get(&facts.slot)));
    lines.push(format!("dry run: {}, isolation: {}", facts.dry_run, facts.isolation));
    lines.join("\n")
}

fn snapshot(facts: &CardFacts) -> String {
    let mut text = String::new();
    for (title, language) in [("English", Language::English), ("Español", Language::Spanish)] {
        writeln!(text, "== {title}\n{}", listing(facts, language)).unwrap();
    }
    text
}

#[test]
fn every_card_says_exactly_what_its_snapshot_says() {
    let bless = std::env::var_os(BLESS).is_some();
    let mut known = BTreeSet::new();
    let mut changed = Vec::new();
    for (situation, arrange) in SITUATIONS {
        for call in CALLS {
            let mut scene = Scene::calm(call);
            arrange(&mut scene);
            let text = snapshot(&scene.facts());
            let file = format!("{situation}-{}.txt", call.name);
            let path = folder().join(&file);
            if bless {
                std::fs::create_dir_all(folder()).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            let kept = std::fs::read_to_string(&path).unwrap_or_default();
            if kept != text {
                changed.push(format!("{file}\n--- kept\n{kept}--- now\n{text}"));
            }
            known.insert(file);
        }
    }
    assert!(changed.is_empty(), "{} changed ({BLESS}=1 writes them anew):\n{}", changed.len(), changed.join("\n"));
    let found: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, known, "a snapshot that no situation makes");
    assert_eq!(found.len(), 84);
}

#[test]
fn only_calm_and_busy_rooms_can_be_approved() {
    for (situation, arrange) in SITUATIONS {
        for call in CALLS {
            let mut scene = Scene::calm(call);
            arrange(&mut scene);
            let facts = scene.facts();
            // Notes, not walls: the room may be free again by the time of the run.
            let may = [
                "calm",
                "in-use",
                "event-soon",
                "hostile-names",
                "real-unit",
                "also-called",
                "destination-in-capitals",
            ]
            .contains(&situation);
            assert_eq!(facts.deny_only.is_empty(), may, "{situation} {}: {:?}", call.name, facts.deny_only);
            let streams = call.name.ends_with("-stream");
            assert!(!may || !streams || facts.named.iter().any(|named| named.label.en == "Destination"), "{situation}");
        }
    }
}
