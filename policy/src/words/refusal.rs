//! One plain sentence or two per refusal code: what it means, and what to do.

use protocol::refusal::RefusalCode;
use protocol::shown::Worded;

/// English, then Spanish.
type Pair = (&'static str, &'static str);

/// The code in plain words. The refusal's own detail says which unit, field or number.
#[must_use]
pub fn refusal(code: RefusalCode) -> Worded {
    let (en, es) = pair(code);
    Worded::new(en, es)
}

fn pair(code: RefusalCode) -> Pair {
    match code {
        RefusalCode::AgentPaused => AGENT_PAUSED,
        RefusalCode::ApprovalExpired => APPROVAL_EXPIRED,
        RefusalCode::ApprovalUsed => APPROVAL_USED,
        RefusalCode::BadArguments => BAD_ARGUMENTS,
        RefusalCode::BadTicket => BAD_TICKET,
        RefusalCode::BindingMismatch => BINDING_MISMATCH,
        RefusalCode::BootChanged => BOOT_CHANGED,
        RefusalCode::CardChanged => CARD_CHANGED,
        RefusalCode::ChannelUnknown => CHANNEL_UNKNOWN,
        RefusalCode::ConnectionLost => CONNECTION_LOST,
        RefusalCode::DryRun => DRY_RUN,
        RefusalCode::DuplicateKey => DUPLICATE_KEY,
        RefusalCode::EventLive => EVENT_LIVE,
        RefusalCode::EventMismatch => EVENT_MISMATCH,
        RefusalCode::EventSoon => EVENT_SOON,
        RefusalCode::FingerprintChanged => FINGERPRINT_CHANGED,
        RefusalCode::Frozen => FROZEN,
        RefusalCode::HourlyLimit => HOURLY_LIMIT,
        RefusalCode::IdConflict => ID_CONFLICT,
        RefusalCode::IntegerOutOfRange => INTEGER_OUT_OF_RANGE,
        RefusalCode::KeyNotAscii => KEY_NOT_ASCII,
        RefusalCode::NotApprovable => NOT_APPROVABLE,
        RefusalCode::NotCapable => NOT_CAPABLE,
        RefusalCode::NotJson => NOT_JSON,
        RefusalCode::NotPermitted => NOT_PERMITTED,
        RefusalCode::NotWaiting => NOT_WAITING,
        RefusalCode::NoFence => NO_FENCE,
        RefusalCode::NoPin => NO_PIN,
        RefusalCode::NoSignIn => NO_SIGN_IN,
        RefusalCode::NumberNotInteger => NUMBER_NOT_INTEGER,
        RefusalCode::ObserveMode => OBSERVE_MODE,
        RefusalCode::OutsideFence => OUTSIDE_FENCE,
        RefusalCode::PausedAfterDenials => PAUSED_AFTER_DENIALS,
        RefusalCode::PinLocked => PIN_LOCKED,
        RefusalCode::PolicyChanged => POLICY_CHANGED,
        RefusalCode::QueueFull => QUEUE_FULL,
        RefusalCode::ReadFailed => READ_FAILED,
        RefusalCode::ReasonTooLong => REASON_TOO_LONG,
        RefusalCode::ReferentChanged => REFERENT_CHANGED,
        RefusalCode::RoomNotConfirmed => ROOM_NOT_CONFIRMED,
        RefusalCode::RoomRecording => ROOM_RECORDING,
        RefusalCode::RoomStreaming => ROOM_STREAMING,
        RefusalCode::RunBusy => RUN_BUSY,
        RefusalCode::SignInBusy => SIGN_IN_BUSY,
        RefusalCode::SignInDead => SIGN_IN_DEAD,
        RefusalCode::SignInFailed => SIGN_IN_FAILED,
        RefusalCode::Stale => STALE,
        RefusalCode::StoreFailed => STORE_FAILED,
        RefusalCode::StreamLocked => STREAM_LOCKED,
        RefusalCode::StreamUnknown => STREAM_UNKNOWN,
        RefusalCode::TargetOffline => TARGET_OFFLINE,
        RefusalCode::TargetUnknown => TARGET_UNKNOWN,
        RefusalCode::TeamMismatch => TEAM_MISMATCH,
        RefusalCode::TooDeep => TOO_DEEP,
        RefusalCode::TooLarge => TOO_LARGE,
        RefusalCode::TooManyRequests => TOO_MANY_REQUESTS,
        RefusalCode::TooSoon => TOO_SOON,
        RefusalCode::ToolNotProposable => TOOL_NOT_PROPOSABLE,
        RefusalCode::ToolUnknown => TOOL_UNKNOWN,
        RefusalCode::UnknownProposal => UNKNOWN_PROPOSAL,
        RefusalCode::WireVersion => WIRE_VERSION,
        RefusalCode::WrongPin => WRONG_PIN,
    }
}

