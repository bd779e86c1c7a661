//! The demo's prompt: questions, and a few words for what an operator does.

use super::children::Children;
use super::start::{Demo, STAND_IN};
use crate::exit::Exit;
use crate::interrupts::{Cause, Interrupts};
use crate::out::{Out, complain};
use crate::render::{pick, safe};
use crate::{approvals, ask, render, standstill, status};
use protocol::ask::{AskerSays, MAX_QUESTION};
use protocol::ids::ProposalNumber;
use protocol::shown::Language;
use std::io;
use std::sync::mpsc as wish;
use tokio::sync::mpsc;

const PROMPT: &str = "fleetwatch> ";

const HELP: &str = "\
A question in plain words, or:
  /cards         what waits for a person
  /show N        the whole card of proposal N
  /why N         the same with what each check found
  /approve N     approve it here, with the PIN above
  /deny N        deny it
  /undo N        propose what undoes change N
  /history TEXT  what became of earlier proposals, with TEXT only those in which it stands
  /freeze        deny everything, and take in or run nothing
  /thaw          end the freeze, with the PIN above
  /status        how both daemons are
  /help          this
  /quit          end the demo (so do Ctrl-C and Ctrl-D)";

/// Asks for questions until the person leaves.
pub(crate) async fn run(demo: &Demo, children: &mut Children, interrupts: &mut Interrupts, out: &mut Out) -> Exit {
    out.line(&welcome(demo));
    let mut lines = match Lines::new() {
        Ok(lines) => lines,
        Err(error) => {
            complain(&format!("cannot read standard input: {error}"));
            return Exit::Wrong;
        }
    };
    loop {
        out.text(PROMPT);
        let line = tokio::select! {
            line = lines.next() => line,
            _ = interrupts.next() => None,
            error = children.first_ended() => {
                out.line("");
                complain(&error.to_string());
                return Exit::Wrong;
            }
        };
        let Some(line) = line else {
            out.line("");
            return Exit::Done;
        };
        match Word::of(line.trim()) {
            Word::Nothing => {}
            Word::Quit => return Exit::Done,
            Word::Question(question) => {
                if turn(demo, question, interrupts, out).await == Some(Cause::Ended) {
                    return Exit::Done;
                }
            }
            word @ (Word::Approve(_)
            | Word::Cards
            | Word::Deny(_)
            | Word::Freeze
            | Word::Help
            | Word::History(_)
            | Word::Show { .. }
            | Word::Status
            | Word::Thaw
            | Word::Undo(_)) => command(demo, &word, interrupts, out).await,
        }
    }
}

