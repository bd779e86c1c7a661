//! `page-code`: a code that opens one page session for the caller (`architecture.md, Sockets`).

use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::out::Out;
use crate::render::{safe, status::remote_desk};
use crate::session::Session;
use crate::terminal::{Terminal, TerminalError, Typing};
use crate::verbs::{failed, not_done};
use control::message::{ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use control::status::ExecutorStatus;
use protocol::hello::Isolation;
use serde_json::json;

/// Asks for the PIN on the terminal and prints the code.
pub(crate) async fn page_code(session: &Session, out: &mut Out, json: bool) -> Exit {
    let (control, status) = match opened(session).await {
        Ok(opened) => opened,
        Err(error) => return failed(&error, out, json),
    };
    if status.isolation == Isolation::None {
        let words = "no code: here one user runs everything, and the page is opened with the launch secret, in the \
             file page-secret of the executor's state folder, and the PIN";
        return not_done(("one_user", words), (out, json));
    }
    match Terminal::open() {
        Ok(terminal) => page_code_at((out, json), control, &status, terminal).await,
        Err(error) => untyped(&error, out, json),
    }
}

async fn opened(session: &Session) -> Result<(Control, ExecutorStatus), ClientError> {
    let mut control = Control::open(&session.places).await?;
    let status = control.status().await?;
    Ok((control, status))
}

fn untyped(error: &TerminalError, out: &mut Out, json: bool) -> Exit {
    not_done((error.code(), &format!("no code: {error}")), (out, json))
}

async fn page_code_at(
    (out, json): (&mut Out, bool),
    mut control: Control,
    status: &ExecutorStatus,
    mut terminal: Terminal,
) -> Exit {
    let pin = match terminal.ask("Your PIN, for a page code: ", Typing::Hidden).await {
        Ok(pin) => PinEntry::new(pin),
        Err(error) => return untyped(&error, out, json),
    };
    let (code, seconds) = match control.ask(OperatorSays::PageCode { pin }).await {
        Ok(ExecutorSays::PageCode { code, seconds }) => (code, seconds),
        Ok(_) => return failed(&Control::surprise(), out, json),
        Err(error) => return failed(&error, out, json),
    };
    let elsewhere = remote_desk(status, &crate::status::my_name());
    if json {
        out.json(&json!({ "code": code, "seconds": seconds, "page": status.page, "ssh": elsewhere }));
        return Exit::Done;
    }
    out.line(&format!("Page code      {} (opens one session, once, within {seconds} s)", safe(&code)));
    let page = status.page.as_deref().map_or_else(|| "down; the executor's log says why".to_owned(), safe);
    out.line(&format!("Approval page  {page}"));
    if let Some(line) = elsewhere {
        out.line(&format!("From elsewhere {line}"));
    }
    Exit::Done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Paper, Screen};

    #[tokio::test]
    async fn the_code_is_printed_with_its_life_and_the_pages_address() {
        let run = tempfile::tempdir().unwrap();
        let heard = testing::executor(run.path(), |say| {
            if matches!(say, OperatorSays::PageCode { .. }) {
                return Some(ExecutorSays::PageCode { code: "1234567890".to_owned(), seconds: 120 });
            }
            Some(ExecutorSays::Status(Box::new(testing::executor_status())))
        });
        let (screen, paper) = (Screen::new(), Paper::default());
        screen.answer("page code: ", "4711471147\r");
        let (control, status) = opened(&testing::session(run.path())).await.unwrap();
        assert_eq!(page_code_at((&mut paper.out(), false), control, &status, screen.terminal()).await, Exit::Done);
        let text = paper.text();
        for words in ["1234567890", "120 s", "http://127.0.0.1:8767", "ssh -L 8767:127.0.0.1:8767"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!screen.text().contains("4711471147"));
        assert!(matches!(&heard.lock().unwrap()[1], OperatorSays::PageCode { pin } if pin.expose() == "4711471147"));
    }

    #[tokio::test]
    async fn where_one_user_runs_everything_no_pin_is_asked_for() {
        let run = tempfile::tempdir().unwrap();
        let heard = testing::executor(run.path(), |_| {
            let status = ExecutorStatus { isolation: Isolation::None, ..testing::executor_status() };
            Some(ExecutorSays::Status(Box::new(status)))
        });
        let paper = Paper::default();
        assert_eq!(page_code(&testing::session(run.path()), &mut paper.out(), false).await, Exit::Wrong);
        assert_eq!(*heard.lock().unwrap(), [OperatorSays::Status]);
        assert_eq!(paper.text(), "");
    }
}
