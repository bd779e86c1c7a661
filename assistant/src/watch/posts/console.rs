//! The log, when no other channel is set.

use super::Post;

/// One log line for the title and each line.
pub(super) fn post(post: &Post) {
    tracing::info!("{}", post.title);
    for line in &post.lines {
        tracing::info!("{line}");
    }
}
