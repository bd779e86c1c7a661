//! Backup and restore. A backup is the database without any key: the audit key is a file of its own. A restore is staged,
//! checked under our own audit key, and takes the database's place at the next start, which expires every live row.

use super::audit::{self, Step};
use super::{Keys, Store, StoreError};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::path::Path;

/// A staged restore, beside the database.
const STAGED: &str = "restore.db";
/// What goes with it.
const CARRIED: &str = "restore.json";

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

    /// Stages a backup to take the database's place at the next start. Nothing stands under the staged name before it is
    /// checked and its audit row is written.
    ///
    /// # Errors
    /// [`StoreError::File`] with what is wrong: not a database of ours, damaged, from a newer program, or an audit chain
    /// that our audit key did not sign. Nothing changes then.
    pub(crate) fn stage_restore(&mut self, bytes: &[u8], person: &str, surface: &str) -> Result<(), StoreError> {
        let path = self.folder.join("restore.tmp");
        remove(&path)?;
        let staged = self.stage(&path, bytes, person, surface);
        if staged.is_err() {
            remove(&path)?;
        }
        staged
    }

    fn stage(&mut self, path: &Path, bytes: &[u8], person: &str, surface: &str) -> Result<(), StoreError> {
        host::files::create_private(path, bytes).map_err(|e| StoreError::File(e.to_string()))?;
        check(path, &self.keys)?;
        let (sequence, paused) = (self.audit_head()?.sequence, self.paused_agents()?);
        let carried = json!({ "by": person, "old_sequence": sequence, "frozen": self.is_frozen()?, "paused": paused });
        let step = Step { kind: "restore_staged", proposal: None, principal: person, surface, detail: carried.clone() };
        self.note(&step)?;
        // What the backup cannot know goes with it: who restored it, a freeze, paused agents.
        host::files::write_private(&self.folder.join(CARRIED), carried.to_string().as_bytes())
            .map_err(|e| StoreError::File(e.to_string()))?;
        std::fs::rename(path, self.folder.join(STAGED)).map_err(|e| StoreError::File(format!("restore: {e}")))
    }
}

/// A whole copy of the database beside it, under this name, private and on the disk; in the place of an older one.
pub(super) fn keep_copy(connection: &Connection, folder: &Path, name: &str) -> Result<(), StoreError> {
    let failed = |e: std::io::Error| StoreError::File(format!("{name}: {e}"));
    let path = folder.join("upgrade.tmp");
    remove(&path)?;
    // Made 0600 by us: SQLite takes an empty file over as it is.
    host::files::create_private(&path, b"").map_err(|e| StoreError::File(e.to_string()))?;
    connection.execute("VACUUM INTO ?", [path.to_string_lossy()])?;
    std::fs::File::open(&path).and_then(|file| file.sync_all()).map_err(failed)?;
    std::fs::rename(&path, folder.join(name)).map_err(failed)?;
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
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
    if !(1..=i64::try_from(super::upgrade::STEPS.len()).unwrap_or(0)).contains(&version) {
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

/// At start, before the database is opened: a staged restore takes its place. Every older one is kept beside it. Gives what
/// the old database had to say to the new one.
pub(super) fn apply_staged(folder: &Path) -> Result<Option<Value>, StoreError> {
    let staged = folder.join(STAGED);
    if !staged.exists() {
        return Ok(None);
    }
    let carried = host::files::read_secret(&folder.join(CARRIED), host::files::Owner::Me)
        .ok()
        .and_then(|text| serde_json::from_str(text.expose()).ok())
        .ok_or_else(|| {
            let staged = staged.display();
            StoreError::File(format!("{staged} was not staged by this program; move it away and restore again"))
        })?;
    let failed = |e: std::io::Error| StoreError::File(format!("restore: {e}"));
    let kept = (1..).map(|n| format!("store.before-restore-{n}.db")).find(|name| !folder.join(name).exists());
    let kept = kept.ok_or_else(|| StoreError::File("restore: no name is left for the old database".to_owned()))?;
    for suffix in ["-wal", "-shm", ""] {
        let old = folder.join(format!("store.db{suffix}"));
        if old.exists() {
            std::fs::rename(&old, folder.join(format!("{kept}{suffix}"))).map_err(failed)?;
        }
    }
    std::fs::rename(&staged, folder.join(super::DATABASE)).map_err(failed)?;
    Ok(Some(carried))
}

impl Store {
    /// Writes down that this database was restored, by whom and over what; a freeze and paused agents go on.
    pub(super) fn note_restored(&mut self, carried: &Value) -> Result<(), StoreError> {
        let by = carried.get("by").and_then(Value::as_str).unwrap_or("executor").to_owned();
        let frozen = carried.get("frozen").and_then(Value::as_bool).unwrap_or(true);
        let paused = carried.get("paused").and_then(Value::as_array).cloned().unwrap_or_default();
        self.write(|tx, keys| {
            if frozen {
                tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('frozen', ?)", [&by])?;
            }
            for agent in paused.iter().filter_map(Value::as_str) {
                tx.execute(
                    "INSERT INTO agents (label, paused_at) VALUES (?, db_now())
                     ON CONFLICT (label) DO UPDATE SET paused_at = db_now()",
                    [agent],
                )?;
            }
            let step = Step { kind: "restored", proposal: None, principal: &by, surface: "", detail: carried.clone() };
            audit::append(tx, keys, &step)
        })?;
        remove(&self.folder.join(CARRIED))
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::File(format!("{}: {error}", path.display()))),
    }
}
