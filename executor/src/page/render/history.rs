//! The newest proposals.

use super::outcome::tone;
use super::{Frame, ids, whens, whole, words};
use control::card::HistoryRow;
use maud::{Markup, html};

/// The page. `search` is the text in which every row stands, when one was asked for.
pub(in super::super) fn page(frame: &Frame, rows: &[HistoryRow], search: Option<&str>) -> String {
    let title = frame.say(words::HISTORY);
    let nothing = if search.is_some() { words::NOTHING_FOUND } else { words::NOTHING_YET };
    let main = html! {
        header.title {
            h1 id="title" { (title) }
            (form(frame, search))
            @if rows.is_empty() { p.lead role="status" { (frame.say(nothing)) } }
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

fn form(frame: &Frame, search: Option<&str>) -> Markup {
    html! {
        form.search role="search" method="get" action="/history" {
            label for="q" { (frame.say(words::SEARCH_IN)) }
            div.row {
                input.text id="q" name="q" type="search" maxlength="80" value=(search.unwrap_or_default())
                    autocomplete="off" autocapitalize="off" spellcheck="false";
                button.quiet type="submit" { (frame.say(words::SEARCH)) }
                @if search.is_some() { a href="/history" { (frame.say(words::SHOW_ALL)) } }
            }
        }
    }
}

fn line(frame: &Frame, row: &HistoryRow) -> Markup {
    html! {
        tr role="row" {
            th scope="row" role="rowheader" { a href={ "/outcome/" (row.number) } { (row.number) } }
            td role="cell" {
                bdi { (frame.get(&row.heading)) }
                div.small { (ids(row.targets.iter().map(String::as_str))) }
            }
            td role="cell" {
                span.state.(tone(row.state)) { (frame.get(&policy::words::state(row.state))) }
                @if let Some(code) = row.code { div.small { code { (code.as_str()) } } }
            }
            td role="cell" {
                (label(frame, words::DECIDED_BY))
                @if row.decided_by.is_empty() { span.small { (frame.say(words::NOBODY)) } } @else { bdi { (row.decided_by) } }
                @if !row.surface.is_empty() {
                    " " span.small { "(" (words::surface(&row.surface, frame.language)) ")" }
                }
            }
            td role="cell" {
                (label(frame, words::MADE))
                (whens(frame.get(&row.created_at)))
                @if !frame.get(&row.ended_at).is_empty() {
                    div.small { (frame.say(words::ENDED)) ": " (whens(frame.get(&row.ended_at))) }
                }
            }
        }
    }
}

// Where the cells are stacked the column's name stands beside the cell. Readers have it from the header already.
fn label(frame: &Frame, label: words::Say) -> Markup {
    html! { span.beside aria-hidden="true" { (frame.say(label)) ": " } }
}
