//! `freeze`, `thaw`, `approvals agents resume`: what stops everything, and what lets it go on.

use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::out::Out;
use crate::render::pick;
use crate::session::Session;
use crate::terminal::{Terminal, TerminalError, Typing};
use crate::verbs::{failed_change, not_done};
use control::message::{ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use protocol::ids::{Label, ProposalNumber};
use serde_json::{Value, json};

/// `freeze`.
pub(crate) async fn freeze(session: &Session, out: &mut Out, json: bool) -> Exit {
    let numbers = match frozen(session).await {
        Ok(numbers) => numbers,
        Err(error) => return failed_change(&error, session, (out, json), "status"),
    };
    if json {
        out.json(&json!({ "frozen": true, "denied": numbers }));
        return Exit::Done;
    }
    let list: Vec<_> = numbers.iter().map(ProposalNumber::to_string).collect();
    let language = session.language;
    let denied = if list.is_empty() {
        pick(language, "nothing waited", "no había nada en espera").to_owned()
    } else {
        format!("{}: {}", pick(language, "denied", "denegadas"), list.join(", "))
    };
    let frozen = pick(language, "Everything is frozen", "Todo está congelado");
    let end = pick(language, "To end it", "Para terminarlo");
    out.line(&format!("{frozen}; {denied}. {end}: {}", session.say("thaw")));
    Exit::Done
}

async fn frozen(session: &Session) -> Result<Vec<ProposalNumber>, ClientError> {
    let mut control = Control::open(&session.places).await?;
    let ExecutorSays::Frozen { numbers } = control.ask(OperatorSays::Freeze).await? else {
        return Err(Control::surprise_of_a_change());
    };
    Ok(numbers)
}

/// `thaw`.
pub(crate) async fn thaw(session: &Session, out: &mut Out, json: bool) -> Exit {
    let pin = match typed("Your PIN, to end the freeze: ").await {
        Ok(pin) => pin,
        Err(error) => return unchanged(&error, out, json),
    };
    match asked(session, OperatorSays::Thaw { pin }).await {
        Ok(ExecutorSays::Thawed) => done(
            ("frozen", false.into()),
            pick(session.language, "The freeze is over.", "La congelación terminó."),
            (out, json),
        ),
        Ok(_) => failed_change(&Control::surprise_of_a_change(), session, (out, json), "status"),
        Err(error) => failed_change(&error, session, (out, json), "status"),
    }
}

/// `approvals agents resume`.
pub(crate) async fn resume_agent(session: &Session, out: &mut Out, agent: Label, json: bool) -> Exit {
    let pin = match typed(&format!("Your PIN, to let {agent} propose again: ")).await {
        Ok(pin) => pin,
        Err(error) => return unchanged(&error, out, json),
    };
    let resumed = agent.as_str().to_owned();
    match asked(session, OperatorSays::AgentResume { agent, pin }).await {
        Ok(ExecutorSays::AgentResumed) => done(
            ("resumed", resumed.into()),
            pick(session.language, "The agent may propose again.", "El agente puede volver a proponer."),
            (out, json),
        ),
        Ok(_) => failed_change(&Control::surprise_of_a_change(), session, (out, json), "status"),
        Err(error) => failed_change(&error, session, (out, json), "status"),
    }
}

async fn asked(session: &Session, say: OperatorSays) -> Result<ExecutorSays, ClientError> {
    Control::open(&session.places).await?.ask(say).await
}

fn done((key, value): (&str, Value), words: &str, (out, json): (&mut Out, bool)) -> Exit {
    if json {
        out.json(&json!({ key: value }));
    } else {
        out.line(words);
    }
    Exit::Done
}

fn unchanged(error: &TerminalError, out: &mut Out, json: bool) -> Exit {
    not_done((error.code(), &format!("nothing was changed: {error}")), (out, json))
}

/// The PIN, typed on the terminal; the exit when there is none, which was told.
///
/// # Errors
/// [`Exit`]
pub(crate) async fn pin(prompt: &str, (out, json): (&mut Out, bool)) -> Result<PinEntry, Exit> {
    typed(prompt).await.map_err(|error| unchanged(&error, out, json))
}

// Piped text ends nothing.
async fn typed(prompt: &str) -> Result<PinEntry, TerminalError> {
    Ok(PinEntry::new(Terminal::open()?.ask(prompt, Typing::Hidden).await?))
}
