//! A sign-in: what one slot shows the server, read from where it is kept, renewed when it runs out.
//!
//! Two kinds. A bare bearer, put there by a person or a service manager, is sent as it is. A sign-in by `login` is
//! renewed by one process at a time, under a lock file beside it; a renewal is its own task, since a caller that stops
//! waiting must not lose tokens that the server has given out only once.

use crate::endpoint::Endpoint;
use crate::oauth::{self, Attempt, Net, OauthError, Revoked};
use crate::store::{self, Death, Record};
use host::clock::Clock;
use host::files::{self, FileLock};
use host::secret::SecretText;
use kept::Kept;
use protocol::guard::unguarded;
use protocol::refusal::RefusalCode;
use protocol::shown::Worded;
use reqwest::header::HeaderValue;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use zeroize::Zeroizing;

mod error;
mod kept;
mod new;
mod trouble;

pub use error::{KeychainError, SignInError};
pub use kept::{STORE, Store, check_store};
pub use new::NewSignIn;
pub use trouble::{Facts, Trouble};

/// Longest wait for another process that renews.
const LOCK_WAIT: Duration = Duration::from_secs(25);
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// A read's sign-in should be good for so many seconds more.
const READ_MARGIN: i64 = 30;
/// A token that had more time left than this did not run out by itself.
const EARLY: i64 = 60;
/// Shortest time between two renewals that only words asked for, in milliseconds.
const WORDS_PAUSE: i64 = 60_000;

/// Which of the two sign-ins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The assistant's: reads.
    Normal,
    /// The executor's: reads and writes.
    Sandbox,
}

impl Which {
    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Sandbox => "sandbox",
        }
    }
}

/// The sign-in of one slot while the process lives. It prints nothing.
pub struct SignIn {
    path: PathBuf,
    which: Which,
    endpoint: Endpoint,
    clock: Clock,
    held: Mutex<Held>,
    /// Counts changes, so that two looks can be compared.
    generation: AtomicU64,
    /// The turn to renew, with the boot clock of the last renewal that only words asked for, in milliseconds.
    renewing: tokio::sync::Mutex<Option<i64>>,
    logins: Arc<Semaphore>,
    read_only: bool,
    kept: Kept,
    /// The turn to change what is kept, with what is held.
    saving: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
enum Held {
    Nothing,
    Bearer(Arc<SecretText>),
    /// Another server's: never sent.
    Foreign,
    Signed {
        record: Arc<Record>,
        /// Whether the disk has it.
        saved: bool,
    },
}

/// What a call was made with.
#[derive(Debug, Clone)]
pub(crate) struct Used(Option<Arc<Record>>);

/// How the server said that it does not take a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// With HTTP status 401.
    ByStatus,
    /// In the text of an error.
    InWords,
}

/// Why there is nothing to show the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPass {
    /// The sign-in is over.
    Dead,
    /// Nobody signed in.
    Missing,
    /// It has to be renewed, and that did not work now.
    NotRenewed,
    /// The server says that it does not take it, and there is nothing to renew it with.
    NotTaken,
}

impl SignIn {
    /// Reads a slot's file. No file is a sign-in too: one that nobody has made yet.
    ///
    /// # Errors
    /// [`SignInError`] when the file is not private enough, holds neither bearer nor sign-in, or is the other slot's.
    /// No error holds any of the content.
    pub fn load(path: &Path, which: Which, endpoint: Endpoint, clock: Clock) -> Result<Arc<Self>, SignInError> {
        // Nothing can be written in the folder that a service manager keeps for this process.
        let read_only = host::credentials::holds(path);
        Self::load_as(path, which, (endpoint, read_only), clock)
    }

    fn load_as(
        path: &Path,
        which: Which,
        (endpoint, read_only): (Endpoint, bool),
        clock: Clock,
    ) -> Result<Arc<Self>, SignInError> {
        let kept = if read_only { Kept::Credential } else { Kept::File };
        Self::load_kept(path, which, (endpoint, kept), clock)
    }

    /// A sign-in of this record alone, on no disk, to look before it is kept.
    pub(crate) fn candidate(&self, record: Record) -> Arc<Self> {
        Arc::new(Self {
            path: self.path.clone(),
            which: self.which,
            endpoint: self.endpoint.clone(),
            clock: self.clock.clone(),
            held: Mutex::new(Held::Signed { record: Arc::new(record), saved: true }),
            generation: AtomicU64::new(0),
            renewing: tokio::sync::Mutex::default(),
            logins: Arc::new(Semaphore::new(0)),
            read_only: true,
            kept: Kept::Credential,
            saving: tokio::sync::Mutex::default(),
        })
    }

