//! The sign-in form. It holds no fact.

use super::{Frame, message, whole, words};
use maud::html;
use protocol::ids::ProposalNumber;
use protocol::shown::Worded;

/// The page. `next` is the card that it leads to.
pub(in super::super) fn page(
    frame: &Frame,
    with_name: bool,
    next: Option<ProposalNumber>,
    say: Option<&Worded>,
) -> String {
    let title = frame.say(words::SIGN_IN_TITLE);
    let main = html! {
        (message(frame, say))
        section.sheet aria-labelledby="title" {
            h1 id="title" { (title) }
            p.lead { (frame.say(words::SIGN_IN_LEAD)) }
            form.stack method="post" action="/login" autocomplete="off" {
                @if let Some(number) = next { input type="hidden" name="card" value=(number); }
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
                button.main type="submit" { (frame.say(words::SIGN_IN)) }
            }
        }
    };
    whole(frame, title, &main)
}
