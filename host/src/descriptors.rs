//! How many files this process may have open. A server that runs out cannot accept, and a library that meets that may
//! give up for good: so the number is settled before anything listens.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fmt;

/// This process may not open as many files as it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFew {
    /// How many it may open at most.
    pub most: u64,
    /// How many it needs.
    pub need: u64,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { most, need } = self;
        write!(
            f,
            "this process may open {most} files and needs {need}: raise the limit (ulimit -n {need}, or LimitNOFILE={need} in \
             the service) and start again"
        )
    }
}

impl std::error::Error for TooFew {}

/// Makes sure that this process may have `need` files open; raises its own limit as far as the system lets it.
///
/// # Errors
/// [`TooFew`] when the system does not let it.
pub fn ensure(need: u64) -> Result<(), TooFew> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|_| TooFew { most: 0, need })?;
    if soft >= need {
        return Ok(());
    }
    if hard < need {
        return Err(TooFew { most: hard, need });
    }
    setrlimit(Resource::RLIMIT_NOFILE, need, hard).map_err(|_| TooFew { most: soft, need })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_already_is_enough_and_more_than_everything_is_refused() {
        assert_eq!(ensure(1), Ok(()));
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        if let Some(more) = hard.checked_add(1) {
            let error = ensure(more).unwrap_err();
            assert_eq!(error, TooFew { most: hard, need: more });
            assert!(error.to_string().contains("LimitNOFILE"), "{error}");
        }
    }
}