    /// The server that it is for.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Why it cannot be used, when no `login` can replace it: it is the service manager's, and only whoever keeps it there
    /// can. Nobody is asked (issue line 3.2, exit 78).
    #[must_use]
    pub fn beyond_login(&self) -> Option<Worded> {
        let facts = self.facts();
        if !self.read_only || facts.usable {
            return None;
        }
        facts.trouble.map(|trouble| trouble.of_a_credential(&self.path))
    }

    /// Changes whenever what is sent does.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// The `Authorization` value as of now, marked sensitive, so that no debug output of an HTTP client shows it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        shown(&self.held())
    }

    /// The `Authorization` value, good for `seconds` more (or half of its life), renewed first when it is not. For a
    /// write: it never renews by itself.
    ///
    /// # Errors
    /// [`NoPass`].
    pub async fn pass(self: &Arc<Self>, seconds: i64) -> Result<(HeaderValue, u64), NoPass> {
        self.ready(seconds).await?;
        // Both of the same moment: nothing changes what is held meanwhile.
        let held = self.held();
        Ok((shown(&held).ok_or(NoPass::Missing)?, self.generation()))
    }

    /// Makes sure that a read can be sent.
    pub(crate) async fn ready_to_read(self: &Arc<Self>) -> Result<Used, NoPass> {
        self.ready(READ_MARGIN).await
    }

    async fn ready(self: &Arc<Self>, seconds: i64) -> Result<Used, NoPass> {
        self.look_in_keychain().await;
        self.look_again();
        for _ in 0..2 {
            let held = self.held().clone();
            match held {
                Held::Nothing | Held::Foreign => return Err(NoPass::Missing),
                Held::Bearer(_) => return Ok(Used(None)),
                Held::Signed { record, .. } if record.dead.is_some() => return Err(NoPass::Dead),
                Held::Signed { record, saved } => {
                    if !saved {
                        self.save(&record).await;
                    }
                    if record.lasts(seconds, self.clock.unix()) {
                        return Ok(Used(Some(record)));
                    }
                    self.renew(&record, None).await?;
                }
            }
        }
        Err(NoPass::NotRenewed)
    }

    /// After the server did not take what was `used`: whether there is something newer to try with, once.
    ///
    /// # Errors
    /// [`NoPass`].
    pub(crate) async fn renewed_after_refusal(self: &Arc<Self>, used: &Used, how: Denied) -> Result<bool, NoPass> {
        let Some(record) = &used.0 else { return Ok(false) };
        self.renew(record, Some(how)).await?;
        Ok(true)
    }

    // In a task of its own: once it is sent, the answer must be kept whoever goes on waiting.
    async fn renew(self: &Arc<Self>, stale: &Arc<Record>, denied: Option<Denied>) -> Result<(), NoPass> {
        let (me, stale) = (Arc::clone(self), Arc::clone(stale));
        let renewal = tokio::spawn(async move { me.renew_now(&stale, denied).await });
        renewal.await.unwrap_or(Err(NoPass::NotRenewed))
    }

    async fn renew_now(&self, stale: &Arc<Record>, denied: Option<Denied>) -> Result<(), NoPass> {
        let mut by_words = self.renewing.lock().await;
        if !self.still_holds(stale) {
            return self.alive();
        }
        let now = self.clock.unix();
        let over = stale.left(now).is_some_and(|left| left <= 0);
        if self.read_only {
            return Err(if over { NoPass::Dead } else { not_renewed(denied) });
        }
        let _lock = self.lock().await.map_err(|error| {
            tracing::warn!(%error, "the sign-in is not renewed");
            NoPass::NotRenewed
        })?;
        // Another process may have renewed it, or signed out, while this one waited.
        let on_disk = self.on_disk().await.map_err(|error| {
            tracing::warn!(%error, "the sign-in is not renewed");
            NoPass::NotRenewed
        })?;
        let same = matches!(&on_disk, Held::Signed { record, .. }
            if record.dead.is_none() && record.access.expose() == stale.access.expose());
        if !same {
            self.hold(on_disk);
            return self.alive();
        }
        let early = denied.is_some() && stale.left(now).is_none_or(|left| left > EARLY);
        let Some(refresh) = &stale.refresh else {
            // Words alone end nothing for good.
            if !over && denied != Some(Denied::ByStatus) {
                tracing::warn!("the sign-in has nothing to be renewed with; it is kept while its time lasts");
                return Err(not_renewed(denied));
            }
            return Err(self.bury(stale, if early { Death::Early } else { Death::RanOut }).await);
        };
        if denied == Some(Denied::InWords) && !over {
            let now = self.clock.boot_ms();
            if by_words.is_some_and(|last| now.saturating_sub(last) < WORDS_PAUSE) {
                return Err(NoPass::NotTaken);
            }
            *by_words = Some(now);
        }
        let renewed = match Net::new(self.endpoint.slot()) {
            Ok(net) => oauth::renew(&net, stale, refresh, now).await,
            Err(error) => Err(error),
        };
        match renewed {
            Ok(record) => {
                self.keep(record).await;
                Ok(())
            }
            Err(OauthError::Refused(status)) => {
                tracing::warn!(status, "the server refused to renew the sign-in");
                Err(self.bury(stale, if early { Death::Early } else { Death::Refused }).await)
            }
            Err(error) => {
                tracing::warn!(%error, "the sign-in is not renewed");
                Err(NoPass::NotRenewed)
            }
        }
    }

    fn still_holds(&self, record: &Arc<Record>) -> bool {
        matches!(&*self.held(), Held::Signed { record: held, .. } if Arc::ptr_eq(held, record))
    }

    fn alive(&self) -> Result<(), NoPass> {
        match &*self.held() {
            Held::Nothing | Held::Foreign => Err(NoPass::Missing),
            Held::Bearer(_) => Ok(()),
            Held::Signed { record, .. } if record.dead.is_some() => Err(NoPass::Dead),
            Held::Signed { .. } => Ok(()),
        }
    }

    async fn bury(&self, record: &Record, how: Death) -> NoPass {
        self.keep(record.died(how)).await;
        NoPass::Dead
    }

    async fn keep(&self, record: Record) {
        let record = Arc::new(record);
        self.hold(Held::Signed { record: Arc::clone(&record), saved: false });
        self.save(&record).await;
    }

    // What can't be saved is used all the same, and offered to the disk again at the next call.
    async fn save(&self, record: &Arc<Record>) {
        let _turn = self.saving.lock().await;
        // Something newer may have come while this one waited.
        if !self.still_holds(record) {
            return;
        }
        match self.kept.write(&self.path, &store::write(record, self.which)).await {
            Ok(()) => {
                let mut held = self.held();
                if let Held::Signed { record: now, saved } = &mut *held
                    && Arc::ptr_eq(now, record)
                {
                    *saved = true;
                }
            }
            Err(error) => tracing::error!(%error, "the renewed sign-in is not saved yet"),
        }
    }

    fn hold(&self, held: Held) {
        let mut holding = self.held();
        *holding = held;
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn lock(&self) -> Result<FileLock, SignInError> {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        let path = PathBuf::from(path);
        let wait = async {
            loop {
                if let Some(lock) = files::try_lock(&path).map_err(SignInError::File)? {
                    return Ok(lock);
                }
                tokio::time::sleep(LOCK_PAUSE).await;
            }
        };
        let held = || SignInError::Locked { path: path.clone() };
        tokio::time::timeout(LOCK_WAIT, wait).await.unwrap_or_else(|_| Err(held()))
    }

    /// Begins a sign-in: asks the server who signs people in for it, registers, and opens the callback's port (0 takes
    /// any free one).
    ///
    /// # Errors
    /// [`OauthError`]; what was held before is untouched.
    pub async fn begin(&self, port: u16) -> Result<Attempt, OauthError> {
        if self.read_only {
            return Err(OauthError::Store);
        }
        let permit = turn(&self.logins)?;
        oauth::begin(&self.endpoint, &self.clock, port, permit).await
    }

    /// Waits for the attempt, at most `wait`; `None` when the person is not done yet.
    ///
    /// # Errors
    /// [`OauthError`] when it ended without a sign-in.
    pub async fn signed(&self, attempt: &mut Attempt, wait: Duration) -> Option<Result<NewSignIn, OauthError>> {
        Some(attempt.poll(wait).await?.map(|record| NewSignIn::new(self.candidate(record))))
    }

    /// Keeps a new sign-in in the place of what was there. One that is not kept is to be forgotten at the server too.
    ///
    /// # Errors
    /// [`SignInError`] when it can't be stored; what was held before is untouched.
    pub async fn adopt(&self, new: &NewSignIn) -> Result<(), SignInError> {
        let _turn = self.renewing.lock().await;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.exists()) {
            files::ensure_private_dir(folder).map_err(SignInError::File)?;
        }
        let _lock = self.lock().await?;
        let Held::Signed { record, .. } = new.looks.held().clone() else { return Err(SignInError::Gone) };
        let _saving = self.saving.lock().await;
        self.kept.write(&self.path, &store::write(&record, self.which)).await?;
        self.hold(Held::Signed { record, saved: true });
        new.settled.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Forgets the sign-in and, where the server offers it, takes its tokens back there first. It is forgotten even
    /// when the server does not answer.
    ///
    /// # Errors
    /// [`SignInError`] when the file can't be removed; then it says so and nothing is forgotten.
    pub async fn sign_out(&self) -> Result<SignedOut, SignInError> {
        if self.read_only {
            return Err(SignInError::ReadOnly { path: self.path.clone() });
        }
        let _turn = self.renewing.lock().await;
        let _lock = self.lock().await?;
        let on_disk = self.on_disk().await.unwrap_or(Held::Nothing);
        let held = if matches!(on_disk, Held::Nothing) { self.held().clone() } else { on_disk };
        let done = match held {
            Held::Nothing => SignedOut::Nothing,
            Held::Bearer(_) => SignedOut::NotRevoked,
            // Its tokens belong to another server, whose addresses are in the record.
            Held::Foreign => SignedOut::NotRevoked,
            Held::Signed { record, .. } => match Net::new(self.endpoint.slot()) {
                Ok(net) => oauth::revoke(&net, &record).await.into(),
                Err(_) => SignedOut::NotRevoked,
            },
        };
        let _saving = self.saving.lock().await;
        self.kept.remove(&self.path).await?;
        self.hold(Held::Nothing);
        Ok(done)
    }

    /// How it is, without asking anybody.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.look_again();
        Facts::of(&self.held(), (self.which, self.read_only), self.clock.unix())
    }

    /// The same with what the server said last: `refused` when it did not take the sign-in, which is not always the end of
    /// it (a static bearer, or words alone).
    #[must_use]
    pub fn facts_after(&self, refused: bool) -> Facts {
        let facts = self.facts();
        if !refused {
            return facts;
        }
        let over = if self.read_only { Trouble::CredentialOver } else { Trouble::Over };
        // A disk that does not take what the server does not take either is no trouble.
        let known = facts.trouble.filter(|trouble| !matches!(trouble, Trouble::NotSaved(_)));
        Facts { usable: false, trouble: Some(known.unwrap_or_else(|| over(self.which))), ..facts }
    }
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIn").field("which", &self.which).finish_non_exhaustive()
    }
}

