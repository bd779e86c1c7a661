//! The second page of a disruptive change: the person types the room's name.

use super::card::{deny_bar, yes_fields};
use super::{Frame, ids, message, target, whens, whole, words};
use control::card::Card;
use maud::html;
use protocol::shown::Worded;

/// One disruptive change before the person who went on from its card.
#[derive(Debug)]
pub(in super::super) struct ConfirmView<'a> {
    pub(in super::super) card: &'a Card,
    /// What is to be typed.
    pub(in super::super) room: &'a str,
    /// Ticket and digest of the card that was seen.
    pub(in super::super) ticket: &'a str,
    pub(in super::super) digest: &'a [u8; 32],
    /// Token of the Deny form.
    pub(in super::super) deny: &'a str,
    /// Token of this page's own form.
    pub(in super::super) token: &'a str,
    /// Why it is shown again.
    pub(in super::super) say: Option<&'a Worded>,
}

/// The page.
pub(in super::super) fn page(frame: &Frame, view: &ConfirmView<'_>) -> String {
    let facts = &view.card.facts;
    let title = words::confirm_title(frame.get(&facts.heading), view.room, frame.language);
    let main = html! {
        (message(frame, view.say))
        article.card aria-labelledby="card" {
            header.title {
                p.over {
                    span { (words::proposal(facts.number, frame.language)) }
                    span { (words::expires(view.card.expires_in, frame.language)) }
                }
                h1 id="card" { bdi { (title) } }
                p.under {
                    (ids(facts.targets.iter().map(|target| target.id.as_str())))
                    span.chip { (frame.get(&facts.slot)) }
                    span.chip.strong { (frame.say(words::DISRUPTIVE)) }
                    @if facts.dry_run { span.chip { (frame.say(words::DRY_RUN)) } }
                }
            }
            section aria-labelledby="effect" {
                h2 id="effect" { (frame.say(words::EFFECT)) }
                p { (frame.get(&facts.effect)) }
            }
            @if !view.card.notes.is_empty() {
                section.note.info aria-labelledby="notes" {
                    h2 id="notes" { (frame.say(words::GOOD_TO_KNOW)) }
                    ul { @for note in &view.card.notes { li { (whens(frame.get(note))) } } }
                }
            }
            section aria-labelledby="where" {
                h2 id="where" { (frame.say(words::WHERE)) }
                @for fact in &facts.targets { (target(frame, fact)) }
            }
            (deny_bar(frame, view.card, view.deny))
            section.approve aria-labelledby="approve" {
                h2 id="approve" { (frame.say(words::TYPE_ROOM_TITLE)) }
                form method="post" action="/confirm" autocomplete="off" {
                    (yes_fields(view.card, view.ticket, view.digest, view.token))
                    p id="room" { (frame.say(words::TYPE_ROOM_HELP)) " " strong { bdi { (view.room) } } }
                    label for="confirm" { (frame.say(words::ROOM_NAME)) }
                    input.text id="confirm" name="confirm" type="text" required aria-describedby="room"
                        autocomplete="off" autocapitalize="off" spellcheck="false";
                    button.yes type="submit" { (frame.say(words::APPROVE)) }
                }
            }
        }
    };
    whole(frame, &title, &main)
}
