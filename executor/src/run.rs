//! Approve and run, in the one order that keeps every promise (`seed 000, Flow 4 to 6`; `architecture.md, Run`).
//!
//! | step | what happens | on disk afterwards | a crash right here becomes |
//! |---|---|---|---|
//! | 1 look | ticket, a bearer that lasts, then fresh reads beside opening the write's own session | `pending` | `expired_*` at the next start |
//! | 2 compare | the card now is the card that the person saw | `pending` | `expired_*` |
//! | 3 decide | the person's yes | `approved` | `expired` |
//! | 4 consume | the approval is spent: line, row, audit | `consumed` and a spent line | `unknown` |
//! | 5 look again | bytes are made; the target's own state is read last; every check again | `consumed` | `unknown` |
//! | 6 write | one `tools/call` on that session | `consumed` | `unknown` |
//! | 7 record | the outcome, then the receipt | the outcome | the outcome |
//!
//! **Who may say yes.** A person on the operators list, on the page (signed in) or at a terminal, with their PIN; the desk and
//! the page look before they come here, and step 3 looks again. While everything is frozen, or the executor is stopping,
//! nobody can. An assistant has no word for it.
//!
//! **Every check again** (step 5, `recheck`): the policy slice is the one that was judged by; the sign-in is still the one of
//! the write's session; slot, tool, arguments and targets are byte for byte what was approved; proposing is switched on;
//! target and channel are there; the unit can do it, is online, its destination held by no other; team and fence; nothing
//! older than 15 s; state and names as they were bound; the room free, for what could disturb it; no dry run.
//!
//! **How it ends.** `refused(code)`: a check said no, and no byte of the write was sent. `ok`: the device said yes. `error`:
//! the device said no. `unknown`: anything else once a byte was sent; final, and never tried again. After the last three the
//! unit is read once more, and what it reports stands beside the outcome as a receipt.
//!
//! An approval lives 300 s on the database clock and on the boot clock, and not past a restart of the machine; step 4 holds it
//! to that. Steps 1 to 5 have 15 s together, up to the first byte of the write; its answer has 60 s, and then it is `unknown`.
//! The whole of it is one detached task: a person who
//! closes the page or the terminal stops nothing half-way. One run at a time; a yes that waited too long for its turn is
//! refused, not run late.
//!
//! Words: the *spent line* is one line of an append-only file beside the database, so that an old database that comes back
//! cannot make a yes new again. A *slice* is the part of the policy that a proposal was judged by, under a number that only
//! grows. `stands` is the constant yes in every build that anybody runs (`protocol::guard`), and `barrier` does nothing there:
//! both are for tests that take a guard away or stop the process at that line.

use crate::app::App;
use crate::backends::epiphan::receipt::read_back;
use crate::backends::epiphan::wire::OpenSession;
use crate::backends::epiphan::write::write;
use crate::barrier::barrier;
use crate::card::{self, Looked};
use crate::decide::Decision;
use crate::desk::{Viewer, YesTo};
use crate::recheck::{LastLook, ReadyWrite, recheck};
use crate::store::{ConsumedApproval, Ending, Outcome, Spent, StoreError};
use hyper::header::HeaderValue;
use policy::call::CheckedCall;
use policy::ids::MasterId;
use policy::limits;
use policy::observed::Observed;
use protocol::guard::stands;
use protocol::propose::{News, ProposalState};
use protocol::refusal::{Refusal, RefusalCode};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};

/// How long a yes may wait for another run to end.
const TURN_WAIT: Duration = Duration::from_secs(10);
/// How often an outcome is offered to the store before the sweep goes on with it.
const RECORD_TRIES: u32 = 10;

/// Approves what the person saw, runs it once, and gives the outcome.
///
/// # Errors
/// A refusal from before the approval was spent: nothing ran. `bad_ticket`, `too_soon`, `run_busy`, `unknown_proposal`,
/// `not_waiting`, `card_changed`, `not_approvable`, `room_not_confirmed`, `no_sign_in`, `sign_in_dead`, `read_failed`, `connection_lost`, `stale`, `frozen`,
/// `not_permitted`, `binding_mismatch` and `store_failed` of the steps before the decision leave the proposal as it was; what
/// fails between decision and consume leaves it `refused`.
pub(crate) async fn approve_and_run(app: &Arc<App>, viewer: Viewer, yes: YesTo) -> Result<News, Refusal> {
    // Against the time of the click, before any wait: a reflex does not become a decision by waiting in line.
    let seconds_after_card = card::check_ticket(app, &viewer, &yes).await?;
    let app = app.clone();
    let click = Click { viewer, yes, seconds_after_card };
    let work = tokio::spawn(async move { run(&app, &click).await });
    // A task that panics takes the process with it (`panic = "abort"`): no outcome is lost here.
    work.await.unwrap_or_else(|_| Err(Refusal::bare(RefusalCode::StoreFailed)))
}

