//! Who may decide. A person is a row of `principals.yaml` with `operator: true`; nobody else is one.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use control::pin::PinEntry;
use host::clock::Clock;
use host::files::{self, Owner};
use policy::limits;
use policy::principals::{Principal, Principals};
use protocol::guard::stands;
use protocol::ids::Label;
use protocol::refusal::{Refusal, RefusalCode};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::ConfigError;

/// How long five wrong PINs lock that person's PIN, in milliseconds on the boot clock.
const LOCK_MS: i64 = 15 * 60 * 1_000;

/// A person on the operators list. Made only here, from the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    name: Label,
    uid: u32,
    /// How often the PIN was set since start: a session that an older PIN opened is not this person any more.
    pins: u64,
}

impl Person {
    /// The name that rows and audit hold.
    #[must_use]
    pub fn name(&self) -> &Label {
        &self.name
    }

    /// A person that no file names, for this crate's own tests.
    #[cfg(test)]
    pub(crate) fn dangerous_made_up(name: &str, uid: u32) -> Self {
        Self { name: Label::new(name).expect("a label"), uid, pins: 0 }
    }

    pub(crate) fn uid(&self) -> u32 {
        self.uid
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Tries {
    wrong: u32,
    locked_until: i64,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    clock: Clock,
    people: Mutex<Principals>,
    tries: Mutex<BTreeMap<Label, Tries>>,
    pins: Mutex<BTreeMap<Label, u64>>,
}

/// The list, as read at start and as PINs are set. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    inner: Arc<Inner>,
}

impl Registry {
    /// Reads `principals.yaml`. An empty list is fine: then nobody can approve.
    pub(crate) fn load(path: &Path, clock: &Clock) -> Result<Self, ConfigError> {
        let text = files::read_settings(path, Owner::RootOrMe).map_err(|e| ConfigError(e.to_string()))?;
        let people = Principals::parse(&text, &path.display().to_string()).map_err(|e| ConfigError(e.to_string()))?;
        let inner = Inner {
            path: path.to_owned(),
            clock: clock.clone(),
            people: Mutex::new(people),
            tries: Mutex::default(),
            pins: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    fn people(&self) -> Principals {
        self.inner.people.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn person(&self, principal: &Principal) -> Option<Person> {
        let pins = self.inner.pins.lock().unwrap_or_else(PoisonError::into_inner);
        principal.is_operator().then(|| Person {
            name: principal.name().clone(),
            uid: principal.uid(),
            pins: pins.get(principal.name()).copied().unwrap_or(0),
        })
    }

    /// The operator with this uid.
    pub(crate) fn person_of_uid(&self, uid: u32) -> Option<Person> {
        self.people().person_of_uid(uid).and_then(|principal| self.person(principal))
    }

    /// The operator with this name, or the only one.
    pub(crate) fn person_named(&self, name: Option<&str>) -> Option<Person> {
        let people = self.people();
        let mut operators = people.operators();
        match name {
            Some(name) => operators.find(|p| p.name().as_str() == name).and_then(|p| self.person(p)),
            None => {
                let first = operators.next().and_then(|p| self.person(p));
                if operators.next().is_some() { None } else { first }
            }
        }
    }

    /// How many operators there are.
    pub(crate) fn operators(&self) -> usize {
        self.people().operators().count()
    }

    /// Whether any operator can approve with a PIN.
    pub(crate) fn any_pin(&self) -> bool {
        self.people().operators().any(|p| p.pin().is_some())
    }

    /// Whether this person can approve with a PIN.
    pub(crate) fn has_pin(&self, person: &Person) -> bool {
        self.people().person_of_uid(person.uid).is_some_and(|p| p.pin().is_some())
    }

    /// Operators without a PIN.
    pub(crate) fn without_pin(&self) -> Vec<String> {
        self.people().operators().filter(|p| p.pin().is_none()).map(|p| p.name().to_string()).collect()
    }

    /// Whether the file still holds the list that is in use; what is wrong with it when it cannot be read.
    pub(crate) fn is_on_disk(&self) -> Result<bool, String> {
        let text = files::read_settings(&self.inner.path, Owner::RootOrMe).map_err(|error| error.to_string())?;
        let people = Principals::parse(&text, "principals.yaml").map_err(|error| error.to_string())?;
        Ok(people == self.people())
    }

    /// Whether the person is still on the list under the same PIN: rights are looked up again inside every decision.
    pub(crate) fn still_operates(&self, person: &Person) -> bool {
        self.person_of_uid(person.uid).as_ref() == Some(person) || !stands(RefusalCode::NotPermitted)
    }

    /// The operators' list as text, for the policy slice: names and uids, never PINs.
    pub(crate) fn slice_text(&self) -> String {
        self.people().slice_text()
    }

    /// Whether the person's PIN is locked now.
    pub(crate) fn is_locked(&self, person: &Person) -> bool {
        let tries = self.inner.tries.lock().unwrap_or_else(PoisonError::into_inner);
        tries.get(&person.name).is_some_and(|tries| self.inner.clock.boot_ms() < tries.locked_until)
    }

    /// Whether this is the person's PIN. Five wrong tries lock it for a quarter of an hour.
    pub(crate) async fn check_pin(&self, person: &Person, entry: &PinEntry) -> Result<(), Refusal> {
        let stored = self.people().person_of_uid(person.uid).and_then(|p| p.pin().map(str::to_owned));
        let Some(stored) = stored else {
            return if stands(RefusalCode::NoPin) { Err(Refusal::bare(RefusalCode::NoPin)) } else { Ok(()) };
        };
        self.count_try(person)?;
        let entry = entry.clone();
        let right = blocking(move || {
            PasswordHash::new(&stored)
                .is_ok_and(|hash| Argon2::default().verify_password(entry.expose().as_bytes(), &hash).is_ok())
        })
        .await?;
        if !right && stands(RefusalCode::WrongPin) {
            return Err(Refusal::bare(RefusalCode::WrongPin));
        }
        self.inner.tries.lock().unwrap_or_else(PoisonError::into_inner).remove(&person.name);
        Ok(())
    }

    /// Counts the try before it is checked, so that tries side by side cannot outrun the limit.
    fn count_try(&self, person: &Person) -> Result<(), Refusal> {
        let now = self.inner.clock.boot_ms();
        let mut tries = self.inner.tries.lock().unwrap_or_else(PoisonError::into_inner);
        let tries = tries.entry(person.name.clone()).or_default();
        if now < tries.locked_until && stands(RefusalCode::PinLocked) {
            let minutes = (tries.locked_until - now).div_euclid(60_000) + 1;
            return Err(Refusal::new(RefusalCode::PinLocked, &format!("again in {minutes} minutes")));
        }
        tries.wrong += 1;
        if tries.wrong >= limits::PIN_TRIES {
            *tries = Tries { wrong: 0, locked_until: now + LOCK_MS };
        }
        Ok(())
    }

    /// Sets a person's PIN. `verified` says that the present one was just checked; the first one needs none.
    ///
    /// # Errors
    /// `wrong_pin` when there is a present one that was not checked or that changed meanwhile, `bad_arguments` for a short
    /// one, `store_failed`. The old PIN then stands.
    pub(crate) async fn set_pin(&self, person: &Person, verified: bool, new: &PinEntry) -> Result<(), Refusal> {
        let present = |people: &Principals| people.person_of_uid(person.uid).and_then(|p| p.pin().map(str::to_owned));
        let before = present(&self.people());
        if before.is_some() && !verified && stands(RefusalCode::WrongPin) {
            return Err(Refusal::new(RefusalCode::WrongPin, "the present PIN is needed"));
        }
        let short = new.expose().chars().count() < limits::PIN_LENGTH;
        if short && stands(RefusalCode::BadArguments) {
            return Err(Refusal::new(
                RefusalCode::BadArguments,
                &format!("the PIN needs at least {} characters", limits::PIN_LENGTH),
            ));
        }
        let salt = host::secret::random_bytes::<16>().map_err(|_| Refusal::bare(RefusalCode::StoreFailed))?;
        let new = new.clone();
        let phc = blocking(move || {
            Argon2::default().hash_password_with_salt(new.expose().as_bytes(), &salt).map(|hash| hash.to_string()).ok()
        })
        .await?
        .ok_or_else(|| Refusal::bare(RefusalCode::StoreFailed))?;
        let mut people = self.inner.people.lock().unwrap_or_else(PoisonError::into_inner);
        // Hashing took time: another one may have been first.
        if present(&people) != before {
            return Err(Refusal::new(RefusalCode::WrongPin, "the PIN was changed meanwhile"));
        }
        // The file is the truth: what an administrator wrote since the start must not be undone here.
        let written = files::read_settings(&self.inner.path, Owner::RootOrMe)
            .ok()
            .and_then(|text| Principals::parse(&text, "principals.yaml").ok());
        if written.as_ref() != Some(&*people) {
            let detail = "principals.yaml was edited since the start; start the executor again first";
            return Err(Refusal::new(RefusalCode::StoreFailed, detail));
        }
        let Some(changed) = people.with_pin(person.name.as_str(), &phc) else {
            return Err(Refusal::bare(RefusalCode::NotPermitted));
        };
        files::write_private(&self.inner.path, changed.to_yaml().as_bytes()).map_err(|error| {
            tracing::error!(%error, "principals.yaml");
            Refusal::new(RefusalCode::StoreFailed, "principals.yaml could not be written")
        })?;
        *people = changed;
        let mut pins = self.inner.pins.lock().unwrap_or_else(PoisonError::into_inner);
        *pins.entry(person.name.clone()).or_insert(0) += 1;
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Refusal::bare(RefusalCode::StoreFailed))
}

#[cfg(test)]
#[path = "principals_tests.rs"]
mod tests;
