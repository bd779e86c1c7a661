//! The page's own labels in both languages. Facts come worded from the card; sentences for codes and states from
//! `policy::words`.

use protocol::gate::GateId;
use protocol::ids::ProposalNumber;
use protocol::shown::{Language, Worded};

/// A fixed text, English and Spanish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Say(&'static str, &'static str);

impl Say {
    /// For one language.
    pub(in super::super) fn get(self, language: Language) -> &'static str {
        match language {
            Language::English => self.0,
            Language::Spanish => self.1,
        }
    }

    /// Both, owned.
    pub(in super::super) fn owned(self) -> Worded {
        Worded::new(self.0, self.1)
    }
}

pub(in super::super) const BAD_FORM: Say = Say(
    "This form is not complete. Open the page again.",
    "Este formulario no está completo. Abra la página de nuevo.",
);
pub(in super::super) const BAD_SEARCH: Say = Say(
    "This cannot be searched for: at most 80 plain characters, and nothing else in the address.",
    "Esto no se puede buscar: como máximo 80 caracteres normales, y nada más en la dirección.",
);
pub(in super::super) const BAD_TOKEN: Say = Say(
    "This form does not belong to this session. Nothing was decided. Open the card again.",
    "Este formulario no pertenece a esta sesión. No se decidió nada. Abra la tarjeta de nuevo.",
);
pub(in super::super) const NO_RANDOM: Say = Say(
    "The system gives no random numbers. Look at fleetwatchctl status.",
    "El sistema no da números aleatorios. Mire fleetwatchctl status.",
);
pub(in super::super) const NO_SUCH_PAGE: Say = Say("There is no such page.", "Esa página no existe.");
pub(in super::super) const NOT_FROM_HERE: Say = Say(
    "This request did not come from this page. Nothing was done.",
    "Esta petición no viene de esta página. No se hizo nada.",
);
pub(in super::super) const NOT_FOR_YOU: Say = Say(
    "This page is for operators. The user that this connection comes from is not on their list.",
    "Esta página es para operadores. El usuario de esta conexión no está en su lista.",
);
pub(in super::super) const SESSION_ENDED: Say =
    Say("You are not signed in any more. Nothing was decided.", "Su sesión ha terminado. No se decidió nada.");
pub(in super::super) const WRONG_CODE: Say = Say(
    "This page code is not right, was used, or is older than two minutes. Make a new one.",
    "Este código de página no es correcto, ya se usó o tiene más de dos minutos. Genere otro.",
);
pub(in super::super) const WRONG_ENTRY: Say =
    Say("The launch secret or the PIN is not right.", "El secreto de arranque o el PIN no es correcto.");

pub(super) const APPROVE: Say = Say("Approve and run", "Aprobar y ejecutar");
pub(super) const APPROVE_HELP: Say = Say(
    "The device is read once more. If nothing has changed, this runs once, now.",
    "Se lee el dispositivo una vez más. Si nada cambió, se ejecuta una vez, ahora.",
);
pub(super) const APPROVE_TITLE: Say = Say("Approve this change", "Aprobar este cambio");
pub(super) const ARGUMENT: Say = Say("Argument", "Argumento");
pub(super) const ARGUMENTS: Say = Say("Exactly what is sent", "Exactamente lo que se envía");
pub(super) const BACK_TO_QUEUE: Say = Say("Back to what waits", "Volver a lo que espera");
pub(super) const BLOCKED: Say = Say("blocked", "bloqueado");
pub(super) const CHANGE: Say = Say("Change", "Cambio");
pub(super) const CODE: Say = Say("Code", "Código");
pub(super) const DECIDED_BY: Say = Say("Decided by", "Decidido por");
pub(super) const DEFAULTED: Say = Say("filled in by the tool's schema", "completado por el esquema de la herramienta");
pub(super) const DENY: Say = Say("Deny", "Denegar");
pub(super) const DENY_ALL: Say = Say("Deny everything that waits", "Denegar todo lo que espera");
pub(super) const DENY_ALL_HELP: Say = Say(
    "No to all of them. Nothing runs. There is no button that approves all.",
    "No a todos. Nada se ejecuta. No hay un botón que apruebe todo.",
);
pub(super) const DENY_ALL_TITLE: Say = Say("Deny all", "Denegar todo");
pub(super) const DENY_ONLY: Say = Say("This can only be denied", "Esto solo se puede denegar");
pub(super) const DETAIL: Say = Say("Details", "Detalles");
pub(super) const DEVICE_ID: Say = Say("Device id", "Id del dispositivo");
pub(super) const DISRUPTIVE: Say = Say("Can disturb a room in use", "Puede afectar a una sala en uso");
pub(super) const DRY_RUN: Say = Say("Dry run", "Simulacro");
pub(super) const EFFECT: Say = Say("What happens", "Qué ocurre");
pub(super) const ENDED: Say = Say("Ended", "Terminado");
pub(super) const EVENT: Say = Say("Event", "Evento");
pub(super) const EVIDENCE: Say = Say("What was looked at:", "Qué se miró:");
pub(super) const EXACT_VALUE: Say = Say("Exact value", "Valor exacto");
pub(super) const FIRMWARE: Say = Say("Firmware", "Firmware");
pub(super) const FREEZE: Say = Say("Freeze everything", "Congelar todo");
pub(super) const FREEZE_ASK: Say = Say("Freeze everything…", "Congelar todo…");
pub(super) const FREEZE_END: Say =
    Say("Only an operator with a PIN ends it, with", "Solo un operador con PIN lo termina, con");
