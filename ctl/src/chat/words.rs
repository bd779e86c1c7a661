//! What one line of the chat asks for.

use protocol::ids::ProposalNumber;
use protocol::shown::Language;

/// What one line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Word<'l> {
    Approvals,
    Approve(ProposalNumber),
    Deny(ProposalNumber),
    Freeze,
    Help,
    History(&'l str),
    Question(&'l str),
    Quit,
    Show {
        number: ProposalNumber,
        why: bool,
    },
    Status,
    Thaw,
    Undo(ProposalNumber),
    /// A command that is none, or lacks its number: the line as it was typed.
    Unknown(&'l str),
}

impl<'l> Word<'l> {
    /// Of a line without blanks around it; nothing of an empty one.
    pub(crate) fn of(line: &'l str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = || rest.trim().parse().ok().and_then(ProposalNumber::new);
        Some(match (word, number()) {
            ("", _) => return None,
            ("/approvals" | "/cards", _) => Self::Approvals,
            ("/approve", Some(number)) => Self::Approve(number),
            ("/deny", Some(number)) => Self::Deny(number),
            ("/freeze", _) if rest.is_empty() => Self::Freeze,
            ("/help", _) => Self::Help,
            ("/history", _) => Self::History(rest.trim()),
            ("/quit" | "/exit", _) => Self::Quit,
            ("/show", Some(number)) => Self::Show { number, why: false },
            ("/status", _) => Self::Status,
            ("/thaw", _) => Self::Thaw,
            ("/undo", Some(number)) => Self::Undo(number),
            ("/why", Some(number)) => Self::Show { number, why: true },
            // The assistant knows this one.
            ("/propose", _) => Self::Question(line),
            (word, _) if word.starts_with('/') => Self::Unknown(line),
            _ => Self::Question(line),
        })
    }
}

/// What can be typed. In the demo a person decides at the prompt, because it made the only PIN there is.
pub(crate) fn help(language: Language, here: bool) -> &'static str {
    match (language, here) {
        (Language::English, false) => {
            "\
A question in plain words, or:
  /approvals     what waits for a person
  /show N        the whole card of proposal N
  /why N         the same with what each check found
  /approve N     shows the command that approves it; nothing typed here does
  /deny N        deny it
  /undo N        propose what undoes change N
  /history TEXT  what became of earlier proposals, with TEXT only those in which it stands
  /freeze        deny everything, and take in or run nothing
  /status        how both daemons are
  /help          this
  /quit          leave (so do Ctrl-D, and Ctrl-C on an empty line)
While an answer comes, Ctrl-C cancels it."
        }
        (Language::English, true) => {
            "\
A question in plain words, or:
  /approvals     what waits for a person
  /show N        the whole card of proposal N
  /why N         the same with what each check found
  /approve N     approve it here, with the PIN above
  /deny N        deny it
  /undo N        propose what undoes change N
  /history TEXT  what became of earlier proposals, with TEXT only those in which it stands
  /freeze        deny everything, and take in or run nothing
  /thaw          end the freeze, with the PIN above
  /status        how both daemons are
  /help          this
  /quit          end the demo (so do Ctrl-D, and Ctrl-C on an empty line)
While an answer comes, Ctrl-C cancels it."
        }
        (Language::Spanish, false) => {
            "\
Una pregunta con sus palabras, o:
  /approvals     lo que espera a una persona
  /show N        la tarjeta entera de la propuesta N
  /why N         lo mismo con lo que encontró cada comprobación
  /approve N     muestra la orden que la aprueba; nada de lo escrito aquí lo hace
  /deny N        denegarla
  /undo N        proponer lo que deshace el cambio N
  /history TEXTO qué fue de las propuestas anteriores, con TEXTO solo las que lo contienen
  /freeze        denegar todo, y no admitir ni ejecutar nada
  /status        cómo están los dos servicios
  /help          esto
  /quit          salir (también Ctrl-D, y Ctrl-C en una línea vacía)
Mientras llega una respuesta, Ctrl-C la cancela."
        }
        (Language::Spanish, true) => {
            "\
Una pregunta con sus palabras, o:
  /approvals     lo que espera a una persona
  /show N        la tarjeta entera de la propuesta N
  /why N         lo mismo con lo que encontró cada comprobación
  /approve N     aprobarla aquí, con el PIN de arriba
  /deny N        denegarla
  /undo N        proponer lo que deshace el cambio N
  /history TEXTO qué fue de las propuestas anteriores, con TEXTO solo las que lo contienen
  /freeze        denegar todo, y no admitir ni ejecutar nada
  /thaw          terminar la congelación, con el PIN de arriba
  /status        cómo están los dos servicios
  /help          esto
  /quit          terminar la demostración (también Ctrl-D, y Ctrl-C en una línea vacía)
Mientras llega una respuesta, Ctrl-C la cancela."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::number;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn words_with_a_slash_are_commands_and_everything_else_is_a_question() {
        for (line, want) in [
            ("/approvals", Word::Approvals),
            ("/cards", Word::Approvals),
            ("/show 7", Word::Show { number: number(7), why: false }),
            ("/why 7", Word::Show { number: number(7), why: true }),
            ("/undo 7", Word::Undo(number(7))),
            ("/history", Word::History("")),
            ("/history  Hall A ", Word::History("Hall A")),
            ("/freeze", Word::Freeze),
            ("/freeze 7", Word::Unknown("/freeze 7")),
            ("/thaw", Word::Thaw),
            ("/approve  12", Word::Approve(number(12))),
            ("/deny 3", Word::Deny(number(3))),
            ("/approve", Word::Unknown("/approve")),
            ("/approve all", Word::Unknown("/approve all")),
            ("/show 0", Word::Unknown("/show 0")),
            ("/nonsense", Word::Unknown("/nonsense")),
            ("/quit", Word::Quit),
            ("/propose record Hall A", Word::Question("/propose record Hall A")),
            ("approve 7", Word::Question("approve 7")),
        ] {
            assert_eq!(Word::of(line), Some(want), "{line}");
        }
        assert_eq!(Word::of(""), None);
    }

    #[test]
    fn the_help_fits_a_terminal_and_offers_approving_only_where_it_is_done() {
        for language in [Language::English, Language::Spanish] {
            for here in [false, true] {
                let text = help(language, here);
                assert!(text.lines().all(|line| line.width() <= 100), "{text}");
                assert_eq!(text.contains("/thaw"), here);
            }
        }
    }
}
