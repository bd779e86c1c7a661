//! Canonical JSON: one form for hash, store, card and wire (`seed 000, Binding`).
//!
//! RFC 8785 with what it leaves open closed: integers within ±(2^53−1) only, no duplicate keys, ASCII keys. A number
//! that a second implementation could round is refused, never rounded.

use crate::guard::stands;
use crate::json::Strict;
use crate::refusal::RefusalCode;
use serde::de::DeserializeSeed;
use serde_json::Value;
use std::cell::Cell;
use std::fmt;

/// The largest integer that every implementation holds exactly: 2^53−1.
pub const MAX_INTEGER: i64 = (1 << 53) - 1;

/// The largest canonical text that is read, in bytes; a frame holds no more.
pub const MAX_BYTES: usize = crate::frame::MAX_FRAME;

/// Which rule a text breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonRefusal {
    /// Two members of one object have the same name.
    DuplicateKey,
    /// An integer outside ±(2^53−1).
    IntegerOutOfRange,
    /// A member name that is not ASCII.
    KeyNotAscii,
    /// Not JSON (RFC 8259, UTF-8).
    NotJson,
    /// A number with a fraction, an exponent or a negative zero.
    NumberNotInteger,
    /// Nested more than 32 levels.
    TooDeep,
    /// Longer than [`MAX_BYTES`].
    TooLarge,
}

impl JsonRefusal {
    /// The stable word for this rule, as peers and tests see it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::DuplicateKey => "duplicate_key",
            Self::IntegerOutOfRange => "integer_out_of_range",
            Self::KeyNotAscii => "key_not_ascii",
            Self::NotJson => "not_json",
            Self::NumberNotInteger => "number_not_integer",
            Self::TooDeep => "too_deep",
            Self::TooLarge => "too_large",
        }
    }
}

/// A refusal with its place: line and column count from 1, the column in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Which rule was broken.
    pub why: JsonRefusal,
    /// Line of the place, from 1.
    pub line: usize,
    /// Column of the place in bytes, from 1.
    pub column: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.why.code(), self.line, self.column)
    }
}

impl std::error::Error for JsonError {}

/// One JSON value together with its canonical text. Made only by parsing strictly or from a value built by code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    text: String,
    value: Value,
}

impl Canonical {
    /// Parses text from anyone.
    ///
    /// # Errors
    /// [`JsonError`] with the rule and the place.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        if bytes.len() > MAX_BYTES && stands(RefusalCode::TooLarge) {
            return Err(JsonError { why: JsonRefusal::TooLarge, line: 1, column: 1 });
        }
        let why = Cell::new(None);
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let value = Strict { why: &why, depth: 0 }
            .deserialize(&mut reader)
            .and_then(|value| match reader.end() {
                Err(more) if stands(RefusalCode::NotJson) => Err(more),
                Ok(()) | Err(_) => Ok(value),
            })
            .map_err(|error| place(&why, &error, bytes))?;
        Self::render(value)
    }

    /// Takes a value that our code built, under the same rules.
    ///
    /// # Errors
    /// [`JsonError`] when the value breaks a rule; the place is then in its own JSON text.
    pub fn from_value(value: &Value) -> Result<Self, JsonError> {
        let text =
            serde_json::to_vec(value).map_err(|_| JsonError { why: JsonRefusal::NotJson, line: 1, column: 1 })?;
        Self::parse(&text)
    }

    fn render(value: Value) -> Result<Self, JsonError> {
        let text = serde_json_canonicalizer::to_string(&value).map_err(|_| JsonError {
            why: JsonRefusal::NotJson,
            line: 1,
            column: 1,
        })?;
        Ok(Self { text, value })
    }

    /// The canonical text: what is hashed, stored, shown and sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }
}

fn place(why: &Cell<Option<JsonRefusal>>, error: &serde_json::Error, bytes: &[u8]) -> JsonError {
    let depth = error.to_string().starts_with("recursion limit");
    let (line, column) = (error.line().max(1), error.column().max(1));
    let found = match why.get() {
        // The parser hands an integer beyond 64 bits over as a float; the text says what it was.
        Some(JsonRefusal::NumberNotInteger) if is_plain_integer(bytes, line, column) => JsonRefusal::IntegerOutOfRange,
        Some(found) => found,
        None if depth => JsonRefusal::TooDeep,
        None => JsonRefusal::NotJson,
    };
    JsonError { why: found, line, column }
}

