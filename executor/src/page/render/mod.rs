//! HTML, made with `maud`: every text is escaped where it is put in, and nothing here marks a text as already safe. No
//! scripts, no inline style, nothing from elsewhere. Labels, order and focus are ours; a model sets none of them.

pub(super) mod card;
pub(super) mod confirm;
pub(super) mod freeze;
pub(super) mod history;
pub(super) mod login;
pub(super) mod outcome;
pub(super) mod queue;
pub(super) mod sentence;
pub(super) mod style;
mod whens;
mod why;
pub(super) mod words;

#[cfg(test)]
mod tests;

use control::card::TargetFact;
use control::status::ExecutorStatus;
use maud::{DOCTYPE, Markup, html};
use protocol::hello::BUILD;
use protocol::shown::{Language, Worded};
use whens::whens;
use words::Say;

/// What surrounds every page.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The reader's language.
    pub(super) language: Language,
    /// How many proposals wait, when it is known and may be told.
    pub(super) waiting: Option<u64>,
    /// Who is signed in.
    pub(super) who: Option<Who>,
    /// The footer.
    pub(super) foot: Foot,
    /// How the executor is, when it may be told.
    pub(super) status: Option<ExecutorStatus>,
}

/// Who is signed in, with the token of the sign-out form.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) name: String,
    pub(super) token: String,
}

/// What the footer says of this installation.
#[derive(Debug, Clone, Default)]
pub(super) struct Foot {
    /// `none` or `users`.
    pub(super) isolation: Option<String>,
    /// `sandbox` or `sim`.
    pub(super) slot: Option<String>,
}

impl Foot {
    /// From the executor's own word.
    pub(super) fn from_status(status: Option<&ExecutorStatus>) -> Self {
        Self {
            isolation: status.map(|status| status.isolation.as_str().to_owned()),
            slot: status.map(|status| status.slot.clone()),
        }
    }
}

impl Frame {
    /// For somebody who is not signed in: no facts.
    pub(super) fn outside(language: Language) -> Self {
        Self { language, waiting: None, who: None, foot: Foot::default(), status: None }
    }

    /// One text in the reader's language.
    pub(super) fn say(&self, say: Say) -> &'static str {
        say.get(self.language)
    }

    /// One worded text in the reader's language.
    pub(super) fn get<'a>(&self, worded: &'a Worded) -> &'a str {
        worded.get(self.language)
    }
}

/// A whole page.
pub(super) fn whole(frame: &Frame, title: &str, main: &Markup) -> String {
    let lang = match frame.language {
        Language::English => "en",
        Language::Spanish => "es",
    };
    let waiting = frame.waiting.map(|count| words::waiting(count, frame.language));
    let page = html! {
        (DOCTYPE)
        html lang=(lang) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title {
                    @if let Some(waiting) = &waiting { (waiting) " · " }
                    (title) " · Fleetwatch"
                }
                link rel="stylesheet" href="/style.css";
            }
            body {
                a.skip href="#main" { (frame.say(words::SKIP)) }
                (top(frame))
                main id="main" tabindex="-1" { (frozen(frame)) (main) }
                (bottom(frame))
            }
        }
    };
    page.into_string()
}

fn top(frame: &Frame) -> Markup {
    html! {
        header.top {
            div.bar {
                a.brand href="/" { span.mark aria-hidden="true" {} "Fleetwatch" }
                @if let Some(who) = &frame.who {
                    nav aria-label=(frame.say(words::PAGES)) {
                        a href="/" {
                            span.label { (frame.say(words::QUEUE)) }
                            @if let Some(count) = frame.waiting { " " span.count { (count) } }
                        }
                        a href="/history" { span.label { (frame.say(words::HISTORY)) } }
                    }
                    form.out method="post" action="/logout" {
                        span.who { (frame.say(words::SIGNED_IN_AS)) " " bdi { (who.name) } }
                        input type="hidden" name="token" value=(who.token);
                        button.quiet type="submit" { (frame.say(words::SIGN_OUT)) }
                    }
                }
            }
        }
    }
}

fn bottom(frame: &Frame) -> Markup {
    html! {
        footer.foot {
            div.bar {
                @if let Some(slot) = &frame.foot.slot {
                    span { (frame.say(words::SIGN_IN_SLOT)) ": " (slot) }
                }
                @if let Some(isolation) = &frame.foot.isolation {
                    span { (words::isolation(isolation, frame.language)) }
                }
                span { (BUILD) }
            }
        }
    }
}

// Whoever is signed in is told on every page, with the way out.
fn frozen(frame: &Frame) -> Markup {
    html! {
        @if frame.status.as_ref().is_some_and(|status| status.frozen) {
            div.note.warn role="status" {
                p { strong { (frame.say(words::FROZEN)) } " " (frame.say(words::FREEZE_END)) " " code { "fleetwatchctl thaw" } "." }
            }
        }
    }
}

/// A message on top of a page, read out when it appears.
fn message(frame: &Frame, say: Option<&Worded>) -> Markup {
    html! {
        @if let Some(say) = say {
            div.note.warn role="alert" { p { (frame.get(say)) } }
        }
    }
}

/// Ids of what a change aims at, each in one piece.
fn ids<'a>(targets: impl Iterator<Item = &'a str>) -> Markup {
    html! { @for id in targets { code.id { bdi { (id) } } " " } }
}

/// The facts of one target, one a row.
fn target(frame: &Frame, target: &TargetFact) -> Markup {
    let known_as = target.known_as.join(", ");
    let rows: [(Say, &str); 10] = [
        (words::NAME, &target.name),
        (words::KNOWN_AS, &known_as),
        (words::NOTE, &target.note),
        (words::DEVICE_ID, &target.id),
        (words::MODEL, &target.model),
        (words::FIRMWARE, &target.firmware),
        (words::ONLINE, frame.get(&target.online)),
        (words::RECORDING, frame.get(&target.recording)),
        (words::STREAMING, frame.get(&target.streaming)),
        (words::EVENT, frame.get(&target.event)),
    ];
    html! {
        table.facts {
            caption.unseen { (frame.say(words::TARGET)) " " bdi { (target.name) } }
            tbody {
                @for (label, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
                    tr {
                        th scope="row" { (frame.say(label)) }
                        td { bdi { (whens(value)) } }
                    }
                }
            }
        }
    }
}
