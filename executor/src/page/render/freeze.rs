//! The page before everything is frozen.

use super::{Frame, whole, words};
use maud::html;

/// The page: what a freeze does, and the form that does it.
pub(in super::super) fn page(frame: &Frame, token: &str) -> String {
    let title = frame.say(words::FREEZE_TITLE);
    let frozen = frame.status.as_ref().is_some_and(|status| status.frozen);
    let main = html! {
        section.sheet aria-labelledby="title" {
            h1 id="title" { (title) }
            @if !frozen {
                p { (frame.say(words::FREEZE_HELP)) }
                p { (frame.say(words::FREEZE_END)) " " code { "fleetwatchctl thaw" } "." }
                form method="post" action="/freeze" {
                    input type="hidden" name="token" value=(token);
                    button.deny type="submit" { (frame.say(words::FREEZE)) }
                }
            }
            p.ways { a href="/" { (frame.say(words::BACK_TO_QUEUE)) } }
        }
    };
    whole(frame, title, &main)
}
