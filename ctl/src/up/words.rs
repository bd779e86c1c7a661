//! What `up` and `down` say.

use super::start::Up;
use super::stop::Down;
use crate::client::Daemon;
use crate::render::{pick, safe};
use crate::status::wrong;
use protocol::hello::Isolation;
use protocol::shown::Language;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The page's launch secret is in this file.
fn secret_file(up: &Up) -> PathBuf {
    up.layout.state_of(Daemon::Executor).join("page-secret")
}

fn how(up: &Up) -> &'static str {
    match up.started.len() {
        0 => "runs",
        1 => "repaired",
        _ => "started",
    }
}

// What keeps changes from being made beside what `status` calls wrong.
fn closed(up: &Up, language: Language) -> Vec<String> {
    let Ok(executor) = &up.both.executor else { return Vec::new() };
    let config = up.layout.config().display();
    let mut closed = Vec::new();
    if executor.autonomy == "observe" {
        let words =
            pick(language, "nothing is proposed: autonomy is observe in", "no se propone nada: autonomy es observe en");
        closed.push(format!("{words} {config}/policy.yaml"));
    }
    if executor.dry_run {
        let words = pick(
            language,
            "approved changes are not sent: dry_run is on in",
            "los cambios aprobados no se envían: dry_run está activo en",
        );
        closed.push(format!("{words} {config}/policy.yaml"));
    }
    closed
}

/// For a person.
pub(crate) fn up(up: &Up, language: Language) -> String {
    let executor = up.both.executor.as_ref().ok();
    let page = safe(executor.and_then(|status| status.page.as_deref()).unwrap_or("-"));
    let head = match (how(up), language) {
        ("runs", Language::English) => "Fleetwatch runs already.",
        ("runs", Language::Spanish) => "Fleetwatch ya está en marcha.",
        ("repaired", Language::English) => "Fleetwatch runs again: one of the two daemons was missing.",
        ("repaired", Language::Spanish) => "Fleetwatch vuelve a estar en marcha: faltaba uno de los dos programas.",
        (_, Language::English) => "Fleetwatch is up.",
        (_, Language::Spanish) => "Fleetwatch está en marcha.",
    };
    let isolation = match language {
        Language::English => {
            "\
ISOLATION: NONE. Everything runs as you: a program of yours, or the assistant if it is taken over, could approve once it
has your PIN. For rooms that matter install the package, which gives each daemon a user of its own."
        }
        Language::Spanish => {
            "\
ISOLATION: NONE. Todo corre con su usuario: un programa suyo, o el asistente si alguien lo controla, podría aprobar si
tiene su PIN. Para salas que importan instale el paquete, que da a cada programa un usuario propio."
        }
    };
    let labels = match language {
        Language::English => ["Approval page", "Its secret is in", "Settings", "Logs", "Stop it with"],
        Language::Spanish => ["Página", "Su secreto está en", "Ajustes", "Registros", "Se detiene con"],
    };
    let shown = [
        page,
        secret_file(up).display().to_string(),
        up.layout.config().display().to_string(),
        up.layout.state().join("logs").display().to_string(),
        "fleetwatchctl down".to_owned(),
    ];
    let mut text = format!("{head}\n\n{isolation}\n\n");
    for (label, value) in labels.iter().zip(shown) {
        text.push_str(&format!("  {label:<19} {value}\n"));
    }
    let missing: Vec<_> = wrong(&up.both).into_iter().chain(closed(up, language)).collect();
    if !missing.is_empty() {
        text.push_str(pick(language, "\nStill missing:\n", "\nTodavía falta:\n"));
        for one in missing {
            text.push_str(&format!("  - {}\n", safe(&one)));
        }
        text.push_str(pick(
            language,
            "\nSettings and policy files are read at the start: change them, then fleetwatchctl down and up.\n",
            "\nLos ajustes y las políticas se leen al arrancar: cámbielos y después fleetwatchctl down y up.\n",
        ));
    }
    text
}

/// For a program.
pub(crate) fn up_json(up: &Up) -> Value {
    let executor = up.both.executor.as_ref().ok();
    let missing: Vec<_> = wrong(&up.both).into_iter().chain(closed(up, Language::English)).collect();
    json!({
        "up": how(up),
        "isolation": executor.map_or(Isolation::None, |status| status.isolation).as_str(),
        "page": executor.and_then(|status| status.page.clone()),
        "page_secret_file": secret_file(up).to_string_lossy(),
        "run_dir": up.layout.run().to_string_lossy(),
        "config_dir": up.layout.config().to_string_lossy(),
        "missing": missing,
    })
}

/// For a person.
pub(crate) fn down(down: &Down, language: Language) -> String {
    match down {
        Down::NothingRan => pick(language, "Nothing ran.", "No había nada en marcha.").to_owned(),
        Down::Stopped { waited } if waited.is_empty() => {
            pick(language, "Stopped. Nothing waited.", "Detenido. No había nada en espera.").to_owned()
        }
        Down::Stopped { waited } => {
            let numbers: Vec<_> = waited.iter().map(ToString::to_string).collect();
            let words = pick(
                language,
                "Stopped. These proposals waited, and can no longer be approved:",
                "Detenido. Estas propuestas estaban en espera y ya no se pueden aprobar:",
            );
            format!("{words} {}", numbers.join(", "))
        }
    }
}

/// For a program.
pub(crate) fn down_json(down: &Down) -> Value {
    match down {
        Down::NothingRan => json!({ "down": "nothing_ran", "withdrawn": [] }),
        Down::Stopped { waited } => {
            json!({ "down": "stopped", "withdrawn": waited.iter().map(|number| number.get()).collect::<Vec<_>>() })
        }
    }
}
