//! The newest proposals.

use super::outcome::tone;
use super::{Frame, whole, words};
use control::card::HistoryRow;
use maud::{Markup, html};

/// The page.
pub(in super::super) fn page(frame: &Frame, rows: &[HistoryRow]) -> String {
    let title = frame.say(words::HISTORY);
    let main = html! {
        header.title {
            h1 id="title" { (title) }
            @if rows.is_empty() { p.lead { (frame.say(words::NOTHING_YET)) } }
        }
        @if !rows.is_empty() {
            // Narrow screens stack the cells, which takes the table's meaning away unless the roles say it.
            table.list role="table" aria-labelledby="title" {
                thead role="rowgroup" {
                    tr role="row" {
                        @for label in [words::NUMBER, words::CHANGE, words::OUTCOME, words::DECIDED_BY, words::TIME] {
                            th scope="col" role="columnheader" { (frame.say(label)) }
                        }
                    }
                }
                tbody role="rowgroup" { @for row in rows { (line(frame, row)) } }
            }
        }
    };
    whole(frame, title, &main)
}

fn line(frame: &Frame, row: &HistoryRow) -> Markup {
    html! {
        tr role="row" {
            th scope="row" role="rowheader" { a href={ "/outcome/" (row.number) } { (row.number) } }
            td role="cell" {
                bdi { (frame.get(&row.heading)) }
                div.small { @for id in &row.targets { code { bdi { (id) } } " " } }
            }
            td role="cell" {
                span.state.(tone(row.state)) { (frame.get(&policy::words::state(row.state))) }
                @if let Some(code) = row.code { div.small { code { (code.as_str()) } } }
            }
            td role="cell" {
                @if row.decided_by.is_empty() { span.small { (frame.say(words::NOBODY)) } } @else { bdi { (row.decided_by) } }
                @if !row.surface.is_empty() { div.small { (row.surface) } }
            }
            td role="cell" {
                (frame.get(&row.created_at))
                @if !frame.get(&row.ended_at).is_empty() {
                    div.small { (frame.say(words::ENDED)) ": " (frame.get(&row.ended_at)) }
                }
            }
        }
    }
}
