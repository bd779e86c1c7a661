//! The one door through which a proposal leaves `pending` or `approved`: page, command, expiry and withdrawal all come
//! through here, one compare-and-swap each, and exactly one of them wins (`seed 000, Flow 4`).

use crate::barrier::barrier;
use crate::binding::BoundApproval;
use crate::principals::Person;
use crate::store::{Store, StoreError};
use policy::limits;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::{Refusal, RefusalCode};
use std::fmt;

/// Where a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// `control.sock`.
    Command,
    /// The approval page.
    Page,
}

impl Surface {
    /// The word that rows, audit and `status` use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Page => "page",
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One decision about one proposal. An assistant has no value of this type.
#[derive(Debug)]
pub enum Decision<'a> {
    /// A person's yes to the card with this digest, in this session.
    Approve {
        /// Who.
        person: &'a Person,
        /// Where.
        surface: Surface,
        /// SHA-256 of the session's id.
        session: [u8; 32],
        /// Digest of the card that was shown.
        digest: [u8; 32],
        /// How long it had been shown, for the audit.
        seconds_after_card: i64,
    },
    /// A person's no; it also takes back a yes that has not begun.
    Deny {
        /// Who.
        person: &'a Person,
        /// Where.
        surface: Surface,
    },
    /// The turn that made it failed or hung up.
    Withdraw {
        /// The turn; only its own proposals can be withdrawn.
        turn: &'a str,
    },
}

impl Store {
    /// Decides. Gives the state that the proposal is in now.
    ///
    /// # Errors
    /// `not_waiting` with who won, `unknown_proposal`, `binding_mismatch` for a yes to a row that is not what was bound, or
    /// [`StoreError`].
    pub fn decide(&mut self, number: ProposalNumber, decision: &Decision<'_>) -> Result<ProposalState, StoreError> {
        self.expire_due()?;
        let decided = match *decision {
            Decision::Approve { person, surface, session, digest, seconds_after_card } => {
                let yes = Yes { person, surface, session, digest, seconds_after_card };
                self.approve(number, &yes)
            }
            Decision::Deny { person, surface } => self.deny(number, person, surface),
            Decision::Withdraw { turn } => self.withdraw(number, turn),
        }?;
        match decided {
            Some(state) => Ok(state),
            None => Err(self.lost(number)),
        }
    }

    /// The refusal for whoever came too late: it says who won.
    pub(crate) fn lost(&mut self, number: ProposalNumber) -> StoreError {
        match self.row(number) {
            Ok(row) => StoreError::Refused(Refusal::new(RefusalCode::NotWaiting, &row.who_won())),
            Err(error) => error,
        }
    }

    fn approve(&mut self, number: ProposalNumber, yes: &Yes<'_>) -> Result<Option<ProposalState>, StoreError> {
        let id =
            uuid::Uuid::from_bytes(host::secret::random_bytes::<16>().map_err(|e| StoreError::File(e.to_string()))?)
                .to_string();
        let approved = self.approve_row(number, yes.seconds_after_card, |proposal, now, boot_ms| BoundApproval {
            id,
            proposal_mac: proposal.mac().to_owned(),
            principal: yes.person.name().to_string(),
            surface: yes.surface.as_str().to_owned(),
            session: host::secret::hex(&yes.session),
            digest: host::secret::hex(&yes.digest),
            boot_id: proposal.record().boot_id.clone(),
            expires_at: now + limits::APPROVAL_LIFE,
            expires_boot_ms: boot_ms + limits::APPROVAL_LIFE * 1_000,
        })?;
        barrier("after_approve");
        Ok(approved.then_some(ProposalState::Approved))
    }

    fn deny(
        &mut self,
        number: ProposalNumber,
        person: &Person,
        surface: Surface,
    ) -> Result<Option<ProposalState>, StoreError> {
        let by = person.name().to_string();
        for (from, to) in
            [(ProposalState::Pending, ProposalState::Denied), (ProposalState::Approved, ProposalState::Revoked)]
        {
            if self.end(number, from, to, (&by, surface.as_str()))? {
                return Ok(Some(to));
            }
        }
        Ok(None)
    }

    fn withdraw(&mut self, number: ProposalNumber, turn: &str) -> Result<Option<ProposalState>, StoreError> {
        let withdrawn = self.withdraw_row(number, turn)?;
        Ok(withdrawn.then_some(ProposalState::Withdrawn))
    }
}

struct Yes<'a> {
    person: &'a Person,
    surface: Surface,
    session: [u8; 32],
    digest: [u8; 32],
    seconds_after_card: i64,
}
