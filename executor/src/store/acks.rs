//! What the assistant has not heard of yet.

use super::read::{number_of, sql_number, state_of};
use super::{Store, StoreError};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::News;
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
