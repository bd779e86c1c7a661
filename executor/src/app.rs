//! What every part of the running executor shares.

use crate::backends::epiphan::wire::Destination;
use crate::codes::PageCodes;
use crate::config::Config;
use crate::notify::Notifier;
use crate::principals::Registry;
use crate::seldom::Seldom;
use crate::store::retention::Pruned;
use crate::store::{Ending, Started, StoreHandle};
use control::status::Witness;
use host::clock::Clock;
use hyper::header::HeaderValue;
use policy::call::{CheckedCall, Tool};
use policy::gates::SignIn;
use policy::ids::MasterId;
use policy::observed::{Observed, Team};
use protocol::hello::Isolation;
use protocol::refusal::{Refusal, RefusalCode};
use reader::error::ReadError;
use reader::session::ReadClient;
use reader::token::{Facts, NoPass};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::watch;

/// A write begins with a bearer that is good for so many seconds more.
const WRITE_MARGIN: i64 = 60;

/// A change is being prepared for as long as this lives.
#[derive(Debug)]
pub(crate) struct Preparing<'a>(&'a watch::Sender<bool>);

impl<'a> Preparing<'a> {
    fn begin(preparing: &'a watch::Sender<bool>) -> Self {
        preparing.send_replace(true);
        Self(preparing)
    }
}

impl Drop for Preparing<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// Shared by reference-counted pointer; nothing in it changes but what is behind a lock.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) store: StoreHandle,
    pub(crate) registry: Registry,
    /// The read client on the writing sign-in, which may be missing. The write takes its bearer from there too: reads and
    /// write can never be two accounts.
    pub(crate) reads: ReadClient,
    pub(crate) destination: Destination,
    /// What the store says of a freeze, for the answer to a hello; the store asks itself inside every transaction.
    pub(crate) frozen: AtomicBool,
    /// Set when the process is asked to stop: no run begins any more.
    pub(crate) stopping: AtomicBool,
    /// Endings that the store has not taken yet.
    pub(crate) unrecorded: Mutex<Vec<Ending>>,
    /// Turns whose proposals could not be taken back yet.
    pub(crate) to_withdraw: Mutex<Vec<String>>,
    /// Slice version of each proposable tool, as counted at start.
    pub(crate) slices: BTreeMap<Tool, i64>,
    pub(crate) started: Started,
    pub(crate) started_boot_ms: i64,
    /// One run at a time: the last read of one must not stand before the write of another.
    pub(crate) one_run: tokio::sync::Mutex<()>,
    /// Whether an approved change is between its first read and its write; see [`Self::prepare`].
    pub(crate) preparing: watch::Sender<bool>,
    /// The venue's zone.
    pub(crate) zone: jiff::tz::TimeZone,
    pub(crate) page: OnceLock<String>,
    /// Who is pinged when a card waits.
    pub(crate) notifier: Option<Arc<Notifier>>,
    /// Page codes that were given out.
    pub(crate) codes: PageCodes,
    /// What the last prune took.
    pub(crate) pruned: Mutex<Option<Pruned>>,
    /// One backup or restore at a time.
    pub(crate) transfers: Arc<tokio::sync::Semaphore>,
    /// Set when a restore is staged: the process stops so that the next one takes it up.
    pub(crate) restore_staged: tokio::sync::Notify,
    /// Strangers at the sockets, and witnesses that we did not sign: audited once a minute.
    pub(crate) strangers: Seldom,
    pub(crate) bad_witnesses: Seldom,
    pub(crate) witness: Mutex<Witness>,
    /// Names of units as they were last read, for lists; a card never uses them.
    pub(crate) names: Mutex<BTreeMap<MasterId, String>>,
    pub(crate) last_read_boot_ms: AtomicI64,
    /// Whether the server did not take the writing sign-in last time.
    pub(crate) signed_out: AtomicBool,
}

impl App {
    /// One fresh read of everything that this call's checks look at, through the writing sign-in.
    pub(crate) async fn observe(&self, call: &CheckedCall) -> Result<Observed, Refusal> {
        let masters: Vec<MasterId> = call.targets().iter().map(|target| target.master.clone()).collect();
        let reads = self.reads()?;
        let observed =
            reads.observe(&masters, call.stream_id().is_some()).await.map_err(|error| self.not_read(&error))?;
        self.was_read(&observed.team);
        Ok(observed)
    }

