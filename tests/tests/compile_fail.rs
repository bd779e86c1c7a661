//! Walls that the compiler keeps. Each file of `tests/ui` is compiled as a library that sees the direct dependencies of one
//! of our packages; its first line says whether it compiles, or with which error it must not.

#[cfg(test)]
mod tests {
    use fleetwatch_tests::crates::{Crates, Kind, Named, built, rustc};
    use fleetwatch_tests::{target_folder, workspace_root};
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    /// Sources that see the libraries that one of our packages depends on, as they were built, and nothing else by name.
    struct Mini {
        folder: tempfile::TempDir,
        externs: Vec<String>,
        fixtures: Vec<Fixture>,
    }

    struct Fixture {
        name: String,
        text: String,
        wanted: Wanted,
    }

    #[derive(PartialEq)]
    enum Wanted {
        Compiles,
        /// Every error has this code (or lint), and together they say these words.
        Fails {
            code: String,
            words: String,
        },
    }

    impl Mini {
        fn new(name: &str, dependencies: &[Named]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("src")).unwrap();
            let built = built().unwrap();
            let library = |named: &Named| {
                let (name, file) = built.get(&named.name).unwrap_or_else(|| panic!("{} was not built", named.name));
                format!("--extern={name}={}", file.display())
            };
            Self { folder, externs: dependencies.iter().map(library).collect(), fixtures: fixtures(name) }
        }

        // Whether it compiles, and what the compiler said.
        fn check(&self, text: &str) -> (bool, String) {
            fs::write(self.folder.path().join("src/lib.rs"), text).unwrap();
            let mut below = std::ffi::OsString::from("dependency=");
            below.push(target_folder().join("debug/deps"));
            let output = rustc()
                .current_dir(self.folder.path())
                .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=short"])
                .args(["-Dunused_must_use", "-Cpanic=abort", "-L"])
                .arg(below)
                .args(&self.externs)
                .arg("src/lib.rs")
                .output()
                .unwrap();
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        }

        fn try_all(&self, least: usize) {
            let (good, bad): (Vec<_>, Vec<_>) = self.fixtures.iter().partition(|one| one.wanted == Wanted::Compiles);
            assert!(!good.is_empty() && bad.len() >= least, "{} fixtures are too few", self.fixtures.len());
            // Without these the errors below would prove nothing.
            for fixture in good.into_iter().chain(bad) {
                self.try_one(fixture);
            }
        }

        fn try_one(&self, fixture: &Fixture) {
            let (compiled, said) = self.check(&fixture.text);
            match &fixture.wanted {
                Wanted::Compiles => assert!(compiled, "{} must compile:\n{said}", fixture.name),
                Wanted::Fails { code, words } => {
                    assert!(!compiled, "{} compiles: the wall is gone", fixture.name);
                    assert_eq!(codes(&said), BTreeSet::from([code.clone()]), "{}:\n{said}", fixture.name);
                    assert!(said.contains(words), "{} must fail over `{words}`:\n{said}", fixture.name);
                }
            }
        }
    }

    fn fixtures(wall: &str) -> Vec<Fixture> {
        let entries = fs::read_dir(workspace_root().join("tests/ui").join(wall)).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| fixture(path)).collect()
    }

    fn fixture(path: &Path) -> Fixture {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).unwrap();
        let first = text.lines().next().and_then(|line| line.strip_prefix("//@ ")).unwrap_or_default();
        let wanted = match first.split_once(' ') {
            None if first == "compiles" => Wanted::Compiles,
            Some(("fails", rest)) => {
                let (code, words) = rest.split_once(' ').unwrap();
                Wanted::Fails { code: code.to_owned(), words: words.to_owned() }
            }
            None | Some(_) => panic!("{name}: its first line says neither `//@ compiles` nor `//@ fails CODE WORDS`"),
        };
        Fixture { name, text, wanted }
    }

    // `src/lib.rs:3:5: error[E0432]: …`; an error by a lint has no code and counts as `lint`.
    fn codes(said: &str) -> BTreeSet<String> {
        let errors = said.lines().filter_map(|line| line.strip_prefix("src/lib.rs:")?.split_once(": error"));
        errors
            .map(|(_, rest)| rest.strip_prefix('[').and_then(|r| r.split(']').next()).unwrap_or("lint").to_owned())
            .collect()
    }

    fn dependencies_of(package: &str) -> Vec<Named> {
        let crates = Crates::read().unwrap();
        let named = crates.ours.get(package).unwrap().iter().filter(|named| named.kind == Kind::Normal);
        named.cloned().collect()
    }

    #[test]
    fn with_the_assistants_dependencies_no_decision_and_no_write_has_a_name() {
        Mini::new("assistant", &dependencies_of("fleetwatch-assistant")).try_all(5);
    }

    #[test]
    fn a_right_cannot_be_made_copied_or_used_twice() {
        // What the tests name, so that the executor's library is among them.
        let wanted = ["fleetwatch-executor", "protocol", "serde_json"];
        let mut named = dependencies_of("fleetwatch-tests");
        named.retain(|named| wanted.contains(&named.name.as_str()));
        assert_eq!(named.len(), wanted.len());
        Mini::new("executor", &named).try_all(8);
    }
}
