//! From facts to rows.

use crate::store::{Started, StoreLook};
use control::status::{QueueStatus, Witness};
use protocol::doctor::{Check, Grade, Row};
use protocol::shown::{Shown, Worded};
use std::path::PathBuf;

/// Less free space than this, in bytes, is a warning.
pub(super) const LITTLE_SPACE: u64 = 200 * 1024 * 1024;
/// A backup older than this, in seconds, is a warning.
pub(super) const OLD_BACKUP: i64 = 30 * DAY;
/// Most paths that one row names.
const MOST_NAMES: usize = 4;
const DAY: i64 = 86_400;

fn row(check: Check, grade: Grade, en: impl Into<String>, es: impl Into<String>) -> Row {
    Row::new(check, grade, Worded::new(en, es))
}

/// How freely changes are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Autonomy {
    pub(super) proposes: bool,
    pub(super) dry_run: bool,
}

/// What the audit and the last start tell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Past {
    pub(super) sequence: u64,
    pub(super) witness: Witness,
    pub(super) started: Started,
    /// Whether a row tells of a loss, from this start or an earlier one.
    pub(super) lost: bool,
}

/// Paths that the assistant cannot be asked to try; nothing when there are none.
pub(super) fn untried(left_out: &[PathBuf]) -> Option<Row> {
    let named = left_out.iter().take(MOST_NAMES).map(|path| Shown::capped(&path.to_string_lossy(), 60).into_string());
    let named = named.collect::<Vec<_>>().join(", ");
    let count = left_out.len();
    let told = row(
        Check::Isolation,
        Grade::Warn,
        format!("{count} of the executor's files cannot be tried by the assistant: {named}"),
        format!("el asistente no puede probar {count} archivos del ejecutor: {named}"),
    )
    .advise(
        "Give them names of plain text (UTF-8), or move old files out of the state folder, and run doctor again.",
        "Déles nombres de texto normal (UTF-8), o saque los archivos viejos de la carpeta de estado, y repita doctor.",
    );
    (count > 0).then_some(told)
}

pub(super) fn fence(fence: Option<&str>, proposes: bool) -> Row {
    let Some(words) = fence else {
        let grade = if proposes { Grade::Fail } else { Grade::Warn };
        return row(Check::Fence, grade, "none: nothing may be changed", "ninguna: no se puede cambiar nada").advise(
            "Set FLEETWATCH_WRITE_DEVICE_IDS or FLEETWATCH_WRITE_TEAM_ID and restart the executor.",
            "Defina FLEETWATCH_WRITE_DEVICE_IDS o FLEETWATCH_WRITE_TEAM_ID y reinicie el ejecutor.",
        );
    };
    Row::new(Check::Fence, Grade::Ok, Worded::same(words))
}

pub(super) fn autonomy(set: Autonomy) -> Row {
    let (en, es) = match (set.proposes, set.dry_run) {
        (false, _) => ("observe: nothing is proposed", "observe: no se propone nada"),
        (true, true) => (
            "propose, dry_run: approved changes are prepared and not sent",
            "propose, dry_run: lo aprobado se prepara y no se envía",
        ),
        (true, false) => (
            "propose: a change is sent once after a person's yes",
            "propose: un cambio se envía una vez tras el sí de una persona",
        ),
    };
    row(Check::Autonomy, Grade::Info, en, es)
}

pub(super) fn queue(queue: QueueStatus) -> Row {
    let QueueStatus { pending, pending_limit, hour, hour_limit } = queue;
    let en = format!("{pending} of {pending_limit} wait, {hour} of {hour_limit} this hour");
    let es = format!("{pending} de {pending_limit} esperan, {hour} de {hour_limit} en esta hora");
    if pending < pending_limit && hour < hour_limit {
        return row(Check::Queue, Grade::Ok, en, es);
    }
    row(Check::Queue, Grade::Warn, en, es).advise(
        "Full: decide what waits, or wait for the hour to pass.",
        "Llena: decida lo que espera, o deje pasar la hora.",
    )
}

pub(super) fn frozen(frozen: bool) -> Row {
    if !frozen {
        return row(Check::Frozen, Grade::Ok, "not frozen", "no está congelado");
    }
    row(Check::Frozen, Grade::Warn, "everything is frozen", "todo está congelado")
        .advise("Run fleetwatchctl thaw when it may go on.", "Ejecute fleetwatchctl thaw cuando pueda continuar.")
}

