//! Walls that no crate edge holds: who calls a tool, who builds a right, who knows the time, and what never stands in
//! the repository. They read the sources as text, so each looks for the plain way of doing the thing.

#[cfg(test)]
mod tests {
    use fleetwatch_tests::sources::{self, Source, is_test_name};
    use fleetwatch_tests::{binary, target_folder, workspace_root};
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    /// The production part of a file has at most so many lines; `main.rs` only wires.
    const MOST_LINES: usize = 600;
    const MOST_LINES_OF_MAIN: usize = 80;

    fn shipped() -> Vec<Source> {
        let all: Vec<_> = sources::rust().unwrap().into_iter().filter(|source| !source.is_test()).collect();
        assert!(all.len() > 100, "only {} sources were found", all.len());
        all
    }

    // Where the text stands in shipped code outside the places that may hold it.
    fn elsewhere(sources: &[Source], wanted: &str, allowed: &[&str]) -> Vec<String> {
        let others = sources.iter().filter(|source| !allowed.iter().any(|place| source.path.starts_with(place)));
        others.flat_map(|source| source.places(wanted)).collect()
    }

    #[test]
    fn tools_are_called_in_few_places() {
        let allowed = [
            "reader/src/session.rs",
            "executor/src/backends/epiphan/wire.rs",
            "executor/src/backends/epiphan/wire/",
            "sim/",
            "ctl/src/mcp.rs",
        ];
        let sources = shipped();
        for call in ["call_tool", "tools/call", "peer.call", "CallToolRequest", "send_request("] {
            assert_eq!(elsewhere(&sources, call, &allowed), Vec::<String>::new(), "{call}");
        }
        // The check looks for what is really written there.
        let write = sources.iter().find(|source| source.path == "executor/src/backends/epiphan/wire.rs").unwrap();
        assert_eq!(write.places("tools/call").len(), 1, "the one write is one call");
    }

    #[test]
    fn each_right_is_built_once_and_never_copied() {
        let sources = shipped();
        for (right, home) in
            [("ConsumedApproval", "executor/src/store/consume.rs"), ("ReadyWrite", "executor/src/recheck.rs")]
        {
            let built = sources.iter().flat_map(|source| constructions(source, right)).collect::<Vec<_>>();
            assert_eq!(built.len(), 1, "{right} is built at {built:?}");
            assert!(built.iter().all(|place| place.starts_with(home)), "{right} is built at {built:?}");
            let source = sources.iter().find(|source| source.path == home).unwrap();
            assert_eq!(derives(source, right), ["Debug"], "derives of {right}");
            assert_eq!(elsewhere(&sources, &format!(" for {right}"), &[]), Vec::<String>::new(), "traits of {right}");
        }
    }

    #[test]
    fn a_right_is_taken_by_value() {
        let source = shipped().into_iter().find(|source| source.path.ends_with("epiphan/write.rs")).unwrap();
        assert!(source.bare.contains("fn write(ready: ReadyWrite)"), "write takes ReadyWrite and nothing else");
    }

    // `Name {` and, inside `impl Name`, `Self {`; the declaration and the impl's own head do not count.
    fn constructions(source: &Source, name: &str) -> Vec<String> {
        let mut inside = false;
        let mut found = Vec::new();
        for (at, line) in source.bare.lines().enumerate() {
            let head = line.starts_with("impl") && line.ends_with(&format!(" {name} {{"));
            let declared = line.contains(&format!("struct {name} {{"));
            let built = line.contains(&format!("{name} {{")) && !head && !declared && !line.contains("-> ");
            let by_self = inside && (line.contains("Self {") || line.contains("Self(")) && !line.contains("-> ");
            if built || by_self {
                found.push(format!("{}:{}", source.path, at + 1));
            }
            inside = (inside || head) && line != "}";
        }
        found
    }

    #[test]
    fn every_way_of_building_a_right_is_seen() {
        let text = "#[derive(Debug, Clone)]\n/// Why.\n#[must_use]\npub struct R {\n    a: u8,\n}\nimpl R {\n    fn b(x: u8) -> R {\n        \
                    Self { a: x }\n    }\n}\nimpl From<&R> for S {\n    fn from(r: &R) -> Self {\n        Self { a: r.a }\n    }\n}\nfn c() {\n    \
                    d(e::R { a: 1 });\n}\n";
        let source = Source::new("x.rs", text);
        assert_eq!(constructions(&source, "R"), ["x.rs:9", "x.rs:18"]);
        assert_eq!(derives(&source, "R"), ["Debug", "Clone"]);
    }

