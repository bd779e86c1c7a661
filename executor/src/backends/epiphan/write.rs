//! The write: one ready write in, one outcome out. There is no second try, here or anywhere.

use super::answer::outcome_of;
use super::wire::Sent;
use crate::recheck::ReadyWrite;
use crate::store::Outcome;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};

/// Writes once. Takes the right by value, so a second use does not compile.
pub(crate) async fn write(ready: ReadyWrite) -> Outcome {
    let (call, ids) = ready.into_call();
    ended(&ids, call.send().await)
}

fn ended(ids: &[String], sent: Sent) -> Outcome {
    match sent {
        Sent::Answered(result) => outcome_of(ids, &result),
        Sent::Lost(why) => Outcome::Unknown(why.to_owned()),
        Sent::Unwritten if stands(RefusalCode::ConnectionLost) => {
            Outcome::Refused(Refusal::bare(RefusalCode::ConnectionLost))
        }
        Sent::Unwritten => Outcome::Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_written_is_refused_and_what_got_lost_is_unknown() {
        let refused = Outcome::Refused(Refusal::bare(RefusalCode::ConnectionLost));
        assert_eq!(ended(&[], Sent::Unwritten), refused);
        assert_eq!(ended(&[], Sent::Lost("no answer")), Outcome::Unknown("no answer".to_owned()));
    }
}
