//! Where a slot's sign-in is kept: its own 0600 file, a credential that is only read, or the login keychain of macOS.

use super::{Held, SignIn, SignInError, Which};
use crate::endpoint::Endpoint;
use crate::keychain::Keychain;
use crate::store::{self, Content, Unusable};
use host::clock::Clock;
use host::files::{self, FileError, Owner};
use host::secret::SecretText;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// The setting that says where sign-ins are kept.
pub const STORE: &str = "FLEETWATCH_TOKEN_STORE";

/// Where sign-ins are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// In a 0600 file for each slot.
    File,
    /// In the login keychain of the user, on macOS.
    Keychain,
}

/// What this value of [`STORE`] means: `file`, which is also what no value means, or on macOS `keychain`.
///
/// # Errors
/// Words for the person who set it.
pub fn check_store(word: Option<&str>) -> Result<Store, &'static str> {
    choose(word, cfg!(target_os = "macos"))
}

pub(super) fn choose(word: Option<&str>, mac: bool) -> Result<Store, &'static str> {
    match word {
        None | Some("file") => Ok(Store::File),
        Some("keychain") if mac => Ok(Store::Keychain),
        Some("keychain") => {
            Err("the Keychain is there on macOS only; take the setting away, and the sign-in is kept in a 0600 file")
        }
        Some(_) => Err(
            "must be file, or on macOS keychain; a credential of the service manager is a file too, named by the token file's setting",
        ),
    }
}

/// One slot's place. The path is the file's; the lock lies beside it in any case.
#[derive(Debug)]
pub(super) enum Kept {
    Credential,
    File,
    Keychain(Keychain),
}

impl Kept {
    /// Which of the stores it is.
    pub(super) fn store(&self) -> Store {
        match self {
            Self::Credential | Self::File => Store::File,
            Self::Keychain(_) => Store::Keychain,
        }
    }

    /// What lies there now, where looking takes no time; `None` of a keychain, which is asked with [`Self::read`].
    pub(super) fn at_hand(&self, path: &Path) -> Option<Result<Option<SecretText>, SignInError>> {
        let read = match self {
            Self::Credential => files::read_credential(path),
            Self::File => files::read_secret(path, Owner::Me),
            Self::Keychain(_) => return None,
        };
        Some(match read {
            Ok(text) => Ok(Some(text)),
            Err(FileError::NotFound { .. }) => Ok(None),
            Err(error) => Err(SignInError::File(error)),
        })
    }

    /// What lies there now.
    pub(super) async fn read(&self, path: &Path) -> Result<Option<SecretText>, SignInError> {
        match self {
            Self::Credential | Self::File => self.at_hand(path).unwrap_or(Ok(None)),
            Self::Keychain(keychain) => keychain.load().await.map_err(SignInError::Keychain),
        }
    }

    /// The same at the start, when nothing else waits.
    pub(super) fn read_now(&self, path: &Path) -> Result<Option<SecretText>, SignInError> {
        match self {
            Self::Credential | Self::File => self.at_hand(path).unwrap_or(Ok(None)),
            Self::Keychain(keychain) => keychain.load_now().map_err(SignInError::Keychain),
        }
    }

    pub(super) async fn write(&self, path: &Path, text: &[u8]) -> Result<(), SignInError> {
        match self {
            Self::Credential => Err(SignInError::ReadOnly { path: path.to_owned() }),
            Self::File => files::write_private(path, text).map_err(SignInError::File),
            Self::Keychain(keychain) => keychain.save(text).await.map_err(SignInError::Keychain),
        }
    }

    pub(super) async fn remove(&self, path: &Path) -> Result<(), SignInError> {
        match self {
            Self::Credential => Err(SignInError::ReadOnly { path: path.to_owned() }),
            Self::File => files::remove_private(path).map_err(SignInError::File),
            Self::Keychain(keychain) => keychain.remove().await.map_err(SignInError::Keychain),
        }
    }

    /// Why what lies there is no sign-in of this slot; `by_file` is what is said of a file.
    pub(super) fn unusable(&self, path: &Path, by_file: impl FnOnce(PathBuf) -> SignInError) -> SignInError {
        match self {
            Self::Credential | Self::File => by_file(path.to_owned()),
            Self::Keychain(keychain) => SignInError::Keychain(keychain.unusable()),
        }
    }
}

