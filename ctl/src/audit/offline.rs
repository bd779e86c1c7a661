//! `audit verify FILE`: walks an export's SHA-256 chain with no key, no executor and no network. Anybody can do this.

use super::rows::GENESIS;
use control::message::AuditReport;
use host::secret::hex;
use protocol::canonical::Canonical;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The longest line that is read, in bytes: a row is a part of a frame.
const LONGEST: u64 = 1024 * 1024;

/// One line of an export.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    sequence: u64,
    at: i64,
    boot_ms: i64,
    kind: String,
    proposal: Option<u64>,
    principal: String,
    surface: String,
    detail: String,
    previous: String,
    hash: String,
    // Only the executor can check it.
    #[serde(rename = "mac")]
    _mac: String,
}

impl Line {
    /// The hash that this row must have: SHA-256 over the canonical JSON of its content and the hash before it.
    fn wanted(&self) -> Option<String> {
        let value = json!({
            "at": self.at, "boot_ms": self.boot_ms, "detail": self.detail, "kind": self.kind, "previous": self.previous,
            "principal": self.principal, "proposal": self.proposal, "sequence": self.sequence, "surface": self.surface,
        });
        let text = Canonical::from_value(&value).ok()?;
        Some(hex(&Sha256::digest(text.as_str().as_bytes())))
    }
}

/// What an export's chain looks like.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Rows that fit, the first that does not, and the newest hash that fits.
    pub(crate) report: AuditReport,
    /// The first row in the file; 0 when there is none.
    pub(crate) first: u64,
}

/// Walks a file.
///
/// # Errors
/// When the file cannot be read; what stands in it is the report's matter.
pub(crate) fn walk_file(path: &Path) -> io::Result<Walked> {
    walk(BufReader::new(File::open(path)?))
}

fn walk(mut lines: impl BufRead) -> io::Result<Walked> {
    let report = AuditReport { rows: 0, broken: None, head: GENESIS.to_owned() };
    let mut walked = Walked { report, first: 0 };
    loop {
        let mut bytes = Vec::new();
        (&mut lines).take(LONGEST + 1).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(walked);
        }
        let fault = match serde_json::from_slice::<Line>(&bytes) {
            Ok(line) => step(&mut walked, line),
            Err(error) => Some(format!("line {} of the file is no row: {error}", walked.report.rows + 1)),
        };
        if let Some(fault) = fault {
            let next = walked.first.max(1) + walked.report.rows;
            walked.report.broken = Some((next, fault));
            return Ok(walked);
        }
    }
}

/// Takes one more row, or says why it does not fit.
fn step(walked: &mut Walked, line: Line) -> Option<String> {
    let is_first = walked.report.rows == 0;
    if is_first {
        walked.first = line.sequence;
        // An export that begins later says itself what it builds on.
        if line.sequence > 1 {
            walked.report.head.clone_from(&line.previous);
        }
    }
    if line.sequence == 0 || (!is_first && line.sequence != walked.first + walked.report.rows) {
        return Some(format!(
            "a row is missing, twice there or out of order: the file goes on with row {}",
            line.sequence
        ));
    }
    if line.previous != walked.report.head {
        return Some("it does not build on the row before it".to_owned());
    }
    if line.wanted().is_none_or(|wanted| wanted != line.hash) {
        return Some("its hash does not follow from its own content".to_owned());
    }
    walked.report.rows += 1;
    walked.report.head = line.hash;
    None
}

#[cfg(test)]
mod tests {
    use super::super::rows::row_json;
    use super::*;
    use crate::testing::audit_chain;
    use serde_json::Value;

    fn exported(count: u64) -> Vec<Value> {
        audit_chain(count).iter().map(row_json).collect()
    }

    fn walked(rows: &[Value]) -> Walked {
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        walk(text.as_bytes()).unwrap()
    }

    fn broken(rows: &[Value]) -> (u64, String) {
        walked(rows).report.broken.unwrap()
    }

    #[test]
    fn a_whole_chain_holds_and_so_does_its_later_part() {
        let rows = exported(5);
        let whole = walked(&rows);
        assert_eq!((whole.report.rows, whole.first, &whole.report.broken), (5, 1, &None));
        assert_eq!(whole.report.head, rows[4]["hash"]);
        let part = walked(&rows[2..]);
        assert_eq!((part.report.rows, part.first, &part.report.broken), (3, 3, &None));
        assert_eq!(walked(&[]).report.rows, 0);
    }

    #[test]
    fn the_hash_of_the_first_row_is_the_one_that_a_second_program_finds() {
        // echo -n '{"at":1790000001,…}' | sha256sum, by hand.
        let row = &audit_chain(1)[0].row;
        let text = format!(
            "{{\"at\":1790000001,\"boot_ms\":1000,\"detail\":\"{{}}\",\"kind\":\"start\",\"previous\":\"{GENESIS}\",\
             \"principal\":\"executor\",\"proposal\":null,\"sequence\":1,\"surface\":\"\"}}"
        );
        assert_eq!(row.hash, hex(&Sha256::digest(text.as_bytes())));
    }

    #[test]
    fn every_change_of_any_member_of_any_row_is_named_by_its_row() {
        for row in 0..3_usize {
            for (member, value) in [
                ("at", json!(1)),
                ("boot_ms", json!(1)),
                ("kind", json!("other")),
                ("proposal", json!(9)),
                ("principal", json!("other")),
                ("surface", json!("page")),
                ("detail", json!("{\"a\":1}")),
                ("previous", json!("11")),
                ("hash", json!("11")),
            ] {
                let mut rows = exported(3);
                rows[row][member] = value;
                assert_eq!(broken(&rows).0, row as u64 + 1, "{member}: {:?}", broken(&rows));
            }
        }
    }

    #[test]
    fn a_row_that_is_gone_doubled_inserted_or_rehashed_is_named() {
        let rows = exported(5);
        let gone = [&rows[..2], &rows[3..]].concat();
        assert_eq!(broken(&gone).0, 3);
        let doubled = [&rows[..2], &rows[1..]].concat();
        assert_eq!(broken(&doubled).0, 3);
        let mut forged = rows.clone();
        forged[1]["detail"] = json!("{\"forged\":1}");
        let line: Line = serde_json::from_value(forged[1].clone()).unwrap();
        forged[1]["hash"] = json!(line.wanted().unwrap());
        // A row that was changed together with its hash breaks the next one.
        assert_eq!(broken(&forged).0, 3);
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        let good = format!("{}\n", exported(1)[0]);
        for bad in ["x\n", "\n", "{}\n", "{\"sequence\":2}\n", "[]\n"] {
            let walked = walk(format!("{good}{bad}").as_bytes()).unwrap();
            let (row, why) = walked.report.broken.unwrap();
            assert!(row == 2 && why.starts_with("line 2 of the file is no row"), "{row} {why}");
        }
        let mut more = exported(1);
        more[0]["extra"] = json!(1);
        assert_eq!(broken(&more).0, 1);
    }
}
