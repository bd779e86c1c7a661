//! Dates stay in one piece, however narrow the screen.

use maud::{Markup, html};

/// What a date and time look like: every `0` stands for a digit.
const SHAPE: &[u8] = b"0000-00-00 00:00";

/// The text, escaped, with each date and its time in an element that does not break.
pub(super) fn whens(text: &str) -> Markup {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = next(rest) {
        let (before, found) = rest.split_at(at);
        let (found, after) = found.split_at(SHAPE.len() + zone(&found[SHAPE.len()..]));
        pieces.push((before, found));
        rest = after;
    }
    html! {
        @for (before, found) in pieces { (before) span.when { (found) } }
        (rest)
    }
}

// How much of what follows is a blank and the zone's name, such as CET, -03 or America/Bogota.
fn zone(after: &str) -> usize {
    let Some(name) = after.strip_prefix(' ') else { return 0 };
    let short = name.bytes().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"+-".contains(b)).count();
    let long = name.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"+-_/".contains(b)).count();
    if (3..=40).contains(&long) && name[..long].contains('/') {
        return long + 1;
    }
    let ends = name[short..].chars().next().is_none_or(|next| !next.is_alphanumeric());
    if (2..=5).contains(&short) && ends { short + 1 } else { 0 }
}

// A match is ASCII through and through, so both its ends are ends of characters.
fn next(text: &str) -> Option<usize> {
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    text.as_bytes().windows(SHAPE.len()).position(|window| window.iter().zip(SHAPE).all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_held_together_and_the_rest_is_escaped() {
        for (text, page) in [
            ("", ""),
            ("no date", "no date"),
            ("2026-11-29", "2026-11-29"),
            ("2026-11-29 21:03 CET (20:03 UTC)", "<span class=\"when\">2026-11-29 21:03 CET</span> (20:03 UTC)"),
            ("at 2026-11-29 21:03 -03.", "at <span class=\"when\">2026-11-29 21:03 -03</span>."),
            (
                "2026-11-29 21:03 America/Bogota (02:03 UTC)",
                "<span class=\"when\">2026-11-29 21:03 America/Bogota</span> (02:03 UTC)",
            ),
            ("2026-11-29 21:03 to", "<span class=\"when\">2026-11-29 21:03</span> to"),
            ("2026-11-29 21:03 Ana", "<span class=\"when\">2026-11-29 21:03</span> Ana"),
            (
                "\u{201c}é<b>\" 2026-11-29 21:03é2026-11-29 22:03",
                "\u{201c}é&lt;b&gt;&quot; <span class=\"when\">2026-11-29 21:03</span>é<span class=\"when\">2026-11-29 22:03</span>",
            ),
        ] {
            assert_eq!(whens(text).into_string(), page);
        }
    }
}
