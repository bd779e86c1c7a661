//! At most 64 connections at a time. When all seats are taken, the oldest connection that has not sent its whole request
//! gives way, so that idle connections never keep a person out: one of a user who may not see the page before any of one
//! who may, so that no stranger takes a person's seat, however fast they come. Whose a connection is has not been looked up
//! yet on at most [`UNTOLD`] seats; those do not give way before it was.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// Most connections.
pub(super) const SEATS: usize = 64;
/// Most connections whose user is not known yet.
pub(super) const UNTOLD: usize = 16;
/// Most connections of users who may not see the page.
const STRANGERS: usize = 32;

/// The connections that are open, oldest first.
#[derive(Debug, Default)]
pub(super) struct Seats(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    next: u64,
    open: Vec<Row>,
}

/// Whose connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Untold,
    Strangers,
    Visitors,
}

#[derive(Debug)]
struct Row {
    id: u64,
    whose: Whose,
    kept: bool,
    stop: Option<AbortHandle>,
}

/// One connection's seat, free again when dropped.
#[derive(Debug)]
pub(super) struct Seat {
    id: u64,
    seats: Arc<Seats>,
}

impl Seats {
    /// A seat for one more connection, or nothing when every seat is kept.
    pub(super) fn take(self: &Arc<Self>) -> Option<Seat> {
        let mut rows = self.lock();
        let mut gone = None;
        if rows.open.len() >= SEATS {
            let oldest = rows.oldest(Whose::Strangers).or_else(|| rows.oldest(Whose::Visitors))?;
            gone = rows.open.remove(oldest).stop;
        }
        let id = rows.next;
        rows.next += 1;
        rows.open.push(Row { id, whose: Whose::Untold, kept: false, stop: None });
        drop(rows);
        // Outside the lock: what is ended here gives its own seat back.
        if let Some(stop) = gone {
            stop.abort();
        }
        Some(Seat { id, seats: Arc::clone(self) })
    }

    /// How to end the connection on seat `id`, if it has not ended by itself.
    pub(super) fn attach(&self, id: u64, stop: AbortHandle) {
        if let Some(row) = self.lock().open.iter_mut().find(|row| row.id == id) {
            row.stop = Some(stop);
        }
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.lock().open.len()
    }

    /// Ends every connection whose request is not whole.
    pub(super) fn end_reading(&self) {
        self.end(|row| !row.kept);
    }

    /// Ends every connection.
    pub(super) fn end_all(&self) {
        self.end(|_| true);
    }

    fn end(&self, which: impl Fn(&Row) -> bool) {
        let stops: Vec<AbortHandle> = {
            let rows = self.lock();
            rows.open.iter().filter(|row| which(row)).filter_map(|row| row.stop.clone()).collect()
        };
        for stop in stops {
            stop.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    // The place of the oldest of these that may give way.
    fn oldest(&self, whose: Whose) -> Option<usize> {
        self.open.iter().position(|row| row.whose == whose && !row.kept)
    }
}

impl Seat {
    /// Says whose the connection is. With too many strangers the oldest of them gives way; false when there is none that
    /// may, or when another connection got this seat meanwhile.
    pub(super) fn belongs(&self, may_visit: bool) -> bool {
        let mut rows = self.seats.lock();
        let strangers = rows.open.iter().filter(|row| row.whose == Whose::Strangers).count();
        let mut gone = None;
        if !may_visit && strangers >= STRANGERS {
            let Some(oldest) = rows.oldest(Whose::Strangers) else { return false };
            gone = rows.open.remove(oldest).stop;
        }
        let row = rows.open.iter_mut().find(|row| row.id == self.id);
        let there = row.map(|row| row.whose = if may_visit { Whose::Visitors } else { Whose::Strangers }).is_some();
        drop(rows);
        if let Some(stop) = gone {
            stop.abort();
        }
        there
    }

    /// The seat's name.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Keeps the seat until the answer is sent. False when another connection got it meanwhile.
    pub(super) fn keep(&self) -> bool {
        self.mark(true)
    }

    /// The answer is sent: the next one may have the seat.
    pub(super) fn give_way(&self) {
        self.mark(false);
    }

    fn mark(&self, kept: bool) -> bool {
        let mut rows = self.seats.lock();
        let row = rows.open.iter_mut().find(|row| row.id == self.id);
        row.map(|row| row.kept = kept).is_some()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().open.retain(|row| row.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seated(seats: &Arc<Seats>, may_visit: bool) -> Seat {
        let seat = seats.take().unwrap();
        assert!(seat.belongs(may_visit));
        seat
    }

    #[test]
    fn strangers_give_way_to_each_other_and_a_persons_seat_is_never_theirs() {
        let seats = Arc::new(Seats::default());
        let (person, waiting) = (seated(&seats, true), seats.take().unwrap());
        let strangers: Vec<Seat> = (0..1_000).map(|_| seated(&seats, false)).collect();
        assert_eq!(seats.taken(), STRANGERS + 2);
        // The newest of them are left; the person keeps the seat, and so does whoever was not looked up yet.
        assert_eq!(strangers.iter().filter(|stranger| stranger.keep()).count(), STRANGERS);
        assert!(person.keep() && waiting.belongs(true) && waiting.keep());
        // Strangers who are all being answered make room for no other.
        let late = seats.take().unwrap();
        assert!(!late.belongs(false));
        drop(late);
        assert!(seated(&seats, true).keep());
    }

    #[test]
    fn persons_give_way_to_persons_when_there_is_no_stranger_and_nobody_before_it_was_looked_up() {
        let seats = Arc::new(Seats::default());
        let first = seated(&seats, true);
        let untold: Vec<Seat> = (0..UNTOLD).map(|_| seats.take().unwrap()).collect();
        let people: Vec<Seat> = (0..SEATS).map(|_| seated(&seats, true)).collect();
        assert!(!first.keep(), "the oldest gave way");
        assert!(untold.iter().all(|seat| seat.belongs(true)));
        assert_eq!(people.iter().filter(|seat| seat.keep()).count(), SEATS - UNTOLD);
        assert_eq!(seats.taken(), SEATS);
    }
}
