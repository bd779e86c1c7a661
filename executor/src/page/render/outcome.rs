//! What became of one proposal.

use super::{Frame, whole, words};
use control::card::HistoryRow;
use maud::html;
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

/// The page.
pub(in super::super) fn page(frame: &Frame, row: &HistoryRow) -> String {
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
                        td { @for id in &row.targets { code { bdi { (id) } } " " } }
                    }
                    @if !row.detail.is_empty() {
                        tr { th scope="row" { (frame.say(words::DETAIL)) } td { bdi { (row.detail) } } }
                    }
                    @if !row.decided_by.is_empty() {
                        tr {
                            th scope="row" { (frame.say(words::DECIDED_BY)) }
                            td { bdi { (row.decided_by) } @if !row.surface.is_empty() { " (" (row.surface) ")" } }
                        }
                    }
                    tr { th scope="row" { (frame.say(words::MADE)) } td { (frame.get(&row.created_at)) } }
                    @if !frame.get(&row.ended_at).is_empty() {
                        tr { th scope="row" { (frame.say(words::ENDED)) } td { (frame.get(&row.ended_at)) } }
                    }
                }
            }
            p.ways {
                a.go href="/" { (frame.say(words::BACK_TO_QUEUE)) }
                a href="/history" { (frame.say(words::HISTORY)) }
            }
        }
    };
    whole(frame, frame.get(&state), &main)
}