/// A person's yes with a good ticket.
struct Click {
    viewer: Viewer,
    yes: YesTo,
    /// How long the card had been before the person.
    seconds_after_card: i64,
}

async fn run(app: &Arc<App>, click: &Click) -> Result<News, Refusal> {
    let _turn = turn(&app.one_run, TURN_WAIT).await?;
    let preparing = app.prepare();
    let began = app.clock.boot_ms();
    let ready = within(app, began, before_the_decision(app, click)).await??;
    if app.is_stopping() && stands(RefusalCode::RunBusy) {
        return Err(Refusal::bare(RefusalCode::RunBusy));
    }
    let approval = decide_and_consume(app, click).await?;
    // From here on there is an outcome to record, whatever happens.
    let spent = Spent::from(&approval);
    let call = ready.call.clone();
    let outcome = match within(app, began, look_again(app, approval, ready, began)).await {
        Ok(Ok(ready)) => {
            // What is sent is bound to no sign-in any more.
            drop(preparing);
            barrier("before_send");
            let outcome = write(ready).await;
            barrier("after_send");
            outcome
        }
        Ok(Err(refusal)) | Err(refusal) => Outcome::Refused(refusal),
    };
    Ok(record(app, &call, Ending::new(&spent, outcome)).await)
}

/// The turn to run, for as long as it is held; `run_busy` when another run holds it for longer than `wait`. Without a turn
/// goes on only a mutant that lost this guard.
async fn turn(one_run: &Mutex<()>, wait: Duration) -> Result<Option<MutexGuard<'_, ()>>, Refusal> {
    match tokio::time::timeout(wait, one_run.lock()).await {
        Ok(turn) => Ok(Some(turn)),
        Err(_) if stands(RefusalCode::RunBusy) => Err(Refusal::bare(RefusalCode::RunBusy)),
        Err(_) => Ok(None),
    }
}

/// Everything that stands ready when a person's yes has been found good.
struct Prepared {
    looked: Looked,
    call: CheckedCall,
    session: OpenSession,
    /// What the sign-in was when the session was opened.
    generation: u64,
}

/// Steps 1 and 2. A sign-in that runs out is renewed here; nothing behind this line renews for the write.
async fn before_the_decision(app: &App, click: &Click) -> Result<Prepared, Refusal> {
    let yes = &click.yes;
    let (bearer, generation) = app.fresh_bearer().await?;
    let (looked, session) = tokio::join!(card::look(app, yes.number), open(app, &bearer));
    let looked = looked?;
    let call = card::check_yes(yes, &looked)?;
    let session = session?;
    // A read that renewed the sign-in has made this session an older one's: nothing is decided yet, so nothing is spent.
    same_sign_in(app, generation)?;
    Ok(Prepared { looked, call, session, generation })
}

async fn open(app: &App, bearer: &HeaderValue) -> Result<OpenSession, Refusal> {
    OpenSession::open(&app.destination, bearer).await.map_err(|error| {
        tracing::warn!(%error, "session for the write");
        Refusal::new(RefusalCode::ConnectionLost, "no session for the write could be opened")
    })
}

/// Steps 3 and 4. When the approval cannot be spent, the row ends as refused: nothing was sent.
async fn decide_and_consume(app: &App, click: &Click) -> Result<ConsumedApproval, Refusal> {
    let (viewer, seconds_after_card) = (click.viewer.clone(), click.seconds_after_card);
    let (number, digest) = (click.yes.number, click.yes.digest);
    let registry = app.registry.clone();
    let decided = app.store.call(move |store| {
        // Inside the decision: a right that went while the room was read is gone.
        if !registry.still_operates(&viewer.person) {
            return Err(StoreError::refused(RefusalCode::NotPermitted));
        }
        let Viewer { person, surface, session } = &viewer;
        let decision = Decision::Approve { person, surface: *surface, session: *session, digest, seconds_after_card };
        store.decide(number, &decision)
    });
    decided.await.map_err(StoreError::into_refusal)?;
    let consumed = app.store.call(move |store| store.consume(number)).await.map_err(StoreError::into_refusal);
    if let Err(refusal) = &consumed {
        let refusal = refusal.clone();
        let ended = app.store.call(move |store| store.refuse_approved(number, &refusal)).await;
        if let Err(error) = ended {
            tracing::error!(%error, %number, "an approval that could not be spent");
        }
    }
    consumed
}

