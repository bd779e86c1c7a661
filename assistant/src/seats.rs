//! Seats at `ask.sock`. Each user has a share, so that nobody's connections keep another one out; and what the other
//! agents' users hold together never counts against root, this user and the operators. Of those seats the one that was
//! silent longest goes to whoever finds them all taken.

use host::clock::Clock;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Most connections of root, this user and each operator.
pub(crate) const PEOPLE: usize = 16;
/// Most connections of each other user. An MCP front has four calls under way at most.
pub(crate) const EACH: usize = 6;
/// Most connections of all those others together.
pub(crate) const TOGETHER: usize = 24;
/// Silent for so long, in milliseconds, a connection of theirs may lose its seat to another user.
const SILENT_MS: i64 = 60_000;

/// Who sits.
#[derive(Debug, Clone)]
pub(crate) struct Seats {
    clock: Clock,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    next: u64,
    sitters: BTreeMap<u64, Sitter>,
}

#[derive(Debug)]
struct Sitter {
    uid: u32,
    person: bool,
    // Since when it asks nothing; nothing while it is answered.
    silent_since: Option<i64>,
    leave: Arc<Notify>,
}

/// Why there is no seat, in words for the one who is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSeat {
    /// The user's own share is used up.
    Own(usize),
    /// All seats of other agents' users are taken.
    Together,
}

impl fmt::Display for NoSeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(share) => write!(
                f,
                "your user has {share} connections to the assistant, which is its share; end one of them and try again"
            ),
            Self::Together => f.write_str(
                "the seats of those who may only ask are all taken by other users, and none has been silent for a \
                 minute; try again in a minute",
            ),
        }
    }
}

/// One seat, given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Seats,
    number: u64,
    leave: Arc<Notify>,
}

impl Seats {
    /// All free.
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), held: Arc::default() }
    }

    /// A seat for this user. `person` says that it is root, this process's own user or an operator.
    ///
    /// # Errors
    /// [`NoSeat`]
    pub(crate) fn take(&self, uid: u32, person: bool) -> Result<Seat, NoSeat> {
        let mut held = self.held();
        let count = |fits: &dyn Fn(&Sitter) -> bool| held.sitters.values().filter(|sitter| fits(sitter)).count();
        let share = if person { PEOPLE } else { EACH };
        if count(&|sitter| sitter.uid == uid) >= share {
            return Err(NoSeat::Own(share));
        }
        if !person && count(&|sitter| !sitter.person) >= TOGETHER {
            let silent = held.longest_silent(self.clock.boot_ms()).ok_or(NoSeat::Together)?;
            if let Some(sitter) = held.sitters.remove(&silent) {
                tracing::info!(uid = sitter.uid, "a silent connection's seat goes to another user");
                sitter.leave.notify_one();
            }
        }
        let (number, leave) = (held.next, Arc::new(Notify::new()));
        held.next = held.next.wrapping_add(1);
        held.sitters.insert(number, Sitter { uid, person, silent_since: None, leave: Arc::clone(&leave) });
        drop(held);
        Ok(Seat { seats: self.clone(), number, leave })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn longest_silent(&self, now: i64) -> Option<u64> {
        let others = self.sitters.iter().filter(|(_, sitter)| !sitter.person);
        let silent = others.filter_map(|(number, sitter)| Some((sitter.silent_since?, *number)));
        silent.min().filter(|(since, _)| now.saturating_sub(*since) >= SILENT_MS).map(|(_, number)| number)
    }
}

impl Seat {
    /// Nothing is asked from now on.
    pub(crate) fn silent(&self) {
        self.set(Some(self.seats.clock.boot_ms()));
    }

    /// Something was asked, and is answered.
    pub(crate) fn asked(&self) {
        self.set(None);
    }

    /// Ends when the seat has gone to another user.
    pub(crate) async fn lost(&self) {
        self.leave.notified().await;
    }

    fn set(&self, silent_since: Option<i64>) {
        if let Some(sitter) = self.seats.held().sitters.get_mut(&self.number) {
            sitter.silent_since = silent_since;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.held().sitters.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::clock::ManualClock;

    fn seats() -> (Seats, ManualClock) {
        let (clock, manual) = Clock::dangerous_manual(1_000, 1_000, "boot");
        (Seats::new(&clock), manual)
    }

    fn take(seats: &Seats, uid: u32, person: bool, count: usize) -> Vec<Seat> {
        (0..count).map(|_| seats.take(uid, person).unwrap()).collect()
    }

    fn crowd(seats: &Seats) -> Vec<Seat> {
        let users = u32::try_from(TOGETHER / EACH).unwrap();
        (0..users).flat_map(|user| take(seats, 2_000 + user, false, EACH)).collect()
    }

    #[test]
    fn one_users_connections_end_at_its_share_and_keep_nobody_out() {
        let (seats, _manual) = seats();
        let mut greedy = take(&seats, 1_001, false, EACH);
        let refused = seats.take(1_001, false).unwrap_err();
        assert!(refused == NoSeat::Own(EACH) && refused.to_string().contains("your user has 6"), "{refused}");
        let _other = seats.take(1_002, false).unwrap();
        let _operator = seats.take(1_003, true).unwrap();
        greedy.pop();
        greedy.push(seats.take(1_001, false).unwrap());
        seats.take(1_001, false).unwrap_err();
    }

    #[test]
    fn all_other_users_together_leave_the_operators_their_seats() {
        let (seats, _manual) = seats();
        let crowd = crowd(&seats);
        assert_eq!(seats.take(3_000, false).unwrap_err(), NoSeat::Together);
        let _root = take(&seats, 0, true, PEOPLE);
        assert_eq!(seats.take(0, true).unwrap_err(), NoSeat::Own(PEOPLE));
        let _operator = take(&seats, 1_003, true, PEOPLE);
        drop(crowd);
        drop(seats.take(3_000, false).unwrap());
        assert_eq!(seats.held().sitters.len(), 2 * PEOPLE, "who left is forgotten");
    }

    #[tokio::test]
    async fn of_all_taken_seats_the_one_that_was_silent_longest_goes_to_another_user() {
        let (seats, manual) = seats();
        let crowd = crowd(&seats);
        let person = seats.take(0, true).unwrap();
        person.silent();
        manual.advance(5);
        crowd[7].silent();
        manual.advance(1);
        crowd[3].silent();
        manual.advance(58);
        assert_eq!(seats.take(3_000, false).unwrap_err(), NoSeat::Together, "not before a minute");
        manual.advance(1);
        let first = seats.take(3_000, false).unwrap();
        crowd[7].lost().await;
        // Who asks again keeps its seat, and one user's own share is no reason to end another's.
        crowd[3].asked();
        manual.advance(600);
        assert_eq!(seats.take(3_000, false).unwrap_err(), NoSeat::Together);
        assert_eq!(seats.take(2_000, false).unwrap_err(), NoSeat::Own(EACH));
        crowd[3].silent();
        manual.advance(60);
        let second = seats.take(3_000, false).unwrap();
        crowd[3].lost().await;
        // Giving back what was lost already takes nothing from those who sit now.
        drop(crowd);
        drop(person);
        assert_eq!(seats.held().sitters.len(), 2);
        drop((first, second));
    }
}
