//! Bytes as hex digits, lower case.

use std::fmt::Write;

/// The digits of these bytes.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of these digits, or nothing when they are not pairs of hex digits.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_back_as_bytes() {
        assert_eq!(encode(&[0, 10, 255]), "000aff");
        assert_eq!(decode("000aff"), Some(vec![0, 10, 255]));
        assert_eq!(decode("0"), None);
        assert_eq!(decode("+1"), None);
    }
}
