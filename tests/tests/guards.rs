//! Guards and their mutants, as far as text can tell: the table is whole, each guard is asked where the table says, and
//! the condition that removes them is named in one source alone. `tests/guards` runs the mutants.

#[cfg(test)]
mod tests {
    use fleetwatch_tests::sources;
    use fleetwatch_tests::workspace_root;
    use protocol::refusal::RefusalCode;
    use std::fs;

    // In pieces, so that this file is not one that names it.
    fn condition() -> String {
        ["dangerous", "guards"].join("_")
    }

    #[test]
    fn every_code_has_one_row_and_its_file_asks_its_guard() {
        let files = sources::files().unwrap();
        let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.clone());
        let page = text("docs/guards.md").unwrap();
        let rows: Vec<Vec<&str>> =
            page.lines().filter(|line| line.starts_with("| `")).map(|line| line.split(" | ").collect()).collect();
        let ids: Vec<_> = rows.iter().map(|row| row[0].trim_matches(['|', ' ', '`'])).collect();
        assert_eq!(ids, RefusalCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>());
        for (row, code) in rows.iter().zip(RefusalCode::ALL) {
            assert_eq!(row.len(), 4, "{code}: {row:?}");
            let source = text(row[1].trim_matches('`')).unwrap_or_else(|| panic!("{code}: there is no {}", row[1]));
            let asked =
                ["stands", "unguarded"].iter().any(|ask| source.contains(&format!("{ask}(RefusalCode::{code:?}")));
            // A helper that is handed the code asks for all who call it.
            let handed = source.contains("stands(code)") && source.contains(&format!("RefusalCode::{code:?}"));
            assert!(asked || handed, "{code}: {} does not ask whether it stands", row[1]);
        }
    }

    #[test]
    fn nothing_but_one_source_and_one_line_of_lints_names_the_condition() {
        let condition = condition();
        let allowed = ["Cargo.toml", "docs/guards.md", "protocol/src/guard.rs", "tests/guards"];
        let naming = |text: &str| text.matches(condition.as_str()).count();
        let found: Vec<_> = sources::files().unwrap().into_iter().filter(|file| naming(&file.text) > 0).collect();
        let odd: Vec<_> =
            found.iter().map(|file| &file.path).filter(|path| !allowed.contains(&path.as_str())).collect();
        assert_eq!(odd, Vec::<&String>::new());
        assert!(found.iter().any(|file| file.path == "protocol/src/guard.rs"));
        let manifest = found.iter().find(|file| file.path == "Cargo.toml").unwrap();
        let lines: Vec<_> = manifest.text.lines().filter(|line| naming(line) > 0).collect();
        assert!(matches!(lines.as_slice(), [one] if one.starts_with("unexpected_cfgs = ")), "{lines:?}");
        // Hidden folders are not among the files above.
        for hidden in [".cargo/config.toml", ".cargo/config"] {
            let text = fs::read_to_string(workspace_root().join(hidden)).unwrap_or_default();
            assert_eq!(naming(&text), 0, "{hidden}");
        }
    }
}
