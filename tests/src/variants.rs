//! The variants of an enum as its own serde derive lists them, so that no list of ours can fall behind.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::Value;
use std::cell::Cell;

type Names = &'static [&'static str];

/// Asked for an enum, it notes the names and gives up.
struct Probe<'a>(&'a Cell<Option<Names>>);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("not an enum"))
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, variants: Names, _: V) -> Result<V::Value, Error> {
        self.0.set(Some(variants));
        Err(Error::custom("the names were all that was wanted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The names of all variants in the order of the declaration; nothing when the type is not an enum.
#[must_use]
pub fn variants_of<T: DeserializeOwned>() -> Option<Vec<String>> {
    let names = Cell::new(None);
    // It always gives up: that is how the names come out.
    let _ = T::deserialize(Probe(&names));
    names.get().map(|names| names.iter().map(|&name| name.to_owned()).collect())
}

/// The name of this value's variant; nothing when it does not look like an externally tagged enum.
#[must_use]
pub fn variant_of<T: Serialize>(value: &T) -> Option<String> {
    match serde_json::to_value(value).ok()? {
        Value::String(name) => Some(name),
        Value::Object(members) if members.len() == 1 => members.keys().next().cloned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Serialize, Deserialize)]
    enum Shape {
        Dot,
        Line(u8),
        Square { side: u8 },
    }

    #[test]
    fn the_names_are_those_of_the_declaration() {
        assert_eq!(variants_of::<Shape>().unwrap(), ["Dot", "Line", "Square"]);
        assert_eq!(variants_of::<String>(), None);
    }

    #[test]
    fn a_value_knows_its_variant() {
        let names = [Shape::Dot, Shape::Line(1), Shape::Square { side: 2 }].map(|shape| variant_of(&shape).unwrap());
        assert_eq!(names, ["Dot", "Line", "Square"]);
    }
}
