//! The picture of the boundary says what the units say: who owns which socket and folder, who may reach it (issue line 4.14).

use fleetwatch_tests::sources;
use std::collections::{BTreeMap, BTreeSet};

const PICTURE: &str = "docs/pictures/boundary.svg";

fn texts() -> BTreeMap<String, String> {
    sources::files().unwrap().into_iter().map(|file| (file.path, file.text)).collect()
}

// The value of this key in a unit.
fn value<'t>(unit: &'t str, key: &str) -> Option<&'t str> {
    unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}

// What stands in the picture, one text after the other.
fn said(picture: &str) -> Vec<String> {
    let parts = picture.split("<text").skip(1).filter_map(|rest| rest.split_once('>')?.1.split_once("</text>"));
    parts.map(|(text, _)| text.to_owned()).collect()
}

#[test]
fn the_picture_tells_each_socket_and_folder_as_the_units_make_it() {
    let files = texts();
    let said = said(&files[PICTURE]);
    let page = &files["docs/boundary.md"];
    let folders: BTreeMap<_, _> = files["systemd/tmpfiles.d/fleetwatch.conf"]
        .lines()
        .filter_map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            (words[0] == "d").then(|| (words[1], (words[2], words[3], words[4])))
        })
        .collect();
    let mut sockets = 0;
    for (path, unit) in files.iter().filter(|(path, _)| path.starts_with("systemd/") && path.ends_with(".socket")) {
        let place = value(unit, "ListenStream").unwrap();
        let line = if place.starts_with('/') {
            let (folder, name) = place.rsplit_once('/').unwrap();
            let who = format!("{}:{}", value(unit, "SocketUser").unwrap(), value(unit, "SocketGroup").unwrap());
            let (mode, owner, group) = folders[folder];
            let row =
                format!("| `{place}` | {owner}:{group}, {mode} | {who}, {} |", value(unit, "SocketMode").unwrap());
            assert!(page.contains(&row), "{path}: {row}");
            format!("{name} {} {who}", value(unit, "SocketMode").unwrap())
        } else {
            place.to_owned()
        };
        assert!(said.contains(&line), "{path}: {line}\n{said:#?}");
        sockets += 1;
    }
    assert_eq!(sockets, 4);
    for daemon in ["fleetwatch-executor", "fleetwatch-assistant"] {
        let unit = &files[&format!("systemd/{daemon}.service")];
        let state = format!("/var/lib/{}", value(unit, "StateDirectory").unwrap());
        let mode = value(unit, "StateDirectoryMode").unwrap();
        for line in [format!("user {}", value(unit, "User").unwrap()), format!("{state} {mode}")] {
            assert!(said.contains(&line), "{line}");
        }
        assert_eq!(folders[state.as_str()], (mode, daemon, daemon));
    }
}

#[test]
fn every_name_in_the_picture_stands_in_the_units() {
    let files = texts();
    let known: String =
        files.iter().filter(|(path, _)| path.starts_with("systemd/")).map(|(_, text)| text.as_str()).collect();
    let units: BTreeSet<_> = files.keys().filter_map(|path| path.strip_prefix("systemd/")).collect();
    let (mut names, mut wrong) = (0, Vec::new());
    let page = files["docs/boundary.md"].split("```").nth(1).unwrap().to_owned();
    for text in said(&files[PICTURE]).iter().chain([&page]) {
        let words =
            text.split(|c: char| c.is_whitespace() || "(),:│".contains(c)).map(|word| word.trim_end_matches('.'));
        for word in
            words.filter(|word| word.starts_with("fleetwatch") || word.starts_with('/') || word.ends_with(".sock"))
        {
            names += 1;
            if !known.contains(word) && !units.contains(word) && word != "fleetwatchctl" {
                wrong.push(word.to_owned());
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(names > 30, "only {names} names were found");
}

#[test]
fn the_picture_is_small_reads_nothing_from_elsewhere_and_fits_dark_and_light() {
    let picture = &texts()[PICTURE];
    assert!(picture.len() < 12_000, "{} bytes", picture.len());
    assert!(picture.contains("prefers-color-scheme: dark") && picture.contains("<title"));
    for word in ["<script", "<image", "href=", "@import", "url(", "<foreignObject"] {
        assert!(!picture.contains(word), "{word}");
    }
    // Well formed, as far as this file needs: every tag that is opened is closed.
    let mut open = Vec::new();
    for tag in picture.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        let name = tag.split([' ', '\n', '/']).find(|part| !part.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') && !tag.starts_with(['?', '!']) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}