// What a caller hears of a sign-in that nothing can renew: the server's no, if there was one.
fn not_renewed(denied: Option<Denied>) -> NoPass {
    if denied.is_some() { NoPass::NotTaken } else { NoPass::NotRenewed }
}

fn shown(held: &Held) -> Option<HeaderValue> {
    match held {
        Held::Nothing | Held::Foreign => None,
        Held::Bearer(bearer) => header(bearer),
        Held::Signed { record, .. } if record.dead.is_some() => None,
        Held::Signed { record, .. } => header(&record.access),
    }
}

fn header(bearer: &SecretText) -> Option<HeaderValue> {
    let text = Zeroizing::new(format!("Bearer {}", bearer.expose()));
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// What signing out did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedOut {
    /// There was nothing.
    Nothing,
    /// It is forgotten here; the server did not confirm that it is over there.
    NotRevoked,
    /// It is over, here and at the server.
    Revoked,
}

impl From<Revoked> for SignedOut {
    fn from(done: Revoked) -> Self {
        match done {
            Revoked::Yes => Self::Revoked,
            Revoked::NotOffered | Revoked::Unconfirmed => Self::NotRevoked,
        }
    }
}

/// The turn to sign in, for as long as it is held: two at once could each end the other.
fn turn(logins: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, OauthError> {
    let own = || unguarded(RefusalCode::SignInBusy, || Arc::new(Semaphore::new(1)).try_acquire_owned().ok());
    Arc::clone(logins).try_acquire_owned().ok().or_else(own).ok_or(OauthError::Busy)
}

#[cfg(test)]
mod tests;
