//! The sign-in form. It holds no fact.

use super::{Frame, message, whole, words};
use maud::{Markup, html};
use protocol::ids::ProposalNumber;
use protocol::shown::Worded;

/// How people sign in here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Way {
    /// With a page code alone: people have users of their own.
    Code,
    /// With the launch secret and a PIN, and a name where there are several operators.
    Secret {
        /// Whether the name is asked for.
        with_name: bool,
    },
}

/// The page. `next` is the card that it leads to.
pub(in super::super) fn page(frame: &Frame, way: Way, next: Option<ProposalNumber>, say: Option<&Worded>) -> String {
    let title = frame.say(words::SIGN_IN_TITLE);
    let main = html! {
        (message(frame, say))
        section.sheet aria-labelledby="title" {
            h1 id="title" { (title) }
            p.lead { (frame.say(words::SIGN_IN_LEAD)) }
            form.stack method="post" action="/login" autocomplete="off" {
                @if let Some(number) = next { input type="hidden" name="card" value=(number); }
                @match way {
                    Way::Code => (by_code(frame)),
                    Way::Secret { with_name } => (by_secret(frame, with_name)),
                }
                button.main type="submit" { (frame.say(words::SIGN_IN)) }
            }
        }
    };
    whole(frame, title, &main)
}

fn by_code(frame: &Frame) -> Markup {
    html! {
        div.field {
            label for="code" { (frame.say(words::PAGE_CODE)) }
            input.text id="code" name="code" type="text" inputmode="numeric" required maxlength="40"
                autocomplete="one-time-code" spellcheck="false" aria-describedby="code-help" autofocus;
            p.small id="code-help" { (frame.say(words::PAGE_CODE_HELP)) }
        }
    }
}

fn by_secret(frame: &Frame, with_name: bool) -> Markup {
    html! {
        @if with_name {
            div.field {
                label for="name" { (frame.say(words::YOUR_NAME)) }
                input.text id="name" name="name" type="text" required maxlength="64" autocomplete="username"
                    autocapitalize="off" spellcheck="false" autofocus;
            }
        }
        div.field {
            label for="secret" { (frame.say(words::LAUNCH_SECRET)) }
            input.text id="secret" name="secret" type="password" required maxlength="200" autocomplete="off"
                aria-describedby="secret-help" autofocus[!with_name];
            p.small id="secret-help" { (frame.say(words::LAUNCH_SECRET_HELP)) }
        }
        div.field {
            label for="pin" { (frame.say(words::PIN)) }
            input.text id="pin" name="pin" type="password" required maxlength="200" autocomplete="off"
                aria-describedby="pin-help";
            p.small id="pin-help" { (frame.say(words::PIN_HELP)) }
        }
    }
}
