//! The card: facts first, Deny always at hand and focused, Approve after everything that there is to read.

use super::{Frame, ids, message, target, whens, whole, why, words};
use control::card::{ArgumentFact, Card, NamedFact};
use maud::{Markup, html};
use protocol::shown::Worded;

/// How a yes goes on from here, with the token of its form.
#[derive(Debug)]
pub(in super::super) enum Yes {
    /// It is the decision.
    Approve(String),
    /// The page that names the room comes first.
    Review(String),
}

/// One card before one person.
#[derive(Debug)]
pub(in super::super) struct CardView<'a> {
    pub(in super::super) card: &'a Card,
    /// Why it is shown again.
    pub(in super::super) say: Option<&'a Worded>,
    /// Token of the Deny form.
    pub(in super::super) deny: &'a str,
    pub(in super::super) yes: &'a Yes,
}

/// The page.
pub(in super::super) fn page(frame: &Frame, view: &CardView<'_>) -> String {
    let facts = &view.card.facts;
    let heading = frame.get(&facts.heading);
    let mut frame = frame.clone();
    frame.waiting = Some(view.card.others_waiting.saturating_add(1));
    frame.foot.isolation = Some(facts.isolation.trim_start_matches("isolation: ").to_owned());
    let main = html! {
        (message(&frame, view.say))
        article.card aria-labelledby="card" {
            (title(&frame, view.card, heading))
            (remarks(&frame, view))
            (what(&frame, view.card))
            (place(&frame, view.card))
            (arguments(&frame, &facts.arguments))
            (reason(&frame, view.card))
            (why::details(&frame, &view.card.gates))
            (deny_bar(&frame, view.card, view.deny))
            (approve(&frame, view))
        }
    };
    whole(&frame, heading, &main)
}

fn title(frame: &Frame, card: &Card, heading: &str) -> Markup {
    let facts = &card.facts;
    html! {
        header.title {
            p.over {
                span { (words::proposal(facts.number, frame.language)) }
                span { (words::expires(card.expires_in, frame.language)) }
            }
            h1 id="card" { bdi { (heading) } }
            p.under {
                (ids(facts.targets.iter().map(|target| target.id.as_str())))
                span.chip { (frame.get(&facts.slot)) }
                @if facts.disruptive { span.chip.strong { (frame.say(words::DISRUPTIVE)) } }
                @if facts.dry_run { span.chip { (frame.say(words::DRY_RUN)) } }
            }
        }
    }
}

// What a person must know before the facts: why there is no Approve, what would be refused, a pause.
fn remarks(frame: &Frame, view: &CardView<'_>) -> Markup {
    let facts = &view.card.facts;
    html! {
        @if !facts.deny_only.is_empty() {
            section.note.warn aria-labelledby="only" {
                h2 id="only" { (frame.say(words::DENY_ONLY)) }
                ul { @for why in &facts.deny_only { li { (frame.get(why)) } } }
            }
        }
        @if !view.card.notes.is_empty() {
            section.note.info aria-labelledby="notes" {
                h2 id="notes" { (frame.say(words::GOOD_TO_KNOW)) }
                ul { @for note in &view.card.notes { li { (whens(frame.get(note))) } } }
            }
        }
        @if facts.dry_run {
            div.note.info { p { (frame.get(&policy::words::dry_run_note())) } }
        }
        @if let Some(pause) = policy::words::pause_note(view.card.approved_lately) {
            div.note.info { p { (frame.get(&pause)) } }
        }
    }
}

fn what(frame: &Frame, card: &Card) -> Markup {
    html! {
        div.pair {
            section aria-labelledby="effect" {
                h2 id="effect" { (frame.say(words::EFFECT)) }
                p { (frame.get(&card.facts.effect)) }
            }
            section aria-labelledby="undo" {
                h2 id="undo" { (frame.say(words::UNDO)) }
                p { (frame.get(&card.facts.undo)) }
            }
        }
    }
}

