//! Outcomes: recorded once, final (`seed 000, Flow 6`).

use super::audit::{self, Step};
use super::read::sql_number;
use super::{ConsumedApproval, Store, StoreError};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::Refusal;
use rusqlite::params;
use serde_json::json;

/// Longest stored detail, in characters.
const MAX_DETAIL: usize = 500;

/// How a consumed approval ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The device said no, in these words.
    Error(String),
    /// The device said yes; what the read-back showed.
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

    fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Error(words) | Self::Ok(words) | Self::Unknown(words) => ("", words),
            Self::Refused(refusal) => (refusal.code.as_str(), &refusal.detail),
        }
    }
}

/// An approval that was consumed, with the outcome that was recorded for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Which proposal.
    pub number: ProposalNumber,
    /// How.
    pub outcome: Outcome,
}

/// A run that is over as far as the write goes: the number that a consumed approval left behind when it was spent.
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
    /// Records how a consumed approval ended. Only a row that is `consumed` takes an outcome, and only one.
    pub(crate) fn record(&mut self, spent: &Spent, outcome: Outcome) -> Result<Ended, StoreError> {
        let (code, words) = outcome.words();
        let detail = protocol::shown::Shown::capped(&policy::redact::redact_text(words), MAX_DETAIL).into_string();
        let state = outcome.state().as_str();
        self.write(|tx, keys| {
            let moved = tx.execute(
                "UPDATE proposals SET state = ?1, code = ?2, detail = ?3, ended_at = db_now()
                 WHERE number = ?4 AND state = 'consumed'",
                params![state, code, detail, sql_number(spent.number)],
            )?;
            if moved != 1 {
                return Err(StoreError::Corrupt(format!("proposal {} took no outcome {state}", spent.number)));
            }
            audit::append(
                tx,
                keys,
                &Step {
                    kind: "outcome",
                    proposal: Some(spent.number),
                    principal: &spent.principal,
                    surface: "",
                    detail: json!({ "state": state, "code": code, "detail": detail }),
                },
            )
        })?;
        Ok(Ended { number: spent.number, outcome })
    }
}
