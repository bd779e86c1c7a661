//! The store: the one durable truth about proposals, approvals and outcomes (`seed 000, Proposal store`).
//!
//! One SQLite connection, owned by one thread. Every arrow of a proposal's life is one `IMMEDIATE` transaction with its
//! audit row, under WAL and `synchronous=FULL`.

mod acks;
mod agents;
mod asked;
pub(crate) mod audit;
pub(crate) mod backup;
mod consume;
mod error;
mod freeze;
mod handle;
mod look;
mod losses;
mod moves;
mod outcome;
mod proposal;
mod read;
pub(crate) mod retention;
mod slices;
mod spent;
mod start;
mod upgrade;

pub(crate) use asked::Asked;
pub use audit::ChainReport;
pub use consume::ConsumedApproval;
pub use error::StoreError;
pub(crate) use handle::StoreHandle;
pub(crate) use look::StoreLook;
pub use outcome::Outcome;
pub(crate) use outcome::{Ending, Spent};
pub use proposal::{Limits, NewProposal, StoredProposal};
pub(crate) use read::ProposalRow;
pub use start::Started;
pub(crate) use start::WitnessVerdict;

use audit::Step;
use host::clock::Clock;
use host::secret::{Key32, hex, random_bytes};
use nix::fcntl::{Flock, FlockArg};
use protocol::hello::AuditHead;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use spent::SpentLog;
use std::fs::File;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// SQLite before this version can corrupt a database in WAL mode.
const OLDEST_SQLITE: i32 = 3_051_003;

/// The database, in the state folder.
const DATABASE: &str = "store.db";

/// The secrets that sign. The audit key is a file; the other two live in memory and die with the process, and every live
/// approval with them (`seed 000, Binding`).
pub(crate) struct Keys {
    pub(crate) store_id: String,
    pub(crate) audit: Key32,
    pub(crate) binding: Key32,
    pub(crate) tickets: Key32,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// The open store.
#[derive(Debug)]
pub struct Store {
    // Held for as long as the store is open: a second executor on the same folder stops before it touches a row.
    _alone: Flock<File>,
    connection: Connection,
    spent: SpentLog,
    keys: Keys,
    clock: Clock,
    folder: PathBuf,
    // Whether a row tells of a loss; looked for at the start, and when a witness is newer.
    lost: bool,
}

impl Store {
    /// Opens or makes the store in `folder` (0700, ours): `store.db`, `spent.log`, `audit.key`. Then settles what the
    /// last process left, as [`Started`] tells.
    ///
    /// # Errors
    /// [`StoreError`] when a file has another owner or mode, the SQLite library is too old, the schema is newer than this
    /// program, or `audit.key` is missing beside a database.
    pub fn open(folder: &Path, clock: &Clock) -> Result<(Self, Started), StoreError> {
        Self::open_in(folder, clock).map_err(|error| error.at_start(folder))
    }

    fn open_in(folder: &Path, clock: &Clock) -> Result<(Self, Started), StoreError> {
        check_sqlite(rusqlite::version_number())?;
        host::files::ensure_private_dir(folder)
            .and_then(|()| host::files::check_dir(folder, host::files::Owner::Me, 0o700))
            .map_err(|e| StoreError::File(e.to_string()))?;
        let alone = lock(folder)?;
        let restored = backup::apply_staged(folder)?;
        let path = folder.join(DATABASE);
        let existed = path.exists();
        // Made by us with 0600 before SQLite sees it: SQLite gives the WAL and its index the mode of the database.
        drop(host::files::append_open(&path).map_err(|e| StoreError::File(e.to_string()))?);
        let mut connection = Connection::open(&path)?;
        prepare(&connection, clock)?;
        check_whole(&connection)?;
        upgrade::upgrade(&mut connection, folder)?;
        let audit = audit_key(&folder.join("audit.key"), existed && has_rows(&connection)?)?;
        let store_id = store_id(&connection)?;
        let keys = Keys { store_id, audit, binding: fresh_key()?, tickets: fresh_key()? };
        let (spent, found) = SpentLog::open(&folder.join("spent.log"))?;
        let mut store = Self {
            _alone: alone,
            connection,
            spent,
            keys,
            clock: clock.clone(),
            folder: folder.to_owned(),
            lost: false,
        };
        if let Some(carried) = &restored {
            store.note_restored(carried)?;
        }
        let started = Started { backup: restored.is_some(), ..store.settle_start(&found)? };
        store.look_for_losses()?;
        Ok((store, started))
    }

    /// Says which sign-in slot this store is for. A folder that was used with another one is refused: the simulator's
    /// proposals never lie beside real ones.
    ///
    /// # Errors
    /// [`StoreError::File`] with what to do.
    pub(crate) fn claim(&mut self, slot: &str) -> Result<(), StoreError> {
        let found: String = self.write(|tx, _| {
            tx.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('slot', ?)", [slot])?;
            Ok(tx.query_row("SELECT value FROM meta WHERE key = 'slot'", [], |r| r.get(0))?)
        })?;
        if found == slot {
            return Ok(());
        }
        Err(StoreError::File(format!(
            "this state folder belongs to the slot {found:?}; give the slot {slot:?} a folder of its own"
        )))
    }

    /// The newest audit row, signed.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn audit_head(&self) -> Result<AuditHead, StoreError> {
        audit::head(&self.connection, &self.keys)
    }

