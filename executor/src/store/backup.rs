//! Backup and restore. A backup is the database without any key: the audit key is a file of its own. A restore is staged,
//! checked under our own audit key, and takes the database's place at the next start, which expires every live row.

use super::audit::{self, Step};
use super::{Keys, Store, StoreError};
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use std::path::Path;

/// A staged restore, beside the database.
const STAGED: &str = "restore.db";

/// Largest backup that is taken in or out, in bytes.
pub(crate) const MOST_BYTES: u64 = 1024 * 1024 * 1024;

impl Store {
    /// A whole, consistent copy of the database as bytes.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be made; the store goes on.
    pub(crate) fn backup(&mut self) -> Result<Vec<u8>, StoreError> {
        let path = self.folder.join("backup.tmp");
        remove(&path)?;
        // Made 0600 by us: SQLite takes an empty file over as it is.
        host::files::create_private(&path, b"").map_err(|e| StoreError::File(e.to_string()))?;
        let made = self.connection.execute("VACUUM INTO ?", [path.to_string_lossy()]).map_err(StoreError::from);
        let bytes = made.and_then(|_| std::fs::read(&path).map_err(|e| StoreError::File(format!("backup: {e}"))));
        remove(&path)?;
        let bytes = bytes?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
            return Err(StoreError::File(
                "the database is larger than 1 GiB; copy the state folder while stopped".to_owned(),
            ));
        }
        Ok(bytes)
    }

    /// Stages a backup to take the database's place at the next start.
    ///
    /// # Errors
    /// [`StoreError::File`] with what is wrong: not a database of ours, damaged, from a newer program, or an audit chain
    /// that our audit key did not sign. Nothing changes then.
    pub(crate) fn stage_restore(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.folder.join(STAGED);
        remove(&path)?;
        host::files::create_private(&path, bytes).map_err(|e| StoreError::File(e.to_string()))?;
        let checked = check(&path, &self.keys);
        if checked.is_err() {
            remove(&path)?;
        }
        checked
    }
}

fn check(path: &Path, keys: &Keys) -> Result<(), StoreError> {
    let refuse = |why: &str| StoreError::File(format!("this is no backup that can be restored here: {why}"));
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let whole: String =
        connection.query_row("PRAGMA integrity_check", [], |r| r.get(0)).map_err(|_| refuse("it is not a database"))?;
    if whole != "ok" {
        return Err(refuse("it is damaged"));
    }
    let version: i64 = connection.query_row("PRAGMA user_version", [], |r| r.get(0))?;
    if !(1..=i64::try_from(super::MIGRATIONS.len()).unwrap_or(0)).contains(&version) {
        return Err(refuse("its schema is not one of this program's"));
    }
    let store_id: String = connection
        .query_row("SELECT value FROM meta WHERE key = 'store_id'", [], |r| r.get(0))
        .map_err(|_| refuse("it is not Fleetwatch's"))?;
    let theirs = Keys {
        store_id,
        audit: host::secret::Key32::from_bytes((*keys.audit.expose()).into()),
        binding: super::fresh_key()?,
        tickets: super::fresh_key()?,
    };
    let report = audit::verify(&connection, &theirs)?;
    match report.broken {
        None if report.rows > 0 => Ok(()),
        None => Err(refuse("its audit is empty")),
        Some((row, why)) => Err(refuse(&format!("audit row {row}: {why} (is audit.key the one of that time?)"))),
    }
}

/// At start, before the database is opened: a staged restore takes its place. The old one is kept beside it.
pub(super) fn apply_staged(folder: &Path) -> Result<bool, StoreError> {
    let staged = folder.join(STAGED);
    if !staged.exists() {
        return Ok(false);
    }
    let failed = |e: std::io::Error| StoreError::File(format!("restore: {e}"));
    let store = folder.join("store.db");
    for suffix in ["-wal", "-shm"] {
        let old = folder.join(format!("store.db{suffix}"));
        let kept = folder.join(format!("store.before-restore.db{suffix}"));
        if old.exists() {
            std::fs::rename(&old, &kept).map_err(failed)?;
        }
    }
    if store.exists() {
        std::fs::rename(&store, folder.join("store.before-restore.db")).map_err(failed)?;
    }
    std::fs::rename(&staged, &store).map_err(failed)?;
    Ok(true)
}

impl Store {
    /// Writes down that this database was restored.
    pub(super) fn note_restored(&mut self) -> Result<(), StoreError> {
        let step = Step { kind: "restored", proposal: None, principal: "executor", surface: "", detail: json!({}) };
        self.note(&step)
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::File(format!("{}: {error}", path.display()))),
    }
}
