//! Looking at proposals and carrying a person's decision to the executor, which alone decides whether it counts.

mod history;
mod undo;

pub(crate) use history::history;
pub(crate) use undo::undo;

use crate::client::{ClientError, Control, Places};
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::out::{Out, complain};
use crate::render::{self, card, pick};
use crate::session::Session;
use crate::terminal::{Terminal, TerminalError, Typing};
use crate::verbs::{failed, failed_change, not_known};
use control::card::{Card, Waiting};
use control::message::{Approve, ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use protocol::ids::ProposalNumber;
use protocol::propose::News;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Language;
use serde_json::json;

/// `approvals list`.
pub(crate) async fn list(session: &Session, out: &mut Out, json: bool) -> Exit {
    let waiting = match waiting(&session.places).await {
        Ok(waiting) => waiting,
        Err(error) => return failed(&error, out, json),
    };
    if json {
        out.json(&waiting.iter().map(card::waiting_json).collect());
    } else if waiting.is_empty() {
        out.line(pick(session.language, "Nothing waits.", "No hay nada en espera."));
    } else {
        out.text(&waiting_table(&waiting, session));
    }
    Exit::Done
}

/// What waits, oldest first.
///
/// # Errors
/// [`ClientError`]
pub(crate) async fn waiting(places: &Places) -> Result<Vec<Waiting>, ClientError> {
    let mut control = Control::open(places).await?;
    let ExecutorSays::Waiting(waiting) = control.ask(OperatorSays::List).await? else {
        return Err(Control::surprise());
    };
    Ok(waiting)
}

fn waiting_table(waiting: &[Waiting], session: &Session) -> String {
    let language = session.language;
    let header = match language {
        Language::English => ["No.", "Expires in", "Device", "Change"],
        Language::Spanish => ["N.º", "Vence en", "Equipo", "Cambio"],
    };
    let rows: Vec<_> = waiting
        .iter()
        .map(|row| {
            [
                row.number.to_string(),
                render::span(row.expires_in),
                render::safe(&row.targets.join(", ")),
                render::safe(row.heading.get(language)),
            ]
        })
        .collect();
    render::table::table(header, &rows, session.columns)
}

/// `approvals show`.
pub(crate) async fn show(session: &Session, out: &mut Out, number: ProposalNumber, (why, json): (bool, bool)) -> Exit {
    let card = match fetch(session, number).await {
        Ok((_, card)) => card,
        Err(error) => return failed(&error, out, json),
    };
    if json {
        out.json(&card::card_json(&card));
    } else {
        out.text(&card::card(&card, session.language, session.columns));
        if why {
            out.text(&render::gates::gates(&card.gates, session.language, session.columns));
        }
        if card.facts.deny_only.is_empty() {
            let how = pick(session.language, "To approve it", "Para aprobarla");
            out.line(&format!("{how}: {}", session.say(&format!("approvals approve {number}"))));
        }
    }
    Exit::Done
}

async fn fetch(session: &Session, number: ProposalNumber) -> Result<(Control, Card), ClientError> {
    let mut control = Control::open(&session.places).await?;
    let card = control.card(number).await?;
    Ok((control, card))
}

/// `approvals approve`. Needs a terminal before anything else, so that a script does not even mark a card as seen.
pub(crate) async fn approve(session: &Session, out: &mut Out, number: ProposalNumber, json: bool) -> Exit {
    let (terminal, interrupts) = match (Terminal::open(), Interrupts::watch()) {
        (Ok(terminal), Ok(interrupts)) => (terminal, interrupts),
        (Err(error), _) => return no_terminal(&error, out, json),
        (_, Err(error)) => return no_terminal(&TerminalError::Io(error), out, json),
    };
    approve_at(session, out, (number, json), (terminal, interrupts)).await
}

fn no_terminal(error: &TerminalError, out: &mut Out, json: bool) -> Exit {
    if json {
        out.json(&json!({ "refused": "no_terminal", "detail": error.to_string() }));
    } else {
        complain(&format!("refused: {error}"));
    }
    Exit::Wrong
}

/// The same at a given terminal.
pub(crate) async fn approve_at(
    session: &Session,
    out: &mut Out,
    (number, json): (ProposalNumber, bool),
    (mut terminal, mut interrupts): (Terminal, Interrupts),
) -> Exit {
    let (mut control, card) = match fetch(session, number).await {
        Ok(fetched) => fetched,
        Err(error) => return failed(&error, out, json),
    };
    let approval = match person(&mut terminal, &card, session).await {
        Ok(approval) => approval,
        Err(stopped) => return tell(&stopped, session, out, json),
    };
    // Only a silent executor can have missed the approval; one that is gone certainly has.
    if control.gone().await {
        return tell(&Stopped::ExecutorGone, session, out, json);
    }
    let ended = tokio::select! {
        reply = control.ask(OperatorSays::Approve(approval)) => ended(reply),
        _ = interrupts.next() => Err(Stopped::NotWaitedFor),
    };
    let stopped = match ended {
        Ok(news) => {
            let exit = outcome(&news, session, out, json, Exit::of_run(&news));
            if exit == Exit::Done && !json {
                undo::offer(session, &mut control, out, number).await;
            }
            return exit;
        }
        Err(stopped) => stopped,
    };
    let exit = tell(&stopped, session, out, json);
    if stopped.is_changed_card() && !json {
        // The person decides again, on what is true now.
        if let Ok(card) = control.card(number).await {
            out.text(&card::card(&card, session.language, session.columns));
        }
    }
    exit
}

/// Why there is no outcome.
#[derive(Debug)]
enum Stopped {
    /// The card can only be denied.
    DenyOnly,
    /// The executor hung up before the approval was sent.
    ExecutorGone,
    /// It was refused.
    Refused(Refusal),
    /// The connection failed after the approval was sent.
    Lost(ClientError),
    /// The person did not wait for the outcome.
    NotWaitedFor,
    /// The person did not answer.
    Terminal(TerminalError),
}

impl Stopped {
    fn is_changed_card(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == RefusalCode::CardChanged)
    }
}

