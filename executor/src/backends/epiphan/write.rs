//! The write: one ready write in, one outcome out. There is no second try, here or anywhere.

use super::answer::outcome_of;
use super::wire::Sent;
use crate::recheck::ReadyWrite;
use crate::store::Outcome;
use protocol::refusal::{Refusal, RefusalCode};

/// Writes once. Takes the right by value, so a second use does not compile.
pub(crate) async fn write(ready: ReadyWrite) -> Outcome {
    let (call, ids) = ready.into_call();
    match call.send().await {
        Sent::Answered(result) => outcome_of(&ids, &result),
        Sent::Lost(why) => Outcome::Unknown(why.to_owned()),
        Sent::Unwritten => Outcome::Refused(Refusal::bare(RefusalCode::ConnectionLost)),
    }
}
