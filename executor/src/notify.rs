//! A ping when a card waits: a line of words and a link that only opens the card. Nothing can be approved from it
//! (`seed 000, Non-goals`). A ping that does not arrive changes nothing: the card waits on the page all the same.

use crate::config::ConfigError;
use protocol::ids::ProposalNumber;
use reader::webhook::Webhook;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// Which service is pinged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// ntfy: a topic's address.
    Ntfy,
    /// Slack: an incoming webhook.
    Slack,
    /// Teams: a workflow's webhook.
    Teams,
}

impl Kind {
    /// The kind with this word.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        match text {
            "ntfy" => Some(Self::Ntfy),
            "slack" => Some(Self::Slack),
            "teams" => Some(Self::Teams),
            _ => None,
        }
    }
}

/// Where and how to ping.
pub(crate) struct Notifier {
    kind: Kind,
    hook: Webhook,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notifier").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Notifier {
    /// Reads the address from its 0600 file: https, or http on 127.0.0.1.
    ///
    /// # Errors
    /// [`ConfigError`] with what to do; it never holds the address.
    pub(crate) fn load(kind: Kind, path: &Path) -> Result<Self, ConfigError> {
        let address = host::credentials::read(path).map_err(|e| ConfigError(e.to_string()))?;
        let hook =
            Webhook::new(address, PATIENCE).map_err(|error| ConfigError(format!("{}: {error}", path.display())))?;
        Ok(Self { kind, hook })
    }

    /// The service's name; the address stays here.
    pub(crate) fn service(&self) -> &'static str {
        match self.kind {
            Kind::Ntfy => "ntfy",
            Kind::Slack => "Slack",
            Kind::Teams => "Teams",
        }
    }

    /// Tells that a card waits. `heading` is already safe to show; `page` is where the page listens.
    pub(crate) async fn card_waits(&self, number: ProposalNumber, heading: &str, page: &str) {
        let link = format!("{}/card/{number}", page.trim_end_matches('/'));
        let text = format!("Proposal {number} waits for a decision: {heading}");
        let answer = self.request(&text, &link).send().await;
        // Class and status only: an error of the client can hold the address.
        match answer {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => tracing::warn!(kind = ?self.kind, status = answer.status().as_u16(), "ping not taken"),
            Err(error) => tracing::warn!(kind = ?self.kind, timeout = error.is_timeout(), "ping not sent"),
        }
    }

    fn request(&self, text: &str, link: &str) -> RequestBuilder {
        let post = self.hook.post();
        match self.kind {
            Kind::Ntfy => post.header("Title", "Fleetwatch").header("Click", link).body(text.to_owned()),
            Kind::Slack => post.json(&json!({ "text": format!("{}\n{link}", plain_slack(text)) })),
            Kind::Teams => post.json(&teams(text, link)),
        }
    }
}

