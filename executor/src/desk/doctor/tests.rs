//! Each ruling, from facts to its grade.

use super::Closed;
use super::rows::{self, Autonomy, LITTLE_SPACE, OLD_BACKUP, Past};
use crate::store::{Started, StoreLook};
use control::status::{QueueStatus, Witness};
use protocol::doctor::{Grade, MOST_PATHS, Row};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

fn grade(row: &Row) -> Grade {
    assert!(!row.found.en.is_empty() && !row.found.es.is_empty(), "{row:?}");
    let needs_advice = matches!(row.grade, Grade::Fail | Grade::Warn);
    assert!(!needs_advice || (!row.advice.en.is_empty() && !row.advice.es.is_empty()), "{row:?}");
    row.grade
}

#[test]
fn no_fence_fails_only_where_changes_are_proposed() {
    assert_eq!(grade(&rows::fence(Some("3 devices"), true)), Grade::Ok);
    assert_eq!(grade(&rows::fence(None, true)), Grade::Fail);
    assert_eq!(grade(&rows::fence(None, false)), Grade::Warn);
}

#[test]
fn autonomy_is_told_and_never_wrong() {
    for (proposes, dry_run) in [(false, false), (false, true), (true, false), (true, true)] {
        assert_eq!(grade(&rows::autonomy(Autonomy { proposes, dry_run })), Grade::Info);
    }
}

#[test]
fn a_full_queue_or_a_full_hour_warns() {
    let of = |pending, hour| grade(&rows::queue(QueueStatus { pending, pending_limit: 3, hour, hour_limit: 10 }));
    assert_eq!(of(2, 9), Grade::Ok);
    assert_eq!((of(3, 0), of(0, 10)), (Grade::Warn, Grade::Warn));
}

#[test]
fn a_freeze_and_a_paused_agent_warn() {
    assert_eq!((grade(&rows::frozen(false)), grade(&rows::frozen(true))), (Grade::Ok, Grade::Warn));
    assert_eq!(grade(&rows::agents(&[])), Grade::Ok);
    let paused = rows::agents(&["telegram".to_owned()]);
    assert!(grade(&paused) == Grade::Warn && paused.found.en.contains("telegram"));
}

#[test]
fn operators_need_a_list_that_holds_and_a_pin_each() {
    let of = |operators, without: &[&str], disk: Result<bool, &str>| {
        let without: Vec<_> = without.iter().map(|&name| name.to_owned()).collect();
        grade(&rows::pins(operators, &without, &disk.map_err(str::to_owned)))
    };
    assert_eq!(of(2, &[], Ok(true)), Grade::Ok);
    assert_eq!(of(2, &["ana"], Ok(true)), Grade::Warn);
    assert_eq!(of(2, &[], Ok(false)), Grade::Warn);
    assert_eq!(of(0, &[], Ok(true)), Grade::Fail);
    assert_eq!(of(2, &[], Err("mode 0666")), Grade::Fail);
}

#[test]
fn a_page_that_is_down_fails_and_who_may_open_it_is_told() {
    assert_eq!(grade(&rows::page(None, true)), Grade::Fail);
    for (single, words) in [(true, "PIN"), (false, "page-code")] {
        let row = rows::page(Some("http://127.0.0.1:8767/"), single);
        assert!(grade(&row) == Grade::Ok && row.found.en.contains(words), "{row:?}");
    }
}

#[test]
fn the_ping_is_told_by_the_name_of_its_service() {
    for service in [None, Some("Slack")] {
        assert_eq!(grade(&rows::notify(service)), Grade::Info);
    }
}

fn look() -> StoreLook {
    StoreLook {
        sqlite: "3.51.3".to_owned(),
        journal: "wal".to_owned(),
        full_sync: true,
        backup_age: None,
        alone: Ok(()),
        free: Ok(LITTLE_SPACE),
        wrong_files: Vec::new(),
    }
}

