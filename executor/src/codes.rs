//! Page codes: an operator asks for one with the PIN, and it opens one page session, once, within two minutes
//! (`architecture.md, Sockets`). Only a digest is kept.

use crate::principals::Person;
use host::clock::Clock;
use host::secret::{SecretText, random_pin};
use protocol::refusal::{Refusal, RefusalCode};
use sha2::{Digest, Sha256};
use std::sync::{Mutex, PoisonError};

/// How long a code is good for, in seconds.
pub(crate) const LIFE: u64 = 120;
/// Codes that wait at once; the oldest goes first.
const MOST: usize = 8;

#[derive(Debug)]
struct Code {
    digest: [u8; 32],
    person: Person,
    until: i64,
}

/// The codes that were given out and not used.
#[derive(Debug)]
pub(crate) struct PageCodes {
    clock: Clock,
    waiting: Mutex<Vec<Code>>,
}

impl PageCodes {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), waiting: Mutex::default() }
    }

    /// A new code for this person.
    ///
    /// # Errors
    /// `store_failed` when the system gives no random bytes.
    pub(crate) fn issue(&self, person: &Person) -> Result<SecretText, Refusal> {
        let code = random_pin().map_err(|_| Refusal::bare(RefusalCode::StoreFailed))?;
        let until = self.clock.boot_ms() + i64::try_from(LIFE).unwrap_or(0) * 1_000;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MOST {
            waiting.remove(0);
        }
        waiting.push(Code { digest: Sha256::digest(code.expose()).into(), person: person.clone(), until });
        Ok(code)
    }

    /// The person of this code, which is used up by asking.
    pub(crate) fn take(&self, typed: &str) -> Option<Person> {
        let digest: [u8; 32] = Sha256::digest(typed.trim()).into();
        let now = self.clock.boot_ms();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|code| now < code.until);
        let at = waiting.iter().position(|code| host::secret::same(&code.digest, &digest))?;
        Some(waiting.remove(at).person)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_once_and_not_after_two_minutes() {
        let (clock, time) = Clock::dangerous_manual(1, 1, "boot");
        let codes = PageCodes::new(&clock);
        let ana = Person::dangerous_made_up("ana", 1001);
        let code = codes.issue(&ana).unwrap();
        assert_eq!(codes.take("0000000000"), None);
        assert_eq!(codes.take(code.expose()), Some(ana.clone()));
        assert_eq!(codes.take(code.expose()), None);
        let late = codes.issue(&ana).unwrap();
        time.advance(120);
        assert_eq!(codes.take(late.expose()), None);
    }
}
