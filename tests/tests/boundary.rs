//! The walls between the crates (`docs/architecture.md`, The walls), as `cargo metadata` sees them. Whoever wants a new
//! edge changes a line here, and says why in the commit.

#[cfg(test)]
mod tests {
    use fleetwatch_tests::crates::{Crates, Kind};
    use fleetwatch_tests::sources;
    use std::collections::BTreeSet;

    /// What each package may name among ours, in `[dependencies]`, and no less.
    const EDGES: [(&str, &[&str]); 10] = [
        ("control", &["protocol"]),
        ("fleetwatch-assistant", &["host", "policy", "protocol", "reader"]),
        ("fleetwatch-executor", &["control", "host", "policy", "protocol", "reader"]),
        ("fleetwatch-sim", &[]),
        ("fleetwatch-tests", &["control", "fleetwatch-executor", "policy", "protocol"]),
        ("fleetwatchctl", &["control", "host", "policy", "protocol"]),
        ("host", &["protocol"]),
        ("policy", &["protocol"]),
        ("protocol", &[]),
        ("reader", &["host", "policy", "protocol"]),
    ];

    /// Who names these, and no one else.
    const NAMERS: [(&str, &[&str]); 4] = [
        ("bincode", &["protocol"]),
        ("rmcp", &["fleetwatch-sim", "fleetwatchctl", "reader"]),
        ("rusqlite", &["fleetwatch-executor", "fleetwatch-tests"]),
        ("tiny_http", &["fleetwatch-executor"]),
    ];

    /// Who may name these besides the tests.
    const MAY_NAME: [(&str, &[&str]); 20] = [
        ("argon2", &["fleetwatch-executor"]),
        ("clap_complete", &["fleetwatchctl"]),
        ("clap_mangen", &["fleetwatchctl"]),
        ("getrandom", &["host"]),
        ("hmac", &["fleetwatch-executor"]),
        ("httparse", &["fleetwatch-executor"]),
        ("hyper", &["fleetwatch-executor", "fleetwatch-sim"]),
        ("landlock", &["host"]),
        ("listenfd", &["host"]),
        ("maud", &["fleetwatch-executor"]),
        ("nix", &["fleetwatch-executor", "fleetwatchctl", "host"]),
        ("regex", &["policy"]),
        ("reqwest", &["fleetwatch-assistant", "fleetwatch-executor", "reader"]),
        ("sd-notify", &["host"]),
        ("seccompiler", &["host"]),
        ("serde-saphyr", &["policy"]),
        ("serde_json_canonicalizer", &["protocol"]),
        ("subtle", &["host"]),
        ("tokio-rustls", &["fleetwatch-executor"]),
        ("tokio-util", &["host"]),
    ];

    /// Banned everywhere; `deny.toml` says why.
    const BANNED: [&str; 6] = ["aws-lc-rs", "aws-lc-sys", "native-tls", "openssl-sys", "serde_yaml", "serde_yml"];

