//! `principals.yaml`: the people, their system user and their PIN (architecture, Identity).

use crate::yaml::{Flag, Listed, PolicyError, Source, Text, Whole, given};
use protocol::canonical::Canonical;
use protocol::ids::Label;
use serde::Deserialize;
use serde_json::json;
use serde_saphyr::Spanned;
use std::fmt;

/// One person.
#[derive(Clone, PartialEq, Eq)]
pub struct Principal {
    name: Label,
    uid: u32,
    operator: bool,
    pin: Option<String>,
}

impl Principal {
    /// The person's short name, as the audit writes it.
    #[must_use]
    pub fn name(&self) -> &Label {
        &self.name
    }

    /// The system user.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Whether the person may decide about proposals.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.operator
    }

    /// The PIN's argon2id hash in PHC form; `None` until one is set.
    #[must_use]
    pub fn pin(&self) -> Option<&str> {
        self.pin.as_deref()
    }
}

// The hash stays out of logs.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal")
            .field("name", &self.name)
            .field("uid", &self.uid)
            .field("operator", &self.operator)
            .field("pin", &self.pin.is_some())
            .finish()
    }
}

/// Everyone that the file names. Nobody else can decide; an empty list means that nobody can.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Principals(Vec<Principal>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrincipal {
    name: Spanned<Text>,
    uid: Spanned<Whole>,
    operator: Flag,
    #[serde(default, deserialize_with = "given")]
    pin: Option<Spanned<Text>>,
}

impl Principals {
    /// Reads the list; `file` is the name that refusals show.
    ///
    /// # Errors
    /// [`PolicyError`] for the first thing that is wrong, with its place and what to do. A PIN's hash is never in it.
    pub fn parse(text: &str, file: &str) -> Result<Self, PolicyError> {
        let source = Source { text, file };
        let raw: Listed<RawPrincipal> = source.read()?;
        let mut people: Vec<Principal> = Vec::new();
        for one in raw.0 {
            let name = Label::new(&one.name.value.0).ok_or_else(|| {
                let what = "name: expected 1 to 64 characters of A-Za-z0-9_.:-";
                source.refuse(one.name.referenced, what, "Use the person's short name")
            })?;
            let uid = u32::try_from(one.uid.value.0).ok().filter(|uid| *uid != u32::MAX).ok_or_else(|| {
                source.refuse(one.uid.referenced, "uid: expected a system user's number", "See `id -u`")
            })?;
            if people.iter().any(|known| known.name == name) {
                let what = format!("name: `{name}` is there twice");
                return Err(source.refuse(one.name.referenced, &what, "Give each person one entry"));
            }
            if people.iter().any(|known| known.uid == uid) {
                let what = format!("uid: {uid} is there twice");
                return Err(source.refuse(one.uid.referenced, &what, "Give each person a system user of their own"));
            }
            if let Some(odd) = one.pin.as_ref().filter(|pin| !is_phc(&pin.value.0)) {
                let what = "pin: expected an argon2id hash";
                return Err(source.refuse(odd.referenced, what, "Remove it and run fleetwatchctl pin set"));
            }
            people.push(Principal { name, uid, operator: one.operator.0, pin: one.pin.map(|pin| pin.value.0) });
        }
        Ok(Self(people))
    }

    /// The person behind a system user.
    #[must_use]
    pub fn person_of_uid(&self, uid: u32) -> Option<&Principal> {
        self.0.iter().find(|person| person.uid == uid)
    }

    /// The person with this name.
    #[must_use]
    pub fn person_named(&self, name: &str) -> Option<&Principal> {
        self.0.iter().find(|person| person.name.as_str() == name)
    }

    /// Everyone, in file order.
    pub fn everyone(&self) -> impl Iterator<Item = &Principal> {
        self.0.iter()
    }

    /// Those who may decide, in file order.
    pub fn operators(&self) -> impl Iterator<Item = &Principal> {
        self.0.iter().filter(|person| person.operator)
    }

    /// The list with one person's PIN hash replaced; nothing when nobody has that name or the hash is no argon2id hash.
    #[must_use]
    pub fn with_pin(&self, name: &str, phc: &str) -> Option<Self> {
        self.person_named(name).filter(|_| is_phc(phc))?;
        let mut people = self.0.clone();
        for person in &mut people {
            if person.name.as_str() == name {
                person.pin = Some(phc.to_owned());
            }
        }
        Some(Self(people))
    }

    /// The list as the file that [`Principals::parse`] reads back to the same.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        if self.0.is_empty() {
            return "[]\n".to_owned();
        }
        self.0.iter().map(entry).collect()
    }

    /// Canonical text of who may decide; names and users, no PIN.
    #[must_use]
    pub fn slice_text(&self) -> String {
        let slice: Vec<_> = self.operators().map(|one| json!({"name": one.name.as_str(), "uid": one.uid})).collect();
        let slice = json!(slice);
        Canonical::from_value(&slice).map_or_else(|_| slice.to_string(), |text| text.as_str().to_owned())
    }
}