fn ended(reply: Result<ExecutorSays, ClientError>) -> Result<News, Stopped> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(ClientError::Refused(refusal)) => return Err(Stopped::Refused(refusal)),
        Err(error) => return Err(Stopped::Lost(error)),
    };
    let ExecutorSays::Ended(news) = reply else { return Err(Stopped::Lost(Control::surprise())) };
    Ok(news)
}

// Card, then questions. What was typed before a question appeared does not count.
async fn person(terminal: &mut Terminal, card: &Card, session: &Session) -> Result<Approve, Stopped> {
    let language = session.language;
    let facts = &card.facts;
    let shown = card::card(card, language, session.columns).replace('\n', "\r\n");
    terminal.show(&format!("{shown}\r\n")).map_err(Stopped::Terminal)?;
    if !facts.deny_only.is_empty() {
        return Err(Stopped::DenyOnly);
    }
    let mut confirm = None;
    if facts.disruptive || facts.confirm.is_some() {
        let room = facts.confirm.as_deref().unwrap_or_default();
        let prompt = match language {
            Language::English => "This can hurt a room in use. Type the room's name exactly: ",
            Language::Spanish => "Esto puede afectar a una sala en uso. Escriba el nombre exacto de la sala: ",
        };
        let typed = terminal.ask(prompt, Typing::Visible).await.map_err(Stopped::Terminal)?;
        if room.is_empty() || *typed != *room {
            return Err(Stopped::Refused(Refusal::new(RefusalCode::RoomNotConfirmed, &typed)));
        }
        confirm = Some(room.to_owned());
    }
    let prompt = pick(
        language,
        "Your PIN approves exactly this card (Ctrl-C: no): ",
        "Su PIN aprueba exactamente esta tarjeta (Ctrl-C: no): ",
    );
    let pin = PinEntry::new(terminal.ask(prompt, Typing::Hidden).await.map_err(Stopped::Terminal)?);
    Ok(Approve { number: facts.number, ticket: card.ticket.clone(), digest: card.digest, pin, confirm })
}