/// Whether the number that ends at this place is digits only, and not the negative zero.
fn is_plain_integer(bytes: &[u8], line: usize, column: usize) -> bool {
    let text = bytes.split(|b| *b == b'\n').nth(line - 1).and_then(|line| line.get(..column)).unwrap_or_default();
    let is_number = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
    // The parser may stop on the number's last character or on the one behind it.
    let ends = text.iter().rposition(is_number).map_or(0, |at| at + 1);
    let number = text.get(..ends).unwrap_or_default();
    let starts = number.iter().rposition(|b| !is_number(b)).map_or(0, |at| at + 1);
    let number = number.get(starts..).unwrap_or_default();
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    digits.len() > 1 && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> JsonRefusal {
        Canonical::parse(text.as_bytes()).unwrap_err().why
    }

    #[test]
    fn members_are_sorted_and_blanks_go() {
        let got = Canonical::parse(b" { \"b\" : [1, 2], \"a\" : \"\\u00e9\" } ").unwrap();
        assert_eq!(got.as_str(), r#"{"a":"é","b":[1,2]}"#);
    }

    #[test]
    fn canonical_text_is_its_own_canonical_form() {
        let once = Canonical::parse(br#"{"z":null,"a":[true,{"k":-9007199254740991}]}"#).unwrap();
        assert_eq!(Canonical::parse(once.as_str().as_bytes()).unwrap(), once);
    }

    #[test]
    fn numbers_that_could_be_rounded_are_refused() {
        assert_eq!(why("[1.0]"), JsonRefusal::NumberNotInteger);
        assert_eq!(why("[1e2]"), JsonRefusal::NumberNotInteger);
        assert_eq!(why("[-0]"), JsonRefusal::NumberNotInteger);
        assert_eq!(why("[9007199254740992]"), JsonRefusal::IntegerOutOfRange);
        assert_eq!(why("[-9007199254740992]"), JsonRefusal::IntegerOutOfRange);
        for far in [
            "[18446744073709551615]",
            "[123123123123123123123123]",
            "{\"a\":-99999999999999999999 }",
            "1234567890123456789012",
        ] {
            assert_eq!(why(far), JsonRefusal::IntegerOutOfRange, "{far}");
        }
        assert_eq!(why("[1234567890123456789012.5]"), JsonRefusal::NumberNotInteger);
        Canonical::parse(b"[9007199254740991]").unwrap();
    }

    #[test]
    fn a_duplicate_key_is_refused_with_its_place() {
        let error = Canonical::parse(b"{\"a\":1,\n \"a\":2}").unwrap_err();
        assert_eq!((error.why, error.line), (JsonRefusal::DuplicateKey, 2));
        assert!(error.to_string().starts_with("duplicate_key at line 2 column "));
    }

    #[test]
    fn eight_look_alikes_have_eight_bindings_or_a_refusal() {
        let texts =
            [r#"{"v":1}"#, r#"{"v":"1"}"#, r#"{"v":true}"#, r#"{"v":null}"#, "{}", r#"{"v":[]}"#, r#"{"v":{}}"#];
        let mut forms: Vec<_> = texts.iter().map(|t| Canonical::parse(t.as_bytes()).unwrap().text).collect();
        forms.sort();
        forms.dedup();
        assert_eq!(forms.len(), texts.len());
        assert_eq!(why(r#"{"v":1.0}"#), JsonRefusal::NumberNotInteger);
    }

    #[test]
    fn depth_keys_and_rubbish_are_refused() {
        let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        Canonical::parse(nested(32).as_bytes()).unwrap();
        assert_eq!(why(&nested(33)), JsonRefusal::TooDeep);
        assert_eq!(why(&"[".repeat(33)), JsonRefusal::TooDeep);
        assert_eq!(why(&"[".repeat(10_000)), JsonRefusal::TooDeep);
        assert_eq!(why("{\"é\":1}"), JsonRefusal::KeyNotAscii);
        assert_eq!(why("{} x"), JsonRefusal::NotJson);
        assert_eq!(why(""), JsonRefusal::NotJson);
    }
}
