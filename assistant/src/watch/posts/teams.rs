//! Teams: an Adaptive Card whose lines are text runs, which read no Markdown; without an entity nobody is mentioned.

use super::Post;
use serde_json::{Value, json};

/// The message for a workflow's webhook.
pub(super) fn message(post: &Post) -> Value {
    let title = json!({"type": "TextBlock", "weight": "Bolder", "wrap": true, "text": post.title});
    let lines = post.lines.iter().map(
        |line| json!({"type": "RichTextBlock", "spacing": "None", "inlines": [{"type": "TextRun", "text": line}]}),
    );
    let body: Vec<Value> = std::iter::once(title).chain(lines).collect();
    json!({"type": "message", "attachments": [{
        "contentType": "application/vnd.microsoft.card.adaptive",
        "content": {"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": body}}]})
}
