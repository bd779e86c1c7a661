//! What goes wrong, on purpose, when a tool is called.

use clap::ValueEnum;

/// A fault of the answer to a *write* tool call (issue 2, 1.19 and 1.29).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// The effect happens, then the connection closes without one byte of answer.
    #[value(name = "executes-then-closes")]
    Closes,
    /// The effect happens, then 404 as if the session had expired.
    #[value(name = "executes-then-404")]
    Status404,
    /// The effect happens, then 401.
    #[value(name = "executes-then-401")]
    Status401,
    /// The effect happens, then 502.
    #[value(name = "executes-then-502")]
    Status502,
    /// The effect happens, then half a JSON document.
    #[value(name = "malformed-json")]
    MalformedJson,
    /// The effect happens, then nothing, for ever.
    #[value(name = "stalls")]
    Stalls,
    /// No effect: 307 to the same address. The call after that is served.
    #[value(name = "redirects-307")]
    Redirects307,
    /// No effect: the answer asks for input.
    #[value(name = "input-required")]
    InputRequired,
}

/// The armed write fault and how often it was met.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    kind: Option<Fault>,
    once: bool,
    calls: u64,
}

impl Faults {
    /// Arms a fault, or none.
    pub(crate) fn new(kind: Option<Fault>, once: bool) -> Self {
        Self { kind, once, calls: 0 }
    }

    /// The fault that this write call meets. Counts the call.
    pub(crate) fn next(&mut self) -> Option<Fault> {
        self.calls = self.calls.saturating_add(1);
        let kind = self.kind?;
        // Whoever follows the redirect must find the tool, or the fault would prove nothing.
        let followed = kind == Fault::Redirects307 && self.calls.is_multiple_of(2);
        let spent = self.once && self.calls > 1;
        (!followed && !spent).then_some(kind)
    }
}

/// A fault of one *read* tool, set through the control channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFault {
    /// An error result with words.
    Error,
    /// "Error: 401 Unauthorized" in band.
    Unauthorized,
    /// Plain text where JSON should be.
    Text,
    /// Structured and text content that differ.
    Mismatch,
    /// An empty object.
    Empty,
    /// No answer, for ever.
    Stalls,
}

impl ReadFault {
    /// The fault with this name.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "error" => Self::Error,
            "unauthorized" => Self::Unauthorized,
            "text" => Self::Text,
            "mismatch" => Self::Mismatch,
            "empty" => Self::Empty,
            "stalls" => Self::Stalls,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_meets_every_write_unless_it_is_armed_once() {
        let mut always = Faults::new(Some(Fault::Closes), false);
        assert_eq!([always.next(), always.next()], [Some(Fault::Closes), Some(Fault::Closes)]);
        let mut once = Faults::new(Some(Fault::Closes), true);
        assert_eq!([once.next(), once.next()], [Some(Fault::Closes), None]);
        assert_eq!(Faults::default().next(), None);
    }

    #[test]
    fn the_call_that_follows_a_redirect_is_served() {
        let mut redirect = Faults::new(Some(Fault::Redirects307), false);
        assert_eq!(redirect.next(), Some(Fault::Redirects307));
        assert_eq!(redirect.next(), None);
        assert_eq!(redirect.next(), Some(Fault::Redirects307));
    }
}
