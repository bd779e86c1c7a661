//! The spent log: an append-only file beside the database. A consumed approval stands in both, the line first, so a
//! database that was restored or rolled back cannot make an approval whole again.

use super::error::StoreError;
use host::secret::hex;
use protocol::ids::ProposalNumber;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Written behind a torn line once it was told.
const MENDED: &str = "torn line above, told at start";

/// One line that was read at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpentLine {
    /// The store that wrote it.
    pub(crate) store_id: String,
    /// The proposal.
    pub(crate) number: ProposalNumber,
    /// The approval's id.
    pub(crate) approval: String,
}

/// What the file held at start.
#[derive(Debug, Default)]
pub(crate) struct SpentAtStart {
    /// Whole lines.
    pub(crate) lines: Vec<SpentLine>,
    /// Whether the last line is torn or unreadable. It counts as spent, for whichever approval it was.
    pub(crate) torn: bool,
}

/// The open file.
#[derive(Debug)]
pub(crate) struct SpentLog {
    file: File,
    path: PathBuf,
    spent: BTreeSet<String>,
}

impl SpentLog {
    /// Opens the file 0600, reads what is there, and ends a torn last line so that the next one is whole.
    pub(crate) fn open(path: &Path) -> Result<(Self, SpentAtStart), StoreError> {
        let mut file = host::files::append_open(path).map_err(|e| StoreError::File(format!("spent log: {e}")))?;
        let mut bytes = Vec::new();
        let mut reader = File::open(path).map_err(|e| failed(path, &e))?;
        reader.read_to_end(&mut bytes).map_err(|e| failed(path, &e))?;
        let mut start = SpentAtStart::default();
        let text = String::from_utf8_lossy(&bytes);
        for line in text.split_terminator('\n') {
            // Only the last line can be one that was being written when the process died.
            start.torn = false;
            match parse(line) {
                Some(line) => start.lines.push(line),
                None => start.torn = line != MENDED,
            }
        }
        start.torn |= !bytes.is_empty() && bytes.last() != Some(&b'\n');
        if start.torn {
            // From now on it is an old line, and the next one is whole.
            let end = format!("{}{MENDED}\n", if bytes.last() == Some(&b'\n') { "" } else { "\n" });
            file.write_all(end.as_bytes()).and_then(|()| file.sync_all()).map_err(|e| failed(path, &e))?;
        }
        let spent = start.lines.iter().map(|line| line.approval.clone()).collect();
        Ok((Self { file, path: path.to_owned(), spent }, start))
    }

    /// Whether this approval was spent.
    pub(crate) fn is_spent(&self, approval: &str) -> bool {
        self.spent.contains(approval)
    }

    /// Swaps the file for one that cannot be written.
    #[cfg(test)]
    pub(crate) fn dangerous_break(&mut self, file: File) {
        self.file = file;
    }

    /// Appends one line and waits until it is on disk. Whatever happens, the approval counts as spent from here on.
    pub(crate) fn append(&mut self, line: &SpentLine, unix: i64) -> Result<(), StoreError> {
        self.spent.insert(line.approval.clone());
        let body = format!("spent 1 {} {} {} {unix}", line.store_id, line.number, line.approval);
        let text = format!("{body} {}\n", check(&body));
        let before = self.file.seek(SeekFrom::End(0)).map_err(|e| failed(&self.path, &e))?;
        let done = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_all());
        if let Err(error) = done {
            // A half line would read as torn at the next start, which is the safe side; ending it keeps the next one whole.
            if self.file.metadata().is_ok_and(|m| m.len() > before) {
                let _ = self.file.write_all(b"\n");
            }
            return Err(failed(&self.path, &error));
        }
        Ok(())
    }
}

fn parse(line: &str) -> Option<SpentLine> {
    let (body, sum) = line.rsplit_once(' ')?;
    if check(body) != sum {
        return None;
    }
    let mut words = body.split(' ');
    if words.next()? != "spent" || words.next()? != "1" {
        return None;
    }
    let store_id = words.next()?.to_owned();
    let number = ProposalNumber::new(words.next()?.parse().ok()?)?;
    let approval = words.next()?.to_owned();
    let _unix: i64 = words.next()?.parse().ok()?;
    words.next().is_none().then_some(SpentLine { store_id, number, approval })
}

fn check(body: &str) -> String {
    hex(&Sha256::digest(body.as_bytes())[..8])
}

fn failed(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::File(format!("spent log {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: u64) -> SpentLine {
        SpentLine { store_id: "ab".into(), number: ProposalNumber::new(n).unwrap(), approval: format!("a{n}") }
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn lines_come_back_and_are_spent() {
        let dir = folder();
        let path = dir.path().join("spent.log");
        let (mut log, start) = SpentLog::open(&path).unwrap();
        assert!(start.lines.is_empty() && !start.torn);
        log.append(&line(1), 5).unwrap();
        log.append(&line(2), 6).unwrap();
        let (log, start) = SpentLog::open(&path).unwrap();
        assert_eq!(start.lines, [line(1), line(2)]);
        assert!(log.is_spent("a2") && !log.is_spent("a3"));
    }

    #[test]
    fn every_torn_tail_is_seen_and_the_next_line_is_whole() {
        let dir = folder();
        let whole = dir.path().join("whole");
        SpentLog::open(&whole).unwrap().0.append(&line(1), 5).unwrap();
        let bytes = std::fs::read(&whole).unwrap();
        for cut in 1..bytes.len() {
            let path = dir.path().join(format!("cut{cut}"));
            host::files::create_private(&path, &bytes[..cut]).unwrap();
            let (mut log, start) = SpentLog::open(&path).unwrap();
            assert!(start.torn, "cut at {cut}");
            drop(log);
            let (reopened, start) = SpentLog::open(&path).unwrap();
            assert!(!start.torn, "told twice, cut at {cut}");
            log = reopened;
            log.append(&line(2), 6).unwrap();
            let (_, start) = SpentLog::open(&path).unwrap();
            assert!(start.lines.contains(&line(2)) && !start.torn, "cut at {cut}");
        }
    }
}
