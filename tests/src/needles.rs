//! A secret, searched for in bytes: as it is, and as it would look after base64, URL, JSON or hex.

use crate::hex;
use std::path::{Path, PathBuf};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// A part of a secret that is at least so long is looked for, too.
const PART: usize = 8;

/// Every form of some secrets, each with a name for the test's message.
#[derive(Debug, Clone, Default)]
pub struct Needles(Vec<(String, Vec<u8>)>);

impl Needles {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks for this text too, whole in every form, and for each longer part between its marks as it is.
    ///
    /// # Panics
    /// When it is so short that it would be found by chance.
    #[must_use]
    pub fn text(mut self, name: &str, secret: &str) -> Self {
        self = self.bytes(name, secret.as_bytes());
        let escaped = secret.replace('"', "\\\"").replace('/', "\\/");
        let percent = |upper: bool| secret.bytes().map(|byte| percent(byte, upper)).collect::<String>();
        for (form, text) in [("JSON", escaped), ("URL", percent(true)), ("url", percent(false))] {
            self.add(name, form, text.as_bytes());
        }
        for part in secret.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| part.len() >= PART) {
            self.add(name, "part", part.as_bytes());
        }
        self
    }

    /// Looks for these bytes too: raw, in hex and in base64.
    ///
    /// # Panics
    /// When there are so few that they would be found by chance.
    #[must_use]
    pub fn bytes(mut self, name: &str, secret: &[u8]) -> Self {
        assert!(secret.len() >= PART, "{name} is too short to look for");
        self.add(name, "plain", secret);
        let digits = hex::encode(secret);
        self.add(name, "hex", digits.as_bytes());
        self.add(name, "HEX", digits.to_ascii_uppercase().as_bytes());
        for alphabet in [STANDARD, URL_SAFE] {
            for before in 0..3 {
                self.add(name, "base64", &base64_middle(secret, before, alphabet));
            }
        }
        self
    }

    fn add(&mut self, name: &str, form: &str, bytes: &[u8]) {
        if !self.0.iter().any(|(_, known)| known == bytes) {
            self.0.push((format!("{name} ({form})"), bytes.to_vec()));
        }
    }

    /// The names of what stands in these bytes.
    #[must_use]
    pub fn found_in(&self, bytes: &[u8]) -> Vec<&str> {
        let stands = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        self.0.iter().filter(|(_, needle)| stands(needle)).map(|(name, _)| name.as_str()).collect()
    }

    /// All forms in hex, for a program that searches elsewhere.
    #[must_use]
    pub fn in_hex(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(name, bytes)| (name.clone(), hex::encode(bytes))).collect()
    }

    /// What stands in the files under a folder, as `file: name of the secret`, but for the files of these names.
    ///
    /// # Panics
    /// When a file cannot be read, or nearly none was.
    #[must_use]
    pub fn found_under(&self, folder: &Path, but: &[&str]) -> Vec<String> {
        let files = files_under(folder);
        assert!(files.len() >= 8, "only {} files under {}", files.len(), folder.display());
        let mut found = Vec::new();
        for file in files {
            let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
            if but.contains(&name.as_str()) {
                continue;
            }
            match std::fs::read(&file) {
                Ok(bytes) => found.extend(self.found_in(&bytes).iter().map(|what| format!("{name}: {what}"))),
                // A file of SQLite's own may go while we look.
                Err(error) => assert!(error.kind() == std::io::ErrorKind::NotFound, "{name}: {error}"),
            }
        }
        found
    }
}

/// The plain files under a folder, links not followed.
#[must_use]
pub fn files_under(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    files
}

fn percent(byte: u8, upper: bool) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    }
}

// The digits that these bytes alone decide, when so many others stand before them.
fn base64_middle(secret: &[u8], before: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(secret);
    let bits = bytes.len() * 8;
    let first = (before * 8).div_ceil(6);
    let digit = |at: usize| {
        let value = (at * 6..at * 6 + 6).fold(0_usize, |value, bit| {
            let byte = bytes.get(bit / 8).copied().unwrap_or(0);
            value << 1 | usize::from(byte >> (7 - bit % 8) & 1)
        });
        alphabet.get(value).copied()
    };
    (first..bits / 6).filter_map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_form_and_wherever_it_begins() {
        let needles = Needles::new().text("token", "first-part+second/part==");
        for (form, text) in [
            ("plain", "x first-part+second/part== y"),
            ("JSON", r#"{"a":"first-part+second\/part=="}"#),
            ("URL", "?a=first-part%2Bsecond%2Fpart%3D%3D"),
            ("url", "?a=first-part%2bsecond%2fpart%3d%3d"),
            ("hex", "66697273742d706172742b7365636f6e642f706172743d3d"),
            // The text behind none, one and two other letters.
            ("base64", "Zmlyc3QtcGFydCtzZWNvbmQvcGFydD09"),
            ("base64", "LWZpcnN0LXBhcnQrc2Vjb25kL3BhcnQ9PQ=="),
            ("base64", "LS1maXJzdC1wYXJ0K3NlY29uZC9wYXJ0PT0="),
        ] {
            let found = needles.found_in(text.as_bytes());
            assert!(found.contains(&format!("token ({form})").as_str()), "{form}: {found:?}");
        }
        assert!(needles.found_in(b"first second part").is_empty());
    }

    #[test]
    fn a_part_of_a_secret_is_found_too() {
        let needles = Needles::new().text("token", "aaaabbbb+ccccdddd");
        assert_eq!(needles.found_in(b"[hidden]+ccccdddd"), ["token (part)"]);
    }
}
