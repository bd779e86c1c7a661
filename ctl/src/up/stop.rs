//! `down`: ends the daemons that are recorded, in order, and says what waited. It never kills: an executor that finishes a
//! run is given the time for it.

use super::error::UpError;
use super::layout::Layout;
use super::process::{self, Living};
use super::{start, words};
use crate::approvals;
use crate::client::Daemon;
use crate::exit::Exit;
use crate::out::Out;
use crate::session::Session;
use crate::verbs::not_done;
use host::files;
use protocol::ids::ProposalNumber;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(50);
/// For the executor to say what waits.
const ASK: Duration = Duration::from_secs(5);
/// For the assistant to end.
const ASSISTANT: Duration = Duration::from_secs(20);
/// For the executor to end, which finishes a run first.
const EXECUTOR: Duration = Duration::from_secs(120);

/// What `down` found and did.
#[derive(Debug)]
pub(crate) enum Down {
    /// No daemon ran.
    NothingRan,
    /// What ran has ended.
    Stopped {
        /// Proposals that waited; they expire.
        waited: Vec<ProposalNumber>,
    },
}

/// `down`.
pub(crate) async fn down(session: &Session, out: &mut Out, json: bool) -> Exit {
    match whole().await {
        Ok(down) => {
            if json {
                out.json(&words::down_json(&down));
            } else {
                out.line(&words::down(&down, session.language));
            }
            Exit::Done
        }
        Err(error) => not_done((error.code(), &error.to_string()), (out, json)),
    }
}

async fn whole() -> Result<Down, UpError> {
    let layout = start::mine()?;
    if !layout.is_there() {
        return Ok(Down::NothingRan);
    }
    let _turn = start::turn(&layout).await?;
    let assistant = process::recorded(&layout.record_of(Daemon::Assistant))?;
    let executor = process::recorded(&layout.record_of(Daemon::Executor))?;
    let nothing = assistant.is_none() && executor.is_none();
    let waited = if executor.is_some() { waiting(&layout).await } else { Vec::new() };
    // Asked both before either is waited for: one that hangs does not keep the other running.
    for living in [&assistant, &executor].into_iter().flatten() {
        living.ask_to_end()?;
    }
    end(Daemon::Assistant, assistant, (&layout, ASSISTANT)).await?;
    end(Daemon::Executor, executor, (&layout, EXECUTOR)).await?;
    Ok(if nothing { Down::NothingRan } else { Down::Stopped { waited } })
}

// What cannot be had is not waited for: ending is what matters.
async fn waiting(layout: &Layout) -> Vec<ProposalNumber> {
    let places = layout.places();
    let listed = tokio::time::timeout(ASK, approvals::waiting(&places)).await;
    listed.map_or_else(|_| Vec::new(), |listed| listed.unwrap_or_default()).iter().map(|row| row.number).collect()
}

async fn end(daemon: Daemon, living: Option<Living>, (layout, most): (&Layout, Duration)) -> Result<(), UpError> {
    if let Some(living) = living {
        let gone = async {
            while living.lives() {
                tokio::time::sleep(LOOK).await;
            }
        };
        let (name, log) = (daemon.as_str(), layout.log_of(daemon));
        let waited = tokio::time::timeout(most, gone).await;
        waited.map_err(|_| UpError::Slow { name, does_not: "end", log })?;
    }
    Ok(files::remove_private(&layout.record_of(daemon))?)
}