pub(super) fn agents(paused: &[String]) -> Row {
    if paused.is_empty() {
        return row(Check::Agents, Grade::Ok, "no agent is paused", "ningún agente está en pausa");
    }
    let names = paused.join(", ");
    row(Check::Agents, Grade::Warn, format!("paused: {names}"), format!("en pausa: {names}")).advise(
        "Look at what it proposed, then run fleetwatchctl approvals agents resume LABEL.",
        "Mire lo que propuso y luego ejecute fleetwatchctl approvals agents resume ETIQUETA.",
    )
}

pub(super) fn pins(operators: usize, without: &[String], on_disk: &Result<bool, String>) -> Row {
    let restart =
        ("Put principals.yaml right, then restart the executor.", "Corrija principals.yaml y reinicie el ejecutor.");
    match on_disk {
        Err(why) => return Row::new(Check::Pins, Grade::Fail, Worded::same(why.as_str())).advise(restart.0, restart.1),
        Ok(_) if operators == 0 => {
            return row(Check::Pins, Grade::Fail, "nobody is an operator", "nadie es operador").advise(
                "Add a person with operator: true to principals.yaml and restart the executor.",
                "Añada una persona con operator: true a principals.yaml y reinicie el ejecutor.",
            );
        }
        Ok(false) => {
            return row(
                Check::Pins,
                Grade::Warn,
                "principals.yaml was edited since the start; the old list still holds",
                "principals.yaml se editó desde el arranque; aún vale la lista anterior",
            )
            .advise("Restart the executor.", "Reinicie el ejecutor.");
        }
        Ok(true) => {}
    }
    if without.is_empty() {
        let en = format!("each of {operators} operator(s) has a PIN");
        return row(Check::Pins, Grade::Ok, en, format!("cada operador ({operators}) tiene PIN"));
    }
    let names = without.join(", ");
    row(Check::Pins, Grade::Warn, format!("without a PIN: {names}"), format!("sin PIN: {names}"))
        .advise("Each of them runs fleetwatchctl pin set.", "Cada uno ejecuta fleetwatchctl pin set.")
}

pub(super) fn page(address: Option<&str>, single_user: bool) -> Row {
    let Some(address) = address else {
        return row(Check::Page, Grade::Fail, "the approval page is down", "la página de aprobación no funciona")
            .advise("The executor's log says why.", "El registro del ejecutor dice por qué.");
    };
    let (en, es) = if single_user {
        ("opens with launch secret and PIN", "se abre con secreto de arranque y PIN")
    } else {
        (
            "opens for operators with a code from fleetwatchctl page-code",
            "se abre a los operadores con un código de fleetwatchctl page-code",
        )
    };
    row(Check::Page, Grade::Ok, format!("{address}, {en}"), format!("{address}, {es}"))
}

/// The service alone: whoever has the address can post there.
pub(super) fn notify(service: Option<&str>) -> Row {
    match service {
        Some(name) => row(
            Check::Notify,
            Grade::Info,
            format!("{name} is pinged when a card waits; the address is not shown and was not called"),
            format!("se avisa a {name} cuando espera una tarjeta; la dirección no se muestra ni se llamó"),
        ),
        None => row(Check::Notify, Grade::Info, "nobody is pinged", "no se avisa a nadie"),
    }
}

pub(super) fn sqlite(look: &StoreLook) -> Row {
    let version = &look.sqlite;
    if look.journal == "wal" && look.full_sync {
        return row(
            Check::Sqlite,
            Grade::Ok,
            format!("SQLite {version}, WAL, every commit synced, whole at the last start"),
            format!("SQLite {version}, WAL, cada confirmación en disco, íntegra en el último arranque"),
        );
    }
    let mode = &look.journal;
    row(
        Check::Sqlite,
        Grade::Fail,
        format!("SQLite {version}: journal {mode}, synced: {}; a power cut could lose an approval", look.full_sync),
        format!("SQLite {version}: diario {mode}, en disco: {}; un corte podría perder una aprobación", look.full_sync),
    )
    .advise(
        "Put the state folder on a local disk and restart the executor.",
        "Ponga la carpeta de estado en un disco local y reinicie el ejecutor.",
    )
}

pub(super) fn store(wrong: &[String]) -> Row {
    if wrong.is_empty() {
        return row(
            Check::Store,
            Grade::Ok,
            "database, keys and spent log are private",
            "base de datos, claves y registro de gastos son privados",
        );
    }
    Row::new(Check::Store, Grade::Fail, Worded::same(wrong.join("; "))).advise(
        "Find out who changed them; then put owner and mode right and restart the executor.",
        "Averigüe quién los cambió; luego corrija dueño y permisos y reinicie el ejecutor.",
    )
}

