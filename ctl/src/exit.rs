//! What the command's exit code says. The table in `--help` is the other copy.

use protocol::propose::{News, ProposalState};
use protocol::refusal::{Refusal, RefusalCode};
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
    /// 78: a sign-in is over; nothing but a new one helps.
    SignInOver,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Wrong => 1,
            Self::Usage => 2,
            Self::Unknown => 3,
            Self::SignInOver => 78,
        }
    }

    /// How a command ends that a daemon refused.
    pub(crate) fn of_refusal(refusal: &Refusal) -> Self {
        if refusal.code == RefusalCode::SignInDead { Self::SignInOver } else { Self::Wrong }
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

    #[test]
    fn a_sign_in_that_is_over_has_a_code_of_its_own() {
        for code in RefusalCode::ALL {
            let want = if code.as_str() == "sign_in_dead" { 78 } else { 1 };
            assert_eq!(Exit::of_refusal(&Refusal::bare(*code)).code(), want, "{code:?}");
        }
    }
}