/// What one line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Word<'l> {
    Approve(ProposalNumber),
    Cards,
    Deny(ProposalNumber),
    Freeze,
    Help,
    History(&'l str),
    Nothing,
    Question(&'l str),
    Quit,
    Show { number: ProposalNumber, why: bool },
    Status,
    Thaw,
    Undo(ProposalNumber),
}

impl<'l> Word<'l> {
    fn of(line: &'l str) -> Self {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = || rest.trim().parse().ok().and_then(ProposalNumber::new);
        match (word, number()) {
            ("", _) => Self::Nothing,
            ("/approve", Some(number)) => Self::Approve(number),
            ("/cards", _) => Self::Cards,
            ("/deny", Some(number)) => Self::Deny(number),
            ("/freeze", _) if rest.is_empty() => Self::Freeze,
            ("/history", _) => Self::History(rest.trim()),
            ("/quit" | "/exit", _) => Self::Quit,
            ("/show", Some(number)) => Self::Show { number, why: false },
            ("/status", _) => Self::Status,
            ("/thaw", _) => Self::Thaw,
            ("/undo", Some(number)) => Self::Undo(number),
            ("/why", Some(number)) => Self::Show { number, why: true },
            // The assistant knows this one.
            ("/propose", _) => Self::Question(line),
            (word, _) if word.starts_with('/') => Self::Help,
            _ => Self::Question(line),
        }
    }
}

async fn command(demo: &Demo, word: &Word<'_>, interrupts: &mut Interrupts, out: &mut Out) {
    let session = &demo.session;
    match word {
        Word::Approve(number) => {
            approvals::approve(session, out, *number, false).await;
            // A Ctrl-C while it ran was meant for it.
            interrupts.forget_keyboard().await;
        }
        Word::Cards => drop(approvals::list(session, out, false).await),
        Word::Deny(number) => drop(approvals::deny(session, out, *number, false).await),
        Word::Freeze => drop(standstill::freeze(session, out, false).await),
        Word::History(text) => {
            let search = (!text.is_empty()).then_some(*text);
            approvals::history(session, out, (20, search), false).await;
        }
        Word::Show { number, why } => drop(approvals::show(session, out, *number, (*why, false)).await),
        Word::Thaw => {
            standstill::thaw(session, out, false).await;
            interrupts.forget_keyboard().await;
        }
        Word::Undo(number) => drop(approvals::undo(session, out, *number, false).await),
        Word::Status => out.text(&render::status::both(&status::ask_both(&session.places).await, session.columns)),
        Word::Help | Word::Nothing | Word::Question(_) | Word::Quit => out.line(HELP),
    }
}

// Dropping the turn hangs up, and the assistant drops it too.
async fn turn(demo: &Demo, question: &str, interrupts: &mut Interrupts, out: &mut Out) -> Option<Cause> {
    if question.chars().count() > MAX_QUESTION {
        complain(&format!("a question has at most {MAX_QUESTION} characters"));
        return None;
    }
    let say = AskerSays::Ask { question: question.to_owned() };
    let ended = tokio::select! {
        ended = ask::turn(&demo.session, out, say, true) => Ok(ended),
        cause = interrupts.next() => Err(cause),
    };
    match ended {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => {
            complain(&error.to_string());
            None
        }
        Err(cause) => {
            out.line("\nCancelled. /cards shows whether anything waits.");
            Some(cause)
        }
    }
}

fn welcome(demo: &Demo) -> String {
    let language = demo.session.language;
    let (model, host) = &demo.model;
    let example = match language {
        Language::English => "Which rooms aren't ready?\n  Start recording in Hall A",
        Language::Spanish => "¿Qué salas no están listas?\n  Graba en Hall A",
    };
    format!(
        "\
Fleetwatch demo: a simulated fleet, nothing real changes. Everything runs as one user (isolation: none).

  Approval page   {}
  Launch secret   {}
  PIN             {}
  Model           {}
  Fence           {} rooms may be changed; {} may not

{}
  {example}
Then approve on the page, or here with /approve N. /help shows the rest.
",
        safe(&demo.page),
        demo.page_secret.expose(),
        demo.pin.expose(),
        model_words(model, host),
        demo.fence.inside,
        protocol::shown::Shown::whole(&demo.fence.outside),
        pick(language, "Ask, for example:", "Pregunte, por ejemplo:"),
    )
}

fn model_words(model: &str, host: &str) -> String {
    if model == STAND_IN {
        return format!("{STAND_IN}: a scripted stand-in, not a real model");
    }
    format!("{}; questions and readings go to {}", safe(model), safe(host))
}

// Standard input, one line at a time and only when asked: between two questions the terminal is somebody else's.
struct Lines {
    wish: wish::Sender<()>,
    lines: mpsc::UnboundedReceiver<Option<String>>,
}

impl Lines {
    fn new() -> io::Result<Self> {
        let (wish, wishes) = wish::channel::<()>();
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("prompt".to_owned()).spawn(move || {
            while wishes.recv().is_ok() {
                let mut line = String::new();
                let read = io::stdin().read_line(&mut line);
                let line = matches!(read, Ok(1..)).then_some(line);
                if sender.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { wish, lines })
    }

    async fn next(&mut self) -> Option<String> {
        self.wish.send(()).ok()?;
        self.lines.recv().await.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::number;

    #[test]
    fn words_with_a_slash_are_commands_and_everything_else_is_a_question() {
        for (line, want) in [
            ("", Word::Nothing),
            ("/cards", Word::Cards),
            ("/show 7", Word::Show { number: number(7), why: false }),
            ("/why 7", Word::Show { number: number(7), why: true }),
            ("/undo 7", Word::Undo(number(7))),
            ("/history", Word::History("")),
            ("/history  Hall A ", Word::History("Hall A")),
            ("/freeze", Word::Freeze),
            ("/freeze 7", Word::Help),
            ("/thaw", Word::Thaw),
            ("/approve  12", Word::Approve(number(12))),
            ("/deny 3", Word::Deny(number(3))),
            ("/approve", Word::Help),
            ("/approve all", Word::Help),
            ("/show 0", Word::Help),
            ("/nonsense", Word::Help),
            ("/quit", Word::Quit),
            ("/propose record Hall A", Word::Question("/propose record Hall A")),
            ("approve 7", Word::Question("approve 7")),
        ] {
            assert_eq!(Word::of(line), want, "{line}");
        }
    }
}
