//! The watcher's word about Fleetwatch itself: that it does not see the fleet, or can propose nothing since its sign-in for
//! writing is over; and that it does again. All by one rule: said at once, in quiet hours too, since nothing else is found or
//! changed meanwhile, once, and its end once (issue line 3.2).

use crate::watch::posts::{Post, Timed};
use crate::watch::rules::Rules;
use crate::watch::state::State;
use protocol::propose::Proposing;
use protocol::refusal::RefusalCode;
use protocol::shown::Worded;
use reader::token::{Trouble, Which};

/// So many looks in a row that did not work are told.
const LOOKS: u32 = 3;

/// How the executor's sign-in stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    /// It works.
    Good,
    /// Only a new one helps.
    Over,
    /// Not known now, or there is none. Nothing follows from it.
    Unknown,
}

impl Writing {
    /// As far as the executor's hello tells: whatever else is in the way of a proposal is told first.
    pub(crate) fn of_executor(proposing: Option<Proposing>) -> Self {
        match proposing {
            Some(Proposing::On) => Self::Good,
            Some(Proposing::Off(RefusalCode::SignInDead)) => Self::Over,
            Some(Proposing::Off(_)) | None => Self::Unknown,
        }
    }
}

/// After a look that did not work, or that was not tried because the sign-in is `over`: what is to be posted. A sign-in that is
/// over is told at once, anything else after three in a row; nothing before the first look that worked.
pub(crate) fn not_seen(
    state: &mut State,
    over: Option<&Worded>,
    trouble: Option<&Worded>,
    rules: &Rules,
) -> Option<Timed> {
    let failures = state.failures;
    if state.blind || !state.begun || (over.is_none() && failures < LOOKS) {
        return None;
    }
    state.blind = true;
    let looks = Worded::new(
        format!("The last {failures} looks did not work, so nothing is compared."),
        format!("Las últimas {failures} lecturas no salieron, así que no se compara nada."),
    );
    let status = Worded::new("fleetwatchctl status says what is wrong.", "fleetwatchctl status dice qué falla.");
    let why = over.or(trouble).map_or(status, why);
    let lines = if over.is_some() { vec![why] } else { vec![looks, why] };
    Some(said(&Worded::new("Fleetwatch does not see the fleet", "Fleetwatch no ve la flota"), &lines, rules))
}

/// After a look that worked: what is to be posted.
pub(crate) fn seen_again(state: &mut State, rules: &Rules) -> Option<Timed> {
    if !std::mem::take(&mut state.blind) {
        return None;
    }
    let line =
        Worded::new("What changed meanwhile is posted as usual.", "Lo que cambió entretanto se publica como siempre.");
    Some(said(&Worded::new("Fleetwatch sees the fleet again", "Fleetwatch vuelve a ver la flota"), &[line], rules))
}

/// What is to be posted about the executor's sign-in.
pub(crate) fn writing(state: &mut State, now: Writing, rules: &Rules) -> Option<Timed> {
    let (title, line) = match now {
        Writing::Over if !state.writing_over => (
            Worded::new("Fleetwatch can propose nothing", "Fleetwatch no puede proponer nada"),
            why(&Trouble::Over(Which::Sandbox).words()),
        ),
        Writing::Good if state.writing_over => (
            Worded::new("Fleetwatch can propose again", "Fleetwatch puede volver a proponer"),
            Worded::new("The sandbox sign-in works.", "El inicio de sesión de pruebas funciona."),
        ),
        Writing::Good | Writing::Over | Writing::Unknown => return None,
    };
    state.writing_over = now == Writing::Over;
    Some(said(&title, &[line], rules))
}

fn why(words: &Worded) -> Worded {
    Worded::new(format!("Why: {}.", words.en), format!("Motivo: {}.", words.es))
}

fn said(title: &Worded, lines: &[Worded], rules: &Rules) -> Timed {
    let say = |words: &Worded| words.get(rules.language).to_owned();
    Timed::always(Post { title: say(title), lines: lines.iter().map(say).collect() })
}

#[cfg(test)]
#[path = "own_tests.rs"]
mod tests;