pub(super) const FREEZE_HELP: Say = Say(
    "All that waits is denied, and what was approved but has not begun is taken back. Nothing new is taken in and nothing \
     runs, not even after a restart.",
    "Se deniega todo lo que espera y se retira lo aprobado que no ha empezado. No se admite nada nuevo y no se ejecuta \
     nada, ni siquiera tras un reinicio.",
);
pub(super) const FREEZE_TITLE: Say = Say("Freeze everything?", "¿Congelar todo?");
pub(super) const FROZEN: Say = Say(
    "Everything is frozen: nothing is taken in and nothing runs.",
    "Todo está congelado: no se admite ni se ejecuta nada.",
);
pub(super) const GO_ON: Say = Say("Go on and name the room", "Continuar y nombrar la sala");
pub(super) const GO_ON_HELP: Say = Say(
    "The next page asks you to type the room's name. Nothing runs before that.",
    "La página siguiente le pide escribir el nombre de la sala. Nada se ejecuta antes.",
);
pub(super) const GOOD_TO_KNOW: Say = Say("Good to know", "Conviene saber");
pub(super) const HISTORY: Say = Say("History", "Historial");
pub(super) const KNOWN_AS: Say = Say("Also called", "También llamada");
pub(super) const LAUNCH_SECRET: Say = Say("Launch secret", "Secreto de arranque");
pub(super) const LAUNCH_SECRET_HELP: Say = Say(
    "New at every start: printed by Fleetwatch, or in the file page-secret in the executor's state folder.",
    "Nuevo en cada arranque: lo muestra Fleetwatch, o está en el archivo page-secret de la carpeta de estado del ejecutor.",
);
pub(super) const MADE: Say = Say("Proposed", "Propuesto");
pub(super) const MODEL: Say = Say("Model", "Modelo");
pub(super) const NAME: Say = Say("Name", "Nombre");
pub(super) const NAMES_READ: Say = Say("Names just read", "Nombres recién leídos");
pub(super) const NEEDS_CARE: Say = Say("Needs attention", "Requiere atención");
pub(super) const NOBODY: Say = Say("nobody", "nadie");
pub(super) const NOTE: Say = Say("Note", "Nota");
pub(super) const NOT_REACHED: Say = Say("not reached", "no se llegó");
pub(super) const NOTHING_FOUND: Say = Say("Nothing was found.", "No se encontró nada.");
pub(super) const NOTHING_YET: Say = Say("Nothing was proposed yet.", "Todavía no se propuso nada.");
pub(super) const NUMBER: Say = Say("No.", "N.º");
pub(super) const ONLINE: Say = Say("Online", "En línea");
pub(super) const OPEN_CARD: Say = Say("Open the card", "Abrir la tarjeta");
pub(super) const OUTCOME: Say = Say("Outcome", "Resultado");
pub(super) const PAGE_CODE: Say = Say("Page code", "Código de página");
pub(super) const PAGE_CODE_HELP: Say = Say(
    "Run fleetwatchctl page-code: it asks for your PIN and gives a code that works once, within two minutes.",
    "Ejecute fleetwatchctl page-code: pide su PIN y da un código que vale una vez, durante dos minutos.",
);
pub(super) const PAGES: Say = Say("Pages", "Páginas");
pub(super) const PASSED: Say = Say("passed", "superado");
pub(super) const PIN: Say = Say("Your PIN", "Su PIN");
pub(super) const PIN_HELP: Say = Say("Set with fleetwatchctl pin set.", "Se fija con fleetwatchctl pin set.");
pub(super) const PROPOSE_UNDO: Say = Say("Propose the undo", "Proponer deshacerlo");
pub(super) const PROPOSE_UNDO_HELP: Say = Say(
    "The change that undoes this one becomes a card of its own. Nothing runs until a person approves that card.",
    "El cambio que deshace este pasa a ser una tarjeta propia. Nada se ejecuta hasta que una persona la apruebe.",
);
pub(super) const QUEUE: Say = Say("Waiting", "En espera");
pub(super) const QUEUE_TITLE: Say = Say("Waiting for a decision", "En espera de una decisión");
pub(super) const READ_AT: Say = Say("Read from the device:", "Leído del dispositivo:");
pub(super) const RECORDING: Say = Say("Recording", "Grabación");
pub(super) const ROOM_NAME: Say = Say("Room's name", "Nombre de la sala");
pub(super) const SEARCH: Say = Say("Search", "Buscar");
pub(super) const SEARCH_IN: Say =
    Say("Search rooms, ids, people, states and codes", "Buscar salas, ids, personas, estados y códigos");
