//! The documentation says what is so: every refusal code has its row, every setting its line, every test and file that is
//! named exists, every link leads somewhere, every command can be typed, and jobs and pictures agree with the units.

#[cfg(test)]
#[path = "docs/boundary.rs"]
mod boundary;
#[cfg(test)]
#[path = "docs/commands.rs"]
mod commands;
#[cfg(test)]
#[path = "docs/launchd.rs"]
mod launchd;

#[cfg(test)]
mod tests {
    use fleetwatch_tests::sources::{self, File};
    use policy::behaviour::Behaviour;
    use policy::principals::Principals;
    use policy::tool_policy::ToolPolicy;
    use policy::yaml::PolicyError;
    use protocol::doctor::Check;
    use protocol::refusal::RefusalCode;
    use std::collections::{BTreeMap, BTreeSet};

    /// Read by builds that only the tests use; nobody sets them to run Fleetwatch.
    const NO_SETTINGS: [&str; 3] = ["FLEETWATCH_BARRIER", "FLEETWATCH_BUILD_BARRIERS", "FLEETWATCH_DANGEROUS_GUARD"];
    /// Paths with these ends are looked for.
    const ENDS: [&str; 10] = [".rs", ".md", ".yaml", ".toml", ".txt", ".jsonl", ".mjs", ".py", ".sql", "/"];

    fn pages() -> Vec<File> {
        let pages: Vec<_> = sources::files().unwrap().into_iter().filter(|file| file.path.ends_with(".md")).collect();
        assert!(pages.len() > 8, "only {} pages were found", pages.len());
        pages
    }

    #[track_caller]
    fn page(path: &str) -> String {
        let found = pages().into_iter().find(|file| file.path == path);
        found.unwrap_or_else(|| panic!("there is no {path}")).text
    }

