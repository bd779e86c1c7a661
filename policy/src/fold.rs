//! One way to compare what people type, call a room and read on a unit: without case and accents.

/// Lower case without the accents of Spanish and its neighbours, so that `Salón`, `SALÓN` and `salon` are one word. A
/// curly apostrophe becomes a plain one; nothing else changes.
#[must_use]
pub fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).filter_map(plain).collect()
}

fn plain(c: char) -> Option<char> {
    Some(match c {
        'á' | 'à' | 'â' | 'ä' | 'ã' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'ö' | 'õ' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        // An accent that stands behind its letter.
        '\u{300}'..='\u{36f}' => return None,
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_accents_make_no_other_word() {
        for text in ["Salón Niño", "SALÓN NIÑO", "salo\u{301}n nin\u{303}o", "salon nino"] {
            assert_eq!(fold(text), "salon nino", "{text:?}");
        }
        assert_eq!(fold("¿QUÉ es «Plaça»?"), "¿que es «placa»?");
        assert_eq!(fold("Don\u{2019}t"), "don't");
        assert_ne!(fold("Sala 1"), fold("Sala 2"));
    }
}
