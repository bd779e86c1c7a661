//! Approve and run, in the one order that keeps every promise (`seed 000, Flow 4 to 6`; `architecture.md, Run`).
//!
//! The whole of it is one detached task: a person who closes the page or the terminal stops nothing half-way.

use crate::app::App;
use crate::backends::epiphan::receipt::read_back;
use crate::backends::epiphan::wire::{OpenSession, PreparedCall};
use crate::backends::epiphan::write::write;
use crate::barrier::barrier;
use crate::card::{self, Looked};
use crate::decide::Decision;
use crate::desk::{Viewer, YesTo};
use crate::recheck::{LastLook, ReadyWrite, recheck};
use crate::store::{ConsumedApproval, Outcome, Spent, StoreError};
use policy::call::CheckedCall;
use policy::ids::MasterId;
use policy::limits;
use policy::observed::Observed;
use protocol::ids::ProposalNumber;
use protocol::propose::News;
use protocol::refusal::{Refusal, RefusalCode};
use std::sync::Arc;
use std::time::Duration;

/// How often an outcome is offered to the store before the start rule has to call it unknown.
const RECORD_TRIES: u32 = 10;

/// Approves what the person saw, runs it once, and gives the outcome when it is recorded.
pub(crate) async fn approve_and_run(app: &Arc<App>, viewer: Viewer, yes: YesTo) -> Result<News, Refusal> {
    let app = app.clone();
    let work = tokio::spawn(async move { run(&app, &viewer, &yes).await });
    work.await.unwrap_or_else(|_| Err(Refusal::bare(RefusalCode::StoreFailed)))
}

async fn run(app: &Arc<App>, viewer: &Viewer, yes: &YesTo) -> Result<News, Refusal> {
    let _one = app.one_run.lock().await;
    let began = app.clock.boot_ms();
    // 1. The fleet-wide reads, side by side with opening the write's own connection and session.
    let (looked, session) = tokio::join!(card::look(app, yes.number), open(app));
    let looked = looked?;
    // 2. The card that a person would see now is the one this person saw, and it may be approved.
    let call = card::check_yes(app, viewer, yes, &looked).await?;
    let session = session?;
    // 3. The decision, durable, under the rights that hold now.
    decide(app, viewer, yes).await?;
    // 4. The approval is spent: on disk before anything can leave.
    let number = yes.number;
    let approval = app.store.call(move |store| store.consume(number)).await.map_err(StoreError::into_refusal)?;
    // From here on there is an outcome to record, whatever happens.
    let spent = Spent::from(&approval);
    let outcome = match ready(app, approval, (looked, call.clone()), session, began).await {
        Ok(ready) => {
            barrier("before_send");
            // 8. One write.
            let outcome = write(ready).await;
            barrier("after_send");
            with_receipt(app, &call, outcome).await
        }
        Err(refusal) => Outcome::Refused(refusal),
    };
    record(app, spent, outcome, number).await
}

async fn open(app: &App) -> Result<OpenSession, Refusal> {
    let token = host::files::read_secret(&app.config.token_file, host::files::Owner::Me).map_err(|error| {
        tracing::warn!(%error, "sign-in for writing");
        Refusal::bare(RefusalCode::NoSignIn)
    })?;
    OpenSession::open(&app.destination, &token).await.map_err(|error| {
        tracing::warn!(%error, "session for the write");
        Refusal::new(RefusalCode::ConnectionLost, "no session for the write could be opened")
    })
}

async fn decide(app: &App, viewer: &Viewer, yes: &YesTo) -> Result<(), Refusal> {
    if !app.registry.still_operates(&viewer.person) {
        return Err(Refusal::bare(RefusalCode::NotPermitted));
    }
    let (viewer, number, digest) = (viewer.clone(), yes.number, yes.digest);
    app.store
        .call(move |store| {
            let decision =
                Decision::Approve { person: &viewer.person, surface: viewer.surface, session: viewer.session, digest };
            store.decide(number, &decision)
        })
        .await
        .map(|_| ())
        .map_err(StoreError::into_refusal)
}

async fn ready(
    app: &App,
    approval: ConsumedApproval,
    (looked, call): (Looked, CheckedCall),
    session: OpenSession,
    began: i64,
) -> Result<ReadyWrite, Refusal> {
    let mut observed = looked.observed?;
    // 5. The policy that judged it is still the one in force.
    if app.slices.get(&call.tool()) != Some(&approval.proposal().record().policy_version) {
        return Err(Refusal::bare(RefusalCode::PolicyChanged));
    }
    // 6. The bytes are made now, so that nothing but the checks stands between the last read and the send.
    let prepared: PreparedCall =
        session.prepare(call.tool(), call.arguments()).map_err(|_| Refusal::bare(RefusalCode::ConnectionLost))?;
    // 7. The target's own recorder and events, by id, last; then every check again.
    last_read(app, &call, &mut observed).await?;
    observed.read_boot_ms = began;
    if app.clock.boot_ms() - began > limits::READ_TO_WRITE_MS {
        return Err(Refusal::bare(RefusalCode::Stale));
    }
    recheck(app, approval, LastLook { call: &call, observed: &observed }, prepared)
}

async fn last_read(app: &App, call: &CheckedCall, observed: &mut Observed) -> Result<(), Refusal> {
    let targets: Vec<MasterId> = call.targets().iter().map(|target| target.master.clone()).collect();
    let look = app.reads()?.look_again(&observed.team, &targets).await;
    (observed.recorders, observed.events) = look.map_err(|error| error.refusal())?;
    observed.read_unix = app.clock.unix();
    Ok(())
}

async fn with_receipt(app: &App, call: &CheckedCall, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Ok(_) => Outcome::Ok(read_back(app, call).await),
        Outcome::Unknown(why) => Outcome::Unknown(format!("{why}; {}", read_back(app, call).await)),
        Outcome::Error(_) | Outcome::Refused(_) => outcome,
    }
}

/// Records the outcome. A store that cannot be written for a moment is asked again: what ran must not be missing.
async fn record(app: &App, spent: Spent, outcome: Outcome, number: ProposalNumber) -> Result<News, Refusal> {
    let spent = Arc::new(spent);
    let mut tries = 0;
    loop {
        let (spent, outcome) = (spent.clone(), outcome.clone());
        let done = app
            .store
            .call(move |store| {
                store.record(&spent, outcome)?;
                store.fate(number)
            })
            .await;
        match done {
            Err(StoreError::Sqlite(error)) if tries < RECORD_TRIES => {
                tracing::error!(%error, "recording an outcome; trying again");
                tries += 1;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            done => return done.map_err(StoreError::into_refusal),
        }
    }
}
