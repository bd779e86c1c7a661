//! Proposals: admitted under the limits, loaded only when their MAC fits.

use super::asked::{Asked, recorded_answer};
use super::audit::{self, Step};
use super::read::{number_of, sql_number};
use super::{Keys, Store, StoreError};
use crate::binding::BoundRecord;
use policy::limits;
use protocol::guard::stands;
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{Origin, ProposalState};
use protocol::refusal::{Refusal, RefusalCode};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde_json::json;

/// Counts that a proposal must stay under. 0 means none allowed (`seed 000, Limits against approval fatigue`).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Waiting at once.
    pub pending: u64,
    /// Per rolling hour.
    pub per_hour: u64,
    /// Denials of the same change before it pauses.
    pub denials: u64,
}

impl Limits {
    /// Seed 000's numbers.
    pub const EPIPHAN: Self =
        Self { pending: limits::PENDING, per_hour: limits::PER_HOUR, denials: limits::DENIALS_BEFORE_PAUSE };
}

/// An admitted change on its way into the store. Texts named so are canonical.
#[derive(Debug, Clone)]
pub struct NewProposal {
    /// The assistant's request id.
    pub request: Label,
    /// Whose limits it counts against.
    pub workspace: &'static str,
    /// The agent's label.
    pub agent: Label,
    /// Who drafted it.
    pub origin: Origin,
    /// The connection that carried it; closing that withdraws it.
    pub turn: String,
    /// The tool.
    pub tool: String,
    /// Canonical arguments.
    pub arguments: String,
    /// Canonical list of target ids.
    pub targets: String,
    /// Canonical fingerprint.
    pub fingerprint: String,
    /// Canonical referents.
    pub referents: String,
    /// The schema's version.
    pub schema_version: i64,
    /// The slice's version.
    pub policy_version: i64,
    /// Sign-in slot.
    pub slot: &'static str,
    /// The drafter's words.
    pub reason: String,
    /// Canonical trace of the gates.
    pub gates: String,
}

/// A proposal whose MAC fits its row: the bound record, and when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredProposal {
    number: ProposalNumber,
    record: BoundRecord,
    mac: String,
    state: ProposalState,
    created_at: i64,
}

impl StoredProposal {
    /// Its number.
    #[must_use]
    pub fn number(&self) -> ProposalNumber {
        self.number
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> ProposalState {
        self.state
    }

    /// The tool's name.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.record.tool
    }

    /// The canonical arguments.
    #[must_use]
    pub fn arguments(&self) -> &str {
        &self.record.arguments
    }

    pub(crate) fn record(&self) -> &BoundRecord {
        &self.record
    }

    pub(crate) fn mac(&self) -> &str {
        &self.mac
    }

    pub(crate) fn created_at(&self) -> i64 {
        self.created_at
    }

    /// One whose MAC nobody checked, for tests of what is made of it.
    #[cfg(test)]
    pub(crate) fn dangerous_made_up(number: ProposalNumber, record: BoundRecord) -> Self {
        Self { number, created_at: record.expires_at, record, mac: String::new(), state: ProposalState::Pending }
    }
}

impl Store {
    /// Stores an admitted change as pending. The limits are counted inside the inserting transaction.
    ///
    /// # Errors
    /// A refusal (`queue_full`, `hourly_limit`, `paused_after_denials`, `id_conflict`), or [`StoreError`].
    pub fn admit(&mut self, new: &NewProposal, limits: Limits) -> Result<ProposalNumber, StoreError> {
        self.expire_due()?;
        let boot_id = self.clock.boot_id().to_owned();
        self.write(|tx, keys| {
            if let Some(number) = recorded_answer(tx, &Asked::of(new))? {
                return Ok(number);
            }
            check_limits(tx, new, limits)?;
            insert(tx, keys, new, &boot_id)
        })
    }

