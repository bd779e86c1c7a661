//! Consume: the one place that turns an approval into the right to write, once (`seed 000, Flow 4`).

use super::audit::{self, Step};
use super::proposal::{StoredProposal, load};
use super::read::sql_number;
use super::spent::SpentLine;
use super::{Store, StoreError};
use crate::barrier::barrier;
use crate::binding::BoundApproval;
use protocol::guard::stands;
use protocol::ids::ProposalNumber;
use protocol::refusal::{Refusal, RefusalCode};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use serde_json::json;

/// The right to one write. Made in one expression below, after `COMMIT`; no clone, no constructor, no way from bytes.
#[derive(Debug)]
#[must_use = "a consumed approval that is dropped leaves an outcome to be recorded"]
pub struct ConsumedApproval {
    proposal: StoredProposal,
    principal: String,
}

impl ConsumedApproval {
    /// What was approved.
    #[must_use]
    pub fn proposal(&self) -> &StoredProposal {
        &self.proposal
    }

    /// The person who approved it. Epiphan writes know no other approver.
    #[must_use]
    pub fn principal(&self) -> &str {
        &self.principal
    }
}

impl Store {
    /// Consumes the approval of one proposal. On the disk before this returns: the spent line, then the row and its audit.
    ///
    /// Order: begin → compare-and-swap → append and sync the spent line → commit → the right. If the line or the commit
    /// fails, everything rolls back, nothing may run, and the approval stays spent.
    ///
    /// On any error nothing may be written, and the caller moves the row out of `approved`.
    ///
    /// # Errors
    /// A refusal (`approval_used`, `approval_expired`, `boot_changed`, `binding_mismatch`, `not_waiting`), or [`StoreError`].
    pub fn consume(&mut self, number: ProposalNumber) -> Result<ConsumedApproval, StoreError> {
        let boot_id = self.clock.boot_id().to_owned();
        let unix = self.clock.unix();
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        super::freeze::check(&tx)?;
        let proposal = load(&tx, &self.keys, number)?;
        let (approval, mac, consumed_before) = approval_of(&tx, &proposal)?;
        // A spent line is enough to refuse, even when the database has forgotten.
        if (consumed_before || self.spent.is_spent(&approval.id)) && stands(RefusalCode::ApprovalUsed) {
            return Err(StoreError::refused(RefusalCode::ApprovalUsed));
        }
        let same = host::secret::same(approval.mac(&self.keys)?.as_bytes(), mac.as_bytes());
        if !same && stands(RefusalCode::BindingMismatch) {
            return Err(StoreError::refused(RefusalCode::BindingMismatch));
        }
        if !swap(&tx, number, &approval, &boot_id)? {
            drop(tx);
            return Err(self.lost(number));
        }
        audit::append(
            &tx,
            &self.keys,
            &Step {
                kind: "consumed",
                proposal: Some(number),
                principal: &approval.principal,
                surface: &approval.surface,
                detail: json!({ "approval": approval.id }),
            },
        )?;
        barrier("before_spent");
        let line = SpentLine { store_id: self.keys.store_id.clone(), number, approval: approval.id.clone() };
        let logged = self.spent.append(&line, unix);
        if stands(RefusalCode::StoreFailed) {
            logged?;
        }
        barrier("after_spent");
        tx.commit()?;
        barrier("after_consume");
        Ok(ConsumedApproval { proposal, principal: approval.principal })
    }
}

/// Tells whether the row was still approved; a no that came first is not an error of ours.
fn swap(
    tx: &Transaction<'_>,
    number: ProposalNumber,
    approval: &BoundApproval,
    boot_id: &str,
) -> Result<bool, StoreError> {
    let swapped = tx.execute(
        "UPDATE approvals SET used = 1, consumed_at = db_now()
         WHERE id = ?1 AND used = 0 AND expires_at > db_now() AND expires_boot_ms > boot_now() AND boot_id = ?2",
        params![approval.id, boot_id],
    )?;
    let code = if approval.boot_id == boot_id { RefusalCode::ApprovalExpired } else { RefusalCode::BootChanged };
    if swapped != 1 && stands(code) {
        return Err(StoreError::refused(code));
    }
    let moved = tx.execute(
        "UPDATE proposals SET state = 'consumed' WHERE number = ? AND state = 'approved'",
        [sql_number(number)],
    )?;
    Ok(moved == 1 || !stands(RefusalCode::NotWaiting))
}

fn approval_of(tx: &Transaction<'_>, proposal: &StoredProposal) -> Result<(BoundApproval, String, bool), StoreError> {
    tx.query_row(
        "SELECT id, principal, surface, session, digest, boot_id, expires_at, expires_boot_ms, mac, used
         FROM approvals WHERE proposal = ?",
        [sql_number(proposal.number())],
        |r| {
            let approval = BoundApproval {
                id: r.get(0)?,
                proposal_mac: proposal.mac().to_owned(),
                principal: r.get(1)?,
                surface: r.get(2)?,
                session: r.get(3)?,
                digest: r.get(4)?,
                boot_id: r.get(5)?,
                expires_at: r.get(6)?,
                expires_boot_ms: r.get(7)?,
            };
            Ok((approval, r.get(8)?, r.get(9)?))
        },
    )
    .optional()?
    .ok_or_else(|| {
        StoreError::Refused(Refusal::new(
            RefusalCode::NotWaiting,
            &format!("proposal {} is {}", proposal.number(), proposal.state().as_str()),
        ))
    })
}
