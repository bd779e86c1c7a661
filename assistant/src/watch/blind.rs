//! The watcher's word about itself: that it does not see the fleet, and that it does again. Each is posted once, in quiet hours
//! too, since what would be posted in them is not found meanwhile (issue line 3.2).

use crate::watch::posts::{Post, Timed};
use crate::watch::rules::Rules;
use crate::watch::state::State;
use protocol::shown::Worded;

/// So many looks in a row that did not work are told.
const LOOKS: u32 = 3;

/// After a look that did not work, or that was not tried because the sign-in is `over`: what is to be posted. A sign-in that is
/// over is told at once, anything else after three in a row; nothing before the first look that worked.
pub(crate) fn not_seen(
    state: &mut State,
    (failures, over): (u32, Option<&Worded>),
    trouble: Option<&Worded>,
    rules: &Rules,
) -> Option<Timed> {
    if state.blind || !state.begun || (over.is_none() && failures < LOOKS) {
        return None;
    }
    state.blind = true;
    let say = |words: &Worded| words.get(rules.language).to_owned();
    let looks = Worded::new(
        format!("The last {failures} looks did not work, so nothing is compared."),
        format!("Las últimas {failures} lecturas no salieron, así que no se compara nada."),
    );
    let sign_in =
        over.or(trouble).map(|words| Worded::new(format!("Why: {}.", words.en), format!("Motivo: {}.", words.es)));
    let status = Worded::new("fleetwatchctl status says what is wrong.", "fleetwatchctl status dice qué falla.");
    let first = over.is_none().then_some(&looks);
    let lines = first.into_iter().chain(Some(sign_in.as_ref().unwrap_or(&status))).map(say).collect();
    let title = Worded::new("Fleetwatch does not see the fleet", "Fleetwatch no ve la flota");
    Some(Timed::always(Post { title: say(&title), lines }))
}

/// After a look that worked: what is to be posted.
pub(crate) fn seen_again(state: &mut State, rules: &Rules) -> Option<Timed> {
    if !std::mem::take(&mut state.blind) {
        return None;
    }
    let title = Worded::new("Fleetwatch sees the fleet again", "Fleetwatch vuelve a ver la flota");
    let line =
        Worded::new("What changed meanwhile is posted as usual.", "Lo que cambió entretanto se publica como siempre.");
    let say = |words: &Worded| words.get(rules.language).to_owned();
    Some(Timed::always(Post { title: say(&title), lines: vec![say(&line)] }))
}

#[cfg(test)]
#[path = "blind_tests.rs"]
mod tests;
