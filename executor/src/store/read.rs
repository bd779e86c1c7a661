//! Rows as they stand, for lists, history and the card of a row that cannot be trusted.

use super::{Store, StoreError};
use protocol::guard::unguarded;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::{Refusal, RefusalCode};
use rusqlite::{Row, params};

/// One proposal's row as text. Nothing here is verified; [`super::StoredProposal`] is.
#[derive(Debug, Clone)]
pub(crate) struct ProposalRow {
    pub(crate) number: ProposalNumber,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) targets: String,
    pub(crate) state: ProposalState,
    pub(crate) created_at: i64,
    pub(crate) expires_in: i64,
    pub(crate) decided_by: String,
    pub(crate) surface: String,
    pub(crate) ended_at: Option<i64>,
    pub(crate) code: Option<RefusalCode>,
    pub(crate) detail: String,
}

const COLUMNS: &str = "number, tool, arguments, targets, state, created_at,
    min(expires_at - db_now(), (expires_boot_ms - boot_now()) / 1000), decided_by, surface, ended_at, code, detail";

impl ProposalRow {
    fn from_row(row: &Row<'_>) -> Result<Self, StoreError> {
        let (number, state, code): (i64, String, String) = (row.get(0)?, row.get(4)?, row.get(10)?);
        Ok(Self {
            number: number_of(number)?,
            tool: row.get(1)?,
            arguments: row.get(2)?,
            targets: row.get(3)?,
            state: state_of(&state)?,
            created_at: row.get(5)?,
            expires_in: row.get(6)?,
            decided_by: row.get(7)?,
            surface: row.get(8)?,
            ended_at: row.get(9)?,
            code: RefusalCode::from_text(&code),
            detail: row.get(11)?,
        })
    }

    /// Who decided and how it stands, for those who came too late.
    pub(crate) fn who_won(&self) -> String {
        let state = self.state.as_str();
        if self.state == ProposalState::Expired {
            let by = &self.decided_by;
            return format!("proposal {} is expired, by the clock; approved by {by} ({})", self.number, self.surface);
        }
        match (self.decided_by.as_str(), self.surface.as_str()) {
            ("", _) => format!("proposal {} is {state}", self.number),
            (by, "") => format!("proposal {} is {state}, by {by}", self.number),
            (by, surface) => format!("proposal {} is {state}, by {by} ({surface})", self.number),
        }
    }
}

impl Store {
    /// Everything that waits, oldest first. Due rows are expired before.
    pub(crate) fn waiting(&mut self) -> Result<Vec<ProposalRow>, StoreError> {
        self.expire_due()?;
        self.rows(&format!("SELECT {COLUMNS} FROM proposals WHERE state = 'pending' ORDER BY number"), 100)
    }

    /// The newest 2,000 proposals, newest first.
    pub(crate) fn history(&mut self) -> Result<Vec<ProposalRow>, StoreError> {
        self.expire_due()?;
        self.rows(&format!("SELECT {COLUMNS} FROM proposals ORDER BY number DESC LIMIT 2000"), 2_000)
    }

    /// One row.
    pub(crate) fn row(&mut self, number: ProposalNumber) -> Result<ProposalRow, StoreError> {
        self.expire_due()?;
        let mut statement = self.connection.prepare(&format!("SELECT {COLUMNS} FROM proposals WHERE number = ?"))?;
        let mut rows = statement.query(params![sql_number(number)])?;
        match rows.next()? {
            Some(row) => ProposalRow::from_row(row),
            None => {
                let newest =
                    || self.rows(&format!("SELECT {COLUMNS} FROM proposals ORDER BY number DESC"), 1).ok()?.pop();
                let unknown = || Refusal::new(RefusalCode::UnknownProposal, &format!("proposal {number}"));
                Ok(unguarded(RefusalCode::UnknownProposal, newest).ok_or_else(unknown)?)
            }
        }
    }

    /// Waiting proposals, and proposals of the last hour that count.
    pub(crate) fn queue(&mut self) -> Result<(u64, u64), StoreError> {
        self.expire_due()?;
        let counts: (i64, i64) = self.connection.query_row(
            "SELECT (SELECT count(*) FROM proposals WHERE state = 'pending'),
                    (SELECT count(*) FROM proposals WHERE state NOT IN ('denied', 'revoked') AND created_at > db_now() - ?)",
            [policy::limits::HOUR],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )?;
        Ok((u64::try_from(counts.0).unwrap_or(0), u64::try_from(counts.1).unwrap_or(0)))
    }

    fn rows(&self, sql: &str, most: usize) -> Result<Vec<ProposalRow>, StoreError> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if found.len() == most {
                break;
            }
            match ProposalRow::from_row(row) {
                Ok(row) => found.push(row),
                // One row that nobody can read must not hide the others.
                Err(StoreError::Corrupt(why)) => tracing::error!(why, "a row that cannot be shown"),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

/// A row's number.
pub(super) fn number_of(number: i64) -> Result<ProposalNumber, StoreError> {
    u64::try_from(number)
        .ok()
        .and_then(ProposalNumber::new)
        .ok_or_else(|| StoreError::Corrupt(format!("proposal number {number}")))
}

/// A row's state.
pub(super) fn state_of(text: &str) -> Result<ProposalState, StoreError> {
    ProposalState::from_text(text).ok_or_else(|| StoreError::Corrupt(format!("state {text}")))
}

/// A number as SQLite holds it.
pub(super) fn sql_number(number: ProposalNumber) -> i64 {
    // ProposalNumber is at most 2^53−1.
    i64::try_from(number.get()).unwrap_or(i64::MAX)
}
