//! The style sheet: one file, served from this origin, so that no page needs inline style.

/// The sheet.
pub(in super::super) const SHEET: &str = include_str!("style.css");

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    // The custom properties of one theme, as red, green and blue.
    fn colours(block: &str) -> BTreeMap<&str, [u8; 3]> {
        let lines = block.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(": #"));
        let colour = |hex: &str, at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        lines.map(|(name, hex)| (name, [0, 2, 4].map(|at| colour(hex, at)))).collect()
    }

    fn luminance(colour: [u8; 3]) -> f64 {
        let linear = colour.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_text_has_enough_contrast_in_both_themes() {
        let (light, dark) = SHEET.split_once("prefers-color-scheme: dark").unwrap();
        for theme in [colours(light), colours(dark.split_once("\n}\n").unwrap().0)] {
            assert_eq!(theme.len(), 19);
            for (text, ground) in [
                ("ink", "ground"),
                ("ink", "sheet"),
                ("ink", "inset"),
                ("soft", "ground"),
                ("soft", "sheet"),
                ("soft", "inset"),
                ("link", "ground"),
                ("link", "sheet"),
                ("on-accent", "accent"),
                ("good", "good-ground"),
                ("bad", "bad-ground"),
                ("warn", "warn-ground"),
                ("info", "info-ground"),
                ("link", "info-ground"),
            ] {
                let found = contrast(theme[text], theme[ground]);
                assert!(found >= 4.5, "{text} on {ground}: {found:.2}");
            }
            for (edge, ground) in [("edge", "sheet"), ("edge", "ground"), ("focus", "sheet"), ("focus", "ground")] {
                let found = contrast(theme[edge], theme[ground]);
                assert!(found >= 3.0, "{edge} on {ground}: {found:.2}");
            }
        }
    }

    #[test]
    fn the_sheet_fetches_nothing() {
        for word in ["url(", "@import", "http:", "https:", "expression", "</"] {
            assert!(!SHEET.contains(word), "{word}");
        }
    }
}
