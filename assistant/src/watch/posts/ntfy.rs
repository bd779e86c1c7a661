//! ntfy: plain text. Its apps make links out of what looks like an address, so addresses are broken up.

use super::Post;
use reqwest::RequestBuilder;

/// Longest message, in bytes; the service makes a longer one an attachment.
const MOST: usize = 3_900;

/// The request to the topic.
pub(super) fn request(to: RequestBuilder, post: &Post) -> RequestBuilder {
    to.header("Title", "Fleetwatch").header("Content-Type", "text/plain; charset=utf-8").body(text(post))
}

fn text(post: &Post) -> String {
    let mut text = post.title.clone();
    for (at, line) in post.lines.iter().enumerate() {
        let line = unlinked(line);
        if text.len() + line.len() + 1 > MOST {
            text.push_str(&format!("\n… {}", post.lines.len() - at));
            break;
        }
        text.push('\n');
        text.push_str(&line);
    }
    text
}

// A dot between letters and a colon before slashes are what links are told by.
fn unlinked(line: &str) -> String {
    let mut text = String::new();
    let all: Vec<char> = line.chars().collect();
    for (at, c) in all.iter().enumerate() {
        text.push(*c);
        let before = at.checked_sub(1).and_then(|at| all.get(at));
        let after = all.get(at + 1);
        let letters = before.is_some_and(|c| c.is_alphanumeric()) && after.is_some_and(|c| c.is_alphabetic());
        if (*c == '.' && letters)
            || (*c == ':' && after == Some(&'/'))
            || (*c == '@' && after.is_some_and(|c| c.is_alphanumeric()))
        {
            text.push(' ');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_broken_up_and_versions_and_times_are_not() {
        for (line, want) in [
            ("https://evil.example/x", "https: //evil. example/x"),
            ("firmware 4.24.6 at 12:05 UTC.", "firmware 4.24.6 at 12:05 UTC."),
            ("@here a@b.c", "@ here a@ b. c"),
        ] {
            assert_eq!(unlinked(line), want);
        }
    }

    #[test]
    fn a_long_post_is_cut_with_the_number_of_lines_left_out() {
        let post = Post { title: "t".to_owned(), lines: vec!["x".repeat(1_000); 6] };
        let text = text(&post);
        assert!(text.len() < 4_096 && text.ends_with("\n… 3"), "{}", text.len());
    }
}
