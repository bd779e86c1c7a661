//! A token bucket per agent: a flood costs the executor a counter, not a read, a row or a log line each.

use host::clock::Clock;
use protocol::ids::Label;
use std::collections::BTreeMap;

/// Requests that an agent may make at once.
const BURST: f64 = 20.0;
/// Requests per second after that.
const REFILL_PER_SECOND: f64 = 0.5;
/// Agents that are remembered; beyond that the labels share one bucket.
const MOST_AGENTS: usize = 64;

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at_ms: i64,
    turned_away: u64,
}

/// All buckets.
#[derive(Debug)]
pub(crate) struct Buckets {
    clock: Clock,
    agents: BTreeMap<Label, Bucket>,
    rest: Bucket,
}

/// What the bucket says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// Go on; this many were turned away since the last time.
    Go { turned_away: u64 },
    /// Turned away.
    Wait,
}

impl Buckets {
    pub(crate) fn new(clock: &Clock) -> Self {
        let full = Bucket { tokens: BURST, at_ms: clock.boot_ms(), turned_away: 0 };
        Self { clock: clock.clone(), agents: BTreeMap::new(), rest: full }
    }

    /// Takes one token of this agent.
    pub(crate) fn take(&mut self, agent: &Label) -> Take {
        let now = self.clock.boot_ms();
        let known = self.agents.len() < MOST_AGENTS || self.agents.contains_key(agent);
        let bucket = if known {
            self.agents.entry(agent.clone()).or_insert(Bucket { tokens: BURST, at_ms: now, turned_away: 0 })
        } else {
            &mut self.rest
        };
        let seconds = f64::from(i32::try_from(now - bucket.at_ms).unwrap_or(i32::MAX)) / 1_000.0;
        bucket.tokens = (bucket.tokens + seconds * REFILL_PER_SECOND).min(BURST);
        bucket.at_ms = now;
        if bucket.tokens < 1.0 {
            bucket.turned_away += 1;
            return Take::Wait;
        }
        bucket.tokens -= 1.0;
        Take::Go { turned_away: std::mem::take(&mut bucket.turned_away) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_turned_away_and_counted_and_time_lets_it_in_again() {
        let (clock, manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let mut buckets = Buckets::new(&clock);
        let agent = Label::new("model").unwrap();
        for _ in 0..20 {
            assert_eq!(buckets.take(&agent), Take::Go { turned_away: 0 });
        }
        assert_eq!(buckets.take(&agent), Take::Wait);
        assert_eq!(buckets.take(&agent), Take::Wait);
        assert_eq!(buckets.take(&Label::new("other").unwrap()), Take::Go { turned_away: 0 });
        manual.advance(2);
        assert_eq!(buckets.take(&agent), Take::Go { turned_away: 2 });
    }

    #[test]
    fn a_thousand_made_up_labels_share_what_is_left() {
        let (clock, _manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let mut buckets = Buckets::new(&clock);
        let admitted =
            (0..1_000).filter(|n| buckets.take(&Label::new(&format!("agent-{n}")).unwrap()) != Take::Wait).count();
        assert_eq!(admitted, MOST_AGENTS + 20);
    }
}
