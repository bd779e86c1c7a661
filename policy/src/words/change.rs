//! What each change is, does, and how it is undone.

use super::name;
use crate::call::{RecordingAction, Tool};
use crate::ids::ChannelId;
use protocol::refusal::RefusalCode;
use protocol::shown::Worded;

/// What happens and how to undo it, for a change that has its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainWords {
    /// What happens.
    pub effect: Worded,
    /// How to undo it.
    pub undo: Worded,
}

/// How a heading names a channel: by its name in quotes, or by its number when no name was read.
#[derive(Debug, Clone, Copy)]
pub enum ChannelWord<'a> {
    /// A name from the device.
    Named(&'a str),
    /// Its number.
    Number(&'a ChannelId),
}

impl ChannelWord<'_> {
    fn text(self) -> String {
        match self {
            Self::Named(raw) => format!("\"{}\"", name(raw)),
            Self::Number(id) => id.to_string(),
        }
    }
}

/// What a heading may name beside the room. All are raw names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Named<'a> {
    /// The channel that the call names.
    pub channel: Option<ChannelWord<'a>>,
    /// The stream's destination.
    pub destination: Option<&'a str>,
    /// The event's title.
    pub event: Option<&'a str>,
}

/// The change in one line, naming the room and whatever else is known of the call's place.
#[must_use]
pub fn heading(tool: Tool, action: Option<RecordingAction>, room: &str, named: Named<'_>) -> Worded {
    let room = name(room);
    let (en, es) = match named.channel.map(ChannelWord::text) {
        Some(channel) => (format!("in {room}, channel {channel}"), format!("en {room}, canal {channel}")),
        None => (format!("in {room}"), format!("en {room}")),
    };
    match (tool, action) {
        (Tool::Recording, Some(RecordingAction::Start)) => {
            Worded::new(format!("Start recording {en}"), format!("Iniciar la grabación {es}"))
        }
        (Tool::Recording, Some(RecordingAction::Stop)) => {
            Worded::new(format!("Stop recording {en}"), format!("Detener la grabación {es}"))
        }
        (Tool::Reboot, _) => Worded::new(format!("Restart the unit {en}"), format!("Reiniciar la unidad {es}")),
        (Tool::FirmwareUpdate, _) => Worded::new(
            format!("Update the firmware of the unit {en}"),
            format!("Actualizar el firmware de la unidad {es}"),
        ),
        (Tool::StartStream | Tool::StopStream, _) => {
            let start = tool == Tool::StartStream;
            let to = named.destination.map(|raw| format!("\"{}\"", name(raw)));
            let (to_en, to_es) = to.map_or_else(Default::default, |to| (format!(", to {to}"), format!(", hacia {to}")));
            Worded::new(
                format!("{} streaming {en}{to_en}", if start { "Start" } else { "Stop" }),
                format!("{} la transmisión {es}{to_es}", if start { "Iniciar" } else { "Detener" }),
            )
        }
        (Tool::ConfirmEvent, _) => match named.event.map(name) {
            Some(title) => Worded::new(
                format!("Confirm the event \"{title}\" {en}"),
                format!("Confirmar el evento \"{title}\" {es}"),
            ),
            None => Worded::new(format!("Confirm an event {en}"), format!("Confirmar un evento {es}")),
        },
        (Tool::Recording, None) => {
            let tool = tool.as_str();
            Worded::new(
                format!("A change without plain words ({tool}) {en}"),
                format!("Un cambio sin descripción sencilla ({tool}) {es}"),
            )
        }
    }
}

/// Effect and undo of a change, or `None` for one that has no words and can therefore only be denied.
#[must_use]
pub fn plain_words(tool: Tool, action: Option<RecordingAction>) -> Option<PlainWords> {
    match (tool, action) {
        (Tool::Recording, Some(RecordingAction::Start)) => Some(start_recording()),
        (Tool::Recording, Some(RecordingAction::Stop)) => Some(stop_recording()),
        (Tool::Reboot, _) => Some(reboot()),
        (Tool::StartStream, _) => Some(start_stream()),
        (Tool::StopStream, _) => Some(stop_stream()),
        (Tool::ConfirmEvent, _) => Some(confirm_event()),
        (Tool::FirmwareUpdate, _) => Some(firmware_update()),
        (Tool::Recording, None) => None,
    }
}

fn start_recording() -> PlainWords {
    PlainWords {
        effect: Worded::new(
            "The channel starts recording to the unit's own storage. What runs now goes on.",
            "El canal empieza a grabar en el almacenamiento de la unidad. Lo que está en marcha sigue igual.",
        ),
        undo: Worded::new(
            "Stop the recording. The file recorded until then stays on the unit.",
            "Detener la grabación. El archivo grabado hasta entonces queda en la unidad.",
        ),
    }
}

