//! What a start does with the rows of the process before it: nothing is run, and nothing is left without a word.

use super::audit::{self, Step};
use super::read::{number_of, sql_number};
use super::spent::SpentAtStart;
use super::{Keys, Store, StoreError};
use protocol::hello::AuditHead;
use protocol::ids::ProposalNumber;
use rusqlite::{Connection, Transaction, params};
use serde_json::json;

/// What the start found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Started {
    /// Waiting or approved proposals that expired because the process started (`seed 000, Binding`).
    pub expired: u64,
    /// Spent or consumed without an outcome, now `unknown`.
    pub unknown: u64,
    /// Spent lines that this database does not know: it is older than the log.
    pub restored: u64,
    /// A staged backup took the database's place.
    pub backup: bool,
    /// The last line of the spent log was torn: whatever was approved then counts as spent.
    pub torn: bool,
}

/// How an assistant's witness compares with this store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WitnessVerdict {
    /// Not signed by us.
    BadMac,
    /// The same history.
    Fits,
    /// Signed by us and not in our history: an old database came back.
    Newer,
}

impl Store {
    pub(super) fn settle_start(&mut self, found: &SpentAtStart) -> Result<Started, StoreError> {
        let store_id = self.keys.store_id.clone();
        self.write(|tx, keys| {
            let mut started = Started { torn: found.torn, ..Started::default() };
            for line in &found.lines {
                let known = line.store_id == store_id && approval_is_known(tx, line.number, &line.approval)?;
                if !known {
                    let new = tx.execute(
                        "INSERT OR IGNORE INTO lost_approvals (approval, proposal, at) VALUES (?, ?, db_now())",
                        params![line.approval, sql_number(line.number)],
                    )?;
                    started.restored += u64::try_from(new).unwrap_or(0);
                } else if finish(tx, keys, line.number, End { from: "approved", to: "unknown", why: "spent before the last stop" })? {
                    started.unknown += 1;
                }
            }
            for number in numbers(tx, "consumed")? {
                finish(tx, keys, number, End { from: "consumed", to: "unknown", why: "stopped before the outcome was recorded" })?;
                started.unknown += 1;
            }
            for number in numbers(tx, "approved")? {
                // A torn line counts as spent, for whichever approval it was.
                let (to, why) = if found.torn {
                    ("unknown", "a line of the spent log is torn; it may have been this one")
                } else {
                    ("expired", "the executor started again")
                };
                finish(tx, keys, number, End { from: "approved", to, why })?;
                if found.torn { started.unknown += 1 } else { started.expired += 1 }
            }
            for number in numbers(tx, "pending")? {
                expire_pending(tx, keys, number, "the executor started again")?;
                started.expired += 1;
            }
            let detail = json!({ "expired": started.expired, "unknown": started.unknown, "restored": started.restored, "torn_spent_line": found.torn });
            audit::append(tx, keys, &Step { kind: "start", proposal: None, principal: "executor", surface: "", detail })?;
            Ok(started)
        })
    }

    /// Expires everything whose time is over on either clock, or that another boot made. Each is one audited step.
    pub(crate) fn expire_due(&mut self) -> Result<(), StoreError> {
        let boot_id = self.clock.boot_id().to_owned();
        // One transaction each: a row that cannot be expired holds up nobody else, and can still not be approved.
        for (state, number) in due_numbers(&self.connection, &boot_id)? {
            let expired = self.write(|tx, keys| match state {
                Due::Pending => expire_pending(tx, keys, number, OVER),
                Due::Approved => {
                    finish(tx, keys, number, End { from: "approved", to: "expired", why: OVER }).map(|_| ())
                }
            });
            if let Err(error) = expired {
                tracing::error!(%error, %number, "a proposal that cannot be expired");
            }
        }
        Ok(())
    }