const AGENT_PAUSED: Pair = (
    "People denied six of this agent's proposals within an hour, so it is paused. An operator has to lift the pause.",
    "Se denegaron seis propuestas de este agente en una hora, así que está en pausa. Un operador debe levantar la pausa.",
);
const APPROVAL_EXPIRED: Pair = (
    "The approval was not used within five minutes. Propose the change again.",
    "La aprobación no se usó en cinco minutos. Vuelva a proponer el cambio.",
);
const APPROVAL_USED: Pair = (
    "This approval was used before; each one works once. Propose the change again.",
    "Esta aprobación ya se usó; cada una vale una vez. Vuelva a proponer el cambio.",
);
const BAD_ARGUMENTS: Pair = (
    "An argument is missing or not as the tool needs it. Correct it and propose again.",
    "Falta un argumento o no es como la herramienta lo necesita. Corríjalo y vuelva a proponer.",
);
const BAD_TICKET: Pair = (
    "This decision does not belong to the card that was shown. Open the card again.",
    "Esta decisión no corresponde a la tarjeta mostrada. Abra la tarjeta de nuevo.",
);
const BINDING_MISMATCH: Pair = (
    "The stored proposal is not the one that was made. Deny it and propose the change again.",
    "La propuesta guardada no es la que se hizo. Deniéguela y vuelva a proponer el cambio.",
);
const BOOT_CHANGED: Pair = (
    "The machine restarted since the approval. Propose the change again.",
    "El equipo se reinició después de la aprobación. Vuelva a proponer el cambio.",
);
const CARD_CHANGED: Pair = (
    "The facts changed since the card was shown. Read the new card and decide again.",
    "Los datos cambiaron desde que se mostró la tarjeta. Lea la nueva tarjeta y decida otra vez.",
);
const CHANNEL_UNKNOWN: Pair = (
    "That channel is not on this unit. Look up the unit's channels and propose again.",
    "Ese canal no está en esta unidad. Consulte los canales de la unidad y vuelva a proponer.",
);
const CONNECTION_LOST: Pair = (
    "The connection closed before anything was sent, so nothing ran. Propose the change again.",
    "La conexión se cerró antes de enviar nada, así que no se ejecutó nada. Vuelva a proponer el cambio.",
);
const DRY_RUN: Pair = (
    "This is a dry run, so nothing was written. Set dry_run to false in policy.yaml to run changes.",
    "Es un simulacro, así que no se escribió nada. Ponga dry_run en false en policy.yaml para ejecutar cambios.",
);
const DUPLICATE_KEY: Pair = (
    "The arguments name one field twice. Name each field once.",
    "Los argumentos nombran un campo dos veces. Nombre cada campo una sola vez.",
);
const EVENT_LIVE: Pair = (
    "An event is on in the room. Wait until it has ended.",
    "Hay un evento en curso en la sala. Espere a que termine.",
);
const EVENT_MISMATCH: Pair = (
    "The event is not the one that the unit reports. Read the unit's events and propose again.",
    "El evento no es el que informa la unidad. Lea los eventos de la unidad y vuelva a proponer.",
);
const EVENT_SOON: Pair = (
    "An event starts soon in the room. Wait until it has ended.",
    "Pronto empieza un evento en la sala. Espere a que termine.",
);
const FINGERPRINT_CHANGED: Pair = (
    "The room's state changed since the proposal. Look at the room and propose again.",
    "El estado de la sala cambió desde la propuesta. Revise la sala y vuelva a proponer.",
);
const FROZEN: Pair = (
    "All changes are frozen. An operator can end this with fleetwatchctl thaw.",
    "Todos los cambios están congelados. Un operador puede terminarlo con fleetwatchctl thaw.",
);
const HOURLY_LIMIT: Pair = (
    "There were ten proposals within the last hour. Wait before the next one.",
    "Hubo diez propuestas en la última hora. Espere antes de la siguiente.",
);
const ID_CONFLICT: Pair = (
    "The same request id came with another content. Send the change under a new id.",
    "El mismo identificador de solicitud llegó con otro contenido. Envíe el cambio con uno nuevo.",
);
const INTEGER_OUT_OF_RANGE: Pair = (
    "A number is too large to be held exactly. Use a smaller one.",
    "Un número es demasiado grande para guardarlo exacto. Use uno más pequeño.",
);
const KEY_NOT_ASCII: Pair = (
    "A field name has letters outside plain ASCII. Use the tool's own field names.",
    "Un nombre de campo tiene letras fuera de ASCII. Use los nombres de campo de la herramienta.",
);
const NOT_APPROVABLE: Pair =
    ("This card can only be denied. Read on it why.", "Esta tarjeta solo se puede denegar. Lea en ella el motivo.");
