//! Freeze: no to everything, until a person with the PIN thaws it. It lives in the database, so a restart does not end it.

use super::audit::{self, Step};
use super::{Store, StoreError};
use crate::decide::{Decision, Surface};
use crate::principals::Person;
use protocol::guard::stands;
use protocol::ids::ProposalNumber;
use protocol::refusal::RefusalCode;
use rusqlite::{Connection, OptionalExtension};
use serde_json::json;

impl Store {
    /// Whether everything is frozen.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub(crate) fn is_frozen(&self) -> Result<bool, StoreError> {
        frozen(&self.connection)
    }

    /// Freezes, then denies what waits and revokes what was approved and has not begun.
    ///
    /// # Errors
    /// [`StoreError`]; when it comes after the freeze, intake and consume are stopped all the same.
    pub(crate) fn freeze(&mut self, person: &Person, surface: Surface) -> Result<Vec<ProposalNumber>, StoreError> {
        let by = person.name().to_string();
        self.write(|tx, keys| {
            tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('frozen', ?)", [&by])?;
            let step =
                Step { kind: "frozen", proposal: None, principal: &by, surface: surface.as_str(), detail: json!({}) };
            audit::append(tx, keys, &step)
        })?;
        let mut denied = Vec::new();
        for number in self.living()? {
            match self.decide(number, &Decision::Deny { person, surface }) {
                Ok(_) => denied.push(number),
                // Somebody else was first, or it has begun.
                Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(denied)
    }

    /// Ends a freeze; tells whether there was one.
    ///
    /// # Errors
    /// [`StoreError`]; the freeze then stands.
    pub(crate) fn thaw(&mut self, person: &Person, surface: Surface) -> Result<bool, StoreError> {
        let by = person.name().to_string();
        self.write(|tx, keys| {
            let was = tx.execute("DELETE FROM meta WHERE key = 'frozen'", [])? == 1;
            if was {
                let step = Step {
                    kind: "thawed",
                    proposal: None,
                    principal: &by,
                    surface: surface.as_str(),
                    detail: json!({}),
                };
                audit::append(tx, keys, &step)?;
            }
            Ok(was)
        })
    }

    fn living(&self) -> Result<Vec<ProposalNumber>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT number FROM proposals WHERE state IN ('pending', 'approved') ORDER BY number")?;
        let found: Vec<i64> = statement.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?;
        found.into_iter().map(super::read::number_of).collect()
    }
}

/// Refuses while everything is frozen.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    if frozen(connection)? && stands(RefusalCode::Frozen) {
        return Err(StoreError::refused(RefusalCode::Frozen));
    }
    Ok(())
}

fn frozen(connection: &Connection) -> Result<bool, StoreError> {
    let found: Option<String> =
        connection.query_row("SELECT value FROM meta WHERE key = 'frozen'", [], |r| r.get(0)).optional()?;
    Ok(found.is_some())
}