fn place(frame: &Frame, card: &Card) -> Markup {
    html! {
        section aria-labelledby="where" {
            h2 id="where" { (frame.say(words::WHERE)) }
            @for fact in &card.facts.targets { (target(frame, fact)) }
            @if !card.facts.named.is_empty() { (named(frame, &card.facts.named)) }
            p.small { (frame.say(words::READ_AT)) " " (whens(frame.get(&card.read_at))) }
        }
    }
}

fn named(frame: &Frame, named: &[NamedFact]) -> Markup {
    html! {
        table.facts {
            caption.unseen { (frame.say(words::NAMES_READ)) }
            tbody {
                @for fact in named {
                    tr {
                        th scope="row" { (frame.get(&fact.label)) }
                        td { bdi { (whens(frame.get(&fact.value))) } }
                    }
                }
            }
        }
    }
}

fn arguments(frame: &Frame, arguments: &[ArgumentFact]) -> Markup {
    html! {
        section aria-labelledby="arguments" {
            h2 id="arguments" { (frame.say(words::ARGUMENTS)) }
            table.facts {
                thead {
                    tr {
                        th scope="col" { (frame.say(words::ARGUMENT)) }
                        th scope="col" { (frame.say(words::EXACT_VALUE)) }
                    }
                }
                tbody {
                    @for argument in arguments {
                        tr {
                            th scope="row" { code { bdi { (argument.name) } } }
                            td {
                                code { bdi { (argument.json) } }
                                @if argument.defaulted { " " span.small { "(" (frame.say(words::DEFAULTED)) ")" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn reason(frame: &Frame, card: &Card) -> Markup {
    let facts = &card.facts;
    let label = policy::words::reason_label();
    html! {
        section.said aria-labelledby="reason" {
            h2 id="reason" { (frame.get(&label)) }
            blockquote { p { bdi { (facts.reason) } } }
        }
        p.small {
            (frame.get(&facts.origin)) ". "
            (frame.say(words::TOOL)) ": " code { bdi { (facts.tool) } } "."
        }
    }
}

/// Deny: before Approve, focused, with the thick border, and in view wherever the card is scrolled to.
pub(super) fn deny_bar(frame: &Frame, card: &Card, token: &str) -> Markup {
    html! {
        div.denybar {
            form method="post" action="/deny" {
                input type="hidden" name="number" value=(card.facts.number);
                input type="hidden" name="token" value=(token);
                button.deny type="submit" autofocus aria-describedby="card" { (frame.say(words::DENY)) }
            }
            p.small {
                (words::expires(card.expires_in, frame.language))
                @if card.others_waiting > 0 {
                    " · " a href="/" { (words::others(card.others_waiting, frame.language)) }
                }
            }
        }
    }
}

fn approve(frame: &Frame, view: &CardView<'_>) -> Markup {
    let facts = &view.card.facts;
    let may = facts.deny_only.is_empty() && (!facts.disruptive || facts.confirm.is_some());
    let (token, button, help) = match view.yes {
        Yes::Approve(token) if !facts.disruptive => (token, words::APPROVE, words::APPROVE_HELP),
        Yes::Review(token) if facts.disruptive => (token, words::GO_ON, words::GO_ON_HELP),
        Yes::Approve(_) | Yes::Review(_) => return html! {},
    };
    html! {
        @if may {
            section.approve aria-labelledby="approve" {
                h2 id="approve" { (frame.say(words::APPROVE_TITLE)) }
                p { (frame.say(help)) }
                form method="post" action="/approve" {
                    (yes_fields(view.card, &view.card.ticket, &view.card.digest, token))
                    button.yes type="submit" { (frame.say(button)) }
                }
            }
        }
    }
}

/// The hidden fields of every yes: the card that was seen, and the form's token.
pub(super) fn yes_fields(card: &Card, ticket: &str, digest: &[u8; 32], token: &str) -> Markup {
    html! {
        input type="hidden" name="number" value=(card.facts.number);
        input type="hidden" name="ticket" value=(ticket);
        input type="hidden" name="digest" value=(host::secret::hex(digest));
        input type="hidden" name="token" value=(token);
    }
}