const NOT_CAPABLE: Pair = (
    "This kind of unit can't do that. Choose another unit.",
    "Este tipo de unidad no puede hacer eso. Elija otra unidad.",
);
const NOT_JSON: Pair =
    ("The arguments are not JSON. Send one JSON object.", "Los argumentos no son JSON. Envíe un objeto JSON.");
const NOT_PERMITTED: Pair =
    ("You may not ask for this here. Ask an operator.", "Aquí no puede pedir esto. Consulte a un operador.");
const NOT_WAITING: Pair = (
    "This proposal does not wait any more. Look at the history for what became of it.",
    "Esta propuesta ya no está en espera. Consulte en el historial qué fue de ella.",
);
const NO_FENCE: Pair = (
    "No unit may be changed, because no fence is set. Set FLEETWATCH_WRITE_DEVICE_IDS or FLEETWATCH_WRITE_TEAM_ID.",
    "No se puede cambiar ninguna unidad porque no hay cerco. Defina FLEETWATCH_WRITE_DEVICE_IDS o FLEETWATCH_WRITE_TEAM_ID.",
);
const NO_PIN: Pair = (
    "You have no PIN yet. Set one with fleetwatchctl pin set.",
    "Aún no tiene PIN. Cree uno con fleetwatchctl pin set.",
);
const NO_SIGN_IN: Pair = (
    "There is no sign-in for writing. Run fleetwatchctl login --sandbox.",
    "No hay inicio de sesión para escribir. Ejecute fleetwatchctl login --sandbox.",
);
const NUMBER_NOT_INTEGER: Pair =
    ("A number is not a whole number. Use whole numbers only.", "Un número no es entero. Use solo números enteros.");
const OBSERVE_MODE: Pair = (
    "Fleetwatch only observes. Set autonomy to propose in policy.yaml to allow proposals.",
    "Fleetwatch solo observa. Ponga autonomy en propose en policy.yaml para permitir propuestas.",
);
const OUTSIDE_FENCE: Pair = (
    "This unit is outside the fence. Choose a unit that may be changed, or add its id to the fence.",
    "Esta unidad está fuera del cerco. Elija una que se pueda cambiar o añada su identificador al cerco.",
);
const PAUSED_AFTER_DENIALS: Pair = (
    "People denied this same change three times within an hour, so it is paused for an hour. Ask them before you propose it again.",
    "Este mismo cambio se denegó tres veces en una hora, así que está en pausa una hora. Consulte antes de volver a proponerlo.",
);
const PIN_LOCKED: Pair = (
    "There were too many wrong PINs. Wait a quarter of an hour, then try again.",
    "Hubo demasiados PIN incorrectos. Espere un cuarto de hora e inténtelo de nuevo.",
);
const POLICY_CHANGED: Pair = (
    "The rules changed since the proposal. Propose the change again.",
    "Las reglas cambiaron desde la propuesta. Vuelva a proponer el cambio.",
);
const QUEUE_FULL: Pair = (
    "Three proposals wait already. Decide one of them first.",
    "Ya hay tres propuestas en espera. Decida antes una de ellas.",
);
const READ_FAILED: Pair = (
    "A fresh read did not succeed or could not be understood, so nothing was changed. Try again in a moment.",
    "Una lectura reciente no se completó o no se pudo entender, así que no se cambió nada. Inténtelo de nuevo en un momento.",
);
const REASON_TOO_LONG: Pair =
    ("The reason is longer than 300 characters. Shorten it.", "El motivo tiene más de 300 caracteres. Acórtelo.");
