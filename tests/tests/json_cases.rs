//! Canonical JSON against somebody else's cases (`data/ATTRIBUTION.md`): what is not JSON is refused, what is JSON is
//! taken or refused for one of four reasons that a second, independent look confirms.

#[cfg(test)]
mod tests {
    use fleetwatch_tests::{base64, workspace_root};
    use protocol::canonical::{Canonical, JsonError, JsonRefusal, MAX_INTEGER};
    use serde_json::Value;
    use std::collections::BTreeSet;

    struct Case {
        id: String,
        expect: String,
        twice: bool,
        bytes: Vec<u8>,
    }

    fn cases() -> Vec<Case> {
        let text = std::fs::read_to_string(workspace_root().join("tests/data/json_cases.jsonl")).unwrap();
        let cases: Vec<_> = text.lines().map(case).collect();
        assert_eq!(cases.len(), 338);
        cases
    }

    fn case(line: &str) -> Case {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        Case {
            id: text("id").unwrap(),
            expect: text("expect").unwrap(),
            twice: text("strict_canonical").is_some_and(|word| word == "reject"),
            bytes: base64::decode(row["b64"].as_str().unwrap()).unwrap(),
        }
    }

    fn of(expect: &str) -> Vec<Case> {
        let cases: Vec<_> = cases().into_iter().filter(|case| case.expect == expect).collect();
        assert!(cases.len() > 50, "only {} cases of {expect}", cases.len());
        cases
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for case in of("reject") {
            let error = Canonical::parse(&case.bytes).expect_err(&case.id);
            assert!(error.line >= 1 && error.column >= 1, "{}: {error}", case.id);
        }
    }

    #[test]
    fn what_is_json_is_taken_or_refused_for_a_reason_that_holds() {
        let mut reasons = BTreeSet::new();
        for case in of("accept") {
            match Canonical::parse(&case.bytes) {
                Ok(taken) => {
                    assert!(!case.twice, "{} must be refused", case.id);
                    assert_canonical(&case, &taken);
                }
                Err(error) => {
                    confirm(&case, &error);
                    reasons.insert(error.why.code());
                }
            }
        }
        assert_eq!(reasons, BTreeSet::from(["duplicate_key", "number_not_integer"]));
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        let twice: Vec<_> = cases().into_iter().filter(|case| case.twice).collect();
        assert!(!twice.is_empty());
        for case in twice {
            assert_eq!(
                Canonical::parse(&case.bytes).expect_err(&case.id).why,
                JsonRefusal::DuplicateKey,
                "{}",
                case.id
            );
        }
    }

    #[test]
    fn what_may_be_either_is_decided_without_a_panic() {
        for case in of("either") {
            if let Ok(taken) = Canonical::parse(&case.bytes) {
                assert_canonical(&case, &taken);
            }
        }
    }