    /// What the limits say before anything is read; the inserting transaction counts again.
    /// `change` is its tool and canonical targets, when they were understood.
    pub(crate) fn limits_allow(
        &mut self,
        workspace: &str,
        agent: &Label,
        change: Option<(&str, &str)>,
        limits: Limits,
    ) -> Result<(), StoreError> {
        self.expire_due()?;
        super::freeze::check(&self.connection)?;
        super::agents::check(&self.connection, agent)?;
        counts(&self.connection, workspace, limits)?;
        change.map_or(Ok(()), |change| denials(&self.connection, change, limits))
    }

    /// A proposal whose MAC fits.
    ///
    /// # Errors
    /// `unknown_proposal`, `binding_mismatch` when the row is not what was bound, or [`StoreError`].
    pub fn load(&mut self, number: ProposalNumber) -> Result<StoredProposal, StoreError> {
        load(&self.connection, &self.keys, number)
    }

    /// Marks that a person saw the card in full, and when last. Read by nothing but the word `expired_seen` and the audit of
    /// a denial.
    pub(crate) fn mark_seen(&mut self, number: ProposalNumber, surface: &str, person: &str) -> Result<(), StoreError> {
        self.write(|tx, _| {
            tx.execute(
                "INSERT INTO seen (proposal, surface, person, at) VALUES (?, ?, ?, db_now())
                 ON CONFLICT DO UPDATE SET at = excluded.at",
                params![sql_number(number), surface, person],
            )?;
            Ok(())
        })
    }
}

pub(super) fn load(tx: &Connection, keys: &Keys, number: ProposalNumber) -> Result<StoredProposal, StoreError> {
    let found = tx
        .query_row(
            "SELECT tool, arguments, targets, fingerprint, referents, schema_version, policy_version, slot, reason, origin,
                    agent, boot_id, expires_at, expires_boot_ms, mac, state, created_at, gates FROM proposals WHERE number = ?",
            [sql_number(number)],
            |r| {
                let record = BoundRecord {
                    number: sql_number(number),
                    tool: r.get(0)?,
                    arguments: r.get(1)?,
                    targets: r.get(2)?,
                    fingerprint: r.get(3)?,
                    referents: r.get(4)?,
                    schema_version: r.get(5)?,
                    policy_version: r.get(6)?,
                    slot: r.get(7)?,
                    reason: r.get(8)?,
                    origin: r.get(9)?,
                    agent: r.get(10)?,
                    boot_id: r.get(11)?,
                    expires_at: r.get(12)?,
                    expires_boot_ms: r.get(13)?,
                    gates: r.get(17)?,
                };
                Ok((record, r.get::<_, String>(14)?, r.get::<_, String>(15)?, r.get::<_, i64>(16)?))
            },
        )
        .optional()?;
    let Some((record, mac, state, created_at)) = found else {
        return Err(StoreError::Refused(Refusal::new(RefusalCode::UnknownProposal, &format!("proposal {number}"))));
    };
    let same = host::secret::same(record.mac(keys)?.as_bytes(), mac.as_bytes());
    if !same && stands(RefusalCode::BindingMismatch) {
        return Err(StoreError::Refused(Refusal::new(RefusalCode::BindingMismatch, &format!("proposal {number}"))));
    }
    Ok(StoredProposal { number, record, mac, state: super::read::state_of(&state)?, created_at })
}

fn counts(tx: &Connection, workspace: &str, limits: Limits) -> Result<(), StoreError> {
    let (pending, hour): (i64, i64) = tx.query_row(
        "SELECT (SELECT count(*) FROM proposals WHERE workspace = ?1 AND state = 'pending'),
                (SELECT count(*) FROM proposals WHERE workspace = ?1 AND state NOT IN ('denied', 'revoked') AND created_at > db_now() - ?2)",
        params![workspace, limits::HOUR],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )?;
    let over = |code, count: i64, limit: u64| {
        let full = u64::try_from(count).unwrap_or(u64::MAX) >= limit && stands(code);
        if full { Err(StoreError::Refused(Refusal::new(code, &format!("{count} of {limit}")))) } else { Ok(()) }
    };
    over(RefusalCode::QueueFull, pending, limits.pending)?;
    over(RefusalCode::HourlyLimit, hour, limits.per_hour)
}

