use super::*;

fn grade(row: &Row) -> Grade {
    assert!(!row.found.en.is_empty() && !row.found.es.is_empty(), "{row:?}");
    let needs_advice = matches!(row.grade, Grade::Fail | Grade::Warn);
    assert!(!needs_advice || (!row.advice.en.is_empty() && !row.advice.es.is_empty()), "{row:?}");
    row.grade
}

#[test]
fn the_policy_on_disk_is_the_running_one_an_edited_one_or_one_that_would_not_start() {
    let running = policy_hash("a", "b");
    assert_ne!(policy_hash("ab", ""), running, "a border that moves is another policy");
    assert_eq!(grade(&policy_ruling(&Ok(running.clone()), &running)), Grade::Ok);
    assert_eq!(grade(&policy_ruling(&Ok(policy_hash("b", "a")), &running)), Grade::Warn);
    let broken = policy_ruling(&Err("policy.yaml line 3".to_owned()), &running);
    assert_eq!(grade(&broken), Grade::Fail);
    assert!(broken.found.en.contains("line 3") && broken.found.es.contains("line 3"));
}

#[test]
fn a_readable_write_tool_fails_the_guard_and_so_does_a_guard_that_knows_none() {
    assert_eq!(grade(&guard_ruling(&[], 15, 20)), Grade::Ok);
    let leak = guard_ruling(&["batch_reboot"], 15, 21);
    assert_eq!(grade(&leak), Grade::Fail);
    assert!(leak.found.en.contains("batch_reboot"));
    assert_eq!(grade(&guard_ruling(&[], 0, 20)), Grade::Fail);
    assert_eq!(grade(&guard(&ToolPolicy::shipped().unwrap())), Grade::Ok);
}

#[test]
fn a_failed_redaction_is_a_fail() {
    assert_eq!(grade(&redaction()), Grade::Ok);
    assert_eq!(grade(&redaction_ruling(&Err("a secret stays: bearer".to_owned()))), Grade::Fail);
}

#[test]
fn a_sign_in_is_judged_by_what_is_held_and_by_its_file() {
    let usable = Facts {
        usable: true,
        renewed: true,
        expires_at: Some(10_000),
        scope: Some("devices".to_owned()),
        trouble: None,
    };
    let at = |store, trouble, kept: Result<(), &str>| {
        let facts = Facts { trouble, ..usable.clone() };
        sign_in_ruling("sandbox", &facts, (store, &kept.map_err(str::to_owned)), 4_000)
    };
    let of = |trouble, kept| at(Store::File, trouble, kept);
    let good = of(None, Ok(()));
    assert_eq!(good.grade, Grade::Ok);
    for (words, texts) in [(&good.found.en, ["100 minutes", "devices"]), (&good.found.es, ["100 minutos", "devices"])] {
        assert!(texts.iter().all(|text| words.contains(text)), "{words}");
    }
    assert_eq!(grade(&of(None, Err("mode 0644"))), Grade::Fail);
    let good = at(Store::Keychain, None, Ok(()));
    assert!(good.found.en.contains("in the keychain") && good.found.es.contains("en el llavero"), "{good:?}");
    let bad = at(Store::Keychain, None, Err("locked"));
    assert!(grade(&bad) == Grade::Fail && bad.advice.es.contains("llavero"), "{bad:?}");
    let which = crate::token::Which::Sandbox;
    for (trouble, want) in [
        (Trouble::CredentialOver(which), Grade::Fail),
        (Trouble::CredentialRanOut(which), Grade::Fail),
        (Trouble::EndedEarly(which), Grade::Fail),
        (Trouble::Foreign(which), Grade::Fail),
        (Trouble::Missing(which), Grade::Warn),
        (Trouble::NotSaved(which), Grade::Warn),
        (Trouble::Over(which), Grade::Fail),
    ] {
        let row = of(Some(trouble), Ok(()));
        assert_eq!(row.grade, want, "{trouble:?}");
        assert!(row.found.en.starts_with("sandbox: ") && row.found.en.contains(&trouble.words().en), "{row:?}");
    }
}

#[tokio::test]
async fn a_sign_ins_file_is_never_shown() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    host::files::write_private(&file, b"never-show-this\n").unwrap();
    let endpoint = crate::endpoint::Endpoint::parse("http://127.0.0.1:9/mcp", policy::call::Slot::Sim).unwrap();
    let clock = host::clock::Clock::system().unwrap();
    let held = SignIn::load(&file, crate::token::Which::Sandbox, endpoint, clock).unwrap();
    for (mode, want) in [(0o600, Grade::Ok), (0o644, Grade::Fail)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let row = sign_in(&held, false, "sandbox").await;
        assert_eq!(row.grade, want, "{row:?}");
        assert!(!format!("{row:?}").contains("never-show"), "{row:?}");
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let row = sign_in(&held, true, "sandbox").await;
    assert!(row.grade == Grade::Fail && row.found.es.contains("fleetwatchctl login --sandbox"), "{row:?}");
}

#[test]
fn an_unreached_server_warns_and_names_only_its_place() {
    assert_eq!(grade(&server_ruling(Check::Fleet, "h:443", &Ok(()))), Grade::Ok);
    let row = server_ruling(Check::Fleet, "h:443", &Err(NotReached::Tls("bad certificate".to_owned())));
    assert_eq!(grade(&row), Grade::Warn);
    assert!(row.found.en.contains("h:443") && row.found.en.contains("bad certificate"));
}

#[test]
fn what_the_sandbox_lacks_is_a_warning_by_name_and_the_service_is_told() {
    assert_eq!(grade(&sandbox_ruling(&[])), Grade::Ok);
    let row = sandbox_ruling(&["landlock".to_owned(), "seccomp".to_owned()]);
    assert!(row.found.en.contains("landlock, seccomp") && row.found.es.contains("landlock, seccomp"), "{row:?}");
    assert!(grade(&row) == Grade::Warn && row.advice.en.contains("FLEETWATCH_REQUIRE_SANDBOX=1"), "{row:?}");
    for manager in [Manager::Container, Manager::Launchd, Manager::None, Manager::Systemd] {
        for (watchdog, words) in [(None, "watchdog: none"), (Some(Duration::from_secs(30)), "watchdog: every 30 s")] {
            let row = service_ruling(manager, watchdog);
            assert!(grade(&row) == Grade::Info && row.found.en.contains(words), "{row:?}");
        }
    }
}

#[test]
fn an_open_folder_fails() {
    assert_eq!(grade(&own_folder_ruling(Path::new("/x"), Ok(()))), Grade::Ok);
    assert_eq!(grade(&own_folder_ruling(Path::new("/x"), Err("mode 0777".to_owned()))), Grade::Fail);
}
