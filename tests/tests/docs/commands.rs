//! Every command that the documentation shows is one that `fleetwatchctl` has, with options that it takes.

use fleetwatch_tests::{binary, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const NAME: &str = "fleetwatchctl";

/// Each verb with its options, `approvals show` among them, as its man page has them.
fn verbs() -> BTreeMap<String, BTreeSet<String>> {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(binary(NAME)).arg("man").arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| {
        let file = entry.file_name().to_string_lossy().into_owned();
        let verb = file.trim_end_matches(".1").strip_prefix(NAME).unwrap().trim_start_matches('-');
        (verb.to_owned(), options(&std::fs::read_to_string(entry.path()).unwrap()))
    });
    pages.collect()
}

fn options(page: &str) -> BTreeSet<String> {
    let plain = page.replace("\\-", "-");
    let found = plain
        .match_indices("--")
        .map(|(at, _)| plain[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect::<String>());
    found.filter(|option| option.len() > 2).collect()
}

// What stands behind each `fleetwatchctl` in code, up to where the command ends.
fn shown(text: &str) -> Vec<(usize, String)> {
    let (mut fenced, mut found) = (false, Vec::new());
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let code: Vec<&str> = if fenced { vec![line] } else { line.split('`').skip(1).step_by(2).collect() };
        // What stands behind it there is meant for another program.
        for piece in code.into_iter().filter(|piece| !piece.trim_start().starts_with("npx ")) {
            for (start, _) in piece.match_indices(NAME) {
                let rest = &piece[start + NAME.len()..];
                if rest.starts_with(' ') {
                    let end = rest.find(['|', ';', '&', '#', '>', '<', ')', '…']).unwrap_or(rest.len());
                    found.push((at + 1, rest[..end].to_owned()));
                }
            }
        }
    }
    found
}

/// What is wrong with this command, if anything.
fn fault(words: &str, verbs: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let mut verb = String::new();
    let mut words = words.split_whitespace().map(|word| word.trim_end_matches([',', '.', ':'])).peekable();
    while let Some(word) = words.peek() {
        let longer = if verb.is_empty() { (*word).to_owned() } else { format!("{verb}-{word}") };
        if !verbs.contains_key(&longer) {
            break;
        }
        verb = longer;
        words.next();
    }
    // `fleetwatchctl VERB --help` and `fleetwatchctl --version` name no verb.
    let first = words.peek().copied().unwrap_or_default();
    if verb.is_empty() && first.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Some(format!("there is no verb {first}"));
    }
    if verb.is_empty() {
        return None;
    }
    let odd = words.filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap_or(word));
    let known = &verbs[&verb];
    odd.into_iter().find(|option| !known.contains(*option)).map(|option| format!("{verb} has no {option}"))
}

#[test]
fn every_command_that_is_shown_is_one_with_options_that_it_takes() {
    let verbs = verbs();
    assert!(verbs.len() > 30 && verbs["audit-export"].contains("--output"), "{:?}", verbs.keys());
    for (words, good) in [
        (" approvals show 7 --why", true),
        (" login --sandbox", true),
        (" login --sandboxed", false),
        (" approve 7", false),
        (" backup FILE --force", false),
    ] {
        assert_eq!(fault(words, &verbs).is_none(), good, "{words}");
    }
    let (mut commands, mut wrong) = (0, Vec::new());
    for page in sources::files().unwrap().into_iter().filter(|file| file.path.ends_with(".md")) {
        for (line, words) in shown(&page.text) {
            commands += 1;
            wrong.extend(fault(&words, &verbs).map(|what| format!("{}:{line}: {what}", page.path)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(commands > 100, "only {commands} commands were found");
}