fn tell(stopped: &Stopped, session: &Session, out: &mut Out, json: bool) -> Exit {
    let language = session.language;
    let nothing = pick(language, "Nothing was sent", "No se envió nada");
    let (code, words) = match stopped {
        Stopped::DenyOnly => {
            let why = pick(language, "this card can only be denied", "esta tarjeta solo se puede denegar");
            (RefusalCode::NotApprovable.as_str(), format!("{nothing}: {why}."))
        }
        Stopped::ExecutorGone => {
            let why = pick(
                language,
                "the executor ended the connection while the card was on screen; try again",
                "el ejecutor cerró la conexión con la tarjeta en pantalla; inténtelo de nuevo",
            );
            ("executor_gone", format!("{nothing}: {why}."))
        }
        Stopped::Refused(refusal) => {
            (refusal.code.as_str(), format!("{nothing}: {}", render::refusal(refusal, language)))
        }
        Stopped::Terminal(error) => ("cancelled", format!("{nothing}: {error}.")),
        Stopped::Lost(error) => return not_known(("lost", &format!("{error}. {}", look(session))), (out, json)),
        Stopped::NotWaitedFor => return not_known(("not_waited_for", &look(session)), (out, json)),
    };
    if json {
        out.json(&json!({ "refused": code, "detail": words }));
    } else {
        complain(&words);
    }
    Exit::Wrong
}

fn look(session: &Session) -> String {
    let words = pick(
        session.language,
        "The approval was sent and may have run. Look first",
        "La aprobación se envió y puede haberse ejecutado. Compruébelo antes",
    );
    format!("{words}: {}", session.say("approvals history"))
}

fn outcome(news: &News, session: &Session, out: &mut Out, json: bool, exit: Exit) -> Exit {
    if json {
        out.json(&render::news_json(news));
    } else {
        out.line(&render::news(news, session.language));
    }
    exit
}

/// `approvals deny`.
pub(crate) async fn deny(session: &Session, out: &mut Out, number: ProposalNumber, json: bool) -> Exit {
    match denied(session, number).await {
        Ok(news) => outcome(&news, session, out, json, Exit::of_denial(&news)),
        Err(error) => failed_change(&error, session, (out, json), &format!("approvals show {number}")),
    }
}

async fn denied(session: &Session, number: ProposalNumber) -> Result<News, ClientError> {
    let mut control = Control::open(&session.places).await?;
    let ExecutorSays::Ended(news) = control.ask(OperatorSays::Deny { number }).await? else {
        return Err(Control::surprise_of_a_change());
    };
    Ok(news)
}

/// `approvals deny-all`.
pub(crate) async fn deny_all(session: &Session, out: &mut Out, json: bool) -> Exit {
    let numbers = match denied_all(session).await {
        Ok(numbers) => numbers,
        Err(error) => return failed_change(&error, session, (out, json), "approvals list"),
    };
    if json {
        out.json(&json!({ "denied": numbers }));
    } else if numbers.is_empty() {
        out.line(pick(session.language, "Nothing waited.", "No había nada en espera."));
    } else {
        let list: Vec<_> = numbers.iter().map(ProposalNumber::to_string).collect();
        out.line(&format!("{}: {}", pick(session.language, "Denied", "Denegadas"), list.join(", ")));
    }
    Exit::Done
}

async fn denied_all(session: &Session) -> Result<Vec<ProposalNumber>, ClientError> {
    let mut control = Control::open(&session.places).await?;
    let ExecutorSays::DeniedAll { numbers } = control.ask(OperatorSays::DenyAll).await? else {
        return Err(Control::surprise_of_a_change());
    };
    Ok(numbers)
}

#[cfg(test)]
mod tests;
