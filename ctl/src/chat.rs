//! `chat`: questions one after the other at a prompt, which the demo has too (issue line 3.17). Each question is one
//! turn; Ctrl-C hangs up on it, and what it had proposed is withdrawn. What was proposed here is told when it ends.
//! Nothing typed here approves: that needs the card and the PIN, on the terminal.

mod keys;
mod line;
mod watch;
mod words;

use crate::exit::Exit;
use crate::interrupts::{Cause, Interrupts};
use crate::out::{Out, complain};
use crate::render::pick;
use crate::session::{Saying, Session, line_columns};
use crate::{approvals, ask, render, standstill, status};
use keys::{Keys, Look};
use line::{Line, Step};
use protocol::ask::{AskerSays, MAX_QUESTION};
use protocol::ids::ProposalNumber;
use watch::Watch;
use words::Word;

/// What stands before the line that is typed, and on a terminal that has no room for it.
const PROMPT: &str = "fleetwatch> ";
const SHORT_PROMPT: &str = "> ";
/// Columns that a line needs behind the prompt.
const LEAST: usize = 16;

/// `chat`.
pub(crate) async fn run(session: &Session, out: &mut Out) -> Exit {
    let mut interrupts = match Interrupts::watch() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            complain(&format!("cannot watch for Ctrl-C: {error}"));
            return Exit::Wrong;
        }
    };
    let (en, es) = (
        "Ask about the fleet in plain words. /help shows the rest; Ctrl-C cancels an answer, Ctrl-D leaves.",
        "Pregunte por la flota con sus palabras. /help muestra lo demás; Ctrl-C cancela una respuesta, Ctrl-D sale.",
    );
    let mut page = render::page::Page::new(session.columns);
    page.line(pick(session.language, en, es));
    out.line(&session.paint.aside(page.into_text().trim_end()));
    talk(session, &mut interrupts, out, async || std::future::pending().await).await
}

/// Asks for lines until the person leaves, or until `over` says why nothing goes on.
pub(crate) async fn talk(
    session: &Session,
    interrupts: &mut Interrupts,
    out: &mut Out,
    mut over: impl AsyncFnMut() -> String,
) -> Exit {
    let keys = match Keys::open() {
        Ok(keys) => keys,
        Err(error) => {
            complain(&format!("cannot read standard input: {error}"));
            return Exit::Wrong;
        }
    };
    let mut chat = Chat { session, keys, line: Line::default(), prompt: PROMPT, watch: Watch::default() };
    loop {
        let line = match chat.line(interrupts, out, &mut over).await {
            Heard::Line(line) => line,
            Heard::Left => return Exit::Done,
            Heard::Over(why) => {
                complain(&why);
                return Exit::Wrong;
            }
        };
        let Some(word) = Word::of(line.trim()) else { continue };
        let cause = match word {
            Word::Quit => return Exit::Done,
            Word::Question(question) => chat.turn(question, interrupts, out).await,
            word @ (Word::Approvals
            | Word::Approve(_)
            | Word::Deny(_)
            | Word::Freeze
            | Word::Help
            | Word::History(_)
            | Word::Show { .. }
            | Word::Status
            | Word::Thaw
            | Word::Undo(_)
            | Word::Unknown(_)) => chat.command(&word, interrupts, out).await,
        };
        if cause == Some(Cause::Ended) {
            return Exit::Done;
        }
    }
}

/// What came of waiting for a line.
enum Heard {
    Left,
    Line(String),
    Over(String),
}

struct Chat<'s> {
    session: &'s Session,
    keys: Keys,
    line: Line,
    prompt: &'static str,
    watch: Watch,
}

