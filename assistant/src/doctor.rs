//! What the assistant finds when it looks at itself, and whether it can open what must be closed to it (`issue lines 3.19,
//! 3.20`). It signs in to nothing and calls no tool.

use crate::desk::Desk;
use protocol::ask::AssistantDoctor;
use protocol::doctor::{Check, Grade, MOST_PATHS, Report, Row, Tried};
use protocol::shown::Worded;
use reader::doctor as shared;
use std::path::{Path, PathBuf};

/// What was configured at start.
#[derive(Debug)]
pub(crate) struct Configured {
    /// Holds the policy files.
    pub(crate) policy_dir: PathBuf,
    /// Hash of the policy files that run.
    pub(crate) policy: String,
    /// Holds the witness.
    pub(crate) state_dir: PathBuf,
    /// The fleet's address.
    pub(crate) mcp_url: String,
}

/// Looks at everything, and tries each of these paths.
pub(crate) async fn of(desk: &Desk, closed: &[String]) -> AssistantDoctor {
    let set = &desk.configured;
    let model_address = desk.model.as_ref().map(|model| model.address().to_owned());
    let model_host = async {
        match &model_address {
            Some(address) => Some(shared::server(Check::ModelHost, address).await),
            None => None,
        }
    };
    let (fleet, model_host) = tokio::join!(shared::server(Check::Fleet, &set.mcp_url), model_host);
    let model = desk.model.as_ref().map(|model| (model.name(), model.host()));
    let mut rows = vec![
        shared::policy_files(&set.policy_dir, &set.policy),
        shared::guard(&desk.policy),
        shared::redaction(),
        scope(),
        fleet,
        model_row(model),
        executor(desk.poll.reached(), &desk.poll.troubles()),
        shared::own_folder(&set.state_dir),
        shared::service(),
        shared::sandbox(),
    ];
    if let Some(client) = desk.fleet.live() {
        rows.push(shared::sign_in(client.sign_in(), desk.fleet.is_signed_out(), "normal").await);
    }
    rows.extend(model_host);
    AssistantDoctor { report: Report::new(&set.policy, rows), tried: tried(closed) }
}

/// The risk that remains; it is told at every run.
fn scope() -> Row {
    let found = Worded::new(
        "can write: Epiphan has no read-only scope, so this sign-in could change devices if it were stolen",
        "puede escribir: Epiphan no tiene alcance de solo lectura; robado, este acceso podría cambiar equipos",
    );
    Row::new(Check::Scope, Grade::Info, found).advise(
        "Use an account with the least access that still sees the rooms.",
        "Use una cuenta con el menor acceso que aún vea las salas.",
    )
}

fn model_row(model: Option<(&str, &str)>) -> Row {
    let found = match model {
        Some((name, host)) => Worded::new(
            format!("{name}; questions and redacted readings are sent to {host}, and kept in no file here"),
            format!("{name}; las preguntas y las lecturas sin secretos se envían a {host} y aquí no se guardan"),
        ),
        None => Worded::new(
            "none: questions are answered by keywords, and nothing is sent to a model",
            "ninguno: se responde por palabras clave y no se envía nada a un modelo",
        ),
    };
    Row::new(Check::Model, Grade::Info, found)
}

fn executor(reached: bool, troubles: &[String]) -> Row {
    if reached && troubles.is_empty() {
        let found = Worded::new("the executor answers the assistant", "el ejecutor responde al asistente");
        return Row::new(Check::Answers, Grade::Ok, found);
    }
    let why = troubles.join("; ");
    let found = Worded::new(
        format!("the assistant has trouble with the executor: {why}"),
        format!("el asistente tiene problemas con el ejecutor: {why}"),
    );
    Row::new(Check::Answers, Grade::Fail, found).advise(
        "Start the executor with the same FLEETWATCH_RUN_DIR; its log says more.",
        "Inicie el ejecutor con el mismo FLEETWATCH_RUN_DIR; su registro dice más.",
    )
}

fn tried(closed: &[String]) -> Vec<Tried> {
    let paths = closed.iter().take(MOST_PATHS);
    paths.map(|path| Tried { path: path.clone(), reach: host::files::reach(Path::new(path)) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::doctor::Reach;

    #[test]
    fn the_scope_is_told_at_every_run() {
        let row = scope();
        assert_eq!(row.grade, Grade::Info);
        assert!(row.found.en.starts_with("can write:") && row.advice.en.contains("least access"), "{row:?}");
    }

    #[test]
    fn what_is_sent_where_is_told() {
        let row = model_row(Some(("m", "api.example.net")));
        assert!(row.found.en.contains("api.example.net") && row.found.es.contains("api.example.net"));
        assert!(model_row(None).found.en.contains("nothing is sent"));
    }

    #[test]
    fn an_executor_that_does_not_answer_fails() {
        assert_eq!(executor(true, &[]).grade, Grade::Ok);
        for (reached, trouble) in [(false, vec![]), (true, vec!["the witness".to_owned()])] {
            assert_eq!(executor(reached, &trouble).grade, Grade::Fail);
        }
    }

    #[test]
    fn only_so_many_paths_are_tried_and_nothing_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        std::fs::copy("/proc/self/status", &file).unwrap();
        let path = file.display().to_string();
        let all = tried(&vec![path.clone(); MOST_PATHS + 9]);
        assert_eq!(all.len(), MOST_PATHS);
        assert_eq!(all[0], Tried { path, reach: Reach::Open });
        assert_eq!(tried(&["relative".to_owned()])[0].reach, Reach::Untried);
    }
}
