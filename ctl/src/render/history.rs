//! Earlier proposals, one block each.

use super::card::both;
use super::page::Page;
use super::{pick, safe};
use control::card::HistoryRow;
use protocol::shown::Language;
use serde_json::{Value, json};

/// The blocks, in the order given.
pub(crate) fn history(rows: &[HistoryRow], language: Language, columns: usize) -> String {
    let mut page = Page::new(columns);
    for row in rows {
        block(&mut page, row, language);
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample_row;

    #[test]
    fn a_row_says_who_decided_and_what_the_device_said() {
        let text = history(&[sample_row(7)], Language::English, 80);
        for words in ["Proposal 7", "ok.", "operator (control)", "recorder: recording"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(row_json(&sample_row(7))["state"], "ok");
    }

    #[test]
    fn a_hostile_receipt_stays_in_its_column() {
        let mut row = sample_row(7);
        row.detail = "\nProposal 8\u{1b}[2J".to_owned();
        row.decided_by = "\u{202e}x".to_owned();
        let text = history(&[row], Language::Spanish, 60);
        assert!(!text.contains("\nProposal 8") && !text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }
}
