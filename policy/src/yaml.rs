//! One strict YAML reader: what it refuses, it names with file, line, column and what to do (issue line 1.10).
//!
//! Refused everywhere: duplicate and unknown keys, anchors, aliases, merge keys, tags, a second document, `yes` for
//! true, a quoted number for a number, and files beyond 64 KiB.

use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Budget, DuplicateKeyPolicy, Error, Location, MergeKeyPolicy, Options, Spanned};
use std::fmt;
use std::marker::PhantomData;

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1_024;

/// Why a file was refused, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The file, as the caller named it.
    pub file: String,
    /// Line of the place, from 1.
    pub line: usize,
    /// Column of the place in characters, from 1.
    pub column: usize,
    /// What is wrong, in one line.
    pub what: String,
    /// What to do, in one line.
    pub advice: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}. {}", self.file, self.line, self.column, self.what, self.advice)
    }
}

impl std::error::Error for PolicyError {}

/// Where a text came from, so that later checks can refuse it by place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) file: &'a str,
}

impl Source<'_> {
    /// Reads the whole text as one document.
    pub(crate) fn read<T: DeserializeOwned>(self) -> Result<T, PolicyError> {
        if self.text.len() > MAX_BYTES {
            return Err(self.at(1, 1, "the file is larger than 64 KiB", "Shorten it"));
        }
        serde_saphyr::from_str_with_options(self.text, options()).map_err(|error| self.explain(&error))
    }

    /// A refusal at the place of a value or key.
    pub(crate) fn refuse(self, at: Location, what: &str, advice: &str) -> PolicyError {
        self.at(number(at.line()), number(at.column()), what, advice)
    }

    fn at(self, line: usize, column: usize, what: &str, advice: &str) -> PolicyError {
        let (what, advice) = (one_line(what), format!("{advice}."));
        PolicyError { file: one_line(self.file), line: line.max(1), column: column.max(1), what, advice }
    }

    fn explain(self, error: &Error) -> PolicyError {
        let error = error.without_snippet();
        let (line, column) = error.location().map_or((1, 1), |at| (number(at.line()), number(at.column())));
        let (what, advice) = describe(error);
        // A wrong value is reported at its key, so its path ends with that key.
        let path = self.path(line, if is_about_key(error) { column.saturating_sub(1) } else { column });
        let what = if path.is_empty() { what } else { format!("{path}: {what}") };
        self.at(line, column, &what, advice)
    }

    /// The keys that lead to a line, read off the indentation: those indented less than `within`, and less each time.
    fn path(self, line: usize, mut within: usize) -> String {
        let mut keys = Vec::new();
        for text in self.text.lines().take(line).collect::<Vec<_>>().into_iter().rev() {
            let body = text.trim_start();
            let indent = text.len() - body.len();
            let key = body.split_once(':').map_or("", |(key, _)| key);
            let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if plain && indent < within {
                keys.push(key);
                within = indent;
            }
        }
        keys.reverse();
        keys.join(".")
    }
}

fn options() -> Options {
    let mut budget = Budget::default();
    budget.max_nodes = 5_000;
    budget.max_anchors = 0;
    budget.max_aliases = 0;
    budget.max_depth = 16;
    budget.max_reader_input_bytes = Some(MAX_BYTES);
    let mut options = Options::default();
    options.budget = Some(budget);
    options.duplicate_keys = DuplicateKeyPolicy::Error;
    options.merge_keys = MergeKeyPolicy::Error;
    options.strict_booleans = true;
    options.reject_unsupported_tags = true;
    options.with_snippet = false;
    options
}

const CORRECT: &str = "Correct the value";

#[expect(clippy::wildcard_enum_match_arm, reason = "the reader's own error list grows with its versions")]
fn describe(error: &Error) -> (String, &'static str) {
    match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("?");
            (format!("the key `{key}` is given twice"), "Keep one of the two")
        }
        Error::SerdeUnknownField { field, expected, .. } => {
            let known = expected.join(", ");
            (format!("unknown key `{field}`; known here: {known}"), "Remove it or correct its spelling")
        }
        Error::SerdeMissingField { field, .. } => (format!("the key `{field}` is missing"), "Add it"),
        Error::MergeKeyNotAllowed { .. } => ("merge keys are not allowed".to_owned(), "Write the keys out"),
        Error::MultipleDocuments { .. } => ("a second document begins".to_owned(), "Keep one document per file"),
        Error::Eof { .. } => ("the file is empty or ends too early".to_owned(), "Restore it from the shipped file"),
        Error::Budget { .. } => {
            ("too large, too deep, or uses an anchor or alias".to_owned(), "Write it out, or shorten it")
        }
        Error::InvalidBooleanStrict { .. } => ("not a boolean".to_owned(), "Write true or false"),
        other => (bare(&other.to_string()), CORRECT),
    }
}

