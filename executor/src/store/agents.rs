//! Agents that people keep saying no to: six denials within an hour pause one until an operator lifts it.

use super::audit::{self, Step};
use super::{Keys, Store, StoreError};
use policy::limits;
use protocol::guard::stands;
use protocol::ids::{Label, ProposalNumber};
use protocol::refusal::{Refusal, RefusalCode};
use rusqlite::{Connection, Transaction, params};
use serde_json::json;

impl Store {
    /// The agents that are paused.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be read.
    pub(crate) fn paused_agents(&self) -> Result<Vec<String>, StoreError> {
        let mut statement =
            self.connection.prepare("SELECT label FROM agents WHERE paused_at IS NOT NULL ORDER BY label")?;
        let found = statement.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?;
        Ok(found)
    }

    /// Lifts an agent's pause and forgives the denials before it; tells whether it was paused.
    ///
    /// # Errors
    /// [`StoreError`]; the pause then stands.
    pub(crate) fn resume_agent(&mut self, agent: &Label, person: &str, surface: &str) -> Result<bool, StoreError> {
        self.write(|tx, keys| {
            let lifted = tx.execute(
                "UPDATE agents SET paused_at = NULL, resumed_at = db_now() WHERE label = ? AND paused_at IS NOT NULL",
                [agent.as_str()],
            )?;
            if lifted == 1 {
                let detail = json!({ "agent": agent.as_str() });
                let step = Step { kind: "agent_resumed", proposal: None, principal: person, surface, detail };
                audit::append(tx, keys, &step)?;
            }
            Ok(lifted == 1)
        })
    }
}

/// Whether this agent may propose.
pub(super) fn check(connection: &Connection, agent: &Label) -> Result<(), StoreError> {
    let paused: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM agents WHERE label = ? AND paused_at IS NOT NULL)",
        [agent.as_str()],
        |r| r.get(0),
    )?;
    if paused && stands(RefusalCode::AgentPaused) {
        return Err(StoreError::Refused(Refusal::new(RefusalCode::AgentPaused, agent.as_str())));
    }
    Ok(())
}

/// After a denial: pauses the proposal's agent when it was the sixth within an hour.
pub(super) fn count_denial(tx: &Transaction<'_>, keys: &Keys, number: ProposalNumber) -> Result<(), StoreError> {
    let agent: String =
        tx.query_row("SELECT agent FROM proposals WHERE number = ?", [super::read::sql_number(number)], |r| r.get(0))?;
    let (denials, paused): (i64, bool) = tx.query_row(
        "SELECT count(*), EXISTS (SELECT 1 FROM agents WHERE label = ?1 AND paused_at IS NOT NULL) FROM proposals
         WHERE agent = ?1 AND state IN ('denied', 'revoked') AND decided_at > db_now() - ?2
           AND decided_at >= coalesce((SELECT resumed_at FROM agents WHERE label = ?1), 0)",
        params![agent, limits::HOUR],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )?;
    if paused || u64::try_from(denials).unwrap_or(0) < limits::AGENT_DENIALS_BEFORE_PAUSE {
        return Ok(());
    }
    tx.execute(
        "INSERT INTO agents (label, paused_at) VALUES (?, db_now()) ON CONFLICT (label) DO UPDATE SET paused_at = db_now()",
        [&agent],
    )?;
    let detail = json!({ "agent": agent, "denials": denials });
    let step = Step { kind: "agent_paused", proposal: Some(number), principal: "executor", surface: "", detail };
    audit::append(tx, keys, &step)
}