fn stop_recording() -> PlainWords {
    PlainWords {
        effect: Worded::new(
            "The recording on this channel ends and its file is closed.",
            "La grabación de este canal termina y su archivo se cierra.",
        ),
        undo: Worded::new(
            "A stopped recording can't be continued. Starting again makes a new file, and the time between is not \
             recorded.",
            "Una grabación detenida no se puede continuar. Al iniciar de nuevo se crea otro archivo, y el tiempo \
             intermedio no queda grabado.",
        ),
    }
}

fn reboot() -> PlainWords {
    PlainWords {
        effect: Worded::new(
            "The unit restarts and is offline for a couple of minutes. Every recording and stream on it stops.",
            "La unidad se reinicia y queda sin conexión un par de minutos. Toda grabación y transmisión en ella se \
             detiene.",
        ),
        undo: Worded::new(
            "A restart can't be called back. The unit comes back by itself; look whether recordings and streams have \
             to be started again.",
            "Un reinicio no se puede revertir. La unidad vuelve sola; revise si hay que iniciar de nuevo grabaciones y \
             transmisiones.",
        ),
    }
}

fn start_stream() -> PlainWords {
    PlainWords {
        effect: Worded::new(
            "The channel starts streaming to the destination. Whoever watches there sees and hears the room at once.",
            "El canal empieza a transmitir al destino. Quien mire allí ve y oye la sala de inmediato.",
        ),
        undo: Worded::new(
            "Stop the stream. What was seen until then can't be taken back.",
            "Detener la transmisión. Lo que se vio hasta entonces no se puede retirar.",
        ),
    }
}

fn stop_stream() -> PlainWords {
    PlainWords {
        effect: Worded::new(
            "The stream to this destination ends for everybody who watches it.",
            "La transmisión a este destino termina para todos los que la ven.",
        ),
        undo: Worded::new(
            "Start the stream again. Viewers missed what happened in between; the gap stays.",
            "Iniciar de nuevo la transmisión. Los espectadores pierden lo ocurrido entretanto; el hueco queda.",
        ),
    }
}

fn confirm_event() -> PlainWords {
    PlainWords {
        effect: Worded::new(
            "The event is confirmed on the unit. The unit may then start recording or streaming by itself at the event's \
             start.",
            "El evento queda confirmado en la unidad. La unidad puede entonces empezar sola a grabar o transmitir al \
             inicio del evento.",
        ),
        undo: Worded::new(
            "It can't be undone from here. Change the event where it was scheduled.",
            "No se puede deshacer desde aquí. Cambie el evento donde se programó.",
        ),
    }
}

fn firmware_update() -> PlainWords {
    PlainWords {
        effect: Worded::new(
            "The unit installs new firmware and restarts. It is offline for several minutes, and every recording and \
             stream on it stops.",
            "La unidad instala un firmware nuevo y se reinicia. Queda sin conexión varios minutos, y toda grabación y \
             transmisión en ella se detiene.",
        ),
        undo: Worded::new(
            "It can't be undone: the old firmware is not kept. Look whether recordings and streams have to be started \
             again.",
            "No se puede deshacer: el firmware anterior no se conserva. Revise si hay que iniciar de nuevo grabaciones y \
             transmisiones.",
        ),
    }
}

/// Why a card has Deny as its only button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenyOnly {
    /// This argument can't be shown in full.
    Argument(String),
    /// A check on the fresh read says no.
    Check(RefusalCode),
    /// The change has no words yet.
    NoPlainWords,
    /// The stored record can't be read or is not the one that was bound.
    Record,
    /// A name on the card can't be shown in full.
    Unshowable,
}

/// The reason as a sentence for the card.
#[must_use]
pub fn deny_only(why: &DenyOnly) -> Worded {
    match why {
        DenyOnly::Argument(argument) => {
            let argument = name(argument);
            Worded::new(
                format!("The argument \"{argument}\" can't be shown in full, so this change can only be denied."),
                format!(
                    "El argumento \"{argument}\" no se puede mostrar completo, así que este cambio solo se puede denegar."
                ),
            )
        }
        DenyOnly::Check(code) => {
            let words = super::refusal(*code);
            Worded::new(
                format!("It can only be denied now. {}", words.en),
                format!("Ahora solo se puede denegar. {}", words.es),
            )
        }
        DenyOnly::NoPlainWords => Worded::new(
            "Fleetwatch has no plain words for this change yet, so it can only be denied.",
            "Fleetwatch aún no tiene una descripción sencilla de este cambio, así que solo se puede denegar.",
        ),
        DenyOnly::Record => Worded::new(
            "The stored proposal is not the one that was made, so it can only be denied.",
            "La propuesta guardada no es la que se hizo, así que solo se puede denegar.",
        ),
        DenyOnly::Unshowable => Worded::new(
            "A name on this card can't be shown in full, so the change can only be denied.",
            "Un nombre de esta tarjeta no se puede mostrar completo, así que el cambio solo se puede denegar.",
        ),
    }
}
