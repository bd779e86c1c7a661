//! Golden bytes: every word of the three sockets as it lies on the wire (`docs/architecture.md`, Sockets). Bytes that
//! change without a new `WIRE_VERSION` would let two builds misread each other.

#[cfg(test)]
mod ask;
#[cfg(test)]
mod control_words;
#[cfg(test)]
mod propose;
#[cfg(test)]
mod sheet;
#[cfg(test)]
mod values;
#[cfg(test)]
mod words;

#[cfg(test)]
mod tests {
    use super::sheet::Sheet;
    use super::{ask, control_words, propose, words};
    use fleetwatch_tests::sources;
    use std::collections::BTreeSet;

    fn sheets() -> Vec<Sheet> {
        vec![ask::sheet(), control_words::sheet(), propose::sheet(), words::sheet()]
    }

    #[test]
    fn every_word_has_the_bytes_of_its_golden_file() {
        let bless = std::env::var_os("FLEETWATCH_BLESS").is_some_and(|value| value == "1");
        for sheet in sheets() {
            if bless {
                sheet.bless();
            }
            sheet.compare();
        }
    }

    #[test]
    fn every_enum_of_the_wire_is_spelled_out() {
        let held: BTreeSet<String> = sheets().into_iter().flat_map(|sheet| sheet.enums).collect();
        let mut on_the_wire = BTreeSet::new();
        for source in sources::rust().unwrap() {
            if let Some(place) =
                source.path.strip_prefix("protocol/src/").or_else(|| source.path.strip_prefix("control/src/"))
            {
                let socket = place.strip_suffix(".rs").unwrap_or(place);
                on_the_wire.extend(wire_enums(&source.code).iter().map(|name| format!("{socket}::{name}")));
            }
        }
        assert_eq!(held, on_the_wire);
    }

    // Two builds of different versions understand each other's hello, whatever else has moved (`AGENTS.md`, rule 7).
    #[test]
    fn the_hello_is_the_first_word_of_every_socket() {
        let mut enums = 0;
        for source in sources::rust().unwrap() {
            let lines: Vec<&str> = source.code.lines().map(str::trim).collect();
            for (at, line) in lines.iter().enumerate() {
                if line.starts_with("pub enum ") && line.ends_with("Says {") {
                    let first = lines.iter().skip(at + 1).find(|line| !line.is_empty() && !line.starts_with("//"));
                    assert!(first.is_some_and(|word| word.starts_with("Hello")), "{}: {line} {first:?}", source.path);
                    enums += 1;
                }
            }
        }
        assert_eq!(enums, 6);
    }

    // Names of enums whose derives say that they travel. A macro that makes one is seen like any other.
    fn wire_enums(code: &str) -> Vec<String> {
        let mut travels = false;
        let mut names = Vec::new();
        for line in code.lines().map(str::trim_start) {
            if let Some(rest) = line.strip_prefix("pub enum ") {
                if travels {
                    names.push(rest.split_whitespace().next().unwrap_or(rest).to_owned());
                }
                travels = false;
            } else if line.starts_with("#[derive(") {
                travels = line.contains("Serialize");
            } else if !line.starts_with("#[") && !line.is_empty() {
                travels = false;
            }
        }
        names
    }
}