fn is_about_key(error: &Error) -> bool {
    matches!(
        error,
        Error::DuplicateMappingKey { .. }
            | Error::SerdeUnknownField { .. }
            | Error::SerdeMissingField { .. }
            | Error::MergeKeyNotAllowed { .. }
            | Error::MultipleDocuments { .. }
    )
}

/// The message without its own place, which is said in front.
fn bare(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(front, _)| front).to_owned()
}

fn one_line(text: &str) -> String {
    protocol::shown::Shown::capped(text, 400).into_string()
}

fn number(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A whole number written as one: not quoted, not a boolean, no fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole(pub(crate) i64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Whole, E> {
                Ok(Whole(value))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Whole, E> {
                i64::try_from(value).map(Whole).map_err(|_| E::custom("the number is too large"))
            }
        }
        deserializer.deserialize_any(Number)
    }
}

/// `true` or `false` written as such, not quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flag(pub(crate) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Boolean;
        impl Visitor<'_> for Boolean {
            type Value = Flag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true or false")
            }
            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Flag, E> {
                Ok(Flag(value))
            }
        }
        deserializer.deserialize_any(Boolean)
    }
}

/// Text: a number or a boolean without quotes is refused, because it is rarely what was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Text, E> {
                Ok(Text(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Words)
    }
}

/// A list: an empty value is refused instead of read as no items.
#[derive(Debug)]
pub(crate) struct Listed<T>(pub(crate) Vec<T>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = Listed<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Listed<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    all.push(item);
                }
                Ok(Listed(all))
            }
        }
        deserializer.deserialize_any(Items(PhantomData))
    }
}

/// A mapping in file order that keeps the place of every key.
#[derive(Debug)]
pub(crate) struct Mapped<T>(pub(crate) Vec<(Spanned<String>, T)>);

impl<T> Default for Mapped<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Mapped<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Mapped<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Mapped<T>, A::Error> {
                let mut members = Vec::new();
                while let Some(key) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Mapped(members))
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// An optional key: when it is there, it holds a value; an empty one is refused.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Sample {
        #[serde(default)]
        names: Listed<Spanned<Text>>,
        #[serde(default)]
        parts: Mapped<Inner>,
        #[serde(default, deserialize_with = "given")]
        flag: Option<Flag>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        count: Whole,
    }

    fn refusal(text: &str) -> PolicyError {
        Source { text, file: "a.yaml" }.read::<Sample>().unwrap_err()
    }

    #[test]
    fn a_refusal_says_file_line_column_what_and_what_to_do() {
        let shown = refusal("# note\nparts:\n  one:\n    count: yes\n").to_string();
        assert_eq!(
            shown,
            r#"a.yaml:4:5: parts.one.count: invalid type: string "yes", expected a whole number. Correct the value."#
        );
        let shown = refusal("parts:\n  one: {count: 1}\n  one: {count: 2}\n").to_string();
        assert_eq!(shown, "a.yaml:3:3: parts: the key `one` is given twice. Keep one of the two.");
        let shown = refusal("parts:\n  one:\n    sum: 1\n").to_string();
        assert_eq!(
            shown,
            "a.yaml:3:5: parts.one: unknown key `sum`; known here: count. Remove it or correct its spelling."
        );
    }

    #[test]
    fn what_yaml_offers_beyond_plain_data_is_refused() {
        for text in [
            "names: &a [x]\n",
            "names: [&a x, *a]\n",
            "names: [*a]\n",
            "parts: {one: {<<: {count: 1}}}\n",
            "names: [!x y]\n",
            "names: !!set {x}\n",
            "names: [x]\n---\nnames: [y]\n",
            "names: [x]\n...\nnames: [y]\n",
            "flag: on\n",
            "flag: True\nflag: false\n",
            "? [a]\n: b\n",
            "names: [\n",
            "names: [a\u{0}b]\n",
        ] {
            let error = refusal(text);
            assert!(!error.to_string().contains('\n') && error.line >= 1 && error.column >= 1, "{text:?}: {error}");
        }
    }

    #[test]
    fn a_bomb_of_aliases_or_depth_is_refused_at_once() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n";
        assert_eq!(refusal(bomb).line, 1);
        assert!(refusal(&format!("names: {}", "[".repeat(5_000))).what.len() < 500);
        assert!(refusal(&format!("names: [{}]", "x, ".repeat(6_000))).what.contains("too large"));
    }

    #[test]
    fn text_of_the_file_is_shown_escaped_and_on_one_line() {
        let error = refusal("\"a\\nb\\u202e\": 1\n");
        assert!(error.what.contains("unknown key") && !error.to_string().contains(['\n', '\u{202e}']), "{error}");
    }
}
