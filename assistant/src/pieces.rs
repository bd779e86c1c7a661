//! The words of an answer while it is written. They leave in whole lines or sentences, and only those that the rule for safe
//! text leaves as they are with all that follows them so far: a secret in two pieces is still seen as one.

use policy::redact::redact_text;
use protocol::shown::Shown;

/// Longest answer, in characters.
pub(crate) const MAX_ANSWER: usize = 12_000;

/// Secrets masked, hidden characters visible, line breaks kept, length capped.
pub(crate) fn safe(text: &str) -> String {
    let masked = redact_text(text);
    let lines: Vec<_> = masked.lines().map(|line| Shown::whole(line).into_string()).collect();
    let shown = lines.join("\n");
    match shown.char_indices().nth(MAX_ANSWER) {
        None => shown,
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
    }
}

/// What was written in one call to the model, and what of it was told.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    raw: String,
    told: String,
    // The end that was looked at last.
    tried: usize,
}

impl Pieces {
    /// Adds raw words; gives what may be told now. All pieces together begin the safe answer, or nothing more is told.
    pub(crate) fn push(&mut self, words: &str) -> Option<String> {
        self.raw.push_str(words);
        if !words.contains(char::is_whitespace) || self.raw.chars().nth(MAX_ANSWER).is_some() {
            return None;
        }
        let end = boundary(&self.raw).filter(|end| *end > self.tried)?;
        self.tried = end;
        let ready = safe(self.raw.get(..end)?.trim());
        let all = safe(self.raw.trim());
        if !all.starts_with(&ready) {
            return None;
        }
        let new = ready.strip_prefix(&self.told).filter(|new| !new.is_empty())?.to_owned();
        self.told = ready;
        Some(new)
    }
}

/// Where the last whole line or sentence ends that lies in no open bracket or quotation mark, in bytes.
fn boundary(raw: &str) -> Option<usize> {
    let (mut found, mut depth, mut quoted, mut before) = (None, 0_u32, false, ' ');
    for (at, c) in raw.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '"' | '`' => quoted = !quoted,
            '\n' => quoted = false,
            _ => {}
        }
        let sentence = matches!(c, ' ' | '\t') && matches!(before, '.' | '!' | '?');
        if depth == 0 && !quoted && (c == '\n' || sentence) {
            found = Some(at);
        }
        before = c;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, size: usize) -> Vec<String> {
        let mut pieces = Pieces::default();
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(size).filter_map(|chunk| pieces.push(&chunk.iter().collect::<String>())).collect()
    }

    #[test]
    fn answers_are_made_safe_line_by_line_and_capped() {
        assert_eq!(safe("a\tb\nc\u{1b}[2J"), "a\\u{9}b\nc\\u{1b}[2J");
        assert_eq!(safe(&"é".repeat(MAX_ANSWER + 5)).chars().count(), MAX_ANSWER + 1);
    }

    #[test]
    fn words_leave_in_whole_lines_and_sentences_and_begin_the_answer() {
        let text = "\n Hall A is fine. Hall B is\nnot ready: no signal.\n\n- Chapel\u{202e}\n- Aula 3";
        for size in 1..9 {
            let told = told(text, size);
            assert!(told.len() > 2, "{told:?}");
            assert_eq!(told.first().map(String::as_str), Some("Hall A is fine."));
            let whole = told.concat();
            assert!(safe(text.trim()).starts_with(&whole) && whole.ends_with("Chapel\\u{202e}"), "{whole}");
        }
    }

    #[test]
    fn no_secret_leaves_however_the_pieces_are_cut() {
        for text in [
            "The key is sk-ant-api03-abcdefgh12345678. Keep it. So.\nEnd ",
            "Authorization: Digest abcdefgh12345678. More abcdefgh12345678 here. And\nthen. So ",
            "It says {\"name\": \"stream key\",\n \"password\": \"abcdefgh12345678. x\"}\nand more. So ",
            "password: \"a. abcdefgh12345678\" is what it says. So\nit is. End ",
            "Bearer\tabcdefgh12345678 was sent. Then. So\n rtmp://host/live/abcdefgh12345678 too. End ",
            "stream_key=\nabcdefgh. So ",
        ] {
            for size in 1..text.len() {
                let whole = told(text, size).concat();
                assert!(!whole.contains("abcdefgh12345678"), "{size}: {whole}");
                assert!(safe(text.trim()).starts_with(&whole), "{size}: {whole}");
            }
        }
    }

    #[test]
    fn a_text_that_redaction_changes_later_is_held_back() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.push("Hall A. So").as_deref(), Some("Hall A."));
        pieces.told = "something else".to_owned();
        assert_eq!(pieces.push(" it is. Then "), None);
    }
}
