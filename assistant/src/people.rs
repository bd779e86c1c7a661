//! Who of those that connect to `ask.sock` is a person: root, this user, the operators. The system's name service knows the
//! operators, and it may be slow or hang: it is asked beside everything else, and its answer is good for a minute.

use host::clock::Clock;
use host::socket;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Members may sign the assistant in where the daemons have users of their own.
const OPERATORS: &str = "fleetwatch-operators";
/// How long an answer is good, in milliseconds.
const GOOD_MS: i64 = 60_000;
/// Longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(5);
/// Questions at a time; each holds a thread while the name service hangs.
const AT_A_TIME: usize = 4;

/// What is known of the users.
#[derive(Debug)]
pub(crate) struct People {
    clock: Clock,
    // By uid: whether it is an operator, and since when that is known.
    known: Mutex<HashMap<u32, (bool, i64)>>,
    asking: Arc<Semaphore>,
    ask: fn(u32) -> bool,
    longest: Duration,
}

impl People {
    /// Nobody is known yet.
    pub(crate) fn new(clock: &Clock) -> Self {
        Self {
            clock: clock.clone(),
            known: Mutex::default(),
            asking: Arc::new(Semaphore::new(AT_A_TIME)),
            ask: |uid| socket::is_member(uid, OPERATORS),
            longest: LONGEST,
        }
    }

    /// Whether this is root, the assistant's own user or an operator: somebody who may do more than ask. No, when the name
    /// service does not say so in time.
    pub(crate) async fn is_person(&self, uid: u32) -> bool {
        if is_ours(uid) {
            return true;
        }
        if let Some(known) = self.remembered(uid) {
            return known;
        }
        let answer = tokio::time::timeout(self.longest, self.asked(uid)).await;
        answer.ok().flatten().unwrap_or_else(|| {
            tracing::warn!(uid, "the system does not say whether this user is an operator; it is treated as none");
            false
        })
    }

    async fn asked(&self, uid: u32) -> Option<bool> {
        let turn = Arc::clone(&self.asking).acquire_owned().await.ok()?;
        if let Some(known) = self.remembered(uid) {
            return Some(known);
        }
        let ask = self.ask;
        let answer = tokio::task::spawn_blocking(move || {
            let answer = ask(uid);
            drop(turn);
            answer
        });
        let answer = answer.await.ok()?;
        let now = self.clock.boot_ms();
        let mut known = self.known();
        known.retain(|_, (_, at)| is_good(*at, now));
        known.insert(uid, (answer, now));
        Some(answer)
    }

    fn remembered(&self, uid: u32) -> Option<bool> {
        let now = self.clock.boot_ms();
        self.known().get(&uid).filter(|(_, at)| is_good(*at, now)).map(|(known, _)| *known)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<u32, (bool, i64)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this is root or the assistant's own user, for which nobody is asked.
pub(crate) fn is_ours(uid: u32) -> bool {
    uid == 0 || uid == socket::my_uid()
}

fn is_good(at: i64, now: i64) -> bool {
    (0..GOOD_MS).contains(&now.saturating_sub(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    static ASKED: AtomicUsize = AtomicUsize::new(0);
    static HANGS: AtomicBool = AtomicBool::new(true);

    fn hangs(_: u32) -> bool {
        while HANGS.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    #[tokio::test]
    async fn a_name_service_that_hangs_stops_nobody_else_and_makes_nobody_an_operator() {
        let (clock, _manual) = Clock::dangerous_manual(1, 1, "boot");
        let people = People { ask: hangs, longest: Duration::from_millis(50), ..People::new(&clock) };
        // One thread: whoever blocks it lets nobody else be answered.
        let others = async {
            (people.is_person(0).await, people.is_person(socket::my_uid()).await, HANGS.load(Ordering::SeqCst))
        };
        let (stranger, others) = tokio::join!(people.is_person(61_001), others);
        assert_eq!((stranger, others), (false, (true, true, true)));
        HANGS.store(false, Ordering::SeqCst);
        assert!(people.is_person(61_001).await, "what was not said is not remembered");
    }

    #[tokio::test]
    async fn an_answer_is_good_for_a_minute_and_no_longer() {
        let (clock, manual) = Clock::dangerous_manual(1, 1, "boot");
        let ask = |uid| {
            ASKED.fetch_add(1, Ordering::SeqCst);
            uid == 61_002
        };
        let people = People { ask, ..People::new(&clock) };
        for (later, asked) in [(0, 1), (59, 1), (1, 2), (0, 2)] {
            manual.advance(later);
            assert!(people.is_person(61_002).await);
            assert_eq!(ASKED.load(Ordering::SeqCst), asked);
        }
        assert!(!people.is_person(61_003).await && people.remembered(61_003) == Some(false));
    }
}
