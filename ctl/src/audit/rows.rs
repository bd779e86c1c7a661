//! The audit's rows as the executor gives them, page by page, each with the hash of the row before it.

use crate::client::{ClientError, Control, Places};
use control::message::{AuditRow, ExecutorSays, OperatorSays};
use serde_json::{Value, json};

/// What stands for the hash of the row before the first.
pub(crate) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One row and the hash that it builds on.
#[derive(Debug, Clone)]
pub(crate) struct Linked {
    /// The row.
    pub(crate) row: AuditRow,
    /// Hash of the row before.
    pub(crate) previous: String,
}

/// Rows behind some place, in order.
#[derive(Debug)]
pub(crate) struct Rows {
    control: Control,
    after: u64,
    previous: String,
}

impl Rows {
    /// The rows behind `after`; nothing when there is no row `after`.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn behind(places: &Places, after: u64) -> Result<Option<Self>, ClientError> {
        let mut control = Control::open(places).await?;
        if after == 0 {
            return Ok(Some(Self { control, after, previous: GENESIS.to_owned() }));
        }
        let found = asked(&mut control, after - 1).await?;
        let before = found.into_iter().next().filter(|row| row.sequence == after);
        Ok(before.map(|row| Self { control, after, previous: row.hash }))
    }

    /// The next rows; none at the end, for now.
    ///
    /// # Errors
    /// [`ClientError`], also for rows that are out of order.
    pub(crate) async fn next(&mut self) -> Result<Vec<Linked>, ClientError> {
        let mut linked = Vec::new();
        for row in asked(&mut self.control, self.after).await? {
            if row.sequence <= self.after {
                return Err(Control::surprise());
            }
            self.after = row.sequence;
            let previous = std::mem::replace(&mut self.previous, row.hash.clone());
            linked.push(Linked { row, previous });
        }
        Ok(linked)
    }
}

async fn asked(control: &mut Control, after: u64) -> Result<Vec<AuditRow>, ClientError> {
    let ExecutorSays::AuditRows(rows) = control.ask(OperatorSays::AuditRows { after }).await? else {
        return Err(Control::surprise());
    };
    Ok(rows)
}

/// One row as a line of an export. `hash` is the SHA-256 of the canonical JSON of all the others but `mac`.
pub(crate) fn row_json(linked: &Linked) -> Value {
    let row = &linked.row;
    json!({
        "sequence": row.sequence,
        "at": row.at,
        "boot_ms": row.boot_ms,
        "kind": row.kind,
        "proposal": row.proposal,
        "principal": row.principal,
        "surface": row.surface,
        "detail": row.detail,
        "previous": linked.previous,
        "hash": row.hash,
        "mac": row.mac,
    })
}

/// A row's time in UTC.
pub(crate) fn time(at: i64) -> String {
    jiff::Timestamp::from_second(at).map_or_else(|_| at.to_string(), |time| time.to_string())
}
