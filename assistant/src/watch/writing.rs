//! That the executor's sign-in is over is said once to the channels, and once when it is back: without it nothing can be
//! proposed. The normal one is [`super::blind`]'s.

use crate::watch::findings::Priority;
use crate::watch::posts::Post;
use crate::watch::rules::Rules;
use crate::watch::state::State;
use protocol::propose::Proposing;
use protocol::refusal::RefusalCode;
use protocol::shown::Worded;

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
    /// As far as the executor's hello tells: whatever else is in the way of a proposal is told first.
    pub(crate) fn of_executor(proposing: Option<Proposing>) -> Self {
        match proposing {
            Some(Proposing::On) => Self::Good,
            Some(Proposing::Off(RefusalCode::SignInDead)) => Self::Over,
            Some(Proposing::Off(_)) | None => Self::Unknown,
        }
    }
}

/// What there is to say now, once; in the quiet hours nothing.
pub(crate) fn step(state: &mut State, standing: Standing, rules: &Rules, now: i64) -> Option<Post> {
    if rules.is_quiet(now) {
        return None;
    }
    let (title, heading, what) = match standing {
        Standing::Over if !state.writing_over => (
            Worded::new("Fleetwatch: 1 new", "Fleetwatch: 1 nuevo"),
            Priority::FixSoon.words(),
            Worded::new(
                "the sign-in that writes is over, so nothing can be proposed. Run fleetwatchctl login --sandbox",
                "el inicio de sesión de escritura terminó y no se puede proponer nada. Ejecuta fleetwatchctl login --sandbox",
            ),
        ),
        Standing::Good if state.writing_over => (
            Worded::new("Fleetwatch: 1 resolved", "Fleetwatch: 1 resuelto"),
            Worded::new("Resolved", "Resuelto"),
            Worded::new("the sign-in that writes", "el inicio de sesión de escritura"),
        ),
        Standing::Good | Standing::Over | Standing::Unknown => return None,
    };
    state.writing_over = standing == Standing::Over;
    let lines = vec![format!("{}:", heading.get(rules.language)), format!("- {}", what.get(rules.language))];
    Some(Post { title: title.get(rules.language).to_owned(), lines })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{NOON, rules};

    fn said(state: &mut State, standing: Standing) -> Option<String> {
        let post = step(state, standing, &rules(""), NOON)?;
        Some(format!("{} | {}", post.title, post.lines.join(" ")))
    }

    #[test]
    fn the_end_and_the_return_are_said_once_and_what_is_unknown_says_nothing() {
        let mut state = State::default();
        assert_eq!(said(&mut state, Standing::Good), None);
        assert_eq!(said(&mut state, Standing::Unknown), None);
        let first = said(&mut state, Standing::Over).unwrap();
        assert!(first.contains("Fix soon: - ") && first.contains("fleetwatchctl login --sandbox"), "{first}");
        assert_eq!(said(&mut state, Standing::Over), None);
        assert_eq!(said(&mut state, Standing::Unknown), None);
        let back = said(&mut state, Standing::Good).unwrap();
        assert_eq!(back, "Fleetwatch: 1 resolved | Resolved: - the sign-in that writes");
        assert!(said(&mut state, Standing::Over).is_some(), "and over again");
    }

    #[test]
    fn at_night_it_waits() {
        let night = rules("quiet_hours: \"11:00-13:00\"\n");
        let mut state = State::default();
        assert_eq!(step(&mut state, Standing::Over, &night, NOON), None);
        let morning = step(&mut state, Standing::Over, &night, NOON + 7_200).unwrap();
        assert!(morning.lines[1].contains("that writes"), "{morning:?}");
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