impl Chat<'_> {
    // One line. News of what was proposed here come above it while it is typed.
    async fn line(
        &mut self,
        interrupts: &mut Interrupts,
        out: &mut Out,
        over: &mut impl AsyncFnMut() -> String,
    ) -> Heard {
        let look = self.keys.look();
        self.begin(&look, out);
        loop {
            tokio::select! {
                typed = self.keys.next() => match self.line.take(typed.as_deref(), look.edits()) {
                    Step::Line { line, rest, shown } => {
                        out.text(&shown);
                        self.keys.put_back(rest);
                        return Heard::Line(line);
                    }
                    Step::Left => {
                        out.line("");
                        return Heard::Left;
                    }
                    Step::More(shown) => out.text(&shown),
                },
                cause = interrupts.next() => {
                    out.line("");
                    if cause == Cause::Ended || !look.edits() || self.line.is_empty() {
                        return Heard::Left;
                    }
                    self.begin(&look, out);
                }
                news = self.watch.next(self.session) => self.tell(&news, &look, out),
                why = over() => {
                    out.line("");
                    return Heard::Over(why);
                }
            }
        }
    }

    // The terminal may have another width than at the line before.
    fn begin(&mut self, look: &Look, out: &mut Out) {
        let columns = if look.edits() { line_columns() } else { self.session.columns };
        self.prompt = if columns > PROMPT.len() + LEAST { PROMPT } else { SHORT_PROMPT };
        self.line.begin(self.prompt, columns);
        self.prompt(out);
    }

    fn prompt(&self, out: &mut Out) {
        out.text(&self.session.paint.strong(self.prompt));
    }

    fn tell(&self, news: &[String], look: &Look, out: &mut Out) {
        if news.is_empty() {
            return;
        }
        out.text(if look.edits() { "\r\u{1b}[K" } else { "\n" });
        for one in news {
            out.text(one);
        }
        self.prompt(out);
        if look.edits() {
            out.text(&self.line.redrawn());
        }
    }

    // Dropping the turn hangs up: the assistant drops it too, and the executor withdraws what it proposed.
    async fn turn(&mut self, question: &str, interrupts: &mut Interrupts, out: &mut Out) -> Option<Cause> {
        let language = self.session.language;
        let count = question.chars().count();
        if count > MAX_QUESTION {
            let words =
                pick(language, "the question is too long; characters", "la pregunta es demasiado larga; caracteres");
            complain(&format!("{words}: {count} > {MAX_QUESTION}"));
            return None;
        }
        let say = AskerSays::Ask { question: question.to_owned() };
        let mut report = ask::Report::default();
        let ended = tokio::select! {
            ended = ask::turn_into(self.session, out, (say, true), &mut report) => Ok(ended),
            cause = interrupts.next() => Err(cause),
        };
        self.watch.add(report.proposed.iter().map(|(number, _)| *number));
        match ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => {
                complain(&error.to_string());
                None
            }
            Err(cause) => {
                out.line(pick(
                    language,
                    "\nCancelled. What it had proposed is withdrawn; /approvals shows what waits.",
                    "\nCancelado. Lo que había propuesto se retira; /approvals muestra lo que espera.",
                ));
                Some(cause)
            }
        }
    }

    async fn command(&mut self, word: &Word<'_>, interrupts: &mut Interrupts, out: &mut Out) -> Option<Cause> {
        let session = self.session;
        let here = matches!(session.saying, Saying::Prompt);
        match word {
            Word::Approve(number) if here => {
                let exit = approvals::approve(session, out, *number, false).await;
                self.after_a_pin(interrupts).await;
                self.decided(exit, *number);
            }
            Word::Thaw if here => {
                standstill::thaw(session, out, false).await;
                self.after_a_pin(interrupts).await;
            }
            Word::Approve(number) => self.elsewhere(&format!("approvals approve {number}"), out),
            Word::Thaw => self.elsewhere("thaw", out),
            Word::Unknown(line) => {
                let not =
                    pick(session.language, "Not understood, nothing was done", "No se entiende; no se ha hecho nada");
                out.line(&format!("{not}: {}", render::safe(line)));
                out.line(words::help(session.language, here));
            }
            Word::Help | Word::Question(_) | Word::Quit => out.line(words::help(session.language, here)),
            word @ (Word::Approvals
            | Word::Deny(_)
            | Word::Freeze
            | Word::History(_)
            | Word::Show { .. }
            | Word::Status
            | Word::Undo(_)) => {
                tokio::select! {
                    () = self.asked(word, out) => {}
                    cause = interrupts.next() => {
                        out.line("");
                        return Some(cause);
                    }
                }
            }
        }
        None
    }

    // What needs no PIN.
    async fn asked(&mut self, word: &Word<'_>, out: &mut Out) {
        let session = self.session;
        match word {
            Word::Approvals => drop(approvals::list(session, out, false).await),
            Word::Deny(number) => {
                let exit = approvals::deny(session, out, *number, false).await;
                self.decided(exit, *number);
            }
            Word::Freeze => drop(standstill::freeze(session, out, false).await),
            Word::History(text) => {
                let search = (!text.is_empty()).then_some(*text);
                approvals::history(session, out, (20, search), false).await;
            }
            Word::Show { number, why } => drop(approvals::show(session, out, *number, (*why, false)).await),
            Word::Status => out.text(&render::status::both(&status::ask_both(&session.places).await, session.columns)),
            Word::Undo(number) => drop(approvals::undo(session, out, *number, false).await),
            Word::Approve(_) | Word::Help | Word::Question(_) | Word::Quit | Word::Thaw | Word::Unknown(_) => {}
        }
    }

    // Its outcome has just been told.
    fn decided(&mut self, exit: Exit, number: ProposalNumber) {
        if matches!(exit, Exit::Done | Exit::Unknown) {
            self.watch.forget(number);
        }
    }

    // A Ctrl-C while it ran was meant for it, and what was typed behind it may be the rest of a PIN.
    async fn after_a_pin(&mut self, interrupts: &mut Interrupts) {
        interrupts.forget_keyboard().await;
        self.keys.put_back(Vec::new());
    }

    fn elsewhere(&self, words: &str, out: &mut Out) {
        let language = self.session.language;
        let how = pick(
            language,
            "Nothing typed in the chat does that: it needs the card and your PIN. In another terminal",
            "Nada que se escriba en el chat hace eso: hacen falta la tarjeta y su PIN. En otro terminal",
        );
        out.line(&format!("{how}:\n  {}", self.session.say(words)));
    }
}

#[cfg(test)]
mod tests;
