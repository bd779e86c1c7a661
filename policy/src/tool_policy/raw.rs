//! The file as it is written, before its meaning is checked. Every value keeps its place.

use crate::yaml::{Flag, Listed, Mapped, Text, Whole, given};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;
use std::fmt;

/// The marker of an entry that loads and stays closed.
const PENDING: &str = "pending-live-run";

pub(super) type Words = Listed<Spanned<Text>>;
pub(super) type RawRule = Spanned<Mapped<Spanned<Words>>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    pub(super) read: Words,
    pub(super) write: Words,
    pub(super) disruptive: Words,
    #[serde(default)]
    pub(super) propose: Mapped<RawEntry>,
    #[serde(default)]
    pub(super) verbs: Mapped<RawVerbs>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEntry {
    pub(super) max_targets: Spanned<Whole>,
    #[serde(default, deserialize_with = "given")]
    pub(super) disruptive: Option<Spanned<Flag>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) disruptive_when: Option<RawRule>,
    #[serde(default, deserialize_with = "given")]
    pub(super) stops_recording: Option<RawRule>,
    #[serde(default, deserialize_with = "given")]
    pub(super) stops_streaming: Option<Spanned<Flag>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) lead_minutes: Option<Spanned<Whole>>,
    pub(super) schema: RawSchema,
}

#[derive(Debug)]
pub(super) enum RawSchema {
    Pending,
    Reviewed(Box<RawShape>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShape {
    pub(super) version: Spanned<Whole>,
    pub(super) target: Spanned<Text>,
    pub(super) fields: Spanned<Mapped<RawField>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawField {
    #[serde(rename = "type")]
    pub(super) kind: Spanned<Text>,
    pub(super) required: Spanned<Flag>,
    #[serde(default, deserialize_with = "given")]
    pub(super) default: Option<Spanned<Plain>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) pattern: Option<Spanned<Text>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) max_length: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) minimum: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) maximum: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) values: Option<Spanned<Words>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) items: Option<Box<RawItem>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) max_items: Option<Spanned<Whole>>,
}

/// What a list holds. `required`, `default` and further lists do not exist here.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawItem {
    #[serde(rename = "type")]
    pub(super) kind: Spanned<Text>,
    #[serde(default, deserialize_with = "given")]
    pub(super) pattern: Option<Spanned<Text>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) max_length: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) minimum: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) maximum: Option<Spanned<Whole>>,
    #[serde(default, deserialize_with = "given")]
    pub(super) values: Option<Spanned<Words>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVerbs {
    pub(super) en: Words,
    pub(super) es: Words,
}

/// A default: text, a whole number or a boolean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plain {
    Boolean(bool),
    Integer(i64),
    Text(String),
}

impl<'de> Deserialize<'de> for RawSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = RawSchema;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a mapping with version, target and fields, or {PENDING}")
            }
            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<RawSchema, E> {
                if value == PENDING {
                    return Ok(RawSchema::Pending);
                }
                Err(E::invalid_value(serde::de::Unexpected::Str(value), &self))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawSchema, A::Error> {
                RawShape::deserialize(MapAccessDeserializer::new(map)).map(|shape| RawSchema::Reviewed(Box::new(shape)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One;
        impl Visitor<'_> for One {
            type Value = Plain;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, a whole number, true or false")
            }
            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Plain, E> {
                Ok(Plain::Boolean(value))
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Plain, E> {
                Ok(Plain::Integer(value))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Plain, E> {
                i64::try_from(value).map(Plain::Integer).map_err(|_| E::custom("the number is too large"))
            }
            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Plain, E> {
                Ok(Plain::Text(value.to_owned()))
            }
        }
        deserializer.deserialize_any(One)
    }
}
