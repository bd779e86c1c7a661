//! A sign-in that is over is said once to the channels, and once when it is back (issue 4): without the one nothing is looked
//! at, and without the other nothing can be proposed.

use crate::watch::findings::Priority;
use crate::watch::posts::Post;
use crate::watch::rules::Rules;
use crate::watch::state::State;
use protocol::propose::Proposing;
use protocol::refusal::RefusalCode;
use protocol::shown::Worded;
use serde::{Deserialize, Serialize};

/// Whose sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Account {
    /// The one that this program reads with.
    Normal,
    /// The executor's.
    Sandbox,
}

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It works.
    Good,
    /// Only a new one helps.
    Over,
    /// Not known now, or there is none. Nothing follows from it.
    Unknown,
}

impl Standing {
    /// The executor's, as far as its hello tells: whatever else is in the way of a proposal is told first.
    pub(crate) fn of_executor(proposing: Option<Proposing>) -> Self {
        match proposing {
            Some(Proposing::On) => Self::Good,
            Some(Proposing::Off(RefusalCode::SignInDead)) => Self::Over,
            Some(Proposing::Off(_)) | None => Self::Unknown,
        }
    }
}

impl Account {
    // Without the normal one nobody is watched over, at night too.
    fn priority(self) -> Priority {
        match self {
            Self::Normal => Priority::FixFirst,
            Self::Sandbox => Priority::FixSoon,
        }
    }

    fn over(self) -> Worded {
        match self {
            Self::Normal => Worded::new(
                "the sign-in that reads is over, so no room is looked at. Run fleetwatchctl login",
                "el inicio de sesión de lectura terminó y no se revisa ninguna sala. Ejecuta fleetwatchctl login",
            ),
            Self::Sandbox => Worded::new(
                "the sign-in that writes is over, so nothing can be proposed. Run fleetwatchctl login --sandbox",
                "el inicio de sesión de escritura terminó y no se puede proponer nada. Ejecuta fleetwatchctl login --sandbox",
            ),
        }
    }

    fn back(self) -> Worded {
        match self {
            Self::Normal => Worded::new("the sign-in that reads", "el inicio de sesión de lectura"),
            Self::Sandbox => Worded::new("the sign-in that writes", "el inicio de sesión de escritura"),
        }
    }
}

/// What there is to say now, each once.
pub(crate) fn step(state: &mut State, told: &[(Account, Standing)], rules: &Rules, now: i64) -> Vec<Post> {
    let mut posts = Vec::new();
    for (account, standing) in told {
        let priority = account.priority();
        if rules.is_quiet(now) && priority != Priority::FixFirst {
            continue;
        }
        let post = match standing {
            Standing::Over if state.signed_out.insert(*account) => {
                (Worded::new("Fleetwatch: 1 new", "Fleetwatch: 1 nuevo"), priority.words(), account.over())
            }
            Standing::Good if state.signed_out.remove(account) => (
                Worded::new("Fleetwatch: 1 resolved", "Fleetwatch: 1 resuelto"),
                Worded::new("Resolved", "Resuelto"),
                account.back(),
            ),
            Standing::Good | Standing::Over | Standing::Unknown => continue,
        };
        let (title, heading, what) = post;
        let lines = vec![format!("{}:", heading.get(rules.language)), format!("- {}", what.get(rules.language))];
        posts.push(Post { title: title.get(rules.language).to_owned(), lines });
    }
    posts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{NOON, rules};

    const NORMAL: Account = Account::Normal;
    const SANDBOX: Account = Account::Sandbox;

    fn said(state: &mut State, told: &[(Account, Standing)]) -> Vec<String> {
        let posts = step(state, told, &rules(""), NOON);
        posts.into_iter().map(|post| format!("{} | {}", post.title, post.lines.join(" "))).collect()
    }

    #[test]
    fn each_end_and_each_return_is_said_once_and_what_is_unknown_says_nothing() {
        let mut state = State::default();
        assert!(said(&mut state, &[(NORMAL, Standing::Good), (SANDBOX, Standing::Good)]).is_empty());
        assert!(said(&mut state, &[(NORMAL, Standing::Unknown), (SANDBOX, Standing::Unknown)]).is_empty());
        let over = [(NORMAL, Standing::Over), (SANDBOX, Standing::Over)];
        let first = said(&mut state, &over);
        assert!(first.len() == 2 && first[0].starts_with("Fleetwatch: 1 new | Fix first: - the sign-in that reads"));
        assert!(first[1].contains("Fix soon: - ") && first[1].contains("fleetwatchctl login --sandbox"), "{first:?}");
        assert!(said(&mut state, &over).is_empty());
        assert!(said(&mut state, &[(NORMAL, Standing::Unknown)]).is_empty());
        let back = said(&mut state, &[(NORMAL, Standing::Good), (SANDBOX, Standing::Over)]);
        assert_eq!(back, ["Fleetwatch: 1 resolved | Resolved: - the sign-in that reads"]);
        assert_eq!(said(&mut state, &over).len(), 1, "and over again");
    }

    #[test]
    fn at_night_only_the_end_of_watching_is_said_and_the_rest_waits() {
        let night = rules("quiet_hours: \"11:00-13:00\"\n");
        let mut state = State::default();
        let over = [(NORMAL, Standing::Over), (SANDBOX, Standing::Over)];
        assert_eq!(step(&mut state, &over, &night, NOON).len(), 1);
        let morning = step(&mut state, &over, &night, NOON + 7_200);
        assert!(morning.len() == 1 && morning[0].lines[1].contains("that writes"), "{morning:?}");
    }

    #[test]
    fn the_executors_hello_tells_only_of_the_sign_in_when_nothing_stands_before_it() {
        assert_eq!(Standing::of_executor(Some(Proposing::On)), Standing::Good);
        assert_eq!(Standing::of_executor(Some(Proposing::Off(RefusalCode::SignInDead))), Standing::Over);
        for other in [None, Some(Proposing::Off(RefusalCode::Frozen)), Some(Proposing::Off(RefusalCode::NoSignIn))] {
            assert_eq!(Standing::of_executor(other), Standing::Unknown);
        }
    }
}
