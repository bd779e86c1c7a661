//! `doctor`: one line per check, from both daemons and from here (`issue lines 3.19, 3.20`; facts 7.5). It signs in to
//! nothing and calls no tool.

mod here;
mod isolation;
mod spanish;

use crate::client::{Asking, ClientError, Control, Daemon, Places};
use crate::exit::Exit;
use crate::out::Out;
use crate::render::{pick, safe};
use crate::session::Session;
use control::status::ExecutorDoctor;
use protocol::ask::AssistantDoctor;
use protocol::doctor::{Check, Grade, MOST_ROWS, Row};
use protocol::shown::{Language, Worded};
use serde_json::{Value, json};

/// What one daemon said, with the uid that it runs as.
type Heard<T> = Result<(T, u32), ClientError>;

/// Everything that was heard and seen.
#[derive(Debug)]
struct Found {
    executor: Heard<ExecutorDoctor>,
    assistant: Heard<AssistantDoctor>,
}

/// Whose row it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Assistant,
    Executor,
    Here,
}

impl Part {
    fn as_str(self) -> &'static str {
        match self {
            Self::Assistant => "assistant",
            Self::Executor => "executor",
            Self::Here => "here",
        }
    }
}

/// `doctor`.
pub(crate) async fn doctor(session: &Session, out: &mut Out, json: bool) -> Exit {
    let found = ask(session).await;
    let rows = rows(session, found);
    let failed = rows.iter().any(|(_, row)| row.grade == Grade::Fail);
    if json {
        let rows: Vec<Value> = rows.iter().map(|(part, row)| row_json(*part, row)).collect();
        out.json(&json!({ "ok": !failed, "rows": rows }));
    } else {
        for (part, row) in &rows {
            out.line(&line(*part, row, session.language));
        }
        out.line(&sum(&rows, session.language));
    }
    if failed { Exit::Wrong } else { Exit::Done }
}

async fn ask(session: &Session) -> Found {
    let executor = async { Control::open(&session.places).await?.doctor().await }.await;
    // The paths come from the executor; without it the assistant still tells everything else.
    let closed = executor.as_ref().map(|(found, _)| found.closed.clone()).unwrap_or_default();
    let assistant = async { Asking::open(&session.places).await?.doctor(closed).await }.await;
    Found { executor, assistant }
}

fn rows(session: &Session, found: Found) -> Vec<(Part, Row)> {
    let uids = (found.executor.as_ref().ok().map(|heard| heard.1), found.assistant.as_ref().ok().map(|heard| heard.1));
    let single = match &found.executor {
        Ok((heard, _)) => Some(heard.isolation == protocol::hello::Isolation::None),
        Err(_) => None,
    };
    let mut rows: Vec<(Part, Row)> = Vec::new();
    rows.extend(here::rows(&session.places, uids, single).into_iter().map(|row| (Part::Here, row)));
    if let (Ok((executor, _)), Ok((assistant, _))) = (&found.executor, &found.assistant) {
        let both = (&executor.report, &assistant.report);
        rows.push((Part::Here, here::version(both)));
        rows.push((Part::Here, here::policy((&both.0.policy, &both.1.policy))));
        let tried = isolation::Tried { isolation: executor.isolation, wanted: &executor.closed, uids };
        rows.push((Part::Here, isolation::row(&tried, &assistant.tried)));
    }
    let (executor, assistant) =
        (found.executor.map(|(heard, _)| heard.report.rows), found.assistant.map(|(heard, _)| heard.report.rows));
    rows.extend(part(Part::Executor, (Daemon::Executor, &session.places), executor));
    rows.extend(part(Part::Assistant, (Daemon::Assistant, &session.places), assistant));
    rows
}

fn part(part: Part, of: (Daemon, &Places), heard: Result<Vec<Row>, ClientError>) -> Vec<(Part, Row)> {
    match heard {
        Ok(rows) => rows.into_iter().take(MOST_ROWS).map(|row| (part, row)).collect(),
        Err(error) => vec![(part, silent(of, &error))],
    }
}

fn silent((daemon, places): (Daemon, &Places), error: &ClientError) -> Row {
    let name = daemon.as_str();
    let found = Worded::new(error.to_string(), spanish::of(error, places));
    Row::new(Check::Answers, Grade::Fail, found).advise(
        &format!("Start {name} and read its log; are you in the group that may ask it?"),
        &format!("Inicie {name} y lea su registro; ¿está usted en el grupo que puede preguntarle?"),
    )
}

fn line(part: Part, row: &Row, language: Language) -> String {
    let place = format!("{} {}", part.as_str(), row.check.as_str());
    let found = safe(row.found.get(language));
    let advice = safe(row.advice.get(language));
    let advice = if advice.is_empty() { advice } else { format!(" -> {advice}") };
    format!("{:<4}  {place:<20}  {found}{advice}", row.grade.as_str())
}

fn sum(rows: &[(Part, Row)], language: Language) -> String {
    let count = |grade| rows.iter().filter(|(_, row)| row.grade == grade).count();
    let (fails, warns) = (count(Grade::Fail), count(Grade::Warn));
    let checks = pick(language, "checks", "comprobaciones");
    format!("{} {checks}: {fails} FAIL, {warns} WARN", rows.len())
}

fn row_json(part: Part, row: &Row) -> Value {
    json!({
        "part": part.as_str(),
        "check": row.check.as_str(),
        "grade": row.grade.as_str(),
        "found": row.found.en,
        "advice": row.advice.en,
    })
}

#[cfg(test)]
#[path = "doctor/tests.rs"]
mod tests;
