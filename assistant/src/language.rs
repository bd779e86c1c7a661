//! Which of the two languages a question is in.

pub(crate) use policy::fold::fold;
use protocol::shown::Language;

const ENGLISH: [&str; 47] = [
    "are",
    "aren",
    "check",
    "do",
    "does",
    "go",
    "how",
    "in",
    "is",
    "list",
    "not",
    "now",
    "of",
    "offline",
    "please",
    "ready",
    "record",
    "recording",
    "restart",
    "room",
    "rooms",
    "show",
    "start",
    "stop",
    "the",
    "to",
    "what",
    "which",
    "why",
    "with",
    "and",
    "for",
    "attention",
    "broken",
    "digest",
    "everything",
    "fix",
    "issue",
    "issues",
    "last",
    "problem",
    "problems",
    "recap",
    "streaming",
    "summary",
    "there",
    "wrong",
];
const SPANISH: [&str; 67] = [
    "al",
    "aula",
    "aulas",
    "como",
    "con",
    "cual",
    "cuales",
    "cuando",
    "de",
    "del",
    "deten",
    "detener",
    "donde",
    "el",
    "en",
    "esta",
    "estan",
    "fuera",
    "graba",
    "grabacion",
    "grabando",
    "grabar",
    "hay",
    "inicia",
    "iniciar",
    "la",
    "las",
    "lista",
    "listas",
    "listo",
    "listos",
    "los",
    "no",
    "para",
    "por",
    "que",
    "quien",
    "reinicia",
    "reiniciar",
    "sala",
    "salas",
    "se",
    "una",
    "un",
    "y",
    "desconectadas",
    "apagadas",
    "apagado",
    "apagados",
    "atencion",
    "ayuda",
    "caida",
    "caidas",
    "caido",
    "desconectada",
    "desconectado",
    "desconectados",
    "falla",
    "fallas",
    "preparada",
    "preparadas",
    "preparado",
    "problema",
    "problemas",
    "resumen",
    "ultima",
    "ultimo",
];

/// The question's language; English when it is not plainly Spanish.
pub(crate) fn of(question: &str) -> Language {
    let folded = fold(question);
    let count = |list: &[&str]| words(&folded).filter(|word| list.contains(word)).count();
    let (english, spanish) = (count(&ENGLISH), count(&SPANISH));
    // These two marks are Spanish wherever they stand; an ñ may be part of a room's name.
    if question.contains(['¿', '¡']) {
        return Language::Spanish;
    }
    let marked = question.contains(['ñ', 'Ñ']);
    if spanish > english || (marked && spanish >= english) { Language::Spanish } else { Language::English }
}

/// The words of a folded text.
pub(crate) fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_apart() {
        for english in [
            "Which rooms aren't ready?",
            "Is Aula Magna recording?",
            "start recording in Hall A",
            "offline",
            "help",
            "",
            "Is Sala de Juntas ready?",
            "problems",
            "last digest",
        ] {
            assert_eq!(of(english), Language::English, "{english}");
        }
        for spanish in [
            "¿Qué salas no están listas?",
            "que salas estan grabando",
            "¿Está listo Hall A?",
            "Graba en Hall A",
            "reinicia Courtroom 4",
            "¿Hall A?",
            "ayuda",
            "problemas",
            "último resumen",
            "desconectados",
        ] {
            assert_eq!(of(spanish), Language::Spanish, "{spanish}");
        }
    }
}