pub(super) const SHOW_ALL: Say = Say("Show all", "Mostrar todo");
pub(super) const SIGN_IN: Say = Say("Sign in", "Entrar");
pub(super) const SIGN_IN_LEAD: Say = Say(
    "Changes to devices wait here for a person. Nothing runs without one.",
    "Los cambios en los dispositivos esperan aquí a una persona. Nada se ejecuta sin ella.",
);
pub(super) const SIGN_IN_SLOT: Say = Say("Sign-in for writing", "Acceso de escritura");
pub(super) const SIGN_IN_TITLE: Say = Say("Sign in to approve or deny", "Entrar para aprobar o denegar");
pub(super) const SIGN_OUT: Say = Say("Sign out", "Salir");
pub(super) const SIGNED_IN_AS: Say = Say("Signed in as", "Sesión de");
pub(super) const SKIP: Say = Say("Skip to the content", "Ir al contenido");
pub(super) const STREAMING: Say = Say("Streaming", "Transmisión");
pub(super) const TARGET: Say = Say("Device", "Dispositivo");
pub(super) const TIME: Say = Say("Time", "Hora");
pub(super) const TOOL: Say = Say("Tool", "Herramienta");
pub(super) const TYPE_ROOM_HELP: Say =
    Say("To run this, type the name exactly as it is here:", "Para ejecutarlo, escriba el nombre tal como está aquí:");
pub(super) const TYPE_ROOM_TITLE: Say = Say("Name the room", "Nombre la sala");
pub(super) const UNDO: Say = Say("How to undo it", "Cómo deshacerlo");
pub(super) const WHAT_HAPPENED: Say = Say("What happened", "Qué ocurrió");
pub(super) const WHERE: Say = Say("Where", "Dónde");
pub(super) const WHY: Say = Say("Why it could be proposed", "Por qué se pudo proponer");
pub(super) const WHY_HELP: Say = Say(
    "What each check found when the change was proposed. All of them are asked again before anything runs.",
    "Lo que encontró cada comprobación cuando se propuso el cambio. Todas se repiten antes de ejecutar nada.",
);
pub(super) const YOUR_NAME: Say = Say("Your name", "Su nombre");

fn pick(language: Language, en: String, es: String) -> String {
    match language {
        Language::English => en,
        Language::Spanish => es,
    }
}

