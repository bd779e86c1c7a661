//! `audit tail`: the newest rows, one line each, and with `-f` every new one within a second.

use super::rows::{Linked, Rows, row_json, time};
use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::out::Out;
use crate::render::safe;
use crate::session::Session;
use crate::verbs::{failed, not_done};
use std::time::Duration;

const AGAIN: Duration = Duration::from_secs(1);

/// Prints the newest `most` rows; with `follow` it goes on until it is stopped or its reader goes away.
pub(crate) async fn tail(session: &Session, out: &mut Out, most: u64, (follow, json): (bool, bool)) -> Exit {
    match told(session, out, most, (follow, json)).await {
        Ok(true) => Exit::Done,
        Ok(false) => {
            let words = "the audit is shorter than the executor said; run fleetwatchctl audit verify";
            not_done(("audit_shorter", words), (out, json))
        }
        Err(error) => failed(&error, out, json),
    }
}

async fn told(session: &Session, out: &mut Out, most: u64, (follow, json): (bool, bool)) -> Result<bool, ClientError> {
    let newest = Control::open(&session.places).await?.status().await?.audit_sequence;
    let Some(mut rows) = Rows::behind(&session.places, newest.saturating_sub(most)).await? else {
        return Ok(false);
    };
    loop {
        let page = rows.next().await?;
        for row in &page {
            if json {
                out.json(&row_json(row));
            } else {
                out.line(&line(row));
            }
        }
        if out.is_broken() {
            return Ok(true);
        }
        if page.is_empty() {
            if !follow {
                return Ok(true);
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

fn line(linked: &Linked) -> String {
    let row = &linked.row;
    let proposal = row.proposal.map(|number| format!(" proposal {number}")).unwrap_or_default();
    let surface = if row.surface.is_empty() { String::new() } else { format!(" ({})", safe(&row.surface)) };
    let detail = if row.detail == "{}" { String::new() } else { format!(" {}", safe(&row.detail)) };
    format!(
        "{} {} {}{proposal} by {}{surface}{detail}",
        row.sequence,
        time(row.at),
        safe(&row.kind),
        safe(&row.principal)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::audit_chain;

    #[test]
    fn a_row_is_one_line_whatever_it_holds() {
        let mut linked = audit_chain(1).remove(0);
        linked.row.detail = "{\"a\":1}".to_owned();
        let text = line(&linked);
        assert!(text.starts_with("1 2026-") && text.ends_with(" start by executor {\"a\":1}"), "{text}");
        linked.row.kind = "x\n2 \u{1b}[2J\u{202e}".to_owned();
        linked.row.proposal = Some(7);
        linked.row.surface = "page".to_owned();
        let text = line(&linked);
        assert!(text.contains("x\\u{a}2 \\u{1b}[2J\\u{202e} proposal 7 by executor (page)"), "{text}");
        assert_eq!(text.lines().count(), 1);
    }
}
