//! Seats at `ask.sock`. Each user has a share, so that nobody's connections keep another one out; and what the other
//! agents' users hold together never counts against root, this user and the operators.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Most connections of root, this user and each operator.
pub(crate) const PEOPLE: usize = 16;
/// Most connections of each other user. An MCP front has four calls under way at most.
pub(crate) const EACH: usize = 6;
/// Most connections of all those others together.
pub(crate) const TOGETHER: usize = 24;

/// Who sits.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seats(Arc<Mutex<HashMap<u32, Held>>>);

#[derive(Debug, Clone, Copy)]
struct Held {
    count: usize,
    person: bool,
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
            Self::Together => {
                f.write_str("the seats of those who may only ask are all taken, by several users; try again soon")
            }
        }
    }
}

/// One seat, given back when dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Seats,
    uid: u32,
}

impl Seats {
    /// A seat for this user. `person` says that it is root, this process's own user or an operator.
    ///
    /// # Errors
    /// [`NoSeat`]
    pub(crate) fn take(&self, uid: u32, person: bool) -> Result<Seat, NoSeat> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = held.get(&uid).map_or(0, |held| held.count);
        let share = if person { PEOPLE } else { EACH };
        if own >= share {
            return Err(NoSeat::Own(share));
        }
        let others: usize = held.values().filter(|held| !held.person).map(|held| held.count).sum();
        if !person && others >= TOGETHER {
            return Err(NoSeat::Together);
        }
        held.insert(uid, Held { count: own + 1, person });
        Ok(Seat { seats: self.clone(), uid })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut held = self.seats.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = held.get_mut(&self.uid).map_or(0, |held| {
            held.count = held.count.saturating_sub(1);
            held.count
        });
        if left == 0 {
            held.remove(&self.uid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(seats: &Seats, uid: u32, person: bool, count: usize) -> Vec<Seat> {
        (0..count).map(|_| seats.take(uid, person).unwrap()).collect()
    }

    #[test]
    fn one_users_connections_end_at_its_share_and_keep_nobody_out() {
        let seats = Seats::default();
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
        let seats = Seats::default();
        let mut crowd = Vec::new();
        for uid in 0..u32::try_from(TOGETHER / EACH).unwrap() {
            crowd.extend(take(&seats, 2_000 + uid, false, EACH));
        }
        assert_eq!(seats.take(3_000, false).unwrap_err(), NoSeat::Together);
        let _root = take(&seats, 0, true, PEOPLE);
        assert_eq!(seats.take(0, true).unwrap_err(), NoSeat::Own(PEOPLE));
        let _operator = take(&seats, 1_003, true, PEOPLE);
        drop(crowd);
        drop(seats.take(3_000, false).unwrap());
        assert!(seats.0.lock().unwrap().len() == 2, "who left is forgotten");
    }
}
