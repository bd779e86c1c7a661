use super::*;
use crate::testing::{self, Paper};
use control::message::{ExecutorSays, OperatorSays};
use protocol::doctor::Report;
use protocol::hello::Isolation;

fn executor_of(rows: Vec<Row>) -> ExecutorDoctor {
    ExecutorDoctor { report: Report::new("aa", rows), isolation: Isolation::None, closed: Vec::new() }
}

#[test]
fn a_line_names_grade_part_check_finding_and_what_to_do() {
    let row = Row::new(Check::Fence, Grade::Fail, Worded::new("none", "ninguna")).advise("Set it.", "Defínala.");
    let text = line(Part::Executor, &row, Language::English);
    assert_eq!(text, "FAIL  executor fence        none -> Set it.");
    assert!(line(Part::Executor, &row, Language::Spanish).ends_with("ninguna -> Defínala."));
    let mut evil = row.clone();
    evil.found = Worded::same("a\nFAIL b\u{1b}[2J");
    assert_eq!(line(Part::Executor, &evil, Language::English).lines().count(), 1);
    assert_eq!(row_json(Part::Here, &row)["grade"], "FAIL");
}

#[tokio::test]
async fn a_silent_assistant_is_one_fail_and_the_executors_rows_go_on() {
    let run = tempfile::tempdir().unwrap();
    let fence = Row::new(Check::Fence, Grade::Ok, Worded::same("3 devices"));
    let heard = testing::executor(run.path(), move |say| {
        matches!(say, OperatorSays::Doctor).then(|| ExecutorSays::Doctor(Box::new(executor_of(vec![fence.clone()]))))
    });
    let session = testing::session(run.path());
    for json in [false, true] {
        let paper = Paper::default();
        assert_eq!(doctor(&session, &mut paper.out(), json).await, Exit::Wrong);
        let text = paper.text();
        assert!(text.contains("3 devices") && text.contains("fleetwatch-assistant"), "{text}");
    }
    assert_eq!(*heard.lock().unwrap(), [OperatorSays::Doctor, OperatorSays::Doctor], "nothing else was asked");
}

#[tokio::test]
async fn without_any_daemon_there_are_two_fails_and_the_rest_goes_on() {
    let run = tempfile::tempdir().unwrap();
    let session = testing::session(run.path());
    let rows = rows(&session, ask(&session).await);
    let silent = rows.iter().filter(|(_, row)| row.check == Check::Answers && row.grade == Grade::Fail);
    assert_eq!(silent.count(), 2);
    assert!(rows.iter().any(|(_, row)| row.check == Check::Sockets));
}

#[test]
fn at_most_so_many_rows_of_one_part_are_shown() {
    let many = vec![Row::new(Check::Fence, Grade::Ok, Worded::same("x")); MOST_ROWS + 20];
    let run = tempfile::tempdir().unwrap();
    let places = testing::session(run.path()).places;
    assert_eq!(part(Part::Executor, (Daemon::Executor, &places), Ok(many)).len(), MOST_ROWS);
}
