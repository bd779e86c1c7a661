//! What a good file means, field by field, for people and as JSON.

use crate::render::{pick, safe};
use policy::behaviour::{Autonomy, Behaviour, TimeOfDay, Vertical};
use policy::principals::Principals;
use policy::tool_policy::{Disrupts, ProposeEntry, ToolPolicy};
use protocol::shown::Language;
use serde_json::{Value, json};

/// The same facts twice.
#[derive(Debug)]
pub(crate) struct Meaning {
    /// Label and value, safe to show.
    pub(crate) fields: Vec<(&'static str, String)>,
    /// For `--json`.
    pub(crate) json: Value,
}

/// Of `policy.yaml`.
pub(crate) fn of_behaviour(file: &Behaviour, language: Language) -> Meaning {
    let none = pick(language, "none", "ninguna");
    let quiet = file.quiet_hours().map(|(from, to)| format!("{}-{}", clock(from), clock(to)));
    let sweep = file.sweep_at().map(clock);
    let limits = file.thresholds();
    let rooms: Vec<_> = file.rooms().iter().collect();
    let fields = vec![
        (pick(language, "Autonomy", "Autonomía"), autonomy(file, language)),
        (pick(language, "Dry run", "Simulacro"), dry_run(file, language)),
        (pick(language, "Lead", "Antelación"), lead(file, language)),
        (pick(language, "Time zone", "Zona horaria"), file.timezone().to_owned()),
        (pick(language, "Quiet hours", "Silencio"), quiet.clone().unwrap_or_else(|| none.to_owned())),
        (pick(language, "Nightly check", "Revisión nocturna"), sweep.clone().unwrap_or_else(|| none.to_owned())),
        (pick(language, "Looks every", "Mira cada"), format!("{} s", file.heartbeat_seconds())),
        (pick(language, "Reminds after", "Recuerda tras"), format!("{} min", file.remind_after_minutes())),
        (pick(language, "Watched", "Se vigila"), watched(file, language)),
        (
            pick(language, "Worth a note", "Digno de aviso"),
            format!(
                "CPU {} %, {} °C; {} {} min",
                limits.cpu_load_pct,
                limits.cpu_temp_c,
                pick(language, "restarted within", "reinicio hace menos de"),
                limits.recent_reboot_minutes
            ),
        ),
        (pick(language, "Rooms with names", "Salas con nombres"), room_names(file, language)),
    ];
    let named: Vec<_> = rooms
        .iter()
        .map(|room| json!({ "device": room.device().as_str(), "aliases": room.aliases(), "note": room.note() }))
        .collect();
    let json = json!({
        "autonomy": file.autonomy().as_str(),
        "dry_run": file.dry_run(),
        "lead_minutes": file.lead_minutes(),
        "timezone": file.timezone(),
        "quiet_hours": quiet,
        "sweep_at": sweep,
        "heartbeat_seconds": file.heartbeat_seconds(),
        "remind_after_minutes": file.remind_after_minutes(),
        "vertical": vertical(file.vertical()),
        "groups": file.groups(),
        "exclude_devices": file.exclude_devices(),
        "rooms": named,
    });
    Meaning { fields, json }
}

fn clock(time: TimeOfDay) -> String {
    format!("{:02}:{:02}", time.minutes() / 60, time.minutes() % 60)
}

fn vertical(vertical: Vertical) -> &'static str {
    match vertical {
        Vertical::Business => "business",
        Vertical::Courts => "courts",
        Vertical::Education => "education",
        Vertical::Events => "events",
        Vertical::Worship => "worship",
    }
}

fn autonomy(file: &Behaviour, language: Language) -> String {
    let words = match file.autonomy() {
        Autonomy::Observe => pick(language, "it answers; nothing is ever proposed", "responde; nunca se propone nada"),
        Autonomy::Propose => pick(
            language,
            "a person may approve changes, one at a time",
            "una persona puede aprobar cambios, de uno en uno",
        ),
    };
    format!("{}: {words}", file.autonomy().as_str())
}

fn dry_run(file: &Behaviour, language: Language) -> String {
    if file.dry_run() {
        return pick(
            language,
            "yes: an approved change is refused instead of sent",
            "sí: un cambio aprobado se rechaza en vez de enviarse",
        )
        .to_owned();
    }
    pick(language, "no: an approved change is really sent", "no: un cambio aprobado se envía de verdad").to_owned()
}

