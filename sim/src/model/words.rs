//! What the script understands: a few phrases in English and Spanish, no more.

/// The language of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// English.
    English,
    /// Spanish.
    Spanish,
}

impl Language {
    /// What every final text starts with.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::English => "[scripted stand-in, not a real model] ",
            Self::Spanish => "[guion de prueba, no es un modelo real] ",
        }
    }

    /// One of two texts.
    pub(crate) fn pick(self, english: &'static str, spanish: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::Spanish => spanish,
        }
    }
}

/// A change that the operator's words ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Start recording.
    Start,
    /// Stop recording.
    Stop,
    /// Restart the device.
    Reboot,
    /// Update the firmware.
    Firmware,
}

const SPANISH: &[&str] = &[
    "¿",
    "¡",
    " qué ",
    "qué ",
    "cuál",
    "cuáles",
    "salas",
    "aulas",
    "están",
    "está ",
    "listas",
    "graba ",
    "grabando",
    "grabación",
    "grabar",
    "reinicia",
    "detén",
    "deten ",
    "actualiza",
    "desconectad",
    "transmitiendo",
    "estado de",
];
const STOP: &[&str] = &[
    "stop recording",
    "stop the recording",
    "end the recording",
    "stop record",
    "detén la grab",
    "deten la grab",
    "detener la grab",
    "para la grab",
    "parar la grab",
    "deja de grabar",
    "dejar de grabar",
    "termina la grab",
];
const REBOOT: &[&str] = &["reboot", "restart", "reinicia", "reinicie"];
const FIRMWARE: &[&str] = &[
    "update firmware",
    "update the firmware",
    "upgrade the firmware",
    "firmware update",
    "actualiza el firmware",
    "actualizar el firmware",
];
const START: &[&str] = &[
    "start recording",
    "start the recording",
    "start a recording",
    "begin recording",
    "record in ",
    "graba en",
    "empieza a grabar",
    "empezar a grabar",
    "comienza a grabar",
    "inicia la grab",
    "iniciar la grab",
    "inicia una grab",
    "empieza la grab",
];
const READINESS: &[&str] = &[
    "ready",
    "offline",
    "down",
    "recording",
    "streaming",
    "live",
    "warning",
    "problem",
    "wrong",
    "status",
    "event",
    "room",
    "fleet",
    "list",
    "sala",
    "aula",
    "desconect",
    "graba",
    "transmit",
    "problema",
    "estado",
    "evento",
    "hall",
    "device",
    "equipo",
    "check",
];
const INSTRUCTIONS: &[&str] = &[
    "ignore previous",
    "ignore all",
    "propose_change",
    "ignora las",
    "system:",
    "you must",
    "reboot every",
    "instructions",
    "instrucciones",
];

/// The language that the question seems to be in.
pub(crate) fn language(question: &str) -> Language {
    let lower = question.to_lowercase();
    if has(&lower, SPANISH) { Language::Spanish } else { Language::English }
}

/// The change that the question asks for, if it asks for one.
pub(crate) fn change(question: &str) -> Option<Change> {
    let lower = question.to_lowercase();
    let first = lower.trim_start();
    if has(&lower, STOP) {
        Some(Change::Stop)
    } else if has(&lower, FIRMWARE) {
        Some(Change::Firmware)
    } else if has(&lower, REBOOT) {
        Some(Change::Reboot)
    } else if has(&lower, START) || first.starts_with("record ") || first.starts_with("graba ") {
        Some(Change::Start)
    } else {
        None
    }
}

/// A question about the fleet.
pub(crate) fn about_the_fleet(question: &str) -> bool {
    has(&question.to_lowercase(), READINESS)
}

/// A name that reads like an order.
pub(crate) fn gives_orders(name: &str) -> bool {
    has(&name.to_lowercase(), INSTRUCTIONS)
}

/// The channel that the question names: `channel 2`, `canal 2`; else the first.
pub(crate) fn channel(question: &str) -> String {
    let lower = question.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    while let Some(word) = words.next() {
        if matches!(word, "channel" | "canal")
            && let Some(number) = words.next()
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return number.to_owned();
        }
    }
    "1".to_owned()
}

/// Whether the question holds this name as whole words.
pub(crate) fn names(question: &str, name: &str) -> bool {
    let question = question.to_lowercase();
    let name = name.to_lowercase();
    if name.is_empty() {
        return false;
    }
    question.match_indices(&name).any(|(place, found)| {
        let before = question[..place].chars().next_back();
        let after = question[place + found.len()..].chars().next();
        let open = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        open(before) && open(after)
    })
}

fn has(text: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_understood_in_both_languages() {
        for (question, want) in [
            ("Start recording in Hall A", Some(Change::Start)),
            ("Please start the recording in Hall A, channel 2", Some(Change::Start)),
            ("graba en Hall A", Some(Change::Start)),
            ("Graba Hall A", Some(Change::Start)),
            ("stop recording in Courtroom 2", Some(Change::Stop)),
            ("Detén la grabación en Courtroom 2", Some(Change::Stop)),
            ("restart Chapel", Some(Change::Reboot)),
            ("reinicia Chapel", Some(Change::Reboot)),
            ("update the firmware of Chapel", Some(Change::Firmware)),
            ("Which rooms are recording?", None),
            ("¿Qué salas no están listas?", None),
        ] {
            assert_eq!(change(question), want, "{question}");
        }
    }

    #[test]
    fn the_language_follows_the_question() {
        assert_eq!(language("Which rooms aren't ready?"), Language::English);
        assert_eq!(language("start recording in Sala de Juntas"), Language::English);
        assert_eq!(language("qué salas no están listas"), Language::Spanish);
        assert_eq!(language("graba en Hall A"), Language::Spanish);
    }

    #[test]
    fn names_match_whole_words_and_channels_are_numbers() {
        assert!(names("start recording in hall a.", "Hall A"));
        assert!(!names("start recording in Hall AB", "Hall A"));
        assert_eq!(channel("record Hall A on channel 2"), "2");
        assert_eq!(channel("graba en Hall A, canal 3"), "3");
        assert_eq!(channel("record the channel now"), "1");
    }
}
