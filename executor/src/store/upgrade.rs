//! From the schema of any earlier release to this one, step by step (`issue line 4.13`). A step and the number that counts
//! it are one transaction: a kill at any instant leaves the schema before it or the one behind it.

use super::{StoreError, backup};
use crate::barrier::barrier;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// Every schema step, in order; `PRAGMA user_version` counts them. A step that was released never changes: the next schema is
/// another step, with a database of this one as a fixture in `tests/upgrade`.
pub(super) const STEPS: [&str; 1] = [include_str!("schema.sql")];

/// Takes the steps that the database in `folder` has not seen. Before the first of them an older database is copied to
/// `store.schema-N.db`, since no older program can read it afterwards.
///
/// # Errors
/// [`StoreError`] when its schema is newer than this program, or a step or the copy failed; it is then as it was.
pub(super) fn upgrade(connection: &mut Connection, folder: &Path) -> Result<(), StoreError> {
    take(connection, folder, &STEPS)
}

/// The same with any list of steps.
pub(super) fn take(connection: &mut Connection, folder: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let version: usize = connection
        .query_row("PRAGMA user_version", [], |r| r.get::<_, i64>(0))
        .map(|v| usize::try_from(v).unwrap_or(usize::MAX))?;
    if version > steps.len() {
        return Err(StoreError::Newer(format!(
            "store.db has schema {version}, this program knows {}; install the newer fleetwatch again",
            steps.len()
        )));
    }
    if version > 0 && version < steps.len() {
        backup::keep_copy(connection, folder, &format!("store.schema-{version}.db"))?;
    }
    for (index, step) in steps.iter().enumerate().skip(version) {
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute_batch(step)?;
        tx.execute_batch(&format!("PRAGMA user_version = {}", index + 1))?;
        barrier("in_upgrade");
        tx.commit()?;
    }
    Ok(())
}