    fn crates() -> Crates {
        Crates::read().unwrap()
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn every_crate_has_exactly_its_edges() {
        let crates = crates();
        assert_eq!(crates.ours.keys().map(String::as_str).collect::<Vec<_>>(), EDGES.map(|(name, _)| name));
        for (package, ours) in EDGES {
            assert_eq!(crates.edges(package, Kind::Normal), set(ours), "[dependencies] of {package}");
            // Nothing comes in by the side doors either.
            for kind in [Kind::Build, Kind::Dev] {
                assert!(crates.edges(package, kind).is_subset(&set(ours)), "{kind:?} dependencies of {package}");
            }
        }
    }

    #[test]
    fn few_may_name_what_is_dangerous() {
        let crates = crates();
        for (package, namers) in NAMERS {
            assert_eq!(crates.namers(package), set(namers), "who names {package}");
        }
        for (package, namers) in MAY_NAME {
            let mut others = crates.namers(package);
            others.remove("fleetwatch-tests");
            assert!(!others.is_empty(), "nobody names {package}: take it off the list");
            assert!(others.is_subset(&set(namers)), "who names {package}: {others:?}");
        }
    }

    #[test]
    fn nothing_below_the_assistant_knows_a_decision_or_the_store() {
        let below = crates().closure("fleetwatch-assistant");
        assert!(below.contains("protocol") && below.contains("rmcp"), "the closure is not what it should be");
        for never in ["control", "fleetwatch-executor", "fleetwatchctl", "fleetwatch-sim", "rusqlite", "libsqlite3-sys"]
        {
            assert!(!below.contains(never), "the assistant is built with {never}");
        }
    }

    #[test]
    fn words_and_policy_can_do_no_input_or_output() {
        let crates = crates();
        for package in ["control", "policy", "protocol"] {
            let below = crates.closure(package);
            for never in ["hyper", "mio", "nix", "reqwest", "rusqlite", "rustls", "tokio", "getrandom"] {
                assert!(!below.contains(never), "{package} is built with {never}");
            }
        }
    }

    #[test]
    fn the_simulator_is_below_nothing_and_nothing_is_below_the_executor_but_tests() {
        let crates = crates();
        assert_eq!(crates.namers("fleetwatch-sim"), set(&[]));
        assert_eq!(crates.namers("fleetwatch-executor"), set(&["fleetwatch-tests"]));
        assert_eq!(crates.namers("control"), set(&["fleetwatch-executor", "fleetwatch-tests", "fleetwatchctl"]));
    }

    #[test]
    fn no_shipped_crate_asks_for_the_clock_that_tests_move() {
        for (package, named) in &crates().ours {
            let shipped = named.iter().filter(|named| named.name == "host" && named.kind == Kind::Normal);
            for host in shipped {
                assert!(!host.features.iter().any(|feature| feature == "manual-clock"), "{package} asks for it");
            }
        }
    }

    #[test]
    fn banned_packages_are_nowhere_and_bincode_and_tiny_http_stay_pinned() {
        let crates = crates();
        for package in crates.ours.keys() {
            let below = crates.closure(package);
            for banned in BANNED {
                assert!(!below.contains(banned), "{package} is built with {banned}");
            }
        }
        for (name, pinned) in [("bincode", "=2.0.1"), ("tiny_http", "=0.12.0"), ("rmcp", "=3.11.0")] {
            let named: Vec<_> = crates.ours.values().flatten().filter(|named| named.name == name).collect();
            assert!(
                !named.is_empty() && named.iter().all(|named| named.requirement == pinned),
                "{name} is not {pinned}"
            );
        }
        for (package, named) in &crates.ours {
            for other in named.iter().filter(|named| named.path.is_none()) {
                assert_ne!(other.requirement, "*", "{package} asks for any {}", other.name);
            }
        }
    }

    #[test]
    fn every_package_keeps_the_lints_of_the_workspace() {
        let files = sources::files().unwrap();
        let root = files.iter().find(|file| file.path == "Cargo.toml").unwrap();
        assert!(root.text.contains("unsafe_code = \"forbid\""));
        let manifests = files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
        let mut seen = 0;
        for manifest in manifests {
            assert!(manifest.text.contains("\n[lints]\nworkspace = true\n"), "{}", manifest.path);
            seen += 1;
        }
        assert_eq!(seen, EDGES.len());
    }

    #[test]
    fn tiny_http_stays_behind_the_gate() {
        for source in sources::rust().unwrap() {
            let behind = ["executor/src/page/gate", "executor/src/page/post.rs"];
            if !behind.iter().any(|place| source.path.starts_with(place)) && !source.is_test() {
                assert_eq!(source.places("tiny_http"), Vec::<String>::new());
            }
        }
    }

    #[test]
    fn the_executor_pings_through_reqwest_and_writes_through_nothing_that_can_retry() {
        for source in sources::rust().unwrap() {
            let executor = source.path.starts_with("executor/src");
            if executor && source.path != "executor/src/notify.rs" && !source.is_test() {
                assert_eq!(source.places("reqwest"), Vec::<String>::new());
            }
        }
    }
}
