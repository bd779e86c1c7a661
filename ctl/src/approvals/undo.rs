//! `approvals undo`: proposes what undoes a change that ran. It waits for a person like any other proposal.

use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::out::Out;
use crate::render::pick;
use crate::session::Session;
use crate::verbs::failed_change;
use control::message::{ExecutorSays, OperatorSays};
use protocol::ids::ProposalNumber;
use serde_json::json;

/// Proposes the undo and says where to look at it.
pub(crate) async fn undo(session: &Session, out: &mut Out, number: ProposalNumber, json: bool) -> Exit {
    let undo = match proposed(session, number).await {
        Ok(undo) => undo,
        Err(error) => return failed_change(&error, session, (out, json), "approvals list"),
    };
    if json {
        out.json(&json!({ "number": undo, "undoes": number }));
        return Exit::Done;
    }
    let words = match session.language {
        protocol::shown::Language::English => {
            format!("The undo of proposal {number} waits for a person as proposal {undo}; nothing has changed yet")
        }
        protocol::shown::Language::Spanish => {
            format!("Deshacer la propuesta {number} espera a una persona como propuesta {undo}; nada ha cambiado aún")
        }
    };
    let how = pick(session.language, "To look at it", "Para verla");
    out.line(&format!("{words}. {how}: {}", session.say(&format!("approvals show {undo}"))));
    Exit::Done
}

async fn proposed(session: &Session, number: ProposalNumber) -> Result<ProposalNumber, ClientError> {
    let mut control = Control::open(&session.places).await?;
    let ExecutorSays::Admitted { number } = control.ask(OperatorSays::ProposeUndo { number }).await? else {
        return Err(Control::surprise_of_a_change());
    };
    Ok(number)
}

/// After a change that ran: how to undo it, if code knows how. Whoever cannot be asked offers nothing.
pub(super) async fn offer(session: &Session, control: &mut Control, out: &mut Out, number: ProposalNumber) {
    let say = OperatorSays::History { most: 200, search: Some(number.to_string()) };
    let Ok(ExecutorSays::History(rows)) = control.ask(say).await else { return };
    if rows.iter().any(|row| row.number == number && row.undoable) {
        let how = pick(session.language, "To undo it", "Para deshacerlo");
        out.line(&format!("{how}: {}", session.say(&format!("approvals undo {number}"))));
    }
}
