//! `audit export`: the rows as JSON lines, which anybody can verify, or as CSV, for people.

use super::csv;
use super::rows::{Linked, Rows, row_json};
use crate::cli::ExportFormat;
use crate::client::ClientError;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::newfile::{NewFile, NewFileError};
use crate::out::{Out, complain};
use crate::render::json_text;
use crate::session::Session;
use crate::verbs::failed;
use std::path::Path;

/// What is exported, and where to.
#[derive(Debug)]
pub(crate) struct Export<'a> {
    /// As what.
    pub(crate) format: ExportFormat,
    /// Only rows behind this one; 0 for all.
    pub(crate) after: u64,
    /// A new file, or standard output.
    pub(crate) output: Option<&'a Path>,
}

enum Failed {
    Client(ClientError),
    File(NewFileError),
    NoSuchRow,
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<NewFileError> for Failed {
    fn from(error: NewFileError) -> Self {
        Self::File(error)
    }
}

/// Writes them out, oldest first.
pub(crate) async fn export(session: &Session, out: &mut Out, wish: &Export<'_>) -> Exit {
    match unless_stopped(session, out, wish).await {
        Ok((rows, path)) => {
            if let Some(path) = path {
                out.line(&format!("{rows} rows are in {}", path.display()));
            }
            Exit::Done
        }
        Err(Failed::Client(error)) => failed(&error, out, false),
        Err(Failed::File(error)) => {
            complain(&error.to_string());
            Exit::Wrong
        }
        Err(Failed::NoSuchRow) => {
            complain(&format!("the audit has no row {}; `status` shows how many it has", wish.after));
            Exit::Wrong
        }
    }
}

// A file that is not whole goes, also when the command is ended from outside.
async fn unless_stopped<'a>(
    session: &Session,
    out: &mut Out,
    wish: &Export<'a>,
) -> Result<(u64, Option<&'a Path>), Failed> {
    let Some(path) = wish.output else { return written(session, out, wish).await };
    let mut interrupts = Interrupts::watch().map_err(|error| NewFileError::Io(path.to_owned(), error))?;
    let stopped = || Err(NewFileError::Stopped(path.to_owned()).into());
    interrupts.or_done(written(session, out, wish)).await.unwrap_or_else(stopped)
}

async fn written<'a>(session: &Session, out: &mut Out, wish: &Export<'a>) -> Result<(u64, Option<&'a Path>), Failed> {
    let mut rows = Rows::behind(&session.places, wish.after).await?.ok_or(Failed::NoSuchRow)?;
    let mut file = wish.output.map(NewFile::create).transpose()?;
    let mut put = |text: &str| match &mut file {
        Some(file) => file.write(text.as_bytes()),
        None => {
            out.text(text);
            Ok(())
        }
    };
    if wish.format == ExportFormat::Csv {
        put(&csv::header())?;
    }
    let mut count = 0;
    loop {
        let page = rows.next().await?;
        if page.is_empty() {
            break;
        }
        for row in &page {
            put(&line(wish.format, row))?;
            count += 1;
        }
    }
    if let Some(file) = file {
        file.finish()?;
    }
    Ok((count, wish.output))
}

fn line(format: ExportFormat, linked: &Linked) -> String {
    match format {
        ExportFormat::Csv => csv::row(linked),
        ExportFormat::Jsonl => json_text(&row_json(linked)) + "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::verify_file;
    use crate::testing::{self, Paper, audit_chain};
    use control::message::{ExecutorSays, OperatorSays};
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    // Gives two rows at a time.
    fn audited(count: u64) -> TempDir {
        let run = tempfile::tempdir().unwrap();
        let chain: Vec<_> = audit_chain(count).into_iter().map(|linked| linked.row).collect();
        testing::executor(run.path(), move |say| {
            if let OperatorSays::AuditRows { after } = say {
                let rows = chain.iter().filter(|row| row.sequence > *after).take(2).cloned().collect();
                return Some(ExecutorSays::AuditRows(rows));
            }
            let status = control::status::ExecutorStatus { audit_sequence: count, ..testing::executor_status() };
            Some(ExecutorSays::Status(Box::new(status)))
        });
        run
    }

    fn wish(format: ExportFormat, after: u64, output: Option<&Path>) -> Export<'_> {
        Export { format, after, output }
    }

    #[tokio::test]
    async fn an_export_verifies_offline_whole_and_from_any_row_and_an_edited_line_is_named() {
        let run = audited(5);
        let session = testing::session(run.path());
        for after in [0, 1, 4] {
            let (paper, path) = (Paper::default(), run.path().join(format!("{after}.jsonl")));
            let wish = wish(ExportFormat::Jsonl, after, Some(&path));
            assert_eq!(export(&session, &mut paper.out(), &wish).await, Exit::Done);
            assert!(paper.text().starts_with(&format!("{} rows", 5 - after)), "{}", paper.text());
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
            let paper = Paper::default();
            assert_eq!(verify_file(&path, &mut paper.out(), false), Exit::Done, "{}", paper.text());
            assert!(paper.text().contains(&format!("rows {} to 5", after + 1)), "{}", paper.text());
        }
        let path = run.path().join("0.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        std::fs::write(&path, text.replace(lines[3], &lines[3].replace("start", "stop"))).unwrap();
        let paper = Paper::default();
        assert_eq!(verify_file(&path, &mut paper.out(), false), Exit::Wrong);
        assert!(paper.text().contains("broken at row 4"), "{}", paper.text());
        let paper = Paper::default();
        assert_eq!(verify_file(&path, &mut paper.out(), true), Exit::Wrong);
        let value: serde_json::Value = serde_json::from_str(&paper.text()).unwrap();
        assert_eq!((&value["broken"]["row"], &value["first"]), (&4.into(), &1.into()));
    }

    #[tokio::test]
    async fn csv_goes_to_standard_output_with_its_header() {
        let run = audited(3);
        let paper = Paper::default();
        let wish = wish(ExportFormat::Csv, 0, None);
        assert_eq!(export(&testing::session(run.path()), &mut paper.out(), &wish).await, Exit::Done);
        let text = paper.text();
        assert!(text.starts_with("\"sequence\",\"at\",") && text.lines().count() == 4, "{text}");
    }

    #[tokio::test]
    async fn a_row_that_does_not_exist_and_a_file_that_does_are_refused() {
        let run = audited(3);
        let session = testing::session(run.path());
        let path = run.path().join("a");
        let late = wish(ExportFormat::Jsonl, 4, Some(&path));
        assert_eq!(export(&session, &mut Paper::default().out(), &late).await, Exit::Wrong);
        assert!(!path.exists());
        std::fs::write(&path, "kept").unwrap();
        let taken = wish(ExportFormat::Jsonl, 0, Some(&path));
        assert_eq!(export(&session, &mut Paper::default().out(), &taken).await, Exit::Wrong);
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        assert_eq!(verify_file(&run.path().join("none"), &mut Paper::default().out(), false), Exit::Wrong);
    }

    #[tokio::test]
    async fn tail_begins_with_the_newest_rows() {
        let run = audited(5);
        for (most, want) in [(2, vec!["4", "5"]), (0, vec![]), (100, vec!["1", "2", "3", "4", "5"])] {
            let paper = Paper::default();
            let session = testing::session(run.path());
            assert_eq!(crate::audit::tail(&session, &mut paper.out(), most, (false, false)).await, Exit::Done);
            let text = paper.text();
            let numbers: Vec<_> = text.lines().filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(numbers, want);
        }
    }
}
