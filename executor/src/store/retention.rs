//! Pruning by the classes that the schema declares. The audit keeps the story of everything that is pruned here.

use super::audit::{self, Step};
use super::{Store, StoreError};
use rusqlite::{Transaction, params};
use serde_json::json;

const DAY: i64 = 86_400;

/// When the last prune was and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pruned {
    /// Unix seconds; 0 before the first.
    pub(crate) at: i64,
    /// Rows that it removed.
    pub(crate) rows: u64,
}

impl Store {
    /// Removes what is older than its class says. One audit row when something was removed.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is removed then.
    pub(crate) fn prune(&mut self) -> Result<Pruned, StoreError> {
        self.write(|tx, keys| {
            let seen = tx.execute(
                "DELETE FROM seen WHERE at < db_now() - ?1 AND proposal NOT IN
                   (SELECT number FROM proposals WHERE state IN ('pending', 'approved', 'consumed'))",
                [days(tx, "seen")? * DAY],
            )?;
            // What was approved is named by approvals and spent log, and stays.
            let old = params![days(tx, "proposals")? * DAY];
            let which = "created_at < db_now() - ?1 AND state NOT IN ('pending', 'approved', 'consumed')
                AND number NOT IN (SELECT proposal FROM approvals)";
            tx.execute(
                &format!("DELETE FROM seen WHERE proposal IN (SELECT number FROM proposals WHERE {which})"),
                old,
            )?;
            let proposals = tx.execute(&format!("DELETE FROM proposals WHERE {which}"), old)?;
            let at = tx.query_row("SELECT db_now()", [], |r| r.get(0))?;
            if seen + proposals > 0 {
                let detail = json!({ "seen": seen, "proposals": proposals });
                audit::append(
                    tx,
                    keys,
                    &Step { kind: "pruned", proposal: None, principal: "executor", surface: "", detail },
                )?;
            }
            Ok(Pruned { at, rows: u64::try_from(seen + proposals).unwrap_or(u64::MAX) })
        })
    }
}

fn days(tx: &Transaction<'_>, table: &str) -> Result<i64, StoreError> {
    Ok(tx.query_row("SELECT days FROM retention WHERE name = ? AND class = 'days'", [table], |r| r.get(0))?)
}
