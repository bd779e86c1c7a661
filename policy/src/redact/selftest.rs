//! A test of the redaction on itself, for `doctor`: secrets must go, ordinary words must stay.

use super::{MASK, redact_text, redact_value};
use serde_json::json;

/// Name, text, and the secret in it. Made up.
const SECRETS: [(&str, &str, &str); 6] = [
    ("stream address", "rtmp://ingest.example.net/live/needle-1a2b3c", "needle-1a2b3c"),
    ("named value", "stream_key=needle-2b3c4d", "needle-2b3c4d"),
    ("bearer", "Authorization: Bearer needle-3c4d5e6f", "needle-3c4d5e6f"),
    ("password in Spanish", "contraseña: needle-4d5e6f", "needle-4d5e6f"),
    ("web address", "https://user:needle-5e6f@host.example.net/x", "needle-5e6f"),
    ("JSON in text", r#"{"a":"{\"password\":\"needle-6f7a\"}"}"#, "needle-6f7a"),
];

/// Texts that hold nothing secret.
const PLAIN: [&str; 4] = [
    "Hall A records since 10:00, firmware 4.24.1.",
    "Aula 3: sin conexión desde hace 12 minutos.",
    "https://docs.example.net/pearl/guide.html",
    "stream_id=7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d",
];

/// Masks known needles and leaves known plain texts, as text and as a value. Gives how many were tried.
///
/// # Errors
/// What failed; never the needle itself.
pub fn self_test() -> Result<usize, String> {
    judge(redact_text, || {
        let mut value = json!({ "StreamingKey": "needle-7a8b", "Name": "Hall A" });
        redact_value(&mut value);
        value == json!({ "StreamingKey": MASK, "Name": "Hall A" })
    })
}

fn judge(redact: impl Fn(&str) -> String, value_holds: impl Fn() -> bool) -> Result<usize, String> {
    for (name, text, needle) in SECRETS {
        if redact(text).contains(needle) {
            return Err(format!("a secret stays: {name}"));
        }
    }
    for text in PLAIN {
        if redact(text) != text {
            return Err(format!("a plain text is changed: {text}"));
        }
    }
    if !value_holds() {
        return Err("a secret field of a value stays".to_owned());
    }
    Ok(SECRETS.len() + PLAIN.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_redaction_passes_its_own_test() {
        assert_eq!(self_test(), Ok(11));
    }

    #[test]
    fn a_redaction_that_does_nothing_or_too_much_fails_it() {
        let kept = judge(str::to_owned, || true).unwrap_err();
        assert!(kept.contains("stays") && !kept.contains("needle"), "{kept}");
        assert!(judge(|_| MASK.to_owned(), || true).unwrap_err().contains("plain"));
        judge(redact_text, || false).unwrap_err();
    }
}
