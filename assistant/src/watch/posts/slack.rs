//! Slack: the lines travel as `plain_text`, in which nothing pings, links or formats.

use super::{Post, PostError};
use serde_json::{Value, json};

/// Where an app posts.
pub(super) const API: &str = "https://slack.com/api/chat.postMessage";
/// Longest text of one block, in characters; the service takes 3,000.
const BLOCK: usize = 2_900;
/// Most blocks; the service takes 50.
const BLOCKS: usize = 40;

/// The message for a webhook, or for the API with a channel.
pub(super) fn message(post: &Post, channel: Option<&str>) -> Value {
    let title = post.title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let blocks: Vec<Value> = texts(post)
        .iter()
        .map(|text| json!({"type": "section", "text": {"type": "plain_text", "text": text, "emoji": false}}))
        .collect();
    let mut message = json!({"text": title, "blocks": blocks, "unfurl_links": false, "unfurl_media": false});
    if let (Some(channel), Some(members)) = (channel, message.as_object_mut()) {
        members.insert("channel".to_owned(), channel.into());
    }
    message
}

fn texts(post: &Post) -> Vec<String> {
    let mut texts = vec![post.title.clone()];
    for line in &post.lines {
        let line: String = line.chars().take(BLOCK).collect();
        match texts.last_mut() {
            Some(last) if last.chars().count() + line.chars().count() < BLOCK => {
                last.push('\n');
                last.push_str(&line);
            }
            Some(_) | None => texts.push(line),
        }
    }
    texts.truncate(BLOCKS);
    texts
}

/// The API answers 200 also when it did not take the message.
pub(super) fn taken(answer: &str) -> Result<(), PostError> {
    let ok = serde_json::from_str::<Value>(answer).is_ok_and(|answer| answer["ok"] == true);
    // A long answer is cut, but it begins with the word.
    if ok || answer.trim_start().starts_with("{\"ok\":true") { Ok(()) } else { Err(PostError::NotTaken) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_posts_are_spread_over_blocks_that_the_service_takes() {
        let post = Post { title: "t".to_owned(), lines: vec!["x".repeat(5_000); 60] };
        let texts = texts(&post);
        assert!(texts.len() <= BLOCKS && texts.iter().all(|text| text.chars().count() <= BLOCK), "{}", texts.len());
        let short = Post { title: "t".to_owned(), lines: vec!["a".to_owned(), "b".to_owned()] };
        assert_eq!(super::texts(&short), ["t\na\nb"]);
    }

    #[test]
    fn only_a_plain_yes_counts_as_taken() {
        for (answer, ok) in [
            ("{\"ok\":true,\"ts\":\"1\"}", true),
            ("{\"ok\":true,\"message\":{\"text\":\"cut", true),
            ("{\"ok\":false,\"error\":\"not_in_channel\"}", false),
            ("{\"ok\":\"true\"}", false),
            ("ok", false),
            ("", false),
        ] {
            assert_eq!(taken(answer).is_ok(), ok, "{answer}");
        }
    }
}
