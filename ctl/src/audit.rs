//! `audit verify`, `audit export`, `audit tail`.

mod csv;
pub(crate) mod export;
mod offline;
pub(crate) mod rows;
mod tail;

pub(crate) use tail::tail;

use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::out::Out;
use crate::render;
use crate::session::Session;
use crate::verbs::{failed, not_done};
use control::message::{AuditReport, ExecutorSays, OperatorSays};
use offline::Walked;
use serde_json::{Value, json};
use std::path::Path;

/// Has the executor walk its chain.
pub(crate) async fn verify(session: &Session, out: &mut Out, json: bool) -> Exit {
    let report = match report(session).await {
        Ok(report) => report,
        Err(error) => return failed(&error, out, json),
    };
    if json {
        out.json(&report_json(&report));
    } else {
        out.line(&report_text(&report));
    }
    if report.broken.is_none() { Exit::Done } else { Exit::Wrong }
}

/// Walks an export, without the executor.
pub(crate) fn verify_file(path: &Path, out: &mut Out, json: bool) -> Exit {
    let walked = match offline::walk_file(path) {
        Ok(walked) => walked,
        Err(error) => {
            return not_done(("file", &format!("cannot read {}: {error}", path.display())), (out, json));
        }
    };
    if json {
        let mut value = report_json(&walked.report);
        value["first"] = walked.first.into();
        out.json(&value);
    } else {
        out.line(&walked_text(&walked));
    }
    // Nothing to walk proves nothing.
    if walked.report.broken.is_none() && walked.report.rows > 0 { Exit::Done } else { Exit::Wrong }
}

fn walked_text(walked: &Walked) -> String {
    let Walked { report, first } = walked;
    match &report.broken {
        Some((row, what)) => format!(
            "The export is broken at row {row}: {}. {} rows before it fit. Compare it with a fresh `audit export`",
            render::safe(what),
            report.rows
        ),
        None if report.rows == 0 => "The file holds no row".to_owned(),
        None => format!(
            "The export holds: rows {first} to {}, head {}. Rows that were cut off at its end do not show: compare the \
             head with the one of `fleetwatchctl audit verify`",
            first + report.rows - 1,
            render::safe(&report.head)
        ),
    }
}

async fn report(session: &Session) -> Result<AuditReport, ClientError> {
    let mut control = Control::open(&session.places).await?;
    let ExecutorSays::Audit(report) = control.ask(OperatorSays::AuditVerify).await? else {
        return Err(Control::surprise());
    };
    Ok(report)
}

/// One sentence.
pub(crate) fn report_text(report: &AuditReport) -> String {
    match &report.broken {
        None => format!("The audit holds: {} rows, head {}", report.rows, render::safe(&report.head)),
        Some((row, what)) => format!(
            "The audit is broken at row {row}: {}. {} rows before it fit. Keep a copy of the store and find out who changed it",
            render::safe(what),
            report.rows
        ),
    }
}

fn report_json(report: &AuditReport) -> Value {
    let broken = report.broken.as_ref().map(|(row, what)| json!({ "row": row, "what": what }));
    json!({ "rows": report.rows, "head": report.head, "broken": broken })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Paper};

    #[tokio::test]
    async fn a_broken_chain_is_exit_one_and_names_the_row() {
        for (broken, want) in [(None, Exit::Done), (Some((4, "hash\u{1b}".to_owned())), Exit::Wrong)] {
            let run = tempfile::tempdir().unwrap();
            let report = AuditReport { rows: 3, broken, head: "ab".to_owned() };
            testing::executor(run.path(), move |_| Some(ExecutorSays::Audit(report.clone())));
            let (paper, session) = (Paper::default(), testing::session(run.path()));
            assert_eq!(verify(&session, &mut paper.out(), false).await, want);
            assert_eq!(paper.text().contains("row 4: hash\\u{1b}"), want == Exit::Wrong, "{}", paper.text());
            let paper = Paper::default();
            assert_eq!(verify(&session, &mut paper.out(), true).await, want);
            let value: Value = serde_json::from_str(&paper.text()).unwrap();
            assert_eq!(value["broken"].is_null(), want == Exit::Done);
        }
    }
}
