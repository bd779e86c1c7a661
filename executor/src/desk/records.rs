//! What became of earlier proposals, and the audit.

use super::Desk;
use crate::card;
use crate::store::{ProposalRow, StoreError};
use control::card::HistoryRow;
use control::message::{AuditReport, AuditRow};
use control::status::Witness;
use policy::fold::fold;
use protocol::frame::MAX_FRAME;
use protocol::ids::ProposalNumber;
use protocol::refusal::Refusal;
use protocol::shown::Worded;
use serde::Serialize;

impl Desk {
    /// Where one proposal stands.
    pub(crate) async fn fate(&self, number: ProposalNumber) -> Result<HistoryRow, Refusal> {
        let row = self.app.store.call(move |store| store.row(number)).await.map_err(StoreError::into_refusal)?;
        Ok(self.history_row(&row))
    }

    /// The newest proposals, newest first; with `search` only those in which the text stands, without regard to case and accents.
    ///
    /// # Errors
    /// `store_failed`.
    pub(crate) async fn history(&self, most: u16, search: Option<&str>) -> Result<Vec<HistoryRow>, Refusal> {
        let rows = self.app.store.call(|store| store.history()).await.map_err(StoreError::into_refusal)?;
        let wanted = search.map(|text| fold(text.trim())).filter(|text| !text.is_empty());
        let rows = rows.iter().map(|row| self.history_row(row));
        let found = rows.filter(|row| wanted.as_ref().is_none_or(|wanted| stands_in(row, wanted)));
        Ok(fitting(found.take(usize::from(most.min(200))).collect()))
    }

    fn history_row(&self, row: &ProposalRow) -> HistoryRow {
        HistoryRow {
            number: row.number,
            heading: card::heading_of(&self.app, row),
            targets: card::targets_of(row),
            state: row.state,
            code: row.code,
            detail: row.detail.clone(),
            decided_by: row.decided_by.clone(),
            surface: row.surface.clone(),
            created_at: card::when(&self.app.zone, row.created_at),
            ended_at: row.ended_at.map_or_else(|| Worded::same(""), |at| card::when(&self.app.zone, at)),
            undoable: card::undo_of(&self.app, row).is_some(),
        }
    }

    /// Walks the audit, and asks the assistant's witness about its end: a cut tail fits by itself.
    ///
    /// # Errors
    /// `store_failed`.
    pub(crate) async fn verify_audit(&self) -> Result<AuditReport, Refusal> {
        let found = self.app.store.call(|store| store.verify_audit()).await.map_err(StoreError::into_refusal)?;
        let cut = self.app.witness() == Witness::Newer;
        let newer = || (found.rows + 1, "the assistant holds a newer head: rows are missing at the end".to_owned());
        let broken = found.broken.clone().or_else(|| cut.then(newer));
        Ok(AuditReport { rows: found.rows, broken, head: found.head })
    }

    /// The audit's rows behind `after`, as many as fit half a frame.
    ///
    /// # Errors
    /// `store_failed`.
    pub(crate) async fn audit_rows(&self, after: u64) -> Result<Vec<AuditRow>, Refusal> {
        let rows = self.app.store.call(move |store| store.audit_rows(after)).await.map_err(StoreError::into_refusal)?;
        Ok(fitting(rows))
    }
}

/// As many as fit half a frame: the first ones always arrive.
fn fitting<T: Serialize>(rows: Vec<T>) -> Vec<T> {
    let mut bytes = 0;
    rows.into_iter()
        .take_while(|row| {
            bytes += protocol::frame::encode(row).map_or(MAX_FRAME, |row| row.len());
            bytes <= MAX_FRAME / 2
        })
        .collect()
}

fn stands_in(row: &HistoryRow, wanted: &str) -> bool {
    let number = row.number.to_string();
    let code = row.code.map_or("", protocol::refusal::RefusalCode::as_str);
    let words = [&row.heading.en, &row.heading.es, &row.detail, &row.decided_by, &row.surface, &number];
    words.into_iter().chain(&row.targets).any(|text| fold(text).contains(wanted))
        || row.state.as_str() == wanted
        || (!code.is_empty() && code == wanted)
}