    #[test]
    fn a_number_that_is_no_integer_is_refused_where_it_stands() {
        // The place is the last byte of the number.
        for (text, line, column) in [("[1.5]", 1, 4), ("{\n  \"a\": [1,\n -0.0e1]}", 3, 7), ("1e2", 1, 3)] {
            let error = Canonical::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.why, JsonRefusal::NumberNotInteger, "{text}");
            assert_eq!((error.line, error.column), (line, column), "{text}");
        }
    }

    #[test]
    fn an_integer_that_could_be_rounded_is_refused_where_it_stands() {
        let error = Canonical::parse(b"[1,\n9007199254740993]").unwrap_err();
        assert_eq!((error.why, error.line), (JsonRefusal::IntegerOutOfRange, 2));
        assert!((1..=17).contains(&error.column), "{error}");
    }

    fn assert_canonical(case: &Case, taken: &Canonical) {
        let again = Canonical::parse(taken.as_str().as_bytes()).expect(&case.id);
        assert_eq!(&again, taken, "{}", case.id);
        // The same value as a plain parser sees it: nothing was rounded, dropped or renamed.
        let plain: Value = serde_json::from_slice(&case.bytes).expect(&case.id);
        assert_eq!(taken.value(), &plain, "{}", case.id);
    }

    // Looks at the text again, without our parser.
    fn confirm(case: &Case, error: &JsonError) {
        let text = std::str::from_utf8(&case.bytes).expect(&case.id);
        assert!(serde_json::from_str::<Value>(text).is_ok(), "{} is refused by a plain parser too", case.id);
        let mut look = Look { text, at: 0, numbers: Vec::new(), keys: Vec::new() };
        look.value();
        let odd = |number: &&(usize, &str)| number.1 == "-0" || number.1.contains(['.', 'e', 'E']);
        let large = |number: &&(usize, &str)| number.1.parse::<i128>().is_ok_and(|n| n.abs() > i128::from(MAX_INTEGER));
        let at = |number: Option<&(usize, &str)>| {
            let (begin, digits) = number.unwrap_or_else(|| panic!("{}: {error}, but there is no such number", case.id));
            let (line, column) = place(text, *begin);
            let on_it = error.line == line && (column..=column + digits.len()).contains(&error.column);
            assert!(on_it, "{}: {error}, but the number stands at line {line} column {column}", case.id);
        };
        match error.why {
            JsonRefusal::NumberNotInteger => at(look.numbers.iter().find(odd)),
            JsonRefusal::IntegerOutOfRange => at(look.numbers.iter().find(large)),
            JsonRefusal::DuplicateKey => {
                let twice = |keys: &Vec<String>| keys.iter().collect::<BTreeSet<_>>().len() < keys.len();
                assert!(look.keys.iter().any(twice), "{}: {error}, but every key is there once", case.id);
            }
            JsonRefusal::KeyNotAscii => {
                assert!(look.keys.iter().flatten().any(|key| !key.is_ascii()), "{}: {error}", case.id);
            }
            JsonRefusal::NotJson | JsonRefusal::TooDeep | JsonRefusal::TooLarge => panic!("{}: {error}", case.id),
        }
    }

    fn place(text: &str, at: usize) -> (usize, usize) {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        (line, at - before.rfind('\n').map_or(0, |end| end + 1) + 1)
    }

    /// Walks over text that is known to be JSON and notes its numbers with their offsets, and each object's keys.
    struct Look<'a> {
        text: &'a str,
        at: usize,
        numbers: Vec<(usize, &'a str)>,
        keys: Vec<Vec<String>>,
    }

    impl Look<'_> {
        fn peek(&mut self) -> u8 {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.text.as_bytes().get(self.at).copied().unwrap_or(0)
        }

        fn value(&mut self) {
            match self.peek() {
                b'{' => self.members(),
                b'[' => self.items(),
                b'"' => drop(self.string()),
                _ => self.plain(),
            }
        }

        fn members(&mut self) {
            let mut keys = Vec::new();
            self.at += 1;
            while self.peek() != b'}' {
                keys.push(self.string());
                assert_eq!(self.peek(), b':');
                self.at += 1;
                self.value();
                self.comma();
            }
            self.at += 1;
            self.keys.push(keys);
        }

        fn items(&mut self) {
            self.at += 1;
            while self.peek() != b']' {
                self.value();
                self.comma();
            }
            self.at += 1;
        }

        fn comma(&mut self) {
            if self.peek() == b',' {
                self.at += 1;
            }
        }

        fn string(&mut self) -> String {
            let begin = self.at;
            let bytes = self.text.as_bytes();
            self.at += 1;
            while bytes[self.at] != b'"' {
                self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
            }
            self.at += 1;
            serde_json::from_str(&self.text[begin..self.at]).unwrap()
        }

        fn plain(&mut self) {
            let rest = &self.text[self.at..];
            let length = rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
            if rest.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                self.numbers.push((self.at, &rest[..length]));
            }
            self.at += length;
        }
    }
}