const REFERENT_CHANGED: Pair = (
    "Something that the card names has changed since the proposal. Propose the change again.",
    "Algo que la tarjeta nombra cambió desde la propuesta. Vuelva a proponer el cambio.",
);
const ROOM_NOT_CONFIRMED: Pair = (
    "The room name does not match the card. Type it as the card shows it.",
    "El nombre de la sala no coincide con la tarjeta. Escríbalo como aparece en ella.",
);
const ROOM_RECORDING: Pair = (
    "The room is recording. Wait until the recording has ended.",
    "La sala está grabando. Espere a que termine la grabación.",
);
const ROOM_STREAMING: Pair = (
    "The room is streaming. Wait until the stream has ended.",
    "La sala está transmitiendo. Espere a que termine la transmisión.",
);
const RUN_BUSY: Pair = (
    "Another approved change is running, or Fleetwatch is stopping. Look at the card again in a moment.",
    "Se está ejecutando otro cambio aprobado, o Fleetwatch se está deteniendo. Vuelva a mirar la tarjeta en un momento.",
);
const SIGN_IN_BUSY: Pair = (
    "Another sign-in is under way. Finish it, or wait until its five minutes are over.",
    "Hay otro inicio de sesión en curso. Termínelo, o espere a que pasen sus cinco minutos.",
);
const SIGN_IN_DEAD: Pair = (
    "The sign-in is no longer accepted. Run fleetwatchctl login (for writing: login --sandbox).",
    "El inicio de sesión ya no se acepta. Ejecute fleetwatchctl login (para escribir: login --sandbox).",
);
const SIGN_IN_FAILED: Pair = (
    "Signing in or out did not work, and nothing new was kept. The detail says why.",
    "No se pudo iniciar o cerrar la sesión, y no se guardó nada nuevo. El detalle dice por qué.",
);
const STALE: Pair = (
    "Too much time passed since the first read, so nothing was sent. Try again.",
    "Pasó demasiado tiempo desde la primera lectura, así que no se envió nada. Inténtelo de nuevo.",
);
const STORE_FAILED: Pair = (
    "The change could not be recorded, so it did not run. Check the disk and the state folder.",
    "El cambio no se pudo registrar, así que no se ejecutó. Revise el disco y la carpeta de estado.",
);
const STREAM_LOCKED: Pair = (
    "Another unit uses this destination. Choose another destination or wait.",
    "Otra unidad usa este destino. Elija otro destino o espere.",
);
const STREAM_UNKNOWN: Pair = (
    "This destination is not on the team's list. Look up the destinations and propose again.",
    "Este destino no está en la lista del equipo. Consulte los destinos y vuelva a proponer.",
);
const TARGET_OFFLINE: Pair =
    ("The unit is offline. Wait until it is back.", "La unidad está sin conexión. Espere a que vuelva.");
const TARGET_UNKNOWN: Pair = (
    "The unit is not on the sandbox team's list. Use the id of a unit that is.",
    "La unidad no está en la lista del equipo de pruebas. Use el identificador de una que esté.",
);
const TEAM_MISMATCH: Pair = (
    "The sign-in is not on the team that the fence names. Sign in to that team.",
    "La cuenta no está en el equipo que indica el cerco. Inicie sesión en ese equipo.",
);
const TOO_DEEP: Pair = (
    "The arguments are nested too deep. Send a plain object.",
    "Los argumentos están anidados en exceso. Envíe un objeto sencillo.",
);
const TOO_LARGE: Pair =
    ("A text or list is longer than allowed. Shorten it.", "Un texto o una lista supera lo permitido. Acórtelo.");
const TOO_MANY_REQUESTS: Pair = (
    "This agent asks too often. Wait a little before the next request.",
    "Este agente pide con demasiada frecuencia. Espere un poco antes de la siguiente solicitud.",
);
const TOO_SOON: Pair = (
    "The card was on screen for less than two seconds. Read it, then decide.",
    "La tarjeta estuvo en pantalla menos de dos segundos. Léala y luego decida.",
);
const TOOL_NOT_PROPOSABLE: Pair = (
    "This change may not be proposed. Make it by hand in Epiphan.",
    "Este cambio no se puede proponer. Hágalo a mano en Epiphan.",
);
const TOOL_UNKNOWN: Pair =
    ("There is no such tool. Use one from the list.", "Esa herramienta no existe. Use una de la lista.");
const UNKNOWN_PROPOSAL: Pair =
    ("No proposal has that number. Look at the list.", "Ninguna propuesta tiene ese número. Consulte la lista.");
const WIRE_VERSION: Pair = (
    "The two programs are not of the same version. Install the same version of both.",
    "Los dos programas no son de la misma versión. Instale la misma versión de ambos.",
);
const WRONG_PIN: Pair = ("The PIN is wrong. Try again.", "El PIN no es correcto. Inténtelo de nuevo.");
