//! Outcomes: recorded once, final (`seed 000, Flow 6`). The receipt is a second step, so that a known outcome never waits
//! for a read-back.

use super::audit::{self, Step};
use super::read::sql_number;
use super::{ConsumedApproval, Store, StoreError};
use protocol::ids::ProposalNumber;
use protocol::propose::{News, ProposalState};
use protocol::refusal::Refusal;
use protocol::shown::Shown;
use rusqlite::params;
use serde_json::json;

/// Longest stored detail, in characters.
const MAX_DETAIL: usize = 500;

/// How a consumed approval ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The device said no, in these words.
    Error(String),
    /// The device said yes.
    Ok(String),
    /// A check said no before a byte was sent.
    Refused(Refusal),
    /// Sent, and what happened is not known. Final; never retried.
    Unknown(String),
}

impl Outcome {
    /// The state it leads to.
    #[must_use]
    pub fn state(&self) -> ProposalState {
        match self {
            Self::Error(_) => ProposalState::Error,
            Self::Ok(_) => ProposalState::Ok,
            Self::Refused(_) => ProposalState::Refused,
            Self::Unknown(_) => ProposalState::Unknown,
        }
    }
}

/// An ended run, ready for the store: who approved it, and how it ended in words that may be kept.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    principal: String,
    news: News,
}

impl Ending {
    /// The ending of a run whose consumed approval left `spent` behind. Words are redacted and cut here, off the store.
    pub(crate) fn new(spent: &Spent, outcome: Outcome) -> Self {
        let state = outcome.state();
        let (refusal, words) = match outcome {
            Outcome::Error(words) | Outcome::Ok(words) | Outcome::Unknown(words) => (None, words),
            Outcome::Refused(refusal) => {
                let words = refusal.detail.clone();
                (Some(refusal), words)
            }
        };
        let detail = Shown::capped(&policy::redact::redact_text(&words), MAX_DETAIL).into_string();
        Self { principal: spent.principal.clone(), news: News { number: spent.number, state, refusal, detail } }
    }

    /// What the person and the assistant are told.
    pub(crate) fn news(&self) -> &News {
        &self.news
    }
}

/// What a consumed approval leaves behind when the write has taken it: whose it was.
#[derive(Debug)]
pub(crate) struct Spent {
    number: ProposalNumber,
    principal: String,
}

impl From<&ConsumedApproval> for Spent {
    fn from(approval: &ConsumedApproval) -> Self {
        Self { number: approval.proposal().number(), principal: approval.principal().to_owned() }
    }
}

impl Store {
    /// Records how a consumed approval ended: `consumed` → the outcome's state. Only a row that is `consumed` takes one, and
    /// only one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the row is not `consumed`; any other [`StoreError`] leaves it `consumed`, and the caller
    /// asks again.
    pub(crate) fn record(&mut self, ending: &Ending) -> Result<(), StoreError> {
        let News { number, state, refusal, detail } = &ending.news;
        let code = refusal.as_ref().map_or("", |refusal| refusal.code.as_str());
        self.write(|tx, keys| {
            let moved = tx.execute(
                "UPDATE proposals SET state = ?1, code = ?2, detail = ?3, ended_at = db_now()
                 WHERE number = ?4 AND state = 'consumed'",
                params![state.as_str(), code, detail, sql_number(*number)],
            )?;
            if moved != 1 {
                return Err(StoreError::Corrupt(format!("proposal {number} took no outcome {}", state.as_str())));
            }
            let detail = json!({ "state": state.as_str(), "code": code, "detail": detail });
            let principal = ending.principal.as_str();
            audit::append(tx, keys, &Step { kind: "outcome", proposal: Some(*number), principal, surface: "", detail })
        })
    }

    /// Adds what the device reported right after the write. Changes no state.
    ///
    /// # Errors
    /// [`StoreError`]; the outcome stands.
    pub(crate) fn add_receipt(&mut self, number: ProposalNumber, receipt: &Shown) -> Result<(), StoreError> {
        let receipt = receipt.as_str();
        self.write(|tx, keys| {
            tx.execute(
                "UPDATE proposals SET detail = CASE detail WHEN '' THEN ?1 ELSE detail || '; ' || ?1 END WHERE number = ?2",
                params![receipt, sql_number(number)],
            )?;
            let detail = json!({ "receipt": receipt });
            audit::append(
                tx,
                keys,
                &Step { kind: "receipt", proposal: Some(number), principal: "executor", surface: "", detail },
            )
        })
    }

    /// Moves an approved row whose approval could not be consumed to `refused`: nothing was sent, and it must not look as
    /// if something were still to come.
    ///
    /// # Errors
    /// [`StoreError`]; the row then ends as `expired` when its time is over.
    pub(crate) fn refuse_approved(&mut self, number: ProposalNumber, refusal: &Refusal) -> Result<(), StoreError> {
        self.write(|tx, keys| {
            let moved = tx.execute(
                "UPDATE proposals SET state = 'refused', code = ?1, detail = ?2, ended_at = db_now()
                 WHERE number = ?3 AND state = 'approved'",
                params![refusal.code.as_str(), refusal.detail, sql_number(number)],
            )?;
            if moved != 1 {
                return Ok(());
            }
            let detail = json!({ "state": "refused", "code": refusal.code.as_str(), "detail": refusal.detail });
            audit::append(
                tx,
                keys,
                &Step { kind: "outcome", proposal: Some(number), principal: "executor", surface: "", detail },
            )
        })
    }
}
