//! One golden file: names, bytes, and how to look at both.

use fleetwatch_tests::variants::{variant_of, variants_of};
use fleetwatch_tests::{hex, workspace_root};
use protocol::frame::{decode, encode};
use protocol::hello::WIRE_VERSION;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

/// The number that every enveloped word carries here.
pub(crate) const ID: u32 = 7;

type Check = Box<dyn Fn(&[u8]) -> Result<(), String>>;

/// All words of one socket, with their bytes as this build makes them.
pub(crate) struct Sheet {
    name: &'static str,
    about: &'static str,
    lines: Vec<(String, Vec<u8>, Check)>,
    /// Enums that are here with every variant, as `module::Name`.
    pub(crate) enums: BTreeSet<String>,
}

impl Sheet {
    pub(crate) fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, lines: Vec::new(), enums: BTreeSet::new() }
    }

    /// One word.
    pub(crate) fn word<T>(&mut self, name: &str, value: T)
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug + 'static,
    {
        assert!(self.lines.iter().all(|(other, ..)| other != name), "{name} is there twice");
        let bytes = encode(&value).unwrap();
        let check = move |bytes: &[u8]| match decode::<T>(bytes) {
            Ok(read) if read == value => Ok(()),
            Ok(read) => Err(format!("the bytes are read as {read:?}, not {value:?}")),
            Err(error) => Err(error.to_string()),
        };
        self.lines.push((name.to_owned(), bytes, Box::new(check)));
    }

    /// Words of one enum, each at least once; `wrap` puts them into what travels.
    pub(crate) fn every<T, W>(&mut self, path: &str, values: Vec<T>, name: impl Fn(&T) -> String, wrap: impl Fn(T) -> W)
    where
        T: Serialize + DeserializeOwned,
        W: Serialize + DeserializeOwned + PartialEq + Debug + 'static,
    {
        let all: BTreeSet<String> = variants_of::<T>().unwrap().into_iter().collect();
        let here: BTreeSet<String> = values.iter().map(|value| variant_of(value).unwrap()).collect();
        assert_eq!(here, all, "variants of {path}");
        self.enums.insert(path.to_owned());
        for value in values {
            let name = name(&value);
            self.word(&name, wrap(value));
        }
    }

    fn path(&self) -> PathBuf {
        workspace_root().join("tests/golden").join(self.name).with_extension("txt")
    }

    fn text(&self) -> String {
        let mut text = format!(
            "# {}\n\
             # wire version {WIRE_VERSION}\n\
             # A line that changes, goes or comes needs a new WIRE_VERSION (protocol/src/hello.rs): an older build would misread\n\
             # it. Raise the number, then write this file anew: FLEETWATCH_BLESS=1 cargo test -p fleetwatch-tests --test golden\n",
            self.about
        );
        for (name, bytes, _) in &self.lines {
            text.push_str(&format!("{name} {}\n", hex::encode(bytes)));
        }
        text
    }

    /// Writes the file, unless bytes of a version that exists would change.
    pub(crate) fn bless(&self) {
        if let Ok(before) = fs::read_to_string(self.path()) {
            let same_version = before.contains(&format!("\n# wire version {WIRE_VERSION}\n"));
            let kept = read(&before)
                .into_iter()
                .all(|(name, bytes)| self.lines.iter().any(|(other, now, _)| *other == name && *now == bytes));
            assert!(
                kept || !same_version,
                "{}: bytes of wire version {WIRE_VERSION} would change; raise WIRE_VERSION (or, if no build with this version \
                 was ever run outside a test, delete the file and bless again)",
                self.path().display()
            );
        }
        fs::write(self.path(), self.text()).unwrap();
    }

    /// The file holds these bytes and no others, and they are read as these words.
    pub(crate) fn compare(&self) {
        let path = self.path();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut golden = read(&text);
        for (name, bytes, check) in &self.lines {
            let held = golden.remove(name).unwrap_or_else(|| panic!("{} lacks {name}", path.display()));
            if let Err(error) = check(&held) {
                panic!("{}: {name}: {error}; a changed layout needs a new WIRE_VERSION", path.display());
            }
            assert_eq!(hex::encode(bytes), hex::encode(&held), "{}: {name}", path.display());
        }
        assert!(golden.is_empty(), "{} holds words that nobody says: {:?}", path.display(), golden.keys());
        assert_eq!(text, self.text(), "{}: head or order", path.display());
    }
}

fn read(text: &str) -> BTreeMap<String, Vec<u8>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs =
        lines.map(|line| line.split_once(' ').and_then(|(name, digits)| Some((name.to_owned(), hex::decode(digits)?))));
    pairs.map(|pair| pair.unwrap()).collect()
}
