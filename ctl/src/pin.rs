//! `pin set`: the caller's own PIN, typed on the terminal and kept by the executor.

use crate::client::{ClientError, Control, Places};
use crate::exit::Exit;
use crate::out::Out;
use crate::session::Session;
use crate::terminal::{Terminal, TerminalError, Typing};
use crate::verbs::{failed_change, not_done};
use control::message::{ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use policy::limits::PIN_LENGTH;
use serde_json::json;
use zeroize::Zeroizing;

/// Asks for the old and the new PIN on the terminal.
pub(crate) async fn set(session: &Session, out: &mut Out, json: bool) -> Exit {
    match Terminal::open() {
        Ok(terminal) => set_at(session, out, terminal, json).await,
        Err(error) => refused(&error, out, json),
    }
}

async fn set_at(session: &Session, out: &mut Out, mut terminal: Terminal, json: bool) -> Exit {
    let say = match typed(&mut terminal).await {
        Ok(Ok(say)) => say,
        Ok(Err((code, words))) => return not_done((code, &words), (out, json)),
        Err(error) => return refused(&error, out, json),
    };
    match save(&session.places, say).await {
        Ok(()) => {
            if json {
                out.json(&json!({ "pin": "set" }));
            } else {
                out.line("The PIN is set.");
            }
            Exit::Done
        }
        // Its row in the audit is what shows it.
        Err(error) => failed_change(&error, session, (out, json), "audit tail"),
    }
}

fn refused(error: &TerminalError, out: &mut Out, json: bool) -> Exit {
    not_done((error.code(), &format!("the PIN is unchanged: {error}")), (out, json))
}

/// Why a PIN is not taken: a word for `--json`, and a sentence.
type NotTaken = (&'static str, String);

/// A new PIN, typed twice alike and long enough, or not.
#[derive(Debug)]
pub(crate) enum NewPin {
    /// Why not: a word for `--json`, and a sentence.
    NotTaken(&'static str, String),
    /// The PIN.
    Typed(Zeroizing<String>),
}

async fn typed(terminal: &mut Terminal) -> Result<Result<OperatorSays, NotTaken>, TerminalError> {
    let old = terminal.ask("Present PIN (empty when there is none): ", Typing::Hidden).await?;
    let new = match typed_new(terminal).await? {
        NewPin::Typed(new) => new,
        NewPin::NotTaken(code, why) => return Ok(Err((code, format!("the PIN is unchanged: {why}")))),
    };
    let old = (!old.is_empty()).then(|| PinEntry::new(old));
    Ok(Ok(OperatorSays::PinSet { old, new: PinEntry::new(new) }))
}

/// Asks for a new PIN twice.
///
/// # Errors
/// [`TerminalError`]
pub(crate) async fn typed_new(terminal: &mut Terminal) -> Result<NewPin, TerminalError> {
    let prompt = format!("New PIN, at least {PIN_LENGTH} characters: ");
    let new = terminal.ask(&prompt, Typing::Hidden).await?;
    if new.chars().count() < PIN_LENGTH {
        return Ok(NewPin::NotTaken("too_short", format!("the new one has fewer than {PIN_LENGTH} characters")));
    }
    let again = terminal.ask("The new PIN again: ", Typing::Hidden).await?;
    let same = host::secret::same(new.as_bytes(), again.as_bytes());
    Ok(if same { NewPin::Typed(new) } else { NewPin::NotTaken("differ", "the two new ones differ".to_owned()) })
}

/// Has the executor keep a PIN.
///
/// # Errors
/// [`ClientError`]; [`ClientError::Unanswered`] when it was sent and no answer came.
pub(crate) async fn save(places: &Places, say: OperatorSays) -> Result<(), ClientError> {
    let mut control = Control::open(places).await?;
    let ExecutorSays::PinSaved = control.ask(say).await? else { return Err(Control::surprise_of_a_change()) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Paper, Screen};

    #[tokio::test]
    async fn a_pin_that_was_sent_and_not_answered_may_be_set() {
        let run = tempfile::tempdir().unwrap();
        testing::executor(run.path(), |_| None);
        let screen = Screen::new();
        screen.answers(&[("none): ", "\r"), ("characters: ", "12345678\r"), ("again: ", "12345678\r")]);
        let exit = set_at(&testing::session(run.path()), &mut Paper::default().out(), screen.terminal(), false).await;
        assert_eq!(exit, Exit::Unknown);
    }

    #[tokio::test]
    async fn only_a_long_pin_typed_twice_alike_is_sent() {
        for (old, new, again, want) in [
            ("", "12345678", "12345678", true),
            ("87654321", "12345678", "12345678", true),
            ("", "1234567", "1234567", false),
            ("", "12345678", "12345679", false),
        ] {
            let run = tempfile::tempdir().unwrap();
            let heard = testing::executor(run.path(), |_| Some(ExecutorSays::PinSaved));
            let (screen, paper) = (Screen::new(), Paper::default());
            screen.answers(&[
                ("none): ", &format!("{old}\r")),
                ("characters: ", &format!("{new}\r")),
                ("again: ", &format!("{again}\r")),
            ]);
            let session = testing::session(run.path());
            let exit = set_at(&session, &mut paper.out(), screen.terminal(), false).await;
            assert_eq!(exit == Exit::Done, want, "{new} {again}");
            let sent = heard.lock().unwrap().len();
            assert_eq!(sent, usize::from(want));
            if let Some(OperatorSays::PinSet { old: sent, .. }) = heard.lock().unwrap().first() {
                assert_eq!(sent.is_some(), !old.is_empty());
            }
            assert!(!screen.text().contains("1234567"));
        }
    }
}