/// Names and hashes hold no quote, backslash or control character, so quotes alone make them safe.
fn entry(person: &Principal) -> String {
    let Principal { name, uid, operator, pin } = person;
    let pin = pin.as_ref().map_or(String::new(), |pin| format!("  pin: \"{pin}\"\n"));
    format!("- name: \"{name}\"\n  uid: {uid}\n  operator: {operator}\n{pin}")
}

/// `$argon2id$v=..$m=..,t=..,p=..$salt$hash` in its own characters; the parameters are checked by whoever verifies.
fn is_phc(text: &str) -> bool {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"$+/=,.-".contains(&b));
    plain && text.len() <= 256 && text.starts_with("$argon2id$") && text.split('$').count() == 6
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHC: &str = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA";

    fn two() -> String {
        format!(
            "- name: ana\n  uid: 1001\n  operator: true\n  pin: \"{PHC}\"\n- {{name: \"12\", uid: 0, operator: false}}\n"
        )
    }

    #[test]
    fn people_are_found_by_user_and_by_name() {
        let people = Principals::parse(&two(), "principals.yaml").unwrap();
        assert_eq!(people.person_of_uid(1_001).map(|one| one.name().as_str()), Some("ana"));
        assert_eq!(people.person_of_uid(1_002), None);
        assert_eq!(people.operators().count(), 1);
        assert_eq!(people.person_named("12").and_then(Principal::pin), None);
        assert_eq!(people.slice_text(), r#"[{"name":"ana","uid":1001}]"#);
    }

    #[test]
    fn an_empty_list_lets_nobody_decide() {
        let people = Principals::parse("[]\n", "principals.yaml").unwrap();
        assert_eq!(people.operators().count(), 0);
        assert_eq!(people.to_yaml(), "[]\n");
    }

    #[test]
    fn what_is_written_back_reads_the_same() {
        let people = Principals::parse(&two(), "principals.yaml").unwrap();
        let changed = people.with_pin("12", PHC).unwrap();
        for one in [people, changed] {
            assert_eq!(Principals::parse(&one.to_yaml(), "principals.yaml").unwrap(), one);
        }
    }

    #[test]
    fn odd_names_survive_the_way_to_the_file_and_back() {
        for name in ["true", "1.0", "-", "a:", "null", "..."] {
            let people = Principals::parse(&format!("- {{name: \"{name}\", uid: 1, operator: true}}\n"), "p").unwrap();
            assert_eq!(Principals::parse(&people.to_yaml(), "p").unwrap(), people, "{name}");
        }
    }

    #[test]
    fn a_pin_is_set_only_for_a_known_person_and_only_as_a_hash() {
        let people = Principals::parse(&two(), "principals.yaml").unwrap();
        assert_eq!(people.with_pin("eva", PHC), None);
        assert_eq!(people.with_pin("ana", "12345678"), None);
        assert_eq!(people.with_pin("ana", &format!("{PHC}\"\n")), None);
    }

    #[test]
    fn the_hash_is_not_in_debug_output() {
        let people = Principals::parse(&two(), "principals.yaml").unwrap();
        assert!(!format!("{people:?}").contains("argon2id"));
    }

    #[test]
    fn every_odd_entry_is_refused_with_its_line() {
        let rows = [
            ("- {name: \"a b\", uid: 1, operator: true}\n", 1, "name"),
            ("- {name: a, uid: -1, operator: true}\n", 1, "uid"),
            ("- {name: a, uid: 4294967295, operator: true}\n", 1, "uid"),
            ("- {name: a, uid: \"1\", operator: true}\n", 1, "whole number"),
            ("- {name: a, uid: 1, operator: yes}\n", 1, "true or false"),
            ("- {name: a, uid: 1}\n", 1, "operator"),
            ("- {name: a, uid: 1, operator: true, admin: true}\n", 1, "admin"),
            ("- {name: a, uid: 1, operator: true}\n- {name: a, uid: 2, operator: true}\n", 2, "`a` is there twice"),
            ("- {name: a, uid: 1, operator: true}\n- {name: b, uid: 1, operator: true}\n", 2, "1 is there twice"),
            ("- name: a\n  uid: 1\n  operator: true\n  pin: \"12345678\"\n", 4, "argon2id"),
            ("- name: a\n  uid: 1\n  operator: true\n  pin:\n", 4, "text"),
            ("name: a\n", 1, "a list"),
            ("", 1, "empty"),
            ("# nobody\n", 2, "empty"),
        ];
        for (text, line, word) in rows {
            let error = Principals::parse(text, "principals.yaml").expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.what.contains(word), "{text}: {error}");
            assert!(!error.to_string().contains("12345678"), "{error}");
        }
    }
}