#[test]
fn a_database_that_could_lose_a_commit_fails() {
    assert_eq!(grade(&rows::sqlite(&look())), Grade::Ok);
    assert_eq!(grade(&rows::sqlite(&StoreLook { journal: "delete".to_owned(), ..look() })), Grade::Fail);
    assert_eq!(grade(&rows::sqlite(&StoreLook { full_sync: false, ..look() })), Grade::Fail);
}

#[test]
fn open_files_and_a_lost_lock_fail_and_little_space_warns() {
    assert_eq!(grade(&rows::store(&[])), Grade::Ok);
    let wrong = rows::store(&["audit.key has mode 0644".to_owned()]);
    assert!(grade(&wrong) == Grade::Fail && wrong.found.en.contains("audit.key"));
    assert_eq!((grade(&rows::lock(&Ok(()))), grade(&rows::lock(&Err("gone".to_owned())))), (Grade::Ok, Grade::Fail));
    assert_eq!(grade(&rows::disk(&Ok(LITTLE_SPACE))), Grade::Ok);
    assert_eq!(grade(&rows::disk(&Ok(LITTLE_SPACE - 1))), Grade::Warn);
    assert_eq!(grade(&rows::disk(&Err("no disk".to_owned()))), Grade::Warn);
}

#[test]
fn an_old_backup_warns_and_none_is_told() {
    assert_eq!(grade(&rows::backup(None)), Grade::Info);
    assert_eq!(grade(&rows::backup(Some(OLD_BACKUP))), Grade::Ok);
    assert_eq!(grade(&rows::backup(Some(OLD_BACKUP + 1))), Grade::Warn);
}

#[test]
fn every_sign_of_an_old_database_fails() {
    let of = |witness, started| grade(&rows::audit(Past { sequence: 9, witness, started, lost: false }));
    let lost = rows::audit(Past { sequence: 9, witness: Witness::Agrees, started: Started::default(), lost: true });
    assert_eq!(grade(&lost), Grade::Fail, "a restart does not make it unsaid");
    let calm = Started::default();
    assert_eq!(of(Witness::Agrees, calm), Grade::Ok);
    assert_eq!(of(Witness::Unwitnessed, calm), Grade::Info);
    assert_eq!(of(Witness::Newer, calm), Grade::Fail);
    assert_eq!(of(Witness::BadMac, calm), Grade::Fail);
    assert_eq!(of(Witness::Agrees, Started { restored: 1, ..calm }), Grade::Fail);
    assert_eq!(of(Witness::Agrees, Started { torn: true, ..calm }), Grade::Fail);
    assert_eq!(of(Witness::Agrees, Started { unknown: 1, ..calm }), Grade::Warn);
}

#[test]
fn a_boot_without_an_id_fails() {
    assert_eq!(grade(&rows::clock("Europe/Madrid", "abc")), Grade::Ok);
    assert_eq!(grade(&rows::clock("Europe/Madrid", "")), Grade::Fail);
}

#[test]
fn a_path_that_no_question_can_hold_is_told_and_never_left_out_in_silence() {
    let odd = PathBuf::from(OsStr::from_bytes(b"/s/\xffstore"));
    let plain = |n: usize| PathBuf::from(format!("/s/{n}"));
    let closed = Closed::of(vec![plain(0), odd.clone(), plain(0), plain(1)]);
    assert_eq!(closed.paths, ["/s/0", "/s/1"]);
    assert_eq!(closed.left_out, [odd]);
    let told = rows::untried(&closed.left_out).unwrap();
    assert!(grade(&told) == Grade::Warn && told.found.en.contains("1 of the executor's files"), "{told:?}");

    let many = Closed::of((0..MOST_PATHS + 3).map(plain).chain([plain(0)]).collect());
    assert_eq!((many.paths.len(), many.left_out.len()), (MOST_PATHS, 3));
    assert!(rows::untried(&many.left_out).unwrap().found.en.contains("/s/34"));
    assert_eq!(rows::untried(&[]), None);
}
