//! A page that says one thing.

use super::{Frame, whole, words};
use maud::{Markup, html};
use protocol::ids::ProposalNumber;
use protocol::refusal::Refusal;

/// The page: one sentence, and the way back.
pub(in super::super) fn page(frame: &Frame, sentence: &str, more: Option<&Markup>) -> String {
    let main = html! {
        section.sheet aria-labelledby="title" {
            h1 id="title" { (sentence) }
            @if let Some(more) = more { (more) }
            p.ways { a.go href="/" { (frame.say(words::BACK_TO_QUEUE)) } }
        }
    };
    whole(frame, sentence, &main)
}

/// What was refused, with its stable code and the way to what became of the proposal.
pub(in super::super) fn refusal(frame: &Frame, refusal: &Refusal, number: Option<ProposalNumber>) -> String {
    let said = policy::words::refusal(refusal.code);
    let more = html! {
        @if !refusal.detail.is_empty() { p { bdi { (refusal.detail) } } }
        p.small { (frame.say(words::CODE)) ": " code { (refusal.code.as_str()) } }
        @if let Some(number) = number {
            p { a href={ "/outcome/" (number) } { (words::where_it_stands(number, frame.language)) } }
        }
    };
    page(frame, frame.get(&said), Some(&more))
}
