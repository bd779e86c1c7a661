//! `freeze`, `thaw`, `approvals agents resume`: what stops everything, and what lets it go on.

use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::out::{Out, complain};
use crate::session::Session;
use crate::terminal::{Terminal, TerminalError, Typing};
use crate::verbs::failed_change;
use control::message::{ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use protocol::ids::{Label, ProposalNumber};
use serde_json::json;

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
    let denied = if list.is_empty() { "nothing waited".to_owned() } else { format!("denied: {}", list.join(", ")) };
    out.line(&format!("Everything is frozen; {denied}. To end it: {}", session.say("thaw")));
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
pub(crate) async fn thaw(session: &Session, out: &mut Out) -> Exit {
    let Some(pin) = pin("Your PIN, to end the freeze: ").await else { return Exit::Wrong };
    match asked(session, OperatorSays::Thaw { pin }).await {
        Ok(ExecutorSays::Thawed) => {
            out.line("The freeze is over.");
            Exit::Done
        }
        Ok(_) => failed_change(&Control::surprise_of_a_change(), session, (out, false), "status"),
        Err(error) => failed_change(&error, session, (out, false), "status"),
    }
}

/// `approvals agents resume`.
pub(crate) async fn resume_agent(session: &Session, out: &mut Out, agent: Label) -> Exit {
    let Some(pin) = pin(&format!("Your PIN, to let {agent} propose again: ")).await else { return Exit::Wrong };
    match asked(session, OperatorSays::AgentResume { agent, pin }).await {
        Ok(ExecutorSays::AgentResumed) => {
            out.line("The agent may propose again.");
            Exit::Done
        }
        Ok(_) => failed_change(&Control::surprise_of_a_change(), session, (out, false), "status"),
        Err(error) => failed_change(&error, session, (out, false), "status"),
    }
}

async fn asked(session: &Session, say: OperatorSays) -> Result<ExecutorSays, ClientError> {
    Control::open(&session.places).await?.ask(say).await
}

/// The PIN, typed on the terminal: piped text ends nothing.
pub(crate) async fn pin(prompt: &str) -> Option<PinEntry> {
    match typed(prompt).await {
        Ok(pin) => Some(pin),
        Err(error) => {
            complain(&format!("nothing was changed: {error}"));
            None
        }
    }
}

async fn typed(prompt: &str) -> Result<PinEntry, TerminalError> {
    Ok(PinEntry::new(Terminal::open()?.ask(prompt, Typing::Hidden).await?))
}