    /// The audit's rows behind `after`, oldest first, at most 100.
    pub(crate) fn audit_rows(&self, after: u64) -> Result<Vec<control::message::AuditRow>, StoreError> {
        audit::rows(&self.connection, after)
    }

    /// Whether a row of the audit tells that others were lost, from this start or an earlier one.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost
    }

    fn look_for_losses(&mut self) -> Result<(), StoreError> {
        self.lost = losses::first(&self.connection)?.is_some();
        Ok(())
    }

    /// Walks the whole audit chain, and names the row that tells of a loss when the chain fits.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn verify_audit(&self) -> Result<ChainReport, StoreError> {
        let report = audit::verify(&self.connection, &self.keys)?;
        if report.broken.is_some() {
            return Ok(report);
        }
        Ok(match losses::first(&self.connection)? {
            Some((row, lost)) => ChainReport { rows: row - 1, broken: Some((row, lost)), ..report },
            None => report,
        })
    }

    /// Empties the write-ahead log into the database, so that a copy of `store.db` taken while stopped is whole.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be written; the log then stays, and nothing is lost.
    pub(crate) fn settle_stop(&mut self) -> Result<(), StoreError> {
        Ok(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Appends one audit row of its own.
    pub(crate) fn note(&mut self, step: &Step<'_>) -> Result<(), StoreError> {
        self.write(|tx, keys| audit::append(tx, keys, step))
    }

    /// One durable transaction. Anything but a clean commit rolls back.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &Keys) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&tx, &self.keys)?;
        tx.commit()?;
        Ok(done)
    }
}

/// Held by the one executor of a folder.
const LOCK: &str = "store.lock";

/// Whether this SQLite, in its own numbering, keeps what it is given.
fn check_sqlite(version: i32) -> Result<(), StoreError> {
    if version >= OLDEST_SQLITE {
        return Ok(());
    }
    let [major, minor, patch] = [version / 1_000_000, version / 1_000 % 1_000, version % 1_000];
    Err(StoreError::Corrupt(format!(
        "SQLite {major}.{minor}.{patch} is too old; 3.51.3 or newer is needed; install a fleetwatch that brings it"
    )))
}

fn lock(folder: &Path) -> Result<Flock<File>, StoreError> {
    let path = folder.join(LOCK);
    let file = host::files::append_open(&path).map_err(|e| {
        StoreError::File(format!(
            "{e}; make the state folder writable for this user and its disk not full or read-only, then start again"
        ))
    })?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| {
        StoreError::File(format!("{} is held: another executor uses this folder; stop it first", path.display()))
    })
}

fn prepare(connection: &Connection, clock: &Clock) -> Result<(), StoreError> {
    use rusqlite::config::DbConfig;
    use rusqlite::functions::FunctionFlags;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The database clock: read by the statement itself, inside its transaction.
    let wall = clock.clone();
    connection.create_scalar_function("db_now", 0, FunctionFlags::SQLITE_UTF8, move |_| Ok(wall.unix()))?;
    let boot = clock.clone();
    connection.create_scalar_function("boot_now", 0, FunctionFlags::SQLITE_UTF8, move |_| Ok(boot.boot_ms()))?;
    Ok(())
}

/// A damaged database stops the start: nothing is decided on what may be half a row.
fn check_whole(connection: &Connection) -> Result<(), StoreError> {
    let whole: String = connection.query_row("PRAGMA quick_check(1)", [], |r| r.get(0))?;
    if whole == "ok" { Ok(()) } else { Err(StoreError::Damaged(whole)) }
}

fn has_rows(connection: &Connection) -> Result<bool, StoreError> {
    Ok(connection.query_row("SELECT EXISTS (SELECT 1 FROM audit)", [], |r| r.get(0))?)
}

fn store_id(connection: &Connection) -> Result<String, StoreError> {
    let fresh = hex(&random_bytes::<16>().map_err(|e| StoreError::File(e.to_string()))?);
    connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('store_id', ?)", [fresh])?;
    Ok(connection.query_row("SELECT value FROM meta WHERE key = 'store_id'", [], |r| r.get(0))?)
}

fn fresh_key() -> Result<Key32, StoreError> {
    Key32::random().map_err(|e| StoreError::File(e.to_string()))
}

fn audit_key(path: &Path, needed: bool) -> Result<Key32, StoreError> {
    if !path.exists() {
        if needed {
            return Err(StoreError::File(format!(
                "{} is missing although store.db holds an audit; restore both from one backup, or move store.db and spent.log away",
                path.display()
            )));
        }
        let key = fresh_key()?;
        host::files::create_private(path, hex(key.expose()).as_bytes()).map_err(|e| StoreError::File(e.to_string()))?;
    }
    let text = host::files::read_secret(path, host::files::Owner::Me).map_err(|e| StoreError::File(e.to_string()))?;
    let bytes = unhex32(text.expose()).ok_or_else(|| {
        StoreError::File(format!("{} is not 64 hex characters; restore it from a backup", path.display()))
    })?;
    Ok(Key32::from_bytes(Zeroizing::new(bytes)))
}

/// 32 bytes from 64 hexadecimal characters.
pub(crate) fn unhex32(text: &str) -> Option<[u8; 32]> {
    let mut out = [0u8; 32];
    let pairs = text.as_bytes().chunks_exact(2);
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (slot, pair) in out.iter_mut().zip(pairs) {
        *slot = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests;