/// A room named like a mention or a link stays a name.
fn plain_slack(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn teams(text: &str, link: &str) -> Value {
    // Adaptive Cards read Markdown: break what would become a link.
    let text = text.replace('[', "(").replace(']', ")");
    json!({ "type": "message", "attachments": [{
        "contentType": "application/vnd.microsoft.card.adaptive",
        "content": { "type": "AdaptiveCard", "version": "1.4",
            "body": [{ "type": "TextBlock", "wrap": true, "text": format!("{text} ({link})") }] } }] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    async fn pinged(kind: Kind, heading: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://127.0.0.1:{}/topic-secret", listener.local_addr().unwrap().port());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ping");
        host::files::create_private(&path, address.as_bytes()).unwrap();
        let notifier = Notifier::load(kind, &path).unwrap();
        assert!(!format!("{notifier:?}").contains("topic-secret"));
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut seen = Vec::new();
            let mut part = [0; 4096];
            loop {
                let count = stream.read(&mut part).await.unwrap();
                seen.extend_from_slice(&part[..count]);
                let text = String::from_utf8_lossy(&seen).into_owned();
                let length = text.split("content-length: ").nth(1).and_then(|t| t.split("\r\n").next()?.parse().ok());
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
                if body.is_some() && body == length {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                    return text;
                }
            }
        };
        let number = ProposalNumber::new(7).unwrap();
        let (seen, ()) = tokio::join!(server, notifier.card_waits(number, heading, "http://127.0.0.1:8767/"));
        seen
    }

    #[tokio::test]
    async fn each_service_gets_words_and_a_link_and_nothing_that_decides() {
        for kind in [Kind::Ntfy, Kind::Slack, Kind::Teams] {
            let seen = pinged(kind, "Start recording in Hall A").await;
            assert!(seen.contains("Start recording in Hall A"), "{seen}");
            assert!(seen.contains("http://127.0.0.1:8767/card/7"), "{seen}");
            assert!(!seen.to_lowercase().contains("approve"), "{seen}");
        }
    }

    #[tokio::test]
    async fn a_room_named_like_a_mention_pings_nobody_else() {
        assert!(pinged(Kind::Slack, "Restart <!channel>").await.contains("&lt;!channel&gt;"));
        assert!(pinged(Kind::Teams, "Restart [x](https://evil.example)").await.contains("Restart (x)(https"));
    }

    // The names of the hostile corpus, as a heading carries them (issue line 2.30).
    #[test]
    fn no_name_of_the_hostile_corpus_becomes_a_mention_a_link_or_a_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ping");
        host::files::create_private(&path, b"https://example.net/topic").unwrap();
        let corpus = include_str!("../../tests/data/injection.dev.jsonl");
        let names = corpus.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].clone());
        let link = "http://127.0.0.1:8767/card/7";
        let notifiers = [Kind::Ntfy, Kind::Slack, Kind::Teams].map(|kind| (kind, Notifier::load(kind, &path).unwrap()));
        let mut count = 0;
        for name in names {
            let name = protocol::shown::Shown::capped(name.as_str().unwrap(), 120).into_string();
            let text = format!("Proposal 7 waits for a decision: Restart {name}");
            for (kind, notifier) in &notifiers {
                let ping = notifier.request(&text, link).build().unwrap();
                let body = String::from_utf8(ping.body().unwrap().as_bytes().unwrap().to_vec()).unwrap();
                let headers: Vec<_> = ping.headers().iter().map(|(name, value)| (name.as_str(), value)).collect();
                match kind {
                    Kind::Ntfy => {
                        assert_eq!(
                            headers,
                            [("title", &"Fleetwatch".parse().unwrap()), ("click", &link.parse().unwrap())]
                        );
                        assert!(body == text && !body.contains(char::is_control), "{body:?}");
                    }
                    Kind::Slack => {
                        let value: Value = serde_json::from_str(&body).unwrap();
                        let said = value["text"].as_str().unwrap();
                        assert!(!said.contains(['<', '>']) && said.ends_with(&format!("\n{link}")), "{said}");
                        assert_eq!(said.lines().count(), 2, "{said}");
                    }
                    Kind::Teams => {
                        let value: Value = serde_json::from_str(&body).unwrap();
                        let said = value["attachments"][0]["content"]["body"][0]["text"].as_str().unwrap();
                        assert!(!said.contains(['[', ']']) && said.ends_with(&format!(" ({link})")), "{said}");
                        assert_eq!(said.lines().count(), 1, "{said}");
                    }
                }
                count += 1;
            }
        }
        assert_eq!(count, 3 * 353);
    }

    #[test]
    fn an_address_that_is_not_https_or_not_private_is_refused_without_being_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ping");
        host::files::create_private(&path, b"http://example.net/secret-topic").unwrap();
        let error = Notifier::load(Kind::Ntfy, &path).unwrap_err().to_string();
        assert!(error.contains("https") && !error.contains("secret-topic"), "{error}");
    }
}
