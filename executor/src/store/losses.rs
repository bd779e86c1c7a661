//! What the audit itself says was lost (issue line 2.26). A chain with its end cut off, or an old database put back, fits by
//! itself; the row in which this executor noticed it stays, so that a restart does not make the loss unsaid.

use super::StoreError;
use rusqlite::Connection;
use serde_json::Value;

/// Most rows that an executor writes between staging a restore and its end.
const WHILE_STOPPING: u64 = 100;

/// The first row that tells of a loss nobody ordered: its sequence and what is missing. A restore by an operator leaves a row
/// of its own, and what follows from it is no loss.
pub(super) fn first(connection: &Connection) -> Result<Option<(u64, String)>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT sequence, kind, detail FROM audit WHERE kind IN ('restored', 'start', 'witness_newer') ORDER BY sequence",
    )?;
    let mut rows = statement.query([])?;
    // A restore stands before the start that takes it up, and gives up rows that the assistant may still hold.
    let mut just_restored = false;
    let mut given_up = None;
    while let Some(row) = rows.next()? {
        let (sequence, kind, detail): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let detail: Value = serde_json::from_str(&detail).unwrap_or_default();
        let number = |name: &str| detail.get(name).and_then(Value::as_u64).unwrap_or(0);
        let sequence = sequence.unsigned_abs();
        let lost = match kind.as_str() {
            "restored" => {
                just_restored = true;
                given_up = Some(number("old_sequence") + WHILE_STOPPING);
                None
            }
            "start" if !std::mem::take(&mut just_restored) && number("restored") > 0 => Some(format!(
                "rows are missing before it: {} spent approvals are not in the database; an old one came back",
                number("restored")
            )),
            // Good for one witness: the next one that is newer is a loss.
            "witness_newer" if given_up.take().is_none_or(|held| number("witness_sequence") > held) => Some(format!(
                "rows are missing before it: the assistant held row {}; the end was cut off, or an old database came back",
                number("witness_sequence")
            )),
            _ => None,
        };
        if let Some(lost) = lost {
            return Ok(Some((sequence, lost)));
        }
    }
    Ok(None)
}