fn check_limits(tx: &Transaction<'_>, new: &NewProposal, limits: Limits) -> Result<(), StoreError> {
    super::freeze::check(tx)?;
    super::agents::check(tx, &new.agent)?;
    counts(tx, new.workspace, limits)?;
    denials(tx, (&new.tool, &new.targets), limits)
}

/// The newest denials of the same change: enough of them within one hour, and the newest less than an hour old.
fn denials(tx: &Connection, (tool, targets): (&str, &str), limits: Limits) -> Result<(), StoreError> {
    let mut statement = tx.prepare(
        "SELECT decided_at FROM proposals WHERE state IN ('denied', 'revoked') AND tool = ? AND targets = ? AND decided_at IS NOT NULL
         ORDER BY decided_at DESC LIMIT ?",
    )?;
    let most = i64::try_from(limits.denials).unwrap_or(i64::MAX);
    let times: Vec<i64> = statement.query_map(params![tool, targets, most], |r| r.get(0))?.collect::<Result<_, _>>()?;
    let now: i64 = tx.query_row("SELECT db_now()", [], |r| r.get(0))?;
    let enough = u64::try_from(times.len()).unwrap_or(0) >= limits.denials;
    if let (true, Some(newest), Some(oldest)) = (enough, times.first(), times.last())
        && newest - oldest <= limits::HOUR
        && now < newest + limits::HOUR
        && stands(RefusalCode::PausedAfterDenials)
    {
        let detail =
            format!("denied {} times; again in {} minutes", limits.denials, (newest + limits::HOUR - now + 59) / 60);
        return Err(StoreError::Refused(Refusal::new(RefusalCode::PausedAfterDenials, &detail)));
    }
    Ok(())
}

fn insert(tx: &Transaction<'_>, keys: &Keys, new: &NewProposal, boot_id: &str) -> Result<ProposalNumber, StoreError> {
    let (now, boot): (i64, i64) = tx.query_row("SELECT db_now(), boot_now()", [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let (expires_at, expires_boot_ms) = (now + limits::PENDING_LIFE, boot + limits::PENDING_LIFE * 1_000);
    tx.execute(
        "INSERT INTO proposals (request, workspace, agent, origin, turn, tool, arguments, targets, fingerprint, referents,
            schema_version, policy_version, slot, reason, gates, boot_id, created_at, created_boot_ms, expires_at,
            expires_boot_ms, mac, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 'pending')",
        params![
            new.request.as_str(),
            new.workspace,
            new.agent.as_str(),
            new.origin.as_str(),
            new.turn,
            new.tool,
            new.arguments,
            new.targets,
            new.fingerprint,
            new.referents,
            new.schema_version,
            new.policy_version,
            new.slot,
            new.reason,
            new.gates,
            boot_id,
            now,
            boot,
            expires_at,
            expires_boot_ms,
        ],
    )?;
    let number = tx.last_insert_rowid();
    let record = BoundRecord {
        number,
        tool: new.tool.clone(),
        arguments: new.arguments.clone(),
        targets: new.targets.clone(),
        fingerprint: new.fingerprint.clone(),
        referents: new.referents.clone(),
        schema_version: new.schema_version,
        policy_version: new.policy_version,
        slot: new.slot.to_owned(),
        reason: new.reason.clone(),
        gates: new.gates.clone(),
        origin: new.origin.as_str().to_owned(),
        agent: new.agent.as_str().to_owned(),
        boot_id: boot_id.to_owned(),
        expires_at,
        expires_boot_ms,
    };
    // The number is part of the record, so the MAC comes second, in the same transaction.
    tx.execute("UPDATE proposals SET mac = ? WHERE number = ?", params![record.mac(keys)?, number])?;
    let number = number_of(number)?;
    audit::append(
        tx,
        keys,
        &Step {
            kind: "proposal",
            proposal: Some(number),
            principal: new.agent.as_str(),
            surface: "propose",
            detail: json!({ "origin": new.origin.as_str(), "tool": new.tool, "targets": new.targets, "slot": new.slot,
                "arguments": policy::redact::redact_text(&new.arguments), "policy_version": new.policy_version }),
        },
    )?;
    Ok(number)
}
