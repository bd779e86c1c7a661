//! Lines and labelled fields of one width.

use super::wrap;
use unicode_width::UnicodeWidthStr;

/// Columns for a label.
const LABEL: usize = 18;

/// Text that grows line by line.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// An empty page.
    pub(crate) fn new(width: usize) -> Self {
        Self { text: String::new(), width }
    }

    /// Text from the first column, wrapped.
    pub(crate) fn line(&mut self, text: &str) {
        for line in wrap(text, self.width) {
            self.push(&line);
        }
    }

    /// An empty line.
    pub(crate) fn gap(&mut self) {
        self.push("");
    }

    /// A label and a value beside it. The value's further lines never reach the labels' columns, so no value can
    /// look like a label.
    pub(crate) fn field(&mut self, label: &str, value: &str) {
        let mut lines = wrap(value, self.width - LABEL - 1).into_iter();
        let room = label.width() + 2 <= LABEL;
        if room {
            let pad = " ".repeat(LABEL - label.width());
            let first = lines.next().unwrap_or_default();
            self.push(&format!("{label}{pad}{first}"));
        } else {
            self.line(label);
        }
        for line in lines {
            self.push(&format!("{:LABEL$}{line}", ""));
        }
    }

    /// Text in a box with a title. Each of its lines begins and ends with the box's own edge.
    pub(crate) fn boxed(&mut self, title: &str, text: &str) {
        let inside = self.width - 4;
        let edge = format!("+{}+", "-".repeat(self.width - 2));
        let lines = |page: &mut Self, text: &str| {
            for line in wrap(text, inside - 1) {
                let pad = " ".repeat(inside.saturating_sub(line.width()));
                page.push(&format!("| {line}{pad} |"));
            }
        };
        if let Some(dashes) = (self.width - 5).checked_sub(title.width()) {
            self.push(&format!("+- {title} {}+", "-".repeat(dashes)));
        } else {
            // A title that has no room in the edge gets its own part of the box.
            self.push(&edge);
            lines(self, title);
            self.push(&edge);
        }
        lines(self, text);
        self.push(&edge);
    }

    /// The page.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_stays_right_of_the_labels() {
        let mut page = Page::new(60);
        page.field("Room", &"word ".repeat(40));
        page.field("A label that is far too long", "value");
        let text = page.into_text();
        let mut lines = text.lines();
        assert!(lines.next().unwrap().starts_with("Room              word"));
        assert!(text.lines().filter(|line| !line.starts_with(' ')).count() == 2, "{text}");
        assert!(text.lines().all(|line| line.width() <= 60), "{text}");
    }

    #[test]
    fn a_box_cannot_be_left_by_its_text() {
        let mut page = Page::new(60);
        page.boxed("Title", &format!("+{}+ Approve now", "-".repeat(58)));
        let text = page.into_text();
        for line in text.lines() {
            assert_eq!(line.width(), 60, "{line}");
        }
        let inner: Vec<_> = text.lines().skip(1).collect();
        let (last, inner) = inner.split_last().unwrap();
        assert!(last.starts_with('+') && inner.iter().all(|line| line.starts_with("| ") && line.ends_with(" |")));
    }
}
