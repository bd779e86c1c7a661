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
    let of = |present, dead, disk: Result<bool, &str>| {
        let held = Held { present, dead, file: None, slot: "sandbox" };
        grade(&sign_in_ruling(held, &disk.map_err(str::to_owned)))
    };
    assert_eq!(of(true, false, Ok(true)), Grade::Ok);
    assert_eq!(of(true, true, Ok(true)), Grade::Fail);
    assert_eq!(of(true, false, Ok(false)), Grade::Warn);
    assert_eq!(of(false, false, Ok(true)), Grade::Warn);
    assert_eq!(of(false, false, Ok(false)), Grade::Warn);
    for (present, dead) in [(true, false), (true, true), (false, false)] {
        assert_eq!(of(present, dead, Err("mode 0644")), Grade::Fail);
    }
}

#[test]
fn a_sign_ins_file_is_never_shown() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "never-show-this").unwrap();
    for (mode, want) in [(0o600, Grade::Ok), (0o644, Grade::Fail)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let row = sign_in(Held { present: true, dead: false, file: Some(&file), slot: "sandbox" });
        assert_eq!(grade(&row), want);
        assert!(!format!("{row:?}").contains("never-show"), "{row:?}");
    }
}

#[test]
fn an_unreached_server_warns_and_names_only_its_place() {
    assert_eq!(grade(&server_ruling(Check::Fleet, "h:443", &Ok(()))), Grade::Ok);
    let row = server_ruling(Check::Fleet, "h:443", &Err(NotReached::Tls("bad certificate".to_owned())));
    assert_eq!(grade(&row), Grade::Warn);
    assert!(row.found.en.contains("h:443") && row.found.en.contains("bad certificate"));
}

#[test]
fn sandbox_and_service_are_told_without_a_promise() {
    for found in [None, Some((true, false)), Some((false, true))] {
        let row = sandbox_ruling(found);
        assert_eq!(grade(&row), Grade::Info);
        assert!(row.found.en.contains("not present in this version"));
    }
    for manager in [Manager::Container, Manager::Launchd, Manager::None, Manager::Systemd] {
        assert_eq!(grade(&service_ruling(manager)), Grade::Info);
    }
}

#[test]
fn an_open_folder_fails() {
    assert_eq!(grade(&own_folder_ruling(Path::new("/x"), Ok(()))), Grade::Ok);
    assert_eq!(grade(&own_folder_ruling(Path::new("/x"), Err("mode 0777".to_owned()))), Grade::Fail);
}
