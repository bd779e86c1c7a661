//! A plain table whose last column takes the rest of the line and wraps.

use super::wrap;
use unicode_width::UnicodeWidthStr;

/// The narrowest that the last column gets.
const LAST: usize = 20;

/// The table with its header, at most `columns` wide when the other columns allow it.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: &[[String; N]], columns: usize) -> String {
    let mut widths = header.map(UnicodeWidthStr::width);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut text = line(&header.map(str::to_owned), &widths, columns);
    for row in rows {
        text.push_str(&line(row, &widths, columns));
    }
    text
}

fn line(cells: &[String], widths: &[usize], columns: usize) -> String {
    let Some((last, first)) = cells.split_last() else { return String::new() };
    let mut start = String::new();
    for (cell, width) in first.iter().zip(widths) {
        start.push_str(cell);
        start.push_str(&" ".repeat(width + 2 - cell.width().min(*width)));
    }
    let used = start.width();
    let mut text = String::new();
    for piece in wrap(last, columns.saturating_sub(used + 1).max(LAST)) {
        text.push_str(start.trim_end());
        let gap = used - start.trim_end().width();
        text.push_str(&" ".repeat(gap));
        text.push_str(piece.trim_end());
        text.push('\n');
        start = " ".repeat(used);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_one_wraps() {
        let rows = [
            ["7".to_owned(), "Aula Niño".to_owned(), "word ".repeat(20)],
            ["12".to_owned(), "日本".to_owned(), "short".to_owned()],
        ];
        let text = table(["No.", "Room", "Change"], &rows, 60);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("No.  Room       Change"), "{text}");
        assert!(lines[1].starts_with("7    Aula Niño  word"), "{text}");
        assert!(lines[2].starts_with("                word"), "{text}");
        assert!(text.contains("12   日本       short"), "{text}");
        assert!(lines.iter().all(|line| line.width() <= 60), "{text}");
    }
}