    /// Compares an assistant's witness with our history. A newer one expires every live row and rotates the keys.
    pub(crate) fn judge_witness(&mut self, witness: &AuditHead) -> Result<WitnessVerdict, StoreError> {
        if !audit::signed_by_us(&self.keys, witness) {
            return Ok(WitnessVerdict::BadMac);
        }
        if audit::hash_at(&self.connection, witness.sequence)? == Some(witness.hash) {
            return Ok(WitnessVerdict::Fits);
        }
        self.write(|tx, keys| {
            for number in numbers(tx, "approved")? {
                finish(tx, keys, number, End { from: "approved", to: "expired", why: "an old database came back" })?;
            }
            for number in numbers(tx, "pending")? {
                expire_pending(tx, keys, number, "an old database came back")?;
            }
            let detail = json!({ "witness_sequence": witness.sequence });
            audit::append(
                tx,
                keys,
                &Step { kind: "witness_newer", proposal: None, principal: "assistant", surface: "propose", detail },
            )
        })?;
        self.keys.binding = super::fresh_key()?;
        self.keys.tickets = super::fresh_key()?;
        self.look_for_losses()?;
        Ok(WitnessVerdict::Newer)
    }
}

fn approval_is_known(tx: &Transaction<'_>, number: ProposalNumber, approval: &str) -> Result<bool, StoreError> {
    Ok(tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM approvals WHERE proposal = ? AND id = ?)",
        params![sql_number(number), approval],
        |r| r.get(0),
    )?)
}

fn numbers(tx: &Transaction<'_>, state: &str) -> Result<Vec<ProposalNumber>, StoreError> {
    let mut statement = tx.prepare("SELECT number FROM proposals WHERE state = ? ORDER BY number")?;
    let found: Vec<i64> = statement.query_map([state], |r| r.get(0))?.collect::<Result<_, _>>()?;
    found.into_iter().map(number_of).collect()
}

/// Which kind of life is over.
#[derive(Clone, Copy)]
enum Due {
    Approved,
    Pending,
}

const OVER: &str = "its time is over";

fn due_numbers(connection: &Connection, boot_id: &str) -> Result<Vec<(Due, ProposalNumber)>, StoreError> {
    let mut found = Vec::new();
    for (due, sql) in [
        (
            Due::Pending,
            "SELECT number FROM proposals WHERE state = 'pending'
               AND (expires_at <= db_now() OR expires_boot_ms <= boot_now() OR boot_id <> ?) ORDER BY number",
        ),
        (
            Due::Approved,
            "SELECT number FROM proposals JOIN approvals ON proposal = number WHERE state = 'approved'
               AND (approvals.expires_at <= db_now() OR approvals.expires_boot_ms <= boot_now()
                    OR proposals.boot_id <> ?) ORDER BY number",
        ),
    ] {
        let mut statement = connection.prepare(sql)?;
        let numbers: Vec<i64> = statement.query_map([boot_id], |r| r.get(0))?.collect::<Result<_, _>>()?;
        for number in numbers {
            found.push((due, number_of(number)?));
        }
    }
    Ok(found)
}

fn expire_pending(tx: &Transaction<'_>, keys: &Keys, number: ProposalNumber, why: &str) -> Result<(), StoreError> {
    let seen: bool =
        tx.query_row("SELECT EXISTS (SELECT 1 FROM seen WHERE proposal = ?)", [sql_number(number)], |r| r.get(0))?;
    let to = if seen { "expired_seen" } else { "expired_unseen" };
    finish(tx, keys, number, End { from: "pending", to, why })?;
    Ok(())
}

/// A step to an end state that no person asked for.
#[derive(Clone, Copy)]
struct End<'a> {
    from: &'a str,
    to: &'a str,
    why: &'a str,
}

/// One compare-and-swap to an end state with its audit row; tells whether the row was still there to move.
fn finish(tx: &Transaction<'_>, keys: &Keys, number: ProposalNumber, end: End<'_>) -> Result<bool, StoreError> {
    let End { from, to, why } = end;
    let moved = tx.execute(
        "UPDATE proposals SET state = ?1, ended_at = db_now(), detail = ?2 WHERE number = ?3 AND state = ?4",
        params![to, why, sql_number(number), from],
    )?;
    if moved == 1 {
        let kind = if to == "unknown" { "outcome" } else { "expiry" };
        let detail = json!({ "from": from, "state": to, "why": why });
        audit::append(tx, keys, &Step { kind, proposal: Some(number), principal: "executor", surface: "", detail })?;
    }
    Ok(moved == 1)
}