impl SignIn {
    /// The same from where the settings say. The keychain is asked at once, and the thread waits for it.
    ///
    /// # Errors
    /// As [`SignIn::load`], and when the keychain is to keep what already lies in a file.
    pub fn load_from(
        store: Store,
        path: &Path,
        which: Which,
        endpoint: Endpoint,
        clock: Clock,
    ) -> Result<Arc<Self>, SignInError> {
        match store {
            Store::File => Self::load(path, which, endpoint, clock),
            Store::Keychain if host::credentials::holds(path) => Err(SignInError::ReadOnly { path: path.to_owned() }),
            Store::Keychain => {
                let keychain = Keychain::of(which, endpoint.slot());
                Self::load_kept(path, which, (endpoint, Kept::Keychain(keychain)), clock)
            }
        }
    }

    pub(super) fn load_kept(
        path: &Path,
        which: Which,
        (endpoint, kept): (Endpoint, Kept),
        clock: Clock,
    ) -> Result<Arc<Self>, SignInError> {
        // Forgotten in a file it would live on there.
        if kept.store() == Store::Keychain && path.symlink_metadata().is_ok() {
            return Err(SignInError::FileToo { path: path.to_owned() });
        }
        let sign_in = Self {
            path: path.to_owned(),
            which,
            endpoint,
            clock,
            held: Mutex::new(Held::Nothing),
            generation: AtomicU64::new(0),
            renewing: tokio::sync::Mutex::default(),
            logins: Arc::new(Semaphore::new(1)),
            read_only: matches!(kept, Kept::Credential),
            kept,
            saving: tokio::sync::Mutex::default(),
        };
        let held = sign_in.understood(sign_in.kept.read_now(path)?)?;
        *sign_in.held() = held;
        Ok(Arc::new(sign_in))
    }

    /// Whether it can be read as it lies there now. No sign-in is nothing wrong.
    ///
    /// # Errors
    /// [`SignInError`]
    pub async fn check_kept(&self) -> Result<(), SignInError> {
        self.on_disk().await.map(drop)
    }

    /// Where it is kept.
    #[must_use]
    pub fn store(&self) -> Store {
        self.kept.store()
    }

    // The one that is held is good for nothing.
    fn is_hopeless(&self) -> bool {
        match &*self.held() {
            Held::Nothing | Held::Foreign => true,
            Held::Bearer(_) => false,
            Held::Signed { record, saved } => *saved && record.dead.is_some(),
        }
    }

    // Somebody may have put a sign-in in place since. A keychain, which takes its time, is asked before a call only.
    pub(super) fn look_again(&self) {
        if self.is_hopeless()
            && let Some(found) = self.kept.at_hand(&self.path)
        {
            self.take_found(found);
        }
    }

    pub(super) async fn look_in_keychain(&self) {
        if self.kept.store() == Store::Keychain && self.is_hopeless() {
            let _turn = self.saving.lock().await;
            let found = self.kept.read(&self.path).await;
            self.take_found(found);
        }
    }

    fn take_found(&self, found: Result<Option<SecretText>, SignInError>) {
        match found.and_then(|text| self.understood(text)) {
            Ok(Held::Nothing) => {}
            Ok(found) => {
                let dead = matches!(&found, Held::Signed { record, .. } if record.dead.is_some());
                if !dead && self.is_hopeless() {
                    self.hold(found);
                }
            }
            Err(error) => tracing::warn!(%error, "the sign-in that is kept"),
        }
    }

    pub(super) async fn on_disk(&self) -> Result<Held, SignInError> {
        self.understood(self.kept.read(&self.path).await?)
    }

    fn understood(&self, text: Option<SecretText>) -> Result<Held, SignInError> {
        let Some(text) = text else { return Ok(Held::Nothing) };
        Ok(match store::read(text, self.which) {
            Ok(Content::Bearer(bearer)) => Held::Bearer(Arc::new(bearer)),
            Ok(Content::Signed(record)) if record.server != self.endpoint.as_str() => Held::Foreign,
            Ok(Content::Signed(record)) => Held::Signed { record: Arc::from(record), saved: true },
            Err(Unusable::Neither) => {
                return Err(self.kept.unusable(&self.path, |path| SignInError::NotASignIn { path }));
            }
            Err(Unusable::OtherSlot) => {
                return Err(self.kept.unusable(&self.path, |path| SignInError::OtherSlot { path }));
            }
        })
    }
}
