//! The little colour that there is. Nothing needs it to be understood, and only whole texts of our own are painted.

/// Whether text may carry colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Paint {
    /// Plain text: a pipe, `NO_COLOR`, or a terminal that knows none.
    #[default]
    Off,
    /// A terminal that shows it.
    On,
}

impl Paint {
    /// From what standard output and the environment are (`NO_COLOR` counts when it is not empty).
    pub(crate) fn of(terminal: bool, no_color: Option<&str>, term: Option<&str>) -> Self {
        let unwanted = no_color.is_some_and(|value| !value.is_empty());
        let able = terminal && term.is_some_and(|term| !term.is_empty() && term != "dumb");
        if able && !unwanted { Self::On } else { Self::Off }
    }

    /// Text beside the matter: what is being read, who answered.
    pub(crate) fn aside(self, text: &str) -> String {
        self.wrapped("2", text)
    }

    /// A heading: the prompt, an outcome.
    pub(crate) fn strong(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    fn wrapped(self, how: &str, text: &str) -> String {
        match self {
            Self::Off => text.to_owned(),
            Self::On => format!("\u{1b}[{how}m{text}\u{1b}[0m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_a_dumb_terminal_and_no_color_stay_plain() {
        for (terminal, no_color, term, want) in [
            (true, None, Some("xterm"), Paint::On),
            (true, Some(""), Some("xterm"), Paint::On),
            (true, Some("1"), Some("xterm"), Paint::Off),
            (true, None, Some("dumb"), Paint::Off),
            (true, None, None, Paint::Off),
            (false, None, Some("xterm"), Paint::Off),
        ] {
            assert_eq!(Paint::of(terminal, no_color, term), want, "{terminal} {no_color:?} {term:?}");
        }
        assert_eq!(Paint::Off.aside("x") + &Paint::Off.strong("y"), "xy");
        assert_eq!(Paint::On.aside("x"), "\u{1b}[2mx\u{1b}[0m");
    }
}
