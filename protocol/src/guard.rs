//! Guards: one for each refusal code, and its id is the code's text. Every check asks here whether its guard stands.
//!
//! In every build that anybody runs the answer is the constant yes. A mutant build, which only `tests/guards` makes, takes
//! away the one guard that its environment names, so that a test can show what is lost without it (`docs/guards.md`). No
//! other file names the condition, and a release build under it does not compile.

use crate::refusal::RefusalCode;

/// Whether the guard of this code stands: always, in an ordinary build.
#[cfg(not(dangerous_guards))]
#[must_use]
#[inline(always)]
pub const fn stands(_code: RefusalCode) -> bool {
    true
}

/// Whether the guard of this code stands. A mutant has lost the one that its environment names.
#[cfg(dangerous_guards)]
#[must_use]
pub fn stands(code: RefusalCode) -> bool {
    mutant::removed() != Some(code)
}

/// What a careless program would take where a check found nothing. Nothing at all, in an ordinary build.
#[cfg(not(dangerous_guards))]
#[must_use]
#[inline(always)]
pub fn unguarded<T>(_code: RefusalCode, _careless: impl FnOnce() -> Option<T>) -> Option<T> {
    None
}

/// What a careless program would take where a check found nothing; nothing while the guard of this code stands.
#[cfg(dangerous_guards)]
#[must_use]
pub fn unguarded<T>(code: RefusalCode, careless: impl FnOnce() -> Option<T>) -> Option<T> {
    if stands(code) { None } else { careless() }
}

#[cfg(all(dangerous_guards, not(debug_assertions)))]
compile_error!("mutants without a guard are for tests: never in a release build");

#[cfg(dangerous_guards)]
mod mutant {
    use crate::refusal::RefusalCode;
    use std::io::Write;
    use std::sync::OnceLock;

    const VARIABLE: &str = "FLEETWATCH_DANGEROUS_GUARD";

    /// The guard that this process has lost; none when the variable is not set.
    pub(super) fn removed() -> Option<RefusalCode> {
        static REMOVED: OnceLock<Option<RefusalCode>> = OnceLock::new();
        *REMOVED.get_or_init(read)
    }

    fn read() -> Option<RefusalCode> {
        let name = std::env::var_os(VARIABLE)?;
        let code = name.to_str().and_then(RefusalCode::from_text);
        if code.is_none() {
            stop(&name.to_string_lossy());
        }
        code
    }

    // A mutant that lost nothing proves nothing.
    #[expect(clippy::exit, reason = "a mutant that is not one must not go on")]
    fn stop(name: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{VARIABLE}: there is no guard {name}; name a refusal code");
        std::process::exit(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Also in the mutant build, while its environment names none.
    #[test]
    fn every_guard_stands_and_nothing_careless_is_taken() {
        for code in RefusalCode::ALL {
            assert!(stands(*code), "{code}");
            assert_eq!(unguarded(*code, || Some(1)), None, "{code}");
        }
    }
}
