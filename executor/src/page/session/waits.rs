//! Wrong entries slow the sign-in form down (`seed 000, The approval page`). Times are milliseconds on the boot clock.

use std::collections::VecDeque;

/// Entries per address that cost nothing.
const FREE: u32 = 3;
/// Longest wait of one address, in milliseconds.
const LONGEST_MS: i64 = 60_000;
/// Wrong entries from anywhere, within [`ALL_WINDOW_MS`], that make everybody wait.
const ALL_WRONG: usize = 50;
const ALL_WINDOW_MS: i64 = 600_000;
/// How long everybody waits then.
const ALL_WAIT_MS: i64 = 60_000;
/// Addresses that are remembered.
const REMEMBERED: usize = 200;

/// Who has to wait. An address is a uid, or nothing where the system does not tell.
#[derive(Debug, Default)]
pub(in super::super) struct Waits {
    peers: Vec<PeerWait>,
    wrong: VecDeque<i64>,
    all_until: i64,
}

#[derive(Debug)]
struct PeerWait {
    peer: Option<u32>,
    wrong: u32,
    until: i64,
}

impl Waits {
    /// Whole seconds that `peer` has to wait now, rounded up. An entry during a wait is neither checked nor counted.
    pub(in super::super) fn wait(&self, peer: Option<u32>, now: i64) -> Option<i64> {
        let own = self.peers.iter().find(|known| known.peer == peer).map_or(0, |known| known.until);
        let left = own.max(self.all_until) - now;
        (left > 0).then(|| (left + 999) / 1_000)
    }

    /// Counts one wrong entry.
    pub(in super::super) fn wrong(&mut self, peer: Option<u32>, now: i64) {
        let mut entry = self.forget(peer).unwrap_or(PeerWait { peer, wrong: 0, until: 0 });
        entry.wrong = entry.wrong.saturating_add(1);
        if entry.wrong >= FREE {
            let doubled = 2_000_i64 << (entry.wrong - FREE).min(5);
            entry.until = now + doubled.min(LONGEST_MS);
        }
        if self.peers.len() >= REMEMBERED {
            self.peers.remove(0);
        }
        self.peers.push(entry);
        self.wrong.retain(|at| now - at < ALL_WINDOW_MS);
        self.wrong.push_back(now);
        if self.wrong.len() >= ALL_WRONG {
            self.wrong.clear();
            self.all_until = now + ALL_WAIT_MS;
        }
    }

    /// A right entry clears what its address did wrong.
    pub(in super::super) fn right(&mut self, peer: Option<u32>) {
        self.forget(peer);
    }

    fn forget(&mut self, peer: Option<u32>) -> Option<PeerWait> {
        let at = self.peers.iter().position(|known| known.peer == peer)?;
        Some(self.peers.remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::clock::Clock;

    const ONE: Option<u32> = Some(1001);
    const OTHER: Option<u32> = Some(1002);

    #[test]
    fn three_entries_are_free_then_the_wait_doubles_up_to_a_minute() {
        let (clock, hand) = Clock::dangerous_manual(0, 10_000, "boot");
        let mut waits = Waits::default();
        for _ in 0..3 {
            assert_eq!(waits.wait(ONE, clock.boot_ms()), None);
            waits.wrong(ONE, clock.boot_ms());
        }
        for seconds in [2, 4, 8, 16, 32, 60, 60, 60] {
            assert_eq!(waits.wait(ONE, clock.boot_ms()), Some(seconds));
            // Setting the wall clock shortens nothing.
            hand.step_wall(1_000);
            assert_eq!(waits.wait(ONE, clock.boot_ms()), Some(seconds));
            hand.advance(seconds - 1);
            assert_eq!(waits.wait(ONE, clock.boot_ms()), Some(1));
            hand.advance(1);
            assert_eq!(waits.wait(ONE, clock.boot_ms()), None);
            waits.wrong(ONE, clock.boot_ms());
        }
    }

    #[test]
    fn one_address_does_not_slow_another_and_a_right_entry_clears_its_own() {
        let mut waits = Waits::default();
        for _ in 0..5 {
            waits.wrong(ONE, 0);
            waits.wrong(OTHER, 0);
        }
        waits.right(OTHER);
        assert_eq!(waits.wait(ONE, 0), Some(8));
        assert_eq!(waits.wait(OTHER, 0), None);
        assert_eq!(waits.wait(None, 0), None);
    }

    #[test]
    fn fifty_wrong_entries_from_anywhere_make_everybody_wait_once() {
        let mut waits = Waits::default();
        for uid in 0..49 {
            waits.wrong(Some(uid), 0);
        }
        assert_eq!(waits.wait(ONE, 0), None);
        waits.wrong(Some(49), 1_000);
        assert_eq!(waits.wait(ONE, 1_000), Some(60));
        assert_eq!(waits.wait(ONE, 61_000), None);
        waits.wrong(Some(50), 61_000);
        assert_eq!(waits.wait(ONE, 61_000), None);
    }

    #[test]
    fn wrong_entries_older_than_ten_minutes_do_not_add_up() {
        let mut waits = Waits::default();
        for uid in 0..49 {
            waits.wrong(Some(uid), 0);
        }
        for uid in 49..90 {
            waits.wrong(Some(uid), ALL_WINDOW_MS);
        }
        assert_eq!(waits.wait(ONE, ALL_WINDOW_MS), None);
    }

    #[test]
    fn only_two_hundred_addresses_are_remembered() {
        let mut waits = Waits::default();
        for uid in 0..1_000 {
            waits.wrong(Some(uid), 0);
        }
        assert_eq!(waits.peers.len(), REMEMBERED);
    }
}