    // What the attributes above the declaration derive.
    fn derives(source: &Source, name: &str) -> Vec<String> {
        let lines: Vec<_> = source.bare.lines().collect();
        let at = lines.iter().position(|line| line.contains(&format!("struct {name} {{"))).unwrap();
        // Lines that held a comment are blank here.
        let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.is_empty());
        let derived = attributes.filter_map(|line| line.strip_prefix("#[derive(")?.strip_suffix(")]"));
        derived.flat_map(|list| list.split(", ")).map(str::to_owned).collect()
    }

    #[test]
    fn one_clock_knows_the_time() {
        let sources = shipped();
        for now in
            ["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", "clock_gettime", "clock_boottime"]
        {
            let allowed = ["host/src/clock.rs", "sim/src/clock.rs"];
            let found = elsewhere(&sources, now, &allowed);
            assert_eq!(found, Vec::<String>::new(), "{now}");
        }
    }

    #[test]
    fn no_source_is_unsafe() {
        for source in sources::rust().unwrap() {
            let word = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe");
            assert!(!source.bare.lines().any(word), "{}", source.path);
        }
    }

    #[test]
    fn wire_types_use_nothing_that_bincode_cannot_carry() {
        let mut seen = 0;
        for source in shipped().iter().filter(|s| s.path.starts_with("protocol/") || s.path.starts_with("control/")) {
            for attribute in serde_attributes(&source.code) {
                for never in ["flatten", "untagged", "tag", "content", "skip_serializing_if", "default"] {
                    let words = attribute.split(|c: char| !c.is_alphanumeric() && c != '_');
                    assert!(!words.into_iter().any(|word| word == never), "{}: {attribute}", source.path);
                }
                seen += 1;
            }
        }
        assert!(seen > 10, "only {seen} attributes were found");
    }

    fn serde_attributes(code: &str) -> Vec<String> {
        let pieces = code.split("serde(").skip(1);
        pieces.map(|rest| rest.split(")]").next().unwrap_or(rest).to_owned()).collect()
    }

    #[test]
    fn files_stay_short_and_mains_only_wire() {
        let mut long = Vec::new();
        for source in shipped() {
            let main = source.path.ends_with("/src/main.rs");
            let most = if main { MOST_LINES_OF_MAIN } else { MOST_LINES };
            if source.lines > most {
                long.push(format!("{}: {} lines, at most {most}", source.path, source.lines));
            }
        }
        assert_eq!(long, Vec::<String>::new());
    }

    #[test]
    fn test_files_stand_under_cfg_test() {
        for source in shipped() {
            for line in source.bare.lines() {
                let module = line.trim_start().trim_start_matches("pub ").strip_prefix("mod ");
                let module = module.and_then(|rest| rest.strip_suffix(';'));
                assert!(!module.is_some_and(is_test_name), "{}: {line} is built into the product", source.path);
            }
        }
    }

    #[test]
    fn an_ignored_test_names_its_issue() {
        let marker = ["#[", "ignore"].concat();
        for source in sources::rust().unwrap() {
            for line in source.text.lines().filter(|line| line.trim_start().starts_with(&marker)) {
                let after = line.split("issue ").nth(1).and_then(|rest| rest.chars().next());
                assert!(after.is_some_and(|c| c.is_ascii_digit()), "{}: {line}", source.path);
            }
        }
    }

    #[test]
    fn nothing_names_a_machine_or_a_package_host() {
        // In pieces, so that this file does not name them either.
        let pieces = [
            ["/wo", "rk/"],
            ["/ro", "ot/"],
            ["/ho", "me/"],
            ["/tmp/", "fw"],
            ["index.", "crates.io"],
            ["static.", "crates.io"],
            ["npm", "js.org"],
            ["py", "pi.org"],
            ["python", "hosted"],
            ["deb.", "debian.org"],
            ["security.", "debian.org"],
        ];
        let names = pieces.map(|pieces| pieces.concat());
        let mut found = Vec::new();
        for file in sources::files().unwrap() {
            for name in names.iter().filter(|name| file.text.contains(name.as_str())) {
                found.push(format!("{}: {name}", file.path));
            }
        }
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn barriers_are_in_the_tests_own_executor_alone() {
        let with = binary("fleetwatch-executor-barriers");
        assert!(holds_barriers(&with), "{} was built without barriers: run tests/run", with.display());
        let plain = binary("fleetwatch-executor");
        assert!(!holds_barriers(&plain), "{} was built with barriers: run tests/run", plain.display());
        let release = target_folder().join("release/fleetwatch-executor");
        assert!(!release.exists() || !holds_barriers(&release), "{} holds barriers", release.display());
    }

    // The executor's build script, asked as cargo asks it.
    #[test]
    fn no_release_is_built_with_barriers() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("build");
        let source = workspace_root().join("executor/build.rs");
        let made = Command::new("rustc").args(["--edition", "2024", "-o"]).arg(&script).arg(source).status().unwrap();
        assert!(made.success());
        let said = |profile: &str, wanted: bool| {
            let mut command = Command::new(&script);
            command.env("PROFILE", profile).env_remove("FLEETWATCH_BUILD_BARRIERS");
            if wanted {
                command.env("FLEETWATCH_BUILD_BARRIERS", "1");
            }
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        let (error, cfg) = ("cargo::error=FLEETWATCH_BUILD_BARRIERS", "cargo::rustc-cfg=fleetwatch_barriers");
        for (profile, wanted, stops, has) in [
            ("debug", true, false, true),
            ("debug", false, false, false),
            ("release", true, true, false),
            ("release", false, false, false),
        ] {
            let said = said(profile, wanted);
            assert_eq!((said.contains(error), said.contains(cfg)), (stops, has), "{profile}, {wanted}: {said}");
        }
    }

    fn holds_barriers(program: &Path) -> bool {
        let bytes = fs::read(program).unwrap();
        bytes.windows(b"FLEETWATCH_BARRIER".len()).any(|window| window == b"FLEETWATCH_BARRIER")
    }
}
