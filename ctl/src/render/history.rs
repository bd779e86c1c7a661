//! Earlier proposals, one block each.

use super::card::both;
use super::page::Page;
use super::{pick, safe};
use crate::session::Session;
use control::card::HistoryRow;
use protocol::shown::Language;
use serde_json::{Value, json};

/// The blocks, in the order given.
pub(crate) fn history(rows: &[HistoryRow], session: &Session) -> String {
    let mut page = Page::new(session.columns);
    for row in rows {
        block(&mut page, row, session.language);
        if row.undoable {
            let how = session.say(&format!("approvals undo {}", row.number));
            page.field(pick(session.language, "  Undo", "  Deshacer"), &how);
        }
    }
    page.into_text()
}

fn block(page: &mut Page, row: &HistoryRow, language: Language) {
    let number = format!("{} {}", pick(language, "Proposal", "Propuesta"), row.number);
    page.field(&number, &safe(row.heading.get(language)));
    let state = policy::words::state(row.state);
    page.field(pick(language, "  State", "  Estado"), &format!("{}. {}", row.state.as_str(), state.get(language)));
    if let Some(code) = row.code {
        let words = policy::words::refusal(code);
        page.field(pick(language, "  Why", "  Motivo"), &format!("{}. {}", code.as_str(), words.get(language)));
    }
    if !row.detail.is_empty() {
        page.field(pick(language, "  Receipt", "  Comprobante"), &safe(&row.detail));
    }
    if !row.decided_by.is_empty() {
        let who = format!("{} ({})", safe(&row.decided_by), safe(&row.surface));
        page.field(pick(language, "  Decided by", "  Decidió"), &who);
    }
    page.field(pick(language, "  Device", "  Equipo"), &safe(&row.targets.join(", ")));
    page.field(pick(language, "  Made", "  Hecha"), &safe(row.created_at.get(language)));
    let ended = row.ended_at.get(language);
    if !ended.is_empty() {
        page.field(pick(language, "  Ended", "  Terminó"), &safe(ended));
    }
}

/// One row for `--json`.
pub(crate) fn row_json(row: &HistoryRow) -> Value {
    json!({
        "number": row.number,
        "heading": both(&row.heading),
        "targets": row.targets,
        "state": row.state.as_str(),
        "code": row.code.map(protocol::refusal::RefusalCode::as_str),
        "detail": row.detail,
        "decided_by": row.decided_by,
        "surface": row.surface,
        "created_at": both(&row.created_at),
        "ended_at": both(&row.ended_at),
        "undoable": row.undoable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Session;
    use crate::testing::{self, sample_row};
    use std::path::Path;

    fn session(language: Language, columns: usize) -> Session {
        Session { language, columns, ..testing::session(Path::new("/r")) }
    }

    #[test]
    fn a_row_says_who_decided_and_what_the_device_said() {
        let text = history(&[sample_row(7)], &session(Language::English, 80));
        for words in ["Proposal 7", "ok.", "operator (control)", "recorder: recording"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(row_json(&sample_row(7))["state"], "ok");
    }

    #[test]
    fn only_what_can_be_undone_says_how() {
        let mut row = sample_row(7);
        assert!(!history(&[row.clone()], &session(Language::English, 80)).contains("undo"));
        assert_eq!(row_json(&row)["undoable"], false);
        row.undoable = true;
        let text = history(&[row.clone()], &session(Language::English, 80));
        assert!(text.contains("  Undo            fleetwatchctl approvals undo 7\n"), "{text}");
        let prompt = Session { saying: crate::session::Saying::Prompt, ..session(Language::Spanish, 80) };
        assert!(history(&[row], &prompt).contains("  Deshacer        /undo 7\n"));
    }

    #[test]
    fn a_hostile_receipt_stays_in_its_column() {
        let mut row = sample_row(7);
        row.detail = "\nProposal 8\u{1b}[2J".to_owned();
        row.decided_by = "\u{202e}x".to_owned();
        let text = history(&[row], &session(Language::Spanish, 60));
        assert!(!text.contains("\nProposal 8") && !text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }
}
