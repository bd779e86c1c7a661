//! The proof of isolation: the assistant's own process tried to open what is the executor's, and failing is the pass
//! (`issue line 3.20`). A taken-over assistant could lie here; an honest one cannot be wrong.

use protocol::doctor::{Check, Grade, Reach, Row, Tried as Path};
use protocol::hello::Isolation;
use protocol::shown::{Shown, Worded};

/// Most names in one row.
const MOST_NAMES: usize = 4;

/// What was asked of the assistant, and of whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried<'a> {
    /// What the executor says of itself.
    pub(super) isolation: Isolation,
    /// The paths.
    pub(super) wanted: &'a [String],
    /// Whose processes listen: the executor's and the assistant's.
    pub(super) uids: (Option<u32>, Option<u32>),
}

/// The row.
pub(super) fn row(asked: &Tried<'_>, found: &[Path]) -> Row {
    let row = |grade, en: String, es: String| Row::new(Check::Isolation, grade, Worded::new(en, es));
    let open = names(found, Reach::Open);
    match asked.isolation {
        Isolation::None => row(
            Grade::Info,
            "one user for everything: the PIN is the boundary".to_owned(),
            "un solo usuario para todo: el PIN es el límite".to_owned(),
        )
        .advise(
            "For a real team, give both daemons users of their own.",
            "Para un equipo real, dé a cada servicio su propio usuario.",
        ),
        Isolation::Users if asked.uids.0.is_some() && asked.uids.0 == asked.uids.1 => row(
            Grade::Fail,
            "both daemons run as the same user, although the executor expects two".to_owned(),
            "ambos servicios usan el mismo usuario, aunque el ejecutor espera dos".to_owned(),
        )
        .advise(
            "Start the assistant as the user that FLEETWATCH_ASSISTANT_USER names.",
            "Inicie el asistente con el usuario que indica FLEETWATCH_ASSISTANT_USER.",
        ),
        Isolation::Users if !open.is_empty() => row(
            Grade::Fail,
            format!("the assistant's user can open {open}"),
            format!("el usuario del asistente puede abrir {open}"),
        )
        .advise(
            "Close it: files 0600 and folders 0700 of the executor's user. Then change what was in it.",
            "Ciérrelo: archivos 0600 y carpetas 0700 del usuario del ejecutor. Luego cambie lo que contenía.",
        ),
        Isolation::Users => judged(asked.wanted, found, row),
    }
}

fn judged(wanted: &[String], found: &[Path], row: impl Fn(Grade, String, String) -> Row) -> Row {
    let untried = names(found, Reach::Untried);
    let answered = wanted.iter().all(|path| found.iter().any(|tried| tried.path == *path));
    if wanted.is_empty() || !answered || !untried.is_empty() {
        return row(
            Grade::Warn,
            format!("not every path was tried: {untried}"),
            format!("no se probaron todas las rutas: {untried}"),
        )
        .advise(
            "Look for links or odd files at these paths, and install one version of both daemons.",
            "Busque enlaces o archivos extraños en esas rutas e instale la misma versión de ambos servicios.",
        );
    }
    let denied = found.iter().filter(|tried| tried.reach == Reach::Denied).count();
    let absent = found.len() - denied;
    row(
        Grade::Ok,
        format!("kept out: the assistant's user opened none of {}; {denied} denied, {absent} not seen", found.len()),
        format!(
            "queda fuera: el usuario del asistente no abrió ninguna de {}; {denied} denegadas, {absent} no vistas",
            found.len()
        ),
    )
}

fn names(found: &[Path], reach: Reach) -> String {
    let all: Vec<_> = found.iter().filter(|tried| tried.reach == reach).collect();
    let shown = all.iter().take(MOST_NAMES).map(|tried| Shown::capped(&tried.path, 120).into_string());
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if all.len() > MOST_NAMES {
        text.push_str(&format!(", +{}", all.len() - MOST_NAMES));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(path: &str, reach: Reach) -> Path {
        Path { path: path.to_owned(), reach }
    }

    fn of(isolation: Isolation, uids: (Option<u32>, Option<u32>), found: &[Path]) -> Row {
        let wanted: Vec<String> = vec!["/s/store.db".to_owned(), "/s/token".to_owned()];
        row(&Tried { isolation, wanted: &wanted, uids }, found)
    }

    const TWO: (Option<u32>, Option<u32>) = (Some(71), Some(72));

    #[test]
    fn failing_to_open_is_the_pass() {
        let found = [tried("/s/store.db", Reach::Denied), tried("/s/token", Reach::Absent)];
        let row = of(Isolation::Users, TWO, &found);
        assert_eq!(row.grade, Grade::Ok);
        assert!(row.found.en.starts_with("kept out"), "{row:?}");
    }

    #[test]
    fn one_open_path_fails_and_is_named() {
        let found = [tried("/s/store.db", Reach::Denied), tried("/s/token", Reach::Open)];
        let row = of(Isolation::Users, TWO, &found);
        assert_eq!(row.grade, Grade::Fail);
        assert!(row.found.en.contains("/s/token") && !row.found.en.contains("store.db"), "{row:?}");
    }

    #[test]
    fn what_was_not_tried_is_no_pass() {
        let half = [tried("/s/store.db", Reach::Denied)];
        let odd = [tried("/s/store.db", Reach::Denied), tried("/s/token", Reach::Untried)];
        let other = [tried("/s/store.db", Reach::Denied), tried("/s/other", Reach::Denied)];
        for found in [&half[..], &odd[..], &other[..], &[]] {
            assert_eq!(of(Isolation::Users, TWO, found).grade, Grade::Warn, "{found:?}");
        }
        let none = row(&Tried { isolation: Isolation::Users, wanted: &[], uids: TWO }, &[]);
        assert_eq!(none.grade, Grade::Warn);
    }

    #[test]
    fn one_user_for_everything_is_told_and_one_user_in_place_of_two_fails() {
        let found = [tried("/s/store.db", Reach::Open), tried("/s/token", Reach::Open)];
        assert_eq!(of(Isolation::None, (Some(7), Some(7)), &found).grade, Grade::Info);
        let shut = [tried("/s/store.db", Reach::Denied), tried("/s/token", Reach::Denied)];
        assert_eq!(of(Isolation::Users, (Some(7), Some(7)), &shut).grade, Grade::Fail);
    }
}
