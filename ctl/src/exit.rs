//! What the command's exit code says. The table in `--help` is the other copy.

use protocol::propose::{News, ProposalState};
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done, nothing is wrong.
    Done,
    /// 1: refused, or something is wrong.
    Wrong,
    /// 2: the command line was not understood.
    Usage,
    /// 3: a change or a decision was sent and what became of it is not known.
    Unknown,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Wrong => 1,
            Self::Usage => 2,
            Self::Unknown => 3,
        }
    }

    /// How an approval's command ends.
    pub(crate) fn of_run(news: &News) -> Self {
        match news.state {
            ProposalState::Ok => Self::Done,
            // Started, and this answer does not say how it ended.
            ProposalState::Unknown | ProposalState::Consumed => Self::Unknown,
            ProposalState::Approved
            | ProposalState::Denied
            | ProposalState::Error
            | ProposalState::Expired
            | ProposalState::ExpiredSeen
            | ProposalState::ExpiredUnseen
            | ProposalState::Pending
            | ProposalState::Refused
            | ProposalState::Revoked
            | ProposalState::Withdrawn => Self::Wrong,
        }
    }

    /// How a denial's command ends.
    pub(crate) fn of_denial(news: &News) -> Self {
        if matches!(news.state, ProposalState::Denied | ProposalState::Revoked) { Self::Done } else { Self::Wrong }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::ids::ProposalNumber;

    #[test]
    fn only_ok_is_a_good_run_and_only_a_started_run_is_unknown() {
        for state in ProposalState::ALL {
            let news = News { number: ProposalNumber::new(1).unwrap(), state, refusal: None, detail: String::new() };
            let want = match state.as_str() {
                "ok" => 0,
                "unknown" | "consumed" => 3,
                _ => 1,
            };
            assert_eq!(Exit::of_run(&news).code(), want, "{state:?}");
        }
    }
}