/// What a gate asks, in plain words.
pub(super) fn gate(gate: GateId) -> Say {
    match gate {
        GateId::Schema => Say("Is the proposal well formed?", "¿Está bien formada la propuesta?"),
        GateId::DeviceResolve => {
            Say("Is the unit on the team's own list?", "¿Está la unidad en la propia lista del equipo?")
        }
        GateId::Capability => Say("Can the unit do this?", "¿Puede hacerlo la unidad?"),
        GateId::Freshness => Say("Was the room read just now?", "¿Se acaba de leer la sala?"),
        GateId::Policy => {
            Say("Do rules, fence and limits allow it?", "¿Lo permiten las reglas, el cerco y los límites?")
        }
        GateId::DryRun => Say("Is it more than a dry run?", "¿Es más que un simulacro?"),
        GateId::Exec => Say("May anything run at all?", "¿Se puede ejecutar algo?"),
    }
}

/// Where somebody decided, in words.
pub(super) fn surface(surface: &str, language: Language) -> &str {
    match (language, surface) {
        (Language::Spanish, "command") => "línea de comandos",
        (Language::Spanish, "page") => "página",
        (Language::English | Language::Spanish, other) => other,
    }
}

/// Whether the system keeps the daemons apart, for the footer.
pub(super) fn isolation(isolation: &str, language: Language) -> String {
    let es = match isolation {
        "none" => "ninguno",
        "users" => "usuarios",
        other => other,
    };
    pick(language, format!("isolation: {isolation}"), format!("aislamiento: {es}"))
}

/// "Proposal 7".
pub(super) fn proposal(number: ProposalNumber, language: Language) -> String {
    pick(language, format!("Proposal {number}"), format!("Propuesta {number}"))
}

/// The only countdown: the expiry, in whole minutes.
pub(super) fn expires(seconds: u64, language: Language) -> String {
    match seconds / 60 {
        0 => pick(language, "expires in less than a minute".into(), "caduca en menos de un minuto".into()),
        minutes => pick(language, format!("expires in {minutes} min"), format!("caduca en {minutes} min")),
    }
}

/// "2 waiting", for titles.
pub(super) fn waiting(count: u64, language: Language) -> String {
    pick(language, format!("{count} waiting"), format!("{count} en espera"))
}

/// How many wait, as a sentence.
pub(super) fn waiting_long(count: u64, language: Language) -> String {
    match count {
        0 => pick(language, "Nothing waits.".into(), "No hay nada en espera.".into()),
        1 => pick(language, "One proposal waits for you.".into(), "Una propuesta le espera.".into()),
        _ => pick(language, format!("{count} proposals wait for you."), format!("{count} propuestas le esperan.")),
    }
}

/// How many more wait, on a card.
pub(super) fn others(count: u64, language: Language) -> String {
    match count {
        1 => pick(language, "1 other waits".into(), "otra espera".into()),
        _ => pick(language, format!("{count} others wait"), format!("otras {count} esperan")),
    }
}

/// The title of the second page: the change and the room.
pub(super) fn confirm_title(heading: &str, room: &str, language: Language) -> String {
    // A heading that already names the room says it once.
    if heading.contains(room) {
        return pick(language, format!("Confirm: {heading}"), format!("Confirmar: {heading}"));
    }
    pick(language, format!("Confirm: {heading} ({room})"), format!("Confirmar: {heading} ({room})"))
}

/// The queue is full.
pub(super) fn queue_full(count: u64, language: Language) -> String {
    pick(
        language,
        format!("The queue is full: {count} proposals wait. Nothing new can be proposed until one is decided."),
        format!("La cola está llena: {count} propuestas en espera. No se puede proponer nada hasta decidir una."),
    )
}

/// The hour is used up.
pub(super) fn hour_full(count: u64, language: Language) -> String {
    pick(
        language,
        format!("The hour's limit is reached: {count} proposals. Nothing new can be proposed for now."),
        format!("Se alcanzó el límite por hora: {count} propuestas. Por ahora no se puede proponer nada."),
    )
}

/// A wait on the sign-in form.
pub(in super::super) fn wait(seconds: i64) -> Worded {
    if seconds == 1 {
        return Worded::new("Wait one second, then try again.", "Espere un segundo e inténtelo de nuevo.");
    }
    Worded::new(
        format!("Too many wrong entries. Wait {seconds} seconds, then try again."),
        format!("Demasiadas entradas incorrectas. Espere {seconds} segundos e inténtelo de nuevo."),
    )
}

/// The way to the outcome page.
pub(super) fn where_it_stands(number: ProposalNumber, language: Language) -> String {
    pick(language, format!("Where proposal {number} stands"), format!("Estado de la propuesta {number}"))
}
