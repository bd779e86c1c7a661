//! A strict visitor over `serde_json`: what plain parsing would silently accept is an error here.

use crate::canonical::JsonRefusal;
use crate::guard::stands;
use crate::refusal::RefusalCode;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::fmt;

/// Deepest nesting that is read; an argument list never needs more.
pub(crate) const MAX_DEPTH: usize = 32;

/// Reads one value and leaves the reason in `why` when a rule of ours, not JSON's grammar, is broken.
#[derive(Clone, Copy)]
pub(crate) struct Strict<'a> {
    pub(crate) why: &'a Cell<Option<JsonRefusal>>,
    pub(crate) depth: usize,
}

impl Strict<'_> {
    fn refuse<E: Error>(&self, why: JsonRefusal) -> E {
        self.why.set(Some(why));
        E::custom(why.code())
    }

    fn deeper<E: Error>(&self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH && stands(RefusalCode::TooDeep) {
            return Err(self.refuse(JsonRefusal::TooDeep));
        }
        Ok(Self { why: self.why, depth: self.depth + 1 })
    }

    fn integer<E: Error>(&self, number: i64) -> Result<Value, E> {
        let far = number.unsigned_abs() > crate::canonical::MAX_INTEGER.unsigned_abs();
        if far && stands(RefusalCode::IntegerOutOfRange) {
            return Err(self.refuse(JsonRefusal::IntegerOutOfRange));
        }
        Ok(Value::from(number))
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
        self.integer(number)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        match i64::try_from(number) {
            Ok(number) => self.integer(number),
            Err(_) if stands(RefusalCode::IntegerOutOfRange) => Err(self.refuse(JsonRefusal::IntegerOutOfRange)),
            Err(_) => Ok(Value::from(number)),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        if stands(RefusalCode::NumberNotInteger) {
            return Err(self.refuse(JsonRefusal::NumberNotInteger));
        }
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
            if !key.is_ascii() && stands(RefusalCode::KeyNotAscii) {
                return Err(self.refuse(JsonRefusal::KeyNotAscii));
            }
            if object.contains_key(&key) && stands(RefusalCode::DuplicateKey) {
                return Err(self.refuse(JsonRefusal::DuplicateKey));
            }
            object.insert(key, map.next_value_seed(inner)?);
        }
        Ok(Value::Object(object))
    }
}