/// Step 5. Any doubt is a refusal, and the approval stays spent.
async fn look_again(
    app: &App,
    approval: ConsumedApproval,
    prepared: Prepared,
    began: i64,
) -> Result<ReadyWrite, Refusal> {
    let Prepared { looked, call, session, generation } = prepared;
    let mut observed = looked.observed?;
    // Slices are counted at start; the row may have been made by a process that read another policy.
    let same = app.slices.get(&call.tool()) == Some(&approval.proposal().record().policy_version);
    if !same && stands(RefusalCode::PolicyChanged) {
        return Err(Refusal::bare(RefusalCode::PolicyChanged));
    }
    // The bytes are made now, so that nothing but the checks stands between the last read and the send.
    let bytes =
        session.prepare(call.tool(), call.arguments()).map_err(|_| Refusal::bare(RefusalCode::ConnectionLost))?;
    last_read(app, &call, &mut observed).await?;
    same_sign_in(app, generation)?;
    // What is judged is as old as the first of its reads.
    observed.read_boot_ms = began;
    recheck(app, approval, LastLook { call: &call, observed: &observed }, bytes)
}

/// Whether the sign-in is still the one that the write's session was opened with.
fn same_sign_in(app: &App, opened_with: u64) -> Result<(), Refusal> {
    if app.reads.sign_in().generation() == opened_with {
        return Ok(());
    }
    Err(Refusal::new(RefusalCode::ConnectionLost, "the sign-in was renewed while this change was prepared"))
}

async fn last_read(app: &App, call: &CheckedCall, observed: &mut Observed) -> Result<(), Refusal> {
    let targets: Vec<MasterId> = call.targets().iter().map(|target| target.master.clone()).collect();
    let look = app.reads()?.look_again(&observed.team, &targets).await;
    (observed.recorders, observed.events) = look.map_err(|error| app.not_read(&error))?;
    observed.read_unix = app.clock.unix();
    Ok(())
}

/// Step 7. The outcome first, then the read-back; the person hears both.
async fn record(app: &App, call: &CheckedCall, ending: Ending) -> News {
    let mut news = ending.news().clone();
    store_ending(app, ending).await;
    // Whatever a device answered, a write left: what it reports now is worth a look.
    if matches!(news.state, ProposalState::Error | ProposalState::Ok | ProposalState::Unknown) {
        let receipt = read_back(app, call).await;
        news.detail = if news.detail.is_empty() { receipt.to_string() } else { format!("{}; {receipt}", news.detail) };
        let number = news.number;
        if let Err(error) = app.store.call(move |store| store.add_receipt(number, &receipt)).await {
            tracing::error!(%error, %number, "receipt");
        }
    }
    news
}

/// Offers the outcome to the store until it is taken; what stays is kept for the sweep. What ran must not be missing.
async fn store_ending(app: &App, ending: Ending) {
    for _ in 0..RECORD_TRIES {
        let offered = ending.clone();
        match app.store.call(move |store| store.record(&offered)).await {
            Ok(()) => return,
            Err(error) => {
                let news = ending.news();
                tracing::error!(%error, number = %news.number, outcome = news.state.as_str(), "an outcome is not recorded yet");
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    app.keep_unrecorded(ending);
}

/// Runs `work` inside what is left of the 15 s since `began`, else `stale`.
async fn within<T>(app: &App, began: i64, work: impl Future<Output = T>) -> Result<T, Refusal> {
    let left = began + limits::READ_TO_WRITE_MS - app.clock.boot_ms();
    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
    tokio::time::timeout(left, work).await.map_err(|_| Refusal::bare(RefusalCode::Stale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_yes_that_waits_too_long_for_its_turn_is_refused_and_not_run_late() {
        let one_run = Mutex::new(());
        let brief = Duration::from_millis(20);
        let first = turn(&one_run, brief).await.unwrap();
        assert!(first.is_some());
        assert_eq!(turn(&one_run, brief).await.unwrap_err().code, RefusalCode::RunBusy);
        drop(first);
        assert!(turn(&one_run, brief).await.unwrap().is_some());
    }
}
