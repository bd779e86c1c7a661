//! `approvals history`.

use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::out::Out;
use crate::render::{self, pick};
use crate::session::Session;
use crate::verbs::failed;
use control::card::HistoryRow;
use control::message::{ExecutorSays, OperatorSays};
use serde_json::Value;

/// The newest proposals, at most so many, of those in which the text stands when there is one.
pub(crate) async fn history(session: &Session, out: &mut Out, (most, search): (u16, Option<&str>), json: bool) -> Exit {
    let rows = match earlier(session, most, search).await {
        Ok(rows) => rows,
        Err(error) => return failed(&error, out, json),
    };
    if json {
        out.json(&rows.iter().map(render::history::row_json).collect::<Value>());
    } else if rows.is_empty() && search.is_some() {
        out.line(pick(session.language, "Nothing with this text.", "Nada con ese texto."));
    } else if rows.is_empty() {
        out.line(pick(session.language, "Nothing was proposed yet.", "Todavía no se propuso nada."));
    } else {
        out.text(&render::history::history(&rows, session));
    }
    Exit::Done
}

async fn earlier(session: &Session, most: u16, search: Option<&str>) -> Result<Vec<HistoryRow>, ClientError> {
    let say = OperatorSays::History { most, search: search.map(str::to_owned) };
    let mut control = Control::open(&session.places).await?;
    let ExecutorSays::History(rows) = control.ask(say).await? else {
        return Err(Control::surprise());
    };
    Ok(rows)
}