pub(super) fn lock(alone: &Result<(), String>) -> Row {
    match alone {
        Ok(()) => row(
            Check::Lock,
            Grade::Ok,
            "this executor alone holds the state folder",
            "solo este ejecutor tiene la carpeta de estado",
        ),
        Err(why) => Row::new(Check::Lock, Grade::Fail, Worded::same(why.as_str())).advise(
            "Make sure that one executor runs, then restart it.",
            "Asegúrese de que solo hay un ejecutor y reinícielo.",
        ),
    }
}

pub(super) fn disk(free: &Result<u64, String>) -> Row {
    let free = match free {
        Ok(free) => *free,
        Err(why) => {
            return Row::new(Check::Disk, Grade::Warn, Worded::same(why.as_str()))
                .advise("Look at the disk.", "Mire el disco.");
        }
    };
    let megabytes = free / (1024 * 1024);
    let (en, es) = (format!("{megabytes} MB free"), format!("{megabytes} MB libres"));
    if free >= LITTLE_SPACE {
        return row(Check::Disk, Grade::Ok, en, es);
    }
    row(Check::Disk, Grade::Warn, en, es).advise(
        "Make room: a full disk stops every approval.",
        "Libere espacio: un disco lleno detiene toda aprobación.",
    )
}

pub(super) fn backup(age: Option<i64>) -> Row {
    let Some(age) = age else {
        return row(Check::Backup, Grade::Info, "none is known", "no se conoce ninguna copia").advise(
            "fleetwatchctl backup FILE makes one; keep audit.key beside it.",
            "fleetwatchctl backup ARCHIVO hace una; guarde audit.key con ella.",
        );
    };
    let days = age / DAY;
    let (en, es) = (format!("the last one is {days} day(s) old"), format!("la última tiene {days} día(s)"));
    if age <= OLD_BACKUP {
        return row(Check::Backup, Grade::Ok, en, es);
    }
    row(Check::Backup, Grade::Warn, en, es)
        .advise("Run fleetwatchctl backup FILE.", "Ejecute fleetwatchctl backup ARCHIVO.")
}

pub(super) fn audit(past: Past) -> Row {
    let head = past.sequence;
    let read = (
        "Run fleetwatchctl audit verify, and look at the history and at the units before approving anything.",
        "Ejecute fleetwatchctl audit verify y mire el historial y las unidades antes de aprobar nada.",
    );
    let bad = |en: &str, es: &str| {
        row(Check::Audit, Grade::Fail, format!("row {head}: {en}"), format!("fila {head}: {es}")).advise(read.0, read.1)
    };
    match past.witness {
        Witness::Newer => return bad("an old database came back", "volvió una base de datos antigua"),
        Witness::BadMac => {
            return bad(
                "the assistant's witness is not signed by us",
                "el testigo del asistente no lleva nuestra firma",
            );
        }
        Witness::Unwitnessed | Witness::Agrees => {}
    }
    if past.started.restored > 0 {
        return bad("the database is older than its spent log", "la base de datos es anterior a su registro de gastos");
    }
    if past.lost {
        return bad("rows are missing, as an earlier start found", "faltan filas, como ya notó un arranque anterior");
    }
    if past.started.torn {
        return bad("a line of the spent log was torn", "una línea del registro de gastos estaba cortada");
    }
    if past.started.unknown > 0 {
        let count = past.started.unknown;
        return row(
            Check::Audit,
            Grade::Warn,
            format!("row {head}; {count} change(s) have an unknown outcome since the last start"),
            format!("fila {head}; {count} cambio(s) de resultado desconocido desde el último arranque"),
        )
        .advise(read.0, read.1);
    }
    if past.witness == Witness::Agrees {
        return row(
            Check::Audit,
            Grade::Ok,
            format!("row {head}; the assistant's witness agrees"),
            format!("fila {head}; el testigo del asistente coincide"),
        );
    }
    row(
        Check::Audit,
        Grade::Info,
        format!("row {head}; no assistant has shown a witness since the start"),
        format!("fila {head}; ningún asistente ha mostrado un testigo desde el arranque"),
    )
}

pub(super) fn clock(zone: &str, boot_id: &str) -> Row {
    if boot_id.is_empty() {
        return row(Check::Clock, Grade::Fail, "this boot has no id", "este arranque no tiene identificador")
            .advise("Mount the real /proc.", "Monte el /proc verdadero.");
    }
    row(
        Check::Clock,
        Grade::Ok,
        format!("times are shown in {zone}; this boot is known"),
        format!("las horas se muestran en {zone}; este arranque es conocido"),
    )
}