fn lead(file: &Behaviour, language: Language) -> String {
    let words = pick(
        language,
        "min before an event nothing disruptive runs",
        "min antes de un evento no se ejecuta nada que pueda afectarlo",
    );
    format!("{} {words}", file.lead_minutes())
}

fn watched(file: &Behaviour, language: Language) -> String {
    let groups = if file.groups().is_empty() {
        pick(language, "every group", "todos los grupos").to_owned()
    } else {
        format!("{} {}", pick(language, "the groups", "los grupos"), names(file.groups()))
    };
    if file.exclude_devices().is_empty() {
        return groups;
    }
    format!("{groups}; {} {}", pick(language, "without", "sin"), names(file.exclude_devices()))
}

fn room_names(file: &Behaviour, language: Language) -> String {
    let rooms: Vec<_> =
        file.rooms().iter().map(|room| format!("{} ({})", room.device().as_str(), names(room.aliases()))).collect();
    if rooms.is_empty() { pick(language, "none", "ninguna").to_owned() } else { rooms.join("; ") }
}

fn names(names: &[String]) -> String {
    names.iter().map(|name| safe(name)).collect::<Vec<_>>().join(", ")
}

/// Of `tool_policy.yaml`.
pub(crate) fn of_tools(file: &ToolPolicy, language: Language) -> Meaning {
    let read: Vec<_> = file.read_tools().collect();
    let count = format!("{} {}", read.len(), pick(language, "tools, which only read", "herramientas, que solo leen"));
    let mut fields = vec![(pick(language, "May be read", "Se puede leer"), count)];
    let entries: Vec<_> = file.proposable().collect();
    for (place, entry) in entries.iter().enumerate() {
        let label = if place == 0 { pick(language, "May be proposed", "Se puede proponer") } else { "" };
        fields.push((label, proposed(entry, language)));
    }
    if entries.is_empty() {
        let nothing = pick(language, "nothing", "nada").to_owned();
        fields.push((pick(language, "May be proposed", "Se puede proponer"), nothing));
    }
    let propose: Vec<_> = entries
        .iter()
        .map(|entry| {
            json!({
                "tool": entry.tool().as_str(),
                "max_targets": entry.max_targets(),
                "schema_version": entry.version(),
                "disruptive": disrupts_word(entry.disrupts()),
            })
        })
        .collect();
    Meaning { fields, json: json!({ "read": read, "propose": propose }) }
}

fn disrupts_word(disrupts: Disrupts) -> &'static str {
    match disrupts {
        Disrupts::Always => "always",
        Disrupts::Never => "never",
        Disrupts::Sometimes => "sometimes",
    }
}

fn proposed(entry: &ProposeEntry, language: Language) -> String {
    let disrupts = match entry.disrupts() {
        Disrupts::Always => pick(language, "disruptive", "puede afectar a la sala"),
        Disrupts::Never => pick(language, "not disruptive", "no afecta a la sala"),
        Disrupts::Sometimes => {
            pick(language, "disruptive with some arguments", "puede afectar a la sala con algunos argumentos")
        }
    };
    format!("{}: {disrupts}", entry.tool().as_str())
}

/// Of `principals.yaml`. A PIN's hash is never shown, only whether there is one.
pub(crate) fn of_principals(file: &Principals, language: Language) -> Meaning {
    let mut fields = Vec::new();
    for (place, person) in file.everyone().enumerate() {
        let label = if place == 0 { pick(language, "People", "Personas") } else { "" };
        let may = if person.is_operator() {
            pick(language, "may decide", "puede decidir")
        } else {
            pick(language, "may not decide", "no puede decidir")
        };
        let pin = if person.pin().is_some() {
            pick(language, "has a PIN", "tiene PIN")
        } else {
            pick(language, "has no PIN yet: fleetwatchctl pin set", "aún no tiene PIN: fleetwatchctl pin set")
        };
        fields.push((label, format!("{} (uid {}): {may}, {pin}", person.name(), person.uid())));
    }
    if file.operators().next().is_none() {
        let nobody = pick(language, "nobody may decide about proposals", "nadie puede decidir sobre propuestas");
        fields.push((pick(language, "Note", "Aviso"), nobody.to_owned()));
    }
    let people: Vec<_> = file
        .everyone()
        .map(|person| {
            json!({
                "name": person.name().as_str(),
                "uid": person.uid(),
                "operator": person.is_operator(),
                "pin": person.pin().is_some(),
            })
        })
        .collect();
    Meaning { fields, json: json!({ "people": people }) }
}
