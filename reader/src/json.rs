//! JSON from the server: fractions are fine in a reading, two members of one name are not.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

/// Deepest nesting that is read, the envelope included.
const MAX_DEPTH: usize = 48;

/// Why a text is not taken as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFault {
    /// Two members of one object have the same name.
    DuplicateKey,
    /// Not JSON at all.
    NotJson,
    /// Nested more than 48 levels.
    TooDeep,
}

/// Reads one JSON value. Half of a surrogate pair in a name becomes U+FFFD: one odd name must not hide the
/// whole fleet.
///
/// # Errors
/// [`JsonFault`] naming the rule.
pub fn read(bytes: &[u8]) -> Result<Value, JsonFault> {
    let mended = mend_surrogates(bytes);
    let fault = Cell::new(None);
    let mut reader = serde_json::Deserializer::from_slice(&mended);
    let seed = Strict { fault: &fault, depth: 0 };
    let value = seed.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|_| fault.get().unwrap_or(JsonFault::NotJson))
}

/// Whether two values say the same; 14 and 14.0 do.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, one)| b.get(key).is_some_and(|other| same(one, other)))
        }
        (a, b) => a == b,
    }
}

fn same_number(a: &Number, b: &Number) -> bool {
    // Whole numbers are compared exactly: a float would round them.
    let whole = |n: &Number| n.is_i64() || n.is_u64();
    if whole(a) && whole(b) {
        return a == b;
    }
    a.as_f64() == b.as_f64()
}

// Same length, so that nothing moves: `\ud800` alone becomes `\ufffd`.
fn mend_surrogates(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut mended = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| *b == b'\\')) {
        let place = at + found;
        match (unit(bytes, place), unit(bytes, place + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at = place + 12,
            (Some(0xd800..=0xdfff), _) => {
                if let Some(escape) = mended.to_mut().get_mut(place..place + 6) {
                    escape.copy_from_slice(b"\\ufffd");
                }
                at = place + 6;
            }
            (Some(_), _) => at = place + 6,
            (None, _) => at = place + 2,
        }
    }
    mended
}

// The UTF-16 unit of the escape that starts here.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    fault: &'a Cell<Option<JsonFault>>,
    depth: usize,
}

impl Strict<'_> {
    fn refuse<E: Error>(&self, fault: JsonFault) -> E {
        self.fault.set(Some(fault));
        E::custom("refused")
    }

    fn deeper<E: Error>(&self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(self.refuse(JsonFault::TooDeep));
        }
        Ok(Self { fault: self.fault, depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(self.refuse(JsonFault::DuplicateKey));
            }
            object.insert(key, map.next_value_seed(inner)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fractions_pass_and_duplicate_keys_do_not() {
        assert_eq!(read(br#"{"load": 14.5, "n": 3}"#), Ok(json!({"load": 14.5, "n": 3})));
        assert_eq!(read(br#"{"a":[{"b":1,"b":1}]}"#), Err(JsonFault::DuplicateKey));
        // The same name written two ways is still the same name.
        assert_eq!(read(br#"{"a":1,"\u0061":2}"#), Err(JsonFault::DuplicateKey));
    }

    #[test]
    fn rubbish_and_deep_nesting_are_refused() {
        for text in ["", "{", "nul", "{} {}", "Error: 401", "[1e999]", "{'a':1}", "[01]"] {
            assert_eq!(read(text.as_bytes()), Err(JsonFault::NotJson), "{text}");
        }
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        read(deep(MAX_DEPTH).as_bytes()).unwrap();
        assert_eq!(read(deep(MAX_DEPTH + 1).as_bytes()), Err(JsonFault::TooDeep));
        assert_eq!(read("[".repeat(100_000).as_bytes()), Err(JsonFault::TooDeep));
        assert_eq!(read(&[b'"', 0xff, b'"']), Err(JsonFault::NotJson));
    }

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        for (text, want) in [
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\uDC00""#, "\u{fffd}"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\ud800\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\\ud800""#, r"\ud800"),
            (r#""\\\ud800\"""#, "\\\u{fffd}\""),
            (r#""\ud800\u0041""#, "\u{fffd}A"),
        ] {
            assert_eq!(read(text.as_bytes()), Ok(json!(want)), "{text}");
        }
        assert_eq!(read(br#""\ud80"#), Err(JsonFault::NotJson));
        assert_eq!(read(br#""\"#), Err(JsonFault::NotJson));
    }

    #[test]
    fn values_are_compared_by_what_they_say() {
        assert!(same(&json!({"a": [14, "x", null]}), &json!({"a": [14.0, "x", null]})));
        assert!(!same(&json!([1]), &json!([1, 2])));
        assert!(!same(&json!({"a": 1}), &json!({"b": 1})));
        assert!(!same(&json!("1"), &json!(1)));
        assert!(!same(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
    }
}
