//! The compare-and-swaps behind `decide`, each with its audit row.

use super::audit::{self, Step};
use super::proposal::{StoredProposal, load};
use super::read::{number_of, sql_number};
use super::{Store, StoreError};
use crate::binding::BoundApproval;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use rusqlite::{OptionalExtension, params};
use serde_json::json;

impl Store {
    /// How many changes a person approved within the last half hour, on any surface and in any session: a pattern of
    /// yes after yes shows, and signing in again does not hide it.
    pub(crate) fn approved_lately(&self, person: &str) -> Result<u64, StoreError> {
        let count: i64 = self.connection.query_row(
            "SELECT count(*) FROM approvals WHERE principal = ? AND created_at > db_now() - ?",
            params![person, policy::limits::LATELY],
            |r| r.get(0),
        )?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// pending → approved with its approval row. `make` gets the verified proposal, the database clock and the boot clock.
    pub(crate) fn approve_row(
        &mut self,
        number: ProposalNumber,
        seconds_after_card: i64,
        make: impl FnOnce(&StoredProposal, i64, i64) -> BoundApproval,
    ) -> Result<bool, StoreError> {
        self.write(|tx, keys| {
            super::freeze::check(tx)?;
            let proposal = load(tx, keys, number)?;
            let (now, boot): (i64, i64) =
                tx.query_row("SELECT db_now(), boot_now()", [], |r| Ok((r.get(0)?, r.get(1)?)))?;
            let approval = make(&proposal, now, boot);
            let moved = tx.execute(
                "UPDATE proposals SET state = 'approved', decided_at = db_now(), decided_by = ?1, surface = ?2
                 WHERE number = ?3 AND state = 'pending' AND expires_at > db_now() AND expires_boot_ms > boot_now()",
                params![approval.principal, approval.surface, sql_number(number)],
            )?;
            if moved != 1 {
                return Ok(false);
            }
            tx.execute(
                "INSERT INTO approvals (id, proposal, principal, surface, session, digest, boot_id, created_at,
                    created_boot_ms, expires_at, expires_boot_ms, mac) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    approval.id,
                    sql_number(number),
                    approval.principal,
                    approval.surface,
                    approval.session,
                    approval.digest,
                    approval.boot_id,
                    now,
                    boot,
                    approval.expires_at,
                    approval.expires_boot_ms,
                    approval.mac(keys)?,
                ],
            )?;
            // How many yeses in a row: a rubber-stamping pattern shows. A terminal makes a session of every command, so
            // there the person's last hour counts.
            let count: i64 = tx.query_row(
                "SELECT count(*) FROM approvals WHERE session = ?1
                   OR (surface = 'command' AND ?2 = 'command' AND principal = ?3 AND created_at > db_now() - ?4)",
                params![approval.session, approval.surface, approval.principal, policy::limits::HOUR],
                |r| r.get(0),
            )?;
            let waited = now - proposal.created_at();
            let detail = json!({ "approval": approval.id, "card": approval.digest, "approvals_in_session": count,
                "seconds_after_card": seconds_after_card, "seconds_after_proposal": waited });
            audit::append(
                tx,
                keys,
                &Step {
                    kind: "approval",
                    proposal: Some(number),
                    principal: &approval.principal,
                    surface: &approval.surface,
                    detail,
                },
            )?;
            Ok(true)
        })
    }

    /// One step to an end state by a person: `who` is name and surface.
    pub(crate) fn end(
        &mut self,
        number: ProposalNumber,
        from: ProposalState,
        to: ProposalState,
        who: (&str, &str),
    ) -> Result<bool, StoreError> {
        self.write(|tx, keys| {
            let moved = tx.execute(
                "UPDATE proposals SET state = ?1, decided_at = db_now(), ended_at = db_now(), decided_by = ?2, surface = ?3
                 WHERE number = ?4 AND state = ?5",
                params![to.as_str(), who.0, who.1, sql_number(number), from.as_str()],
            )?;
            if moved == 1 {
                // Nothing when the person said no without a card.
                let looked: Option<i64> = tx
                    .query_row(
                        "SELECT max(0, db_now() - at) FROM seen WHERE proposal = ? AND surface = ? AND person = ?",
                        params![sql_number(number), who.1, who.0],
                        |r| r.get(0),
                    )
                    .optional()?;
                let detail = json!({ "from": from.as_str(), "state": to.as_str(), "seconds_after_card": looked });
                audit::append(
                    tx,
                    keys,
                    &Step { kind: "denial", proposal: Some(number), principal: who.0, surface: who.1, detail },
                )?;
                super::agents::count_denial(tx, keys, number)?;
            }
            Ok(moved == 1)
        })
    }

    /// pending → withdrawn, for the turn that made it.
    pub(crate) fn withdraw_row(&mut self, number: ProposalNumber, turn: &str) -> Result<bool, StoreError> {
        self.write(|tx, keys| {
            let moved = tx.execute(
                "UPDATE proposals SET state = 'withdrawn', ended_at = db_now(), decided_by = agent
                 WHERE number = ? AND turn = ? AND state = 'pending'",
                params![sql_number(number), turn],
            )?;
            if moved == 1 {
                let detail =
                    json!({ "from": "pending", "state": "withdrawn", "why": "its turn ended without an answer" });
                audit::append(
                    tx,
                    keys,
                    &Step {
                        kind: "withdrawal",
                        proposal: Some(number),
                        principal: "assistant",
                        surface: "propose",
                        detail,
                    },
                )?;
            }
            Ok(moved == 1)
        })
    }

    /// What a turn has waiting.
    pub(crate) fn waiting_of_turn(&mut self, turn: &str) -> Result<Vec<ProposalNumber>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT number FROM proposals WHERE turn = ? AND state = 'pending' ORDER BY number")?;
        let found: Vec<i64> = statement.query_map([turn], |r| r.get(0))?.collect::<Result<_, _>>()?;
        found.into_iter().map(number_of).collect()
    }
}