    /// Has readings that nobody decided on give way, until what this gives is dropped: one of them could renew the sign-in
    /// that a run is bound to, and the run would end after its approval is spent.
    pub(crate) fn prepare(&self) -> Preparing<'_> {
        Preparing::begin(&self.preparing)
    }

    /// Takes note of a read that went well.
    pub(crate) fn was_read(&self, team: &Team) {
        self.signed_out.store(false, Ordering::Relaxed);
        self.last_read_boot_ms.store(self.clock.boot_ms(), Ordering::Relaxed);
        let names = team.devices.iter().map(|device| (device.id.clone(), device.name.clone())).collect();
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Why a read gave nothing; that the server did not take the sign-in is remembered for `status`.
    pub(crate) fn not_read(&self, error: &ReadError) -> Refusal {
        if matches!(error, ReadError::NotSignedIn { .. }) {
            self.signed_out.store(true, Ordering::Relaxed);
        }
        error.refusal()
    }

    /// How the writing sign-in is, with what the server said of it last.
    pub(crate) fn sign_in_facts(&self) -> Facts {
        self.reads.sign_in().facts_after(self.signed_out.load(Ordering::Relaxed))
    }

    /// Whether the system keeps the daemons apart.
    pub(crate) fn isolation(&self) -> Isolation {
        if self.config.single_user() { Isolation::None } else { Isolation::Users }
    }

    /// The read client, or why it cannot be used.
    pub(crate) fn reads(&self) -> Result<&ReadClient, Refusal> {
        match self.sign_in() {
            SignIn::Dead => Err(Refusal::bare(RefusalCode::SignInDead)),
            SignIn::Missing => Err(Refusal::bare(RefusalCode::NoSignIn)),
            SignIn::Present => Ok(&self.reads),
        }
    }

    /// How the writing sign-in is.
    pub(crate) fn sign_in(&self) -> SignIn {
        let facts = self.reads.sign_in().facts();
        match (facts.usable, facts.is_dead()) {
            (true, _) => SignIn::Present,
            (false, true) => SignIn::Dead,
            (false, false) => SignIn::Missing,
        }
    }

    /// The bearer for a write, good for a minute more (or half of its life), with the count of changes it belongs to.
    /// Renewed here, before the run's first read, or not at all.
    pub(crate) async fn fresh_bearer(&self) -> Result<(HeaderValue, u64), Refusal> {
        let sign_in = self.reads.sign_in();
        sign_in.pass(WRITE_MARGIN).await.map_err(|why| match why {
            NoPass::Dead | NoPass::NotTaken => Refusal::bare(RefusalCode::SignInDead),
            NoPass::Missing => Refusal::bare(RefusalCode::NoSignIn),
            NoPass::NotRenewed => {
                Refusal::new(RefusalCode::ReadFailed, "the sign-in has run out and could not be renewed now")
            }
        })
    }

    /// Whether the server did not take a sign-in that is not over by itself, such as a bare bearer. Reads are still tried.
    pub(crate) fn is_refused(&self) -> bool {
        self.signed_out.load(Ordering::Relaxed) && self.sign_in() == SignIn::Present
    }

    /// One read that shows whether the server takes it again.
    pub(crate) async fn try_refused(&self) {
        if *self.preparing.borrow() {
            return;
        }
        match self.reads.team().await {
            Ok(team) => self.was_read(&team),
            Err(error) => tracing::warn!(%error, "the writing sign-in is still not taken"),
        }
    }

    /// Seconds since the last good read.
    pub(crate) fn last_read_seconds(&self) -> Option<u64> {
        let at = self.last_read_boot_ms.load(Ordering::Relaxed);
        if at < 0 { None } else { u64::try_from((self.clock.boot_ms() - at).max(0) / 1_000).ok() }
    }

    /// Whether no run may begin any more.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Keeps an ending for the sweep.
    pub(crate) fn keep_unrecorded(&self, ending: Ending) {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).push(ending);
    }

    /// Keeps a turn for the sweep.
    pub(crate) fn keep_to_withdraw(&self, turn: String) {
        self.to_withdraw.lock().unwrap_or_else(PoisonError::into_inner).push(turn);
    }

    /// A unit's name as it was last read, or its id.
    pub(crate) fn name_of(&self, id: &MasterId) -> String {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// What the assistant's witness said last.
    pub(crate) fn witness(&self) -> Witness {
        *self.witness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_witness(&self, found: Witness) {
        *self.witness.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_prepared_for_as_long_as_its_guard_lives() {
        let (preparing, told) = watch::channel(false);
        let guard = Preparing::begin(&preparing);
        assert!(*told.borrow());
        drop(guard);
        assert!(!*told.borrow());
    }
}
