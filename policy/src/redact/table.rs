//! Secrets in text tables: a column whose head names a secret is masked below it.

use super::{MASK, names};

/// What divides the cells of a row.
const DIVIDERS: [char; 4] = ['|', '\t', ',', ';'];

/// A table that is being read: its divider, how many cells a row has, and which of them are masked.
struct Table {
    divider: char,
    cells: usize,
    secret: Vec<Secret>,
}

/// One masked column.
struct Secret {
    at: usize,
    // A stream id that is a UUID is no credential.
    keeps_uuid: bool,
}

pub(super) fn redact(text: &str) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let mut open: Option<Table> = None;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let inside = open.take().filter(|table| line.split(table.divider).count() == table.cells);
        match inside {
            Some(table) => {
                lines.push(mask_row(line, &table));
                open = Some(table);
            }
            None => {
                open = head(line);
                lines.push(line.to_owned());
            }
        }
    }
    lines.join("\n")
}

/// The line as a table's head, when one of its short cells names a secret.
fn head(line: &str) -> Option<Table> {
    DIVIDERS.into_iter().find_map(|divider| {
        let cells: Vec<_> = line.split(divider).map(str::trim).collect();
        // Commas also divide sentences, so a head of that kind has shorter cells.
        let most_words = if matches!(divider, ',' | ';') { 2 } else { 4 };
        let is_head = cells.len() > 1 && cells.iter().all(|cell| is_title(cell, most_words));
        let secret: Vec<_> = (0..).zip(&cells).filter_map(|(at, cell)| secret_column(at, cell)).collect();
        (is_head && !secret.is_empty()).then_some(Table { divider, cells: cells.len(), secret })
    })
}

fn is_title(cell: &str, most_words: usize) -> bool {
    cell.chars().count() <= 40 && !cell.contains([':', '=']) && cell.split_whitespace().count() <= most_words
}

fn secret_column(at: usize, cell: &str) -> Option<Secret> {
    let plain = cell.trim_matches(['"', '\'', '*', '_', '`']);
    let keeps_uuid = !names::is_secret(plain);
    (!keeps_uuid || names::is_stream_id(plain)).then_some(Secret { at, keeps_uuid })
}

fn mask_row(line: &str, table: &Table) -> String {
    let cells = line.split(table.divider).enumerate().map(|(at, cell)| {
        let inner = cell.trim();
        let is_rule = inner.chars().all(|c| matches!(c, '-' | ':' | '=' | '+'));
        let stays = |column: &Secret| is_rule || (column.keeps_uuid && names::is_uuid(inner));
        match table.secret.iter().find(|column| column.at == at) {
            Some(column) if !stays(column) => cell.replace(inner, MASK),
            Some(_) | None => cell.to_owned(),
        }
    });
    cells.collect::<Vec<_>>().join(&table.divider.to_string())
}
