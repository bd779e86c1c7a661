//! A request that came before gets the answer of then (issue line 2.3).

use super::read::number_of;
use super::{NewProposal, Store, StoreError};
use protocol::guard::stands;
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::Origin;
use protocol::refusal::RefusalCode;
use rusqlite::{Connection, OptionalExtension, params};

/// What makes two drafts the same one.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request: Label,
    pub(crate) agent: Label,
    pub(crate) origin: Origin,
    pub(crate) turn: String,
    pub(crate) tool: String,
    /// Canonical JSON.
    pub(crate) arguments: String,
    pub(crate) reason: String,
}

impl Asked {
    pub(super) fn of(new: &NewProposal) -> Self {
        Self {
            request: new.request.clone(),
            agent: new.agent.clone(),
            origin: new.origin,
            turn: new.turn.clone(),
            tool: new.tool.clone(),
            arguments: new.arguments.clone(),
            reason: new.reason.clone(),
        }
    }
}

impl Store {
    /// What the same request was answered before. Looked up before any limit and any read: asked twice is not two proposals.
    ///
    /// # Errors
    /// `id_conflict` for other content under the same id, or [`StoreError`].
    pub(crate) fn recorded(&mut self, asked: &Asked) -> Result<Option<ProposalNumber>, StoreError> {
        recorded_answer(&self.connection, asked)
    }

    /// Whether no proposal has this request id.
    ///
    /// # Errors
    /// `id_conflict` when one has, or [`StoreError`].
    pub(crate) fn check_unused(&mut self, request: &Label) -> Result<(), StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM proposals WHERE request = ?)";
        let used: bool = self.connection.query_row(sql, [request.as_str()], |r| r.get(0))?;
        if used && stands(RefusalCode::IdConflict) { Err(StoreError::refused(RefusalCode::IdConflict)) } else { Ok(()) }
    }
}

/// The same request id with the same content in the same turn was answered before; anything else is a conflict: a number
/// that belongs to another turn would be withdrawn with that one.
pub(super) fn recorded_answer(tx: &Connection, asked: &Asked) -> Result<Option<ProposalNumber>, StoreError> {
    let found: Option<(i64, bool)> = tx
        .query_row(
            "SELECT number, tool = ?2 AND arguments = ?3 AND reason = ?4 AND agent = ?5 AND origin = ?6 AND turn = ?7
             FROM proposals WHERE request = ?1",
            params![
                asked.request.as_str(),
                asked.tool,
                asked.arguments,
                asked.reason,
                asked.agent.as_str(),
                asked.origin.as_str(),
                asked.turn
            ],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .optional()?;
    match found {
        None => Ok(None),
        Some((number, same)) if same || !stands(RefusalCode::IdConflict) => number_of(number).map(Some),
        Some(_) => Err(StoreError::refused(RefusalCode::IdConflict)),
    }
}
