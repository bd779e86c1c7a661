//! At most 64 connections at a time. When all seats are taken, the oldest connection that has not sent its whole request
//! gives way, so that idle connections never keep a person out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// Most connections.
pub(super) const SEATS: usize = 64;

/// The connections that are open, oldest first.
#[derive(Debug, Default)]
pub(super) struct Seats(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    next: u64,
    open: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    id: u64,
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
            let oldest = rows.open.iter().position(|row| !row.kept)?;
            gone = rows.open.remove(oldest).stop;
        }
        let id = rows.next;
        rows.next += 1;
        rows.open.push(Row { id, kept: false, stop: None });
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

impl Seat {
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
