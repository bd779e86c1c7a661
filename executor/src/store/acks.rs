//! What the assistant has not heard of yet.

use super::read::{number_of, sql_number, state_of};
use super::{Store, StoreError};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{Live, News, ProposalState};
use protocol::refusal::{Refusal, RefusalCode};
use rusqlite::params;

impl Store {
    /// What ended for this agent since its last ack, oldest first, at most 25: they fit a frame in any script.
    pub(crate) fn news(&mut self, agent: &Label) -> Result<Vec<News>, StoreError> {
        self.expire_due()?;
        let mut statement = self.connection.prepare(
            "SELECT number, state, code, detail FROM proposals
             WHERE agent = ? AND acked = 0 AND state NOT IN ('pending', 'approved', 'consumed') ORDER BY number LIMIT 25",
        )?;
        let mut rows = statement.query([agent.as_str()])?;
        let mut news = Vec::new();
        while let Some(row) = rows.next()? {
            news.push(news_of(row.get(0)?, &row.get::<_, String>(1)?, &row.get::<_, String>(2)?, row.get(3)?)?);
        }
        Ok(news)
    }

    /// What this agent has waiting or running, oldest first, at most 25.
    pub(crate) fn live(&mut self, agent: &Label) -> Result<Vec<Live>, StoreError> {
        self.expire_due()?;
        let mut statement = self.connection.prepare(
            "SELECT number, tool, state, min(expires_at - db_now(), (expires_boot_ms - boot_now()) / 1000) FROM proposals
             WHERE agent = ? AND state IN ('pending', 'approved', 'consumed') ORDER BY number LIMIT 25",
        )?;
        let mut rows = statement.query([agent.as_str()])?;
        let mut live = Vec::new();
        while let Some(row) = rows.next()? {
            let state = state_of(&row.get::<_, String>(2)?)?;
            let left = if state == ProposalState::Pending { row.get::<_, i64>(3)? } else { 0 };
            let expires_in = u64::try_from(left).unwrap_or(0);
            live.push(Live { number: number_of(row.get(0)?)?, tool: row.get(1)?, state, expires_in });
        }
        Ok(live)
    }

    /// Where one of this agent's proposals stands; nobody is told of another's.
    pub(crate) fn standing(&mut self, agent: &Label, number: ProposalNumber) -> Result<News, StoreError> {
        self.expire_due()?;
        let mut statement =
            self.connection.prepare("SELECT state, code, detail FROM proposals WHERE number = ? AND agent = ?")?;
        let mut rows = statement.query(params![sql_number(number), agent.as_str()])?;
        match rows.next()? {
            Some(row) => news_of(sql_number(number), &row.get::<_, String>(0)?, &row.get::<_, String>(1)?, row.get(2)?),
            None => Err(Refusal::new(RefusalCode::UnknownProposal, &format!("proposal {number}")).into()),
        }
    }

    /// This agent has heard of these.
    pub(crate) fn ack(&mut self, agent: &Label, numbers: &[ProposalNumber]) -> Result<(), StoreError> {
        let numbers = numbers.to_vec();
        let agent = agent.as_str().to_owned();
        self.write(move |tx, _| {
            let mut mark = tx.prepare(
                "UPDATE proposals SET acked = 1
                 WHERE number = ? AND agent = ? AND state NOT IN ('pending', 'approved', 'consumed')",
            )?;
            for number in numbers {
                mark.execute(params![sql_number(number), agent])?;
            }
            Ok(())
        })
    }
}

fn news_of(number: i64, state: &str, code: &str, detail: String) -> Result<News, StoreError> {
    let refusal = RefusalCode::from_text(code).map(|code| Refusal::new(code, &detail));
    Ok(News { number: number_of(number)?, state: state_of(state)?, refusal, detail })
}
