//! The audit: one row per step, chained by SHA-256 and signed with a key that is not in the database.

use super::Keys;
use super::error::StoreError;
use control::message::AuditRow;
use host::secret::hex;
use protocol::canonical::Canonical;
use protocol::hello::AuditHead;
use protocol::ids::ProposalNumber;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// One step, before it is a row.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    /// What happened: `proposal`, `approval`, `denial`, `consumed`, …
    pub(crate) kind: &'a str,
    /// Of which proposal.
    pub(crate) proposal: Option<ProposalNumber>,
    /// Who did it: a principal's name, an agent's label, or `executor`.
    pub(crate) principal: &'a str,
    /// Where: `page`, `command`, `propose`, or empty.
    pub(crate) surface: &'a str,
    /// Redacted facts; never a secret, a session id or a PIN.
    pub(crate) detail: Value,
}

/// What the chain looks like from end to end.
#[derive(Debug, PartialEq, Eq)]
pub struct ChainReport {
    /// Rows that fit.
    pub rows: u64,
    /// The first row that does not fit, and why.
    pub broken: Option<(u64, String)>,
    /// Hash of the newest row that fits, in hex.
    pub head: String,
}

const GENESIS: [u8; 32] = [0; 32];

/// Appends one row inside the transaction of the step that it records.
pub(crate) fn append(tx: &Transaction<'_>, keys: &Keys, step: &Step<'_>) -> Result<(), StoreError> {
    let (sequence, previous) = newest(tx)?;
    let sequence = sequence + 1;
    let (at, boot_ms): (i64, i64) = tx.query_row("SELECT db_now(), boot_now()", [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let detail = Canonical::from_value(&step.detail).map_err(|e| StoreError::Corrupt(format!("audit detail: {e}")))?;
    let row = Row {
        sequence,
        at,
        boot_ms,
        kind: step.kind.to_owned(),
        proposal: step.proposal.map(|n| i64::try_from(n.get()).unwrap_or(i64::MAX)),
        principal: step.principal.to_owned(),
        surface: step.surface.to_owned(),
        detail: detail.as_str().to_owned(),
    };
    let hash = row.hash(&previous)?;
    tx.execute(
        "INSERT INTO audit (sequence, at, boot_ms, kind, proposal, principal, surface, detail, hash, mac)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            row.sequence,
            row.at,
            row.boot_ms,
            row.kind,
            row.proposal,
            row.principal,
            row.surface,
            row.detail,
            hex(&hash),
            hex(&sign(keys, sequence, &hash)?),
        ],
    )?;
    Ok(())
}

/// The newest row, signed: what the assistant keeps as a witness.
pub(crate) fn head(connection: &Connection, keys: &Keys) -> Result<AuditHead, StoreError> {
    let (sequence, hash) = newest(connection)?;
    let mac = sign(keys, sequence, &hash)?;
    Ok(AuditHead { sequence: u64::try_from(sequence).unwrap_or(0), hash, mac })
}

/// Whether this store's key signed the head.
pub(crate) fn signed_by_us(keys: &Keys, head: &AuditHead) -> bool {
    let Ok(sequence) = i64::try_from(head.sequence) else { return false };
    sign(keys, sequence, &head.hash).is_ok_and(|mac| host::secret::same(&mac, &head.mac))
}

/// The hash of the row with this sequence, when there is one.
pub(crate) fn hash_at(connection: &Connection, sequence: u64) -> Result<Option<[u8; 32]>, StoreError> {
    if sequence == 0 {
        return Ok(Some(GENESIS));
    }
    let found: Option<String> = connection
        .query_row("SELECT hash FROM audit WHERE sequence = ?", [i64::try_from(sequence).unwrap_or(i64::MAX)], |r| {
            r.get(0)
        })
        .optional()?;
    found.map(|text| unhex(&text)).transpose()
}

/// The rows behind `after`, oldest first, at most 100.
pub(crate) fn rows(connection: &Connection, after: u64) -> Result<Vec<AuditRow>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT sequence, at, boot_ms, kind, proposal, principal, surface, detail, hash, mac FROM audit
         WHERE sequence > ? ORDER BY sequence LIMIT 100",
    )?;
    let found = statement.query_map([i64::try_from(after).unwrap_or(i64::MAX)], |r| {
        Ok(AuditRow {
            sequence: r.get::<_, i64>(0)?.unsigned_abs(),
            at: r.get(1)?,
            boot_ms: r.get(2)?,
            kind: r.get(3)?,
            proposal: r.get::<_, Option<i64>>(4)?.map(i64::unsigned_abs),
            principal: r.get(5)?,
            surface: r.get(6)?,
            detail: r.get(7)?,
            hash: r.get(8)?,
            mac: r.get(9)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Walks the whole chain.
pub(crate) fn verify(connection: &Connection, keys: &Keys) -> Result<ChainReport, StoreError> {
    let mut report = ChainReport { rows: 0, broken: None, head: hex(&GENESIS) };
    let prepared = connection.prepare(
        "SELECT sequence, at, boot_ms, kind, proposal, principal, surface, detail, hash, mac FROM audit ORDER BY sequence",
    );
    let Ok(mut statement) = prepared else {
        report.broken = Some((1, "the audit table is gone".to_owned()));
        return Ok(report);
    };
    let mut rows = statement.query([])?;
    let mut previous = GENESIS;
    while let Some(found) = rows.next()? {
        let row = Row {
            sequence: found.get(0)?,
            at: found.get(1)?,
            boot_ms: found.get(2)?,
            kind: found.get(3)?,
            proposal: found.get(4)?,
            principal: found.get(5)?,
            surface: found.get(6)?,
            detail: found.get(7)?,
        };
        let sequence = u64::try_from(row.sequence).unwrap_or(0);
        let (hash, mac): (String, String) = (found.get(8)?, found.get(9)?);
        let Ok(wanted) = row.hash(&previous) else {
            report.broken = Some((sequence, "it holds what no row of this executor can hold".to_owned()));
            return Ok(report);
        };
        let fault = if sequence != report.rows + 1 {
            Some("a row is missing before it")
        } else if hash != hex(&wanted) {
            Some("its hash does not follow from the row before it and its own content")
        } else if mac != hex(&sign(keys, row.sequence, &wanted)?) {
            Some("its MAC is not this executor's")
        } else {
            None
        };
        if let Some(fault) = fault {
            report.broken = Some((sequence, fault.to_owned()));
            return Ok(report);
        }
        report.rows += 1;
        report.head = hash;
        previous = wanted;
    }
    Ok(report)
}

struct Row {
    sequence: i64,
    at: i64,
    boot_ms: i64,
    kind: String,
    proposal: Option<i64>,
    principal: String,
    surface: String,
    detail: String,
}

impl Row {
    fn hash(&self, previous: &[u8; 32]) -> Result<[u8; 32], StoreError> {
        let value = json!({
            "at": self.at, "boot_ms": self.boot_ms, "detail": self.detail, "kind": self.kind, "previous": hex(previous),
            "principal": self.principal, "proposal": self.proposal, "sequence": self.sequence, "surface": self.surface,
        });
        let text = Canonical::from_value(&value).map_err(|e| StoreError::Corrupt(format!("audit row: {e}")))?;
        Ok(Sha256::digest(text.as_str().as_bytes()).into())
    }
}

fn newest(connection: &Connection) -> Result<(i64, [u8; 32]), StoreError> {
    let found: Option<(i64, String)> = connection
        .query_row("SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1", [], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })
        .optional()?;
    match found {
        None => Ok((0, GENESIS)),
        Some((sequence, hash)) => Ok((sequence, unhex(&hash)?)),
    }
}

fn sign(keys: &Keys, sequence: i64, hash: &[u8; 32]) -> Result<[u8; 32], StoreError> {
    let parts: [&[u8]; 3] = [keys.store_id.as_bytes(), &sequence.to_be_bytes(), hash];
    crate::mac::sign(&keys.audit, "fleetwatch audit 1", &parts)
}

fn unhex(text: &str) -> Result<[u8; 32], StoreError> {
    super::unhex32(text).ok_or_else(|| StoreError::Corrupt("a hash is not 64 hex characters".to_owned()))
}
