//! What became of one proposal.

use super::{Frame, ids, whens, whole, words};
use control::card::HistoryRow;
use maud::{Markup, html};
use protocol::propose::ProposalState;

/// How a state looks. The words always say it too.
pub(super) fn tone(state: ProposalState) -> &'static str {
    match state {
        ProposalState::Approved | ProposalState::Consumed | ProposalState::Pending => "busy",
        ProposalState::Denied
        | ProposalState::Expired
        | ProposalState::ExpiredSeen
        | ProposalState::ExpiredUnseen
        | ProposalState::Revoked
        | ProposalState::Withdrawn => "calm",
        ProposalState::Error => "bad",
        ProposalState::Ok => "good",
        ProposalState::Refused | ProposalState::Unknown => "warn",
    }
}

/// The page. `undo` is the token of the form that proposes the undo.
pub(in super::super) fn page(frame: &Frame, row: &HistoryRow, undo: &str) -> String {
    let state = policy::words::state(row.state);
    let heading = frame.get(&row.heading);
    let open = row.state == ProposalState::Pending;
    let main = html! {
        article.card aria-labelledby="card" {
            header.title {
                p.over { span { (words::proposal(row.number, frame.language)) } }
                h1 id="card" { bdi { (heading) } }
            }
            div.note.outcome.(tone(row.state)) role="status" {
                p.verdict { (frame.get(&state)) }
                @if let Some(code) = row.code {
                    p { (frame.get(&policy::words::refusal(code))) " " code { (code.as_str()) } }
                }
            }
            @if open {
                p { a.go href={ "/card/" (row.number) } { (frame.say(words::OPEN_CARD)) } }
            }
            table.facts {
                caption.unseen { (frame.say(words::WHAT_HAPPENED)) }
                tbody {
                    tr {
                        th scope="row" { (frame.say(words::DEVICE_ID)) }
                        td { (ids(row.targets.iter().map(String::as_str))) }
                    }
                    @if !row.detail.is_empty() {
                        tr { th scope="row" { (frame.say(words::DETAIL)) } td { bdi { (whens(&row.detail)) } } }
                    }
                    @if !row.decided_by.is_empty() {
                        tr {
                            th scope="row" { (frame.say(words::DECIDED_BY)) }
                            td { bdi { (row.decided_by) } @if !row.surface.is_empty() { " (" (words::surface(&row.surface, frame.language)) ")" } }
                        }
                    }
                    tr { th scope="row" { (frame.say(words::MADE)) } td { (whens(frame.get(&row.created_at))) } }
                    @if !frame.get(&row.ended_at).is_empty() {
                        tr { th scope="row" { (frame.say(words::ENDED)) } td { (whens(frame.get(&row.ended_at))) } }
                    }
                }
            }
            (propose_undo(frame, row, undo))
            p.ways {
                a.go href="/" { (frame.say(words::BACK_TO_QUEUE)) }
                a href="/history" { (frame.say(words::HISTORY)) }
            }
        }
    };
    whole(frame, frame.get(&state), &main)
}

// The undo is a proposal of its own: another card, decided by a person.
fn propose_undo(frame: &Frame, row: &HistoryRow, token: &str) -> Markup {
    html! {
        @if row.undoable && row.state == ProposalState::Ok {
            section aria-labelledby="undo" {
                h2 id="undo" { (frame.say(words::UNDO)) }
                p { (frame.say(words::PROPOSE_UNDO_HELP)) }
                form method="post" action="/undo" {
                    input type="hidden" name="number" value=(row.number);
                    input type="hidden" name="token" value=(token);
                    button.yes type="submit" { (frame.say(words::PROPOSE_UNDO)) }
                }
            }
        }
    }
}