    // Lines outside fenced blocks, with their numbers.
    fn prose(text: &str) -> Vec<(usize, &str)> {
        let mut fenced = false;
        let lines = text.lines().enumerate().filter(|(_, line)| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fence && !fenced
        });
        lines.map(|(at, line)| (at + 1, line)).collect()
    }

    // What stands between single backquotes.
    fn quoted(line: &str) -> Vec<&str> {
        line.split('`').skip(1).step_by(2).collect()
    }

    #[test]
    fn every_refusal_code_stands_in_the_table_exactly_once() {
        let text = page("docs/refusals.md");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let rows: Vec<_> = rows.collect();
        let codes: Vec<_> = rows.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, RefusalCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>());
        for (code, rest) in rows {
            // Meaning, what to do, where.
            let cells: Vec<_> = rest.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
            assert_eq!(cells.len(), 3, "{code}: {cells:?}");
        }
    }

    #[test]
    fn every_check_of_doctor_stands_in_its_table_exactly_once() {
        let text = page("docs/doctor.md");
        let rows: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).collect();
        let checks: Vec<_> = rows.iter().map(|(check, _)| *check).collect();
        assert_eq!(checks, Check::ALL.iter().map(|check| check.as_str()).collect::<Vec<_>>());
    }

    fn settings_in(text: &str) -> BTreeSet<String> {
        let named = |rest: &str| rest.chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect::<String>();
        let found = text.match_indices("FLEETWATCH_").map(|(at, _)| named(&text[at..]));
        found.map(|name| name.trim_end_matches('_').to_owned()).filter(|name| name != "FLEETWATCH").collect()
    }

    #[test]
    fn every_setting_that_is_read_is_told_and_no_other() {
        let sources = sources::rust().unwrap();
        let shipped = sources.iter().filter(|source| !source.is_test() && !source.path.starts_with("tests/"));
        let mut read: BTreeSet<String> = shipped.flat_map(|source| settings_in(&source.code)).collect();
        for name in NO_SETTINGS {
            assert!(read.remove(name), "{name} is read nowhere: take it off the list");
        }
        assert!(read.len() > 12, "{read:?}");
        assert_eq!(settings_in(&page("docs/settings.md")), read);
    }

    #[test]
    fn every_file_and_test_that_is_named_exists() {
        let files: BTreeMap<_, _> =
            sources::files().unwrap().into_iter().map(|file| (file.path.clone(), file.text)).collect();
        let folders: BTreeSet<&str> =
            files.keys().filter_map(|path| path.split_once('/')).map(|(top, _)| top).collect();
        let (mut tests, mut wrong) = (0, Vec::new());
        for page in pages() {
            for (line, text) in prose(&page.text) {
                for word in quoted(text) {
                    let (path, test) = word.split_once("::").map_or((word, None), |(path, test)| (path, Some(test)));
                    let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
                    let ours = path.split_once('/').is_some_and(|(top, _)| folders.contains(top));
                    if !plain || !ours || !ENDS.iter().any(|end| path.ends_with(end)) {
                        continue;
                    }
                    let there = match (test, files.get(path)) {
                        (None, Some(_)) => true,
                        (None, None) => path.ends_with('/') && files.keys().any(|file| file.starts_with(path)),
                        (Some(test), Some(text)) => {
                            tests += 1;
                            text.contains(&format!("fn {test}("))
                        }
                        (Some(_), None) => false,
                    };
                    if !there {
                        wrong.push(format!("{}:{line}: {word}", page.path));
                    }
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
        assert!(tests > 200, "only {tests} tests were found by name");
    }

    #[test]
    fn every_link_leads_somewhere() {
        let files = sources::files().unwrap();
        let known: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let root = fleetwatch_tests::workspace_root();
        let (mut links, mut wrong) = (0, Vec::new());
        for page in pages() {
            let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            for (line, text) in prose(&page.text) {
                for target in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
                {
                    let path = target.split('#').next().unwrap_or_default();
                    if path.is_empty() || path.contains("://") {
                        continue;
                    }
                    links += 1;
                    let joined = plain_path(folder, path);
                    // A link to a folder is fine where somebody reads it as a web page.
                    if !known.contains(joined.as_str()) && !root.join(&joined).is_dir() {
                        wrong.push(format!("{}:{line}: {target}", page.path));
                    }
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
        assert!(links > 10, "only {links} links were found");
    }

    // `path` as seen from `folder`, without `.` and `..`.
    fn plain_path(folder: &str, path: &str) -> String {
        let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                other => parts.push(other),
            }
        }
        parts.join("/")
    }

    #[test]
    fn what_is_sent_and_how_to_stop_it_is_said_in_both_languages() {
        for (path, words) in [
            ("README.md", ["key", "model"]),
            ("README.es.md", ["clave", "modelo"]),
            ("SECURITY.md", ["FLEETWATCH_ANTHROPIC_API_KEY_FILE", "turn it off"]),
            ("SECURITY.es.md", ["FLEETWATCH_ANTHROPIC_API_KEY_FILE", "desactivarlo"]),
        ] {
            let text = page(path);
            for word in words {
                assert!(text.contains(word), "{path}: {word}");
            }
        }
        for (page_of, other) in [
            ("README.md", "README.es.md"),
            ("README.es.md", "README.md"),
            ("SECURITY.md", "SECURITY.es.md"),
            ("SECURITY.es.md", "SECURITY.md"),
        ] {
            assert!(page(page_of).contains(&format!("]({other})")), "{page_of} leads to {other}");
        }
    }

    #[test]
    fn both_languages_have_the_same_parts() {
        for name in ["README", "SECURITY"] {
            let shape = |path: &str| {
                let text = page(path);
                let count = |start: &str| prose(&text).iter().filter(|(_, line)| line.starts_with(start)).count();
                (count("## "), count("| "))
            };
            assert_eq!(shape(&format!("{name}.md")), shape(&format!("{name}.es.md")), "{name}");
        }
    }

    #[test]
    fn every_line_of_the_two_long_pages_has_a_test_or_says_why_not() {
        for (path, least) in [("docs/spec-000.md", 80), ("docs/facts-10.md", 150)] {
            let text = page(path);
            let rows: Vec<_> = text
                .lines()
                .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
                .filter(|(line, tests)| !line.is_empty() && *tests != "tests")
                .collect();
            assert!(rows.len() >= least, "{path}: {} rows", rows.len());
            let open = ["Decided", "Not wanted", "Not present"];
            let bare: Vec<_> = rows
                .iter()
                .filter(|(_, tests)| !tests.contains(".rs::") && !open.iter().any(|word| tests.starts_with(word)))
                .collect();
            assert_eq!(bare, Vec::<&(&str, &str)>::new(), "{path}");
        }
    }

    // Where a key may stand in the three files: what leads there in the page, and a text with an unknown key at that place.
    const PLACES: [(&str, &str, &str); 12] = [
        ("policy.yaml", "", "odd: 1\n"),
        ("policy.yaml", "scope.", "scope:\n  odd: 1\n"),
        ("policy.yaml", "thresholds.", "thresholds:\n  odd: 1\n"),
        ("policy.yaml", "rooms.ID.", "rooms:\n  \"20301000003\":\n    odd: 1\n"),
        ("tool_policy.yaml", "", "odd: 1\n"),
        ("tool_policy.yaml", "propose.TOOL.", "propose:\n  batch_reboot:\n    odd: 1\n"),
        ("tool_policy.yaml", "propose.TOOL.schema.", "propose:\n  batch_reboot:\n    schema:\n      odd: 1\n"),
        (
            "tool_policy.yaml",
            "propose.TOOL.schema.fields.NAME.",
            "propose:\n  batch_reboot:\n    schema:\n      fields:\n        one: {odd: 1}\n",
        ),
        (
            "tool_policy.yaml",
            "propose.TOOL.schema.fields.NAME.items.",
            "propose:\n  batch_reboot:\n    schema:\n      fields:\n        one: {items: {odd: 1}}\n",
        ),
        ("tool_policy.yaml", "verbs.TOOL.", "verbs:\n  batch_reboot:\n    odd: 1\n"),
        ("principals.yaml", "", "- odd: 1\n"),
        ("principals.yaml", "", "- name: a\n  odd: 1\n"),
    ];

    // The file's own loader, as the daemons use it.
    fn load(file: &str, text: &str) -> Result<(), PolicyError> {
        match file {
            "policy.yaml" => Behaviour::parse(text, file).map(drop),
            "principals.yaml" => Principals::parse(text, file).map(drop),
            "tool_policy.yaml" => ToolPolicy::parse(text, file).map(drop),
            other => panic!("{other} is no policy file"),
        }
    }

    #[test]
    fn every_key_that_a_policy_file_may_have_is_told_and_no_other() {
        let text = page("docs/policy.md");
        for file in ["policy.yaml", "tool_policy.yaml", "principals.yaml"] {
            let section = text.split_once(&format!("\n## {file}\n")).unwrap().1;
            let section = section.split("\n## ").next().unwrap();
            let told: Vec<_> =
                section.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0)).collect();
            let mut taken = BTreeSet::new();
            for (_, before, odd) in PLACES.iter().filter(|(of, ..)| *of == file) {
                let what = load(file, odd).unwrap_err().what;
                let known = what.split_once("unknown key `odd`; known here: ").map(|(_, known)| known.split(", "));
                let known = known.unwrap_or_else(|| panic!("{file} {before}: {what}"));
                taken.extend(known.map(|key| format!("{before}{key}")));
            }
            assert_eq!(told.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>(), taken, "{file}");
            assert_eq!(told.len(), taken.len(), "{file}: a key stands there twice");
        }
    }

    #[test]
    fn the_examples_of_the_policy_page_are_good_files() {
        let text = page("docs/policy.md");
        let blocks = text.split("```yaml\n# ").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
        let mut files: Vec<_> = blocks
            .map(|block| {
                let (file, yaml) = block.split_once('\n').unwrap();
                load(file, yaml).unwrap_or_else(|error| panic!("{error}"));
                file
            })
            .collect();
        files.sort_unstable();
        assert_eq!(files, ["policy.yaml", "principals.yaml", "tool_policy.yaml"]);
        let said = load("policy.yaml", "autonomy: propose\ndry_run: \"no\"\n").unwrap_err().to_string();
        assert!(text.contains(&said), "{said}");
    }
}
