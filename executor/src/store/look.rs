//! The store as `doctor` sees it. Nothing is changed, and no file of the database is opened a second time: closing it
//! would end SQLite's locks.

use super::{DATABASE, LOCK, Store, StoreError};
use host::files::{self, FileError, Owner};
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreLook {
    /// SQLite's version.
    pub(crate) sqlite: String,
    /// The journal's mode, as SQLite says it.
    pub(crate) journal: String,
    /// Whether every commit is synced.
    pub(crate) full_sync: bool,
    /// Seconds since the last backup that this audit knows.
    pub(crate) backup_age: Option<i64>,
    /// Whether this process alone holds the folder; else why not.
    pub(crate) alone: Result<(), String>,
    /// Bytes left on the disk.
    pub(crate) free: Result<u64, String>,
    /// Files with another owner or mode than they must have, or that are gone.
    pub(crate) wrong_files: Vec<String>,
}

/// SQLite's word for `synchronous=FULL`.
const FULL: i64 = 2;
/// What must be there, and what may be.
const FILES: [(&str, bool); 6] = [
    (DATABASE, true),
    ("audit.key", true),
    ("spent.log", true),
    ("page-secret", false),
    ("store.db-shm", false),
    ("store.db-wal", false),
];

impl Store {
    /// Looks at database, files, lock and disk.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer.
    pub(crate) fn look(&self) -> Result<StoreLook, StoreError> {
        let asked = |sql: &str| self.connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let last = "SELECT coalesce(max(at), -1) FROM audit WHERE kind = 'backup'";
        let (backup, now) = (asked(last)?, asked("SELECT db_now()")?);
        Ok(StoreLook {
            sqlite: rusqlite::version().to_owned(),
            journal: self.connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?,
            full_sync: asked("PRAGMA synchronous")? >= FULL,
            backup_age: (backup >= 0).then(|| (now - backup).max(0)),
            alone: self.is_alone(),
            free: files::free_bytes(&self.folder).map_err(|error| error.to_string()),
            wrong_files: FILES.iter().filter_map(|(name, needed)| self.wrong_file(name, *needed)).collect(),
        })
    }

    // The lock is held by this process, so another try on the same file must fail; it does not on a file put in its place.
    fn is_alone(&self) -> Result<(), String> {
        let path = self.folder.join(LOCK);
        let gone = |why: &str| Err(format!("{}: {why}", path.display()));
        let Ok(file) = File::open(&path) else { return gone("it is gone, so a second executor could start") };
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Err(_) => Ok(()),
            Ok(_) => gone("it was replaced, so a second executor could start"),
        }
    }

    fn wrong_file(&self, name: &str, needed: bool) -> Option<String> {
        match files::check_file(&self.folder.join(name), Owner::Me, 0o600) {
            Ok(()) => None,
            Err(FileError::NotFound { .. }) if !needed => None,
            Err(error) => Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::clock::Clock;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_healthy_store_looks_it_and_each_harm_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let (store, _) = Store::open(&state, &Clock::system().unwrap()).unwrap();
        let look = store.look().unwrap();
        assert_eq!((look.journal.as_str(), look.full_sync, look.backup_age), ("wal", true, None));
        assert_eq!((look.alone.clone(), look.wrong_files.clone()), (Ok(()), Vec::new()));
        assert!(look.free.unwrap() > 0);

        std::fs::set_permissions(state.join("audit.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::remove_file(state.join("spent.log")).unwrap();
        let wrong = store.look().unwrap().wrong_files.join("\n");
        assert!(wrong.contains("audit.key") && wrong.contains("0644") && wrong.contains("spent.log"), "{wrong}");

        std::fs::remove_file(state.join(LOCK)).unwrap();
        assert!(store.look().unwrap().alone.unwrap_err().contains("gone"));
        std::fs::write(state.join(LOCK), "").unwrap();
        assert!(store.look().unwrap().alone.unwrap_err().contains("replaced"));
    }
}
