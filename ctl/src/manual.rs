//! Shell completions and man pages, both made from the one table of verbs (issue line 3.18).

use crate::cli::{Cli, EXIT_CODES};
use crate::exit::Exit;
use crate::out::{Out, complain};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::json;
use std::fs;
use std::io;
use std::path::Path;

const NAME: &str = "fleetwatchctl";

/// `completions`: the script for one shell, on standard output.
pub(crate) fn completions(shell: Shell, out: &mut Out) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown(&Cli::command()), NAME, &mut script);
    out.text(&String::from_utf8_lossy(&script));
    Exit::Done
}

/// `man`: one page for every verb, as files in a folder, which is made if it is not there.
pub(crate) fn man(folder: &Path, out: &mut Out, json: bool) -> Exit {
    match written(folder) {
        Ok(files) => {
            if json {
                out.json(&json!({ "folder": folder.to_string_lossy(), "pages": files }));
            } else {
                out.line(&format!("{} pages are in {}", files.len(), folder.display()));
            }
            Exit::Done
        }
        Err(error) => {
            let words = format!("the man pages were not all written to {}: {error}", folder.display());
            if json {
                out.json(&json!({ "error": words }));
            } else {
                complain(&words);
            }
            Exit::Wrong
        }
    }
}

fn written(folder: &Path) -> io::Result<Vec<String>> {
    fs::create_dir_all(folder)?;
    let mut files = Vec::new();
    for (file, page) in pages()? {
        fs::write(folder.join(&file), page)?;
        files.push(file);
    }
    Ok(files)
}

// File name and text of every page.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = shown(&Cli::command()).disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    add(&root, &mut pages)?;
    Ok(pages)
}

fn add(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let told =
        if command.get_after_help().is_some() { command.clone() } else { command.clone().after_help(EXIT_CODES) };
    let man = Man::new(told);
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), page));
    for verb in command.get_subcommands() {
        add(verb, pages)?;
    }
    Ok(())
}

// The same commands without those that only other programs call.
fn shown(command: &Command) -> Command {
    let mut copy = Command::new(command.get_name().to_owned());
    for (text, put) in [
        (command.get_about(), Command::about as fn(Command, clap::builder::StyledStr) -> Command),
        (command.get_after_help(), Command::after_help),
    ] {
        if let Some(text) = text {
            copy = put(copy, text.clone());
        }
    }
    if let Some(version) = command.get_version() {
        copy = copy.version(version.to_owned());
    }
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(shown);
    copy.args(command.get_arguments().cloned())
        .subcommand_required(command.is_subcommand_required_set())
        .subcommands(verbs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Paper;

    // Every verb that people see, with its path: `approvals show`.
    fn verbs(command: &Command, path: &str, found: &mut Vec<String>) {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let path = format!("{path}-{}", verb.get_name());
            found.push(path.clone());
            verbs(verb, &path, found);
        }
    }

    #[test]
    fn every_verb_has_a_page_and_no_hidden_one_does() {
        let mut want = vec![NAME.to_owned()];
        verbs(&Cli::command(), NAME, &mut want);
        assert!(want.len() > 25 && want.contains(&"fleetwatchctl-approvals-agents-resume".to_owned()), "{want:?}");
        let folder = tempfile::tempdir().unwrap();
        let (place, paper) = (folder.path().join("man/man1"), Paper::default());
        assert_eq!(man(&place, &mut paper.out(), false), Exit::Done);
        let mut found: Vec<_> = fs::read_dir(&place)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".1", ""))
            .collect();
        found.sort();
        want.sort();
        assert_eq!(found, want);
        assert!(paper.text().starts_with(&format!("{} pages are in ", want.len())), "{}", paper.text());
        for name in &found {
            let page = fs::read_to_string(place.join(format!("{name}.1"))).unwrap();
            assert!(page.contains(".SH NAME") && page.contains("Exit codes"), "{name}: {page}");
            assert!(!page.contains("sweep"), "{name}: {page}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_exit_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let paper = Paper::default();
        assert_eq!(man(&file.path().join("man"), &mut paper.out(), true), Exit::Wrong);
        assert!(paper.text().contains("\"error\""), "{}", paper.text());
    }

    #[test]
    fn completions_know_every_verb_and_no_hidden_one() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let paper = Paper::default();
            assert_eq!(completions(shell, &mut paper.out()), Exit::Done);
            let script = paper.text();
            for word in ["deny-all", "resume", "page-code", "policy", "fleetwatchctl"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
            assert!(!script.contains("sweep-demo") && !script.contains('\u{1b}'), "{shell}");
        }
    }
}
