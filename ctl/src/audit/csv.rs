//! Comma-separated values that a spreadsheet shows and does not run: every field in quotes (RFC 4180), and a text that
//! would be taken for a formula gets an apostrophe in front.

use super::rows::{Linked, time};
use crate::render::safe;

const COLUMNS: [&str; 12] = [
    "sequence",
    "at",
    "time_utc",
    "boot_ms",
    "kind",
    "proposal",
    "principal",
    "surface",
    "detail",
    "previous",
    "hash",
    "mac",
];

/// The first line.
pub(crate) fn header() -> String {
    line(&COLUMNS.map(str::to_owned))
}

/// One row.
pub(crate) fn row(linked: &Linked) -> String {
    let row = &linked.row;
    line(&[
        row.sequence.to_string(),
        row.at.to_string(),
        time(row.at),
        row.boot_ms.to_string(),
        text(&row.kind),
        row.proposal.map(|number| number.to_string()).unwrap_or_default(),
        text(&row.principal),
        text(&row.surface),
        text(&row.detail),
        text(&linked.previous),
        text(&row.hash),
        text(&row.mac),
    ])
}

// A text from anybody: nothing hidden in it, and no formula.
fn text(raw: &str) -> String {
    let shown = safe(raw);
    if shown.starts_with(['=', '+', '-', '@']) { format!("'{shown}") } else { shown }
}

fn line(fields: &[String; 12]) -> String {
    let quoted: Vec<_> = fields.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
    quoted.join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::audit_chain;

    #[test]
    fn every_field_is_quoted_and_none_is_a_formula() {
        for start in ["=", "+", "-", "@"] {
            let mut linked = audit_chain(1).remove(0);
            linked.row.principal = format!("{start}HYPERLINK(\"http://x\",\"a\")");
            linked.row.detail = "{\"a\":\"b, c\"}".to_owned();
            let text = row(&linked);
            let formula = format!("\"'{start}HYPERLINK(\"\"http://x\"\",\"\"a\"\")\"");
            assert!(text.contains(&formula), "{text}");
            assert!(text.contains("\"{\"\"a\"\":\"\"b, c\"\"}\""), "{text}");
            assert!(text.starts_with("\"1\",\"1790000001\",\"2026-") && text.ends_with("\"\r\n"), "{text}");
        }
    }

    #[test]
    fn a_line_end_or_an_escape_stays_inside_its_field_and_visible() {
        let mut linked = audit_chain(1).remove(0);
        linked.row.kind = "\r\n\"1\",\u{1b}[2J\t=1".to_owned();
        let text = row(&linked);
        assert_eq!(text.matches(['\r', '\n']).count(), 2, "{text}");
        assert!(!text.contains(['\u{1b}', '\t']), "{text}");
        assert_eq!(header().matches(',').count(), 11);
    }
}
