//! A token bucket per agent: a flood costs the executor a counter, not a read, a row or a log line each.

use host::clock::Clock;
use protocol::guard::stands;
use protocol::ids::Label;
use protocol::refusal::RefusalCode;
use std::collections::BTreeMap;

/// How many at once, and how many a second after that.
#[derive(Debug, Clone, Copy)]
struct Rate {
    burst: f64,
    per_second: f64,
}

const AGENT: Rate = Rate { burst: 20.0, per_second: 0.5 };
const ALL: Rate = Rate { burst: 40.0, per_second: 1.0 };
const CONNECTIONS: Rate = Rate { burst: 60.0, per_second: 4.0 };

/// Agents that are remembered; a made-up label beyond that is turned away.
const MOST_AGENTS: usize = 64;

/// Without a request for so long, in milliseconds, a flood has stopped.
const QUIET_MS: i64 = 5_000;

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at_ms: i64,
    turned_away: u64,
}

/// All buckets. A label can only narrow: everybody takes from the bucket of the assistant's user, too.
#[derive(Debug)]
pub(crate) struct Buckets {
    clock: Clock,
    agents: BTreeMap<Label, Bucket>,
    everybody: Bucket,
    connections: Bucket,
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
        let full = |tokens| Bucket { tokens, at_ms: clock.boot_ms(), turned_away: 0 };
        Self {
            clock: clock.clone(),
            agents: BTreeMap::new(),
            everybody: full(ALL.burst),
            connections: full(CONNECTIONS.burst),
        }
    }

    /// Takes one token of this agent's and one of everybody's, in this order: what it is turned away for by its own bucket
    /// takes nothing from the others.
    pub(crate) fn take(&mut self, agent: &Label) -> Take {
        let now = self.clock.boot_ms();
        self.forget_silent(now);
        let known = self.agents.len() < MOST_AGENTS || self.agents.contains_key(agent);
        if !known && stands(RefusalCode::TooManyRequests) {
            self.everybody.turned_away += 1;
            return Take::Wait;
        }
        let fresh = || Bucket { tokens: AGENT.burst, at_ms: now, turned_away: 0 };
        let bucket = self.agents.entry(agent.clone()).or_insert_with(fresh);
        if !bucket.take(AGENT, now) {
            bucket.turned_away += 1;
            return Take::Wait;
        }
        if !self.everybody.take(ALL, now) {
            self.everybody.turned_away += 1;
            return Take::Wait;
        }
        let turned_away = std::mem::take(&mut bucket.turned_away) + std::mem::take(&mut self.everybody.turned_away);
        Take::Go { turned_away }
    }

    fn forget_silent(&mut self, now: i64) {
        if self.agents.len() >= MOST_AGENTS {
            // Whoever was silent for a minute has a full bucket again, or nearly.
            self.agents.retain(|_, bucket| now - bucket.at_ms < 60_000);
        }
    }

    /// The floods that have stopped (or all of them) with how many each had turned away, which is forgotten here. Without a
    /// label: turned away for everybody together.
    pub(crate) fn stopped(&mut self, all: bool) -> Vec<(Option<Label>, u64)> {
        let now = self.clock.boot_ms();
        let quiet = |bucket: &Bucket| bucket.turned_away > 0 && (all || now - bucket.at_ms >= QUIET_MS);
        let mut found = Vec::new();
        for (label, bucket) in &mut self.agents {
            if quiet(bucket) {
                found.push((Some(label.clone()), std::mem::take(&mut bucket.turned_away)));
            }
        }
        if quiet(&self.everybody) {
            found.push((None, std::mem::take(&mut self.everybody.turned_away)));
        }
        found
    }

    /// Counts again what could not be written down.
    pub(crate) fn give_back(&mut self, label: Option<&Label>, turned_away: u64) {
        let bucket = label.and_then(|label| self.agents.get_mut(label)).unwrap_or(&mut self.everybody);
        bucket.turned_away += turned_away;
    }

    /// Whether one more connection may be served.
    pub(crate) fn take_connection(&mut self) -> bool {
        let now = self.clock.boot_ms();
        self.connections.take(CONNECTIONS, now)
    }
}

impl Bucket {
    fn take(&mut self, rate: Rate, now: i64) -> bool {
        let seconds = f64::from(i32::try_from(now - self.at_ms).unwrap_or(i32::MAX)) / 1_000.0;
        self.tokens = (self.tokens + seconds * rate.per_second).min(rate.burst);
        self.at_ms = now;
        let any = self.tokens >= 1.0 || !stands(RefusalCode::TooManyRequests);
        if any {
            self.tokens -= 1.0;
        }
        any
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
    fn a_flood_that_stops_is_told_once_and_what_could_not_be_written_is_counted_again() {
        let (clock, manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let mut buckets = Buckets::new(&clock);
        let agent = Label::new("model").unwrap();
        for _ in 0..25 {
            buckets.take(&agent);
        }
        manual.advance(4);
        assert_eq!(buckets.stopped(false), []);
        manual.advance(1);
        let told = vec![(Some(agent.clone()), 5)];
        assert_eq!(buckets.stopped(false), told);
        assert_eq!(buckets.stopped(true), []);
        buckets.give_back(Some(&agent), 5);
        assert_eq!(buckets.stopped(true), told);
        // Once everybody's is empty, nobody's own helps.
        for n in 0..60 {
            buckets.take(&Label::new(&format!("agent-{n}")).unwrap());
        }
        let (found, manual) = (buckets.stopped(false), manual);
        assert_eq!(found, []);
        manual.advance(5);
        let found = buckets.stopped(false);
        assert!(matches!(found.as_slice(), [(None, 30..=45)]), "{found:?}");
    }

    #[test]
    fn a_thousand_made_up_labels_gain_nothing() {
        let (clock, _manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let mut buckets = Buckets::new(&clock);
        let admitted =
            (0..1_000).filter(|n| buckets.take(&Label::new(&format!("agent-{n}")).unwrap()) != Take::Wait).count();
        assert_eq!(admitted, 40);
    }

    #[test]
    fn one_agents_flood_takes_nothing_from_the_others() {
        let (clock, _manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let mut buckets = Buckets::new(&clock);
        let mut let_in =
            |label: &str| (0..1_000).filter(|_| buckets.take(&Label::new(label).unwrap()) != Take::Wait).count();
        assert_eq!([let_in("front"), let_in("assistant"), let_in("third")], [20, 20, 0]);
    }

    #[test]
    fn connections_have_a_bucket_of_their_own() {
        let (clock, manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        let mut buckets = Buckets::new(&clock);
        assert_eq!((0..100).filter(|_| buckets.take_connection()).count(), 60);
        manual.advance(1);
        assert_eq!((0..100).filter(|_| buckets.take_connection()).count(), 4);
    }
}
