//! What waits. The queue only lists; a card decides.

use super::{Frame, ids, whole, words};
use control::card::Waiting;
use control::status::Problem;
use maud::{Markup, html};
use protocol::refusal::RefusalCode;

/// The page.
pub(in super::super) fn page(frame: &Frame, waiting: &[Waiting], deny_all: &str) -> String {
    let title = frame.say(words::QUEUE_TITLE);
    let main = html! {
        header.title {
            h1 { (title) }
            p.lead { (words::waiting_long(waiting.len() as u64, frame.language)) }
        }
        (remarks(frame))
        @if !waiting.is_empty() {
            ol.queue {
                @for row in waiting {
                    li {
                        a.entry href={ "/card/" (row.number) } {
                            span.over { (words::proposal(row.number, frame.language)) }
                            strong { bdi { (frame.get(&row.heading)) } }
                            span.small {
                                (ids(row.targets.iter().map(String::as_str)))
                                "· " (words::expires(row.expires_in, frame.language))
                            }
                        }
                    }
                }
            }
        }
        // One is denied on its card.
        @if waiting.len() > 1 {
            section.all aria-labelledby="all" {
                h2 id="all" { (frame.say(words::DENY_ALL_TITLE)) }
                p { (frame.say(words::DENY_ALL_HELP)) }
                form method="post" action="/deny-all" {
                    input type="hidden" name="token" value=(deny_all);
                    button.deny type="submit" { (frame.say(words::DENY_ALL)) }
                }
            }
        }
        @if frame.status.as_ref().is_some_and(|status| !status.frozen) {
            p.ways { a.go href="/freeze" { (frame.say(words::FREEZE_ASK)) } }
        }
    };
    whole(frame, title, &main)
}

// Why nothing new may come, and what is wrong.
fn remarks(frame: &Frame) -> Markup {
    let Some(status) = &frame.status else {
        return html! {};
    };
    let queue = status.queue;
    // A full queue is no fault, and has its own line above, as a freeze has.
    let full = [RefusalCode::QueueFull, RefusalCode::HourlyLimit, RefusalCode::Frozen];
    let problems: Vec<&Problem> = status.problems.iter().filter(|problem| !full.contains(&problem.code)).collect();
    html! {
        @if queue.pending >= queue.pending_limit {
            div.note.info { p { (words::queue_full(queue.pending, frame.language)) } }
        }
        @if queue.hour >= queue.hour_limit {
            div.note.info { p { (words::hour_full(queue.hour, frame.language)) } }
        }
        @if !problems.is_empty() {
            section.note.warn aria-labelledby="problems" {
                h2 id="problems" { (frame.say(words::NEEDS_CARE)) }
                ul {
                    @for problem in &problems {
                        li { (frame.get(&policy::words::refusal(problem.code))) " " span.small { (frame.get(&problem.advice)) } }
                    }
                }
            }
        }
    }
}
