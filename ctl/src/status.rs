//! `status`: both daemons as they are, and what is wrong.

use crate::client::{Asking, ClientError, Control, Places};
use crate::exit::Exit;
use crate::out::Out;
use crate::render;
use crate::session::Session;
use control::status::{ExecutorStatus, Witness};
use protocol::ask::AssistantStatus;

/// What both daemons said, or why one did not.
#[derive(Debug)]
pub(crate) struct Both {
    /// The executor.
    pub(crate) executor: Result<ExecutorStatus, ClientError>,
    /// The assistant.
    pub(crate) assistant: Result<AssistantStatus, ClientError>,
    /// Who asked, by the name that the system knows.
    pub(crate) me: String,
}

/// Asks both.
pub(crate) async fn ask_both(places: &Places) -> Both {
    let executor = async { Control::open(places).await?.status().await };
    let assistant = async { Asking::open(places).await?.status().await };
    let (executor, assistant) = tokio::join!(executor, assistant);
    Both { executor, assistant, me: my_name() }
}

/// The caller's name as the system knows it, or `USER`.
pub(crate) fn my_name() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid());
    user.ok().flatten().map_or_else(|| "USER".to_owned(), |user| user.name)
}

/// `status`.
pub(crate) async fn show(session: &Session, out: &mut Out, json: bool) -> Exit {
    let both = ask_both(&session.places).await;
    if json {
        out.json(&render::status::both_json(&both));
    } else {
        out.text(&render::status::both(&both, session.columns));
    }
    if wrong(&both).is_empty() { Exit::Done } else { Exit::Wrong }
}

/// Everything that is wrong, each with what to do; empty when all is well.
pub(crate) fn wrong(both: &Both) -> Vec<String> {
    let mut wrong = Vec::new();
    match &both.executor {
        Ok(status) => of_executor(status, &mut wrong),
        Err(error) => wrong.push(error.to_string()),
    }
    match &both.assistant {
        Ok(status) => of_assistant(status, &mut wrong),
        Err(error) => wrong.push(error.to_string()),
    }
    wrong
}

fn of_executor(status: &ExecutorStatus, wrong: &mut Vec<String>) {
    for problem in &status.problems {
        wrong.push(format!("{}: {}", problem.code.as_str(), problem.advice.en));
    }
    match status.witness {
        Witness::Newer => wrong.push("an old database came back: look at the history before approving anything".into()),
        Witness::BadMac => wrong.push("the assistant's witness was forged or belongs to another store".into()),
        Witness::Unwitnessed | Witness::Agrees => {}
    }
    if !status.sign_in {
        wrong.push(format!("no sign-in for writing (slot {}): run `fleetwatchctl login --sandbox`", status.slot));
    }
    if status.page.is_none() {
        wrong.push("the approval page is down: the executor's log says why".into());
    }
    if status.start.unknown > 0 {
        wrong.push(format!(
            "{} started change(s) were never recorded before the last start: look at `approvals history` and at the unit",
            status.start.unknown
        ));
    }
    if status.start.restored > 0 {
        wrong.push(format!(
            "{} spent line(s) belong to no proposal: an old database was restored",
            status.start.restored
        ));
    }
}

fn of_assistant(status: &AssistantStatus, wrong: &mut Vec<String>) {
    wrong.extend(status.problems.iter().cloned());
    if !status.sign_in {
        wrong.push("no sign-in for reading: run `fleetwatchctl login`".into());
    }
    if !status.executor_reached {
        wrong
            .push("the assistant does not reach the executor: is it running, with the same FLEETWATCH_RUN_DIR?".into());
    }
}
