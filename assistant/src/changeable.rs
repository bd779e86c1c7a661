//! The units that a change can be proposed for, as the executor tells them from its own sign-in (issue 4). The fleet's server
//! is not asked here, and the list grants nothing: the executor judges every draft by reads of its own.

use crate::desk::Desk;
use crate::propose::{ExecutorError, ExecutorLink};
use crate::tools::CHANGEABLE;
use protocol::canonical::Canonical;
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind};
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::{Value, json};
use std::time::Duration;

/// The executor gives a reading twenty seconds.
const ANSWER: Duration = Duration::from_secs(25);

/// The list, asked for under this label.
///
/// # Errors
/// `bad_arguments` before anybody is asked; the executor's refusal, or that it does not answer.
pub(crate) async fn read(desk: &Desk, label: &str, arguments: &Value) -> Result<Value, Refusal> {
    if *arguments != json!({}) {
        return Err(Refusal::new(RefusalCode::BadArguments, &format!("{CHANGEABLE} takes no arguments")));
    }
    let read = ask(desk, label).await.map_err(|error| match error {
        ExecutorError::Refused(refusal) => refusal,
        ExecutorError::Version => Refusal::bare(RefusalCode::WireVersion),
        ExecutorError::Confused
        | ExecutorError::Link(_)
        | ExecutorError::HungUp
        | ExecutorError::NoLabel
        | ExecutorError::Socket(_) => {
            tracing::warn!(%error, "the list of changeable units could not be asked for");
            Refusal::new(RefusalCode::ConnectionLost, "the executor does not answer; ask again later")
        }
    })?;
    Ok(Canonical::parse(&read)?.value().clone())
}

async fn ask(desk: &Desk, label: &str) -> Result<Vec<u8>, ExecutorError> {
    let mut link = ExecutorLink::open_as(label, &desk.executor, LinkKind::Poll, desk.poll.head()).await?;
    match link.exchange(AssistantSays::Changeable, ANSWER).await? {
        ExecutorSays::Changeable { json } => Ok(json),
        ExecutorSays::Refused(refusal) => Err(ExecutorError::Refused(refusal)),
        ExecutorSays::Acked
        | ExecutorSays::Admitted { .. }
        | ExecutorSays::Hello { .. }
        | ExecutorSays::Live(_)
        | ExecutorSays::News { .. }
        | ExecutorSays::Standing(_)
        | ExecutorSays::TurnEnded => Err(ExecutorError::Confused),
    }
}
