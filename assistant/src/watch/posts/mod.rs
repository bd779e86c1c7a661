//! Where posts go: a line in the log, Slack, Teams, ntfy. Every channel gets every post; one that does not take it is
//! tried again at the next look, and the others are not posted to twice (issue line 3.15).

mod console;
mod ntfy;
mod slack;
mod teams;
#[cfg(test)]
pub(crate) mod testing;

use crate::config::{ConfigError, PostSettings};
use host::secret::SecretText;
use reader::webhook::Webhook;
use reqwest::{RequestBuilder, Response};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// The most of an answer that is read, in bytes.
const ANSWER: usize = 4_096;

/// What is posted: plain text, one title and lines. Each channel escapes it in its own way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Post {
    /// First line; no name of the fleet stands in it.
    pub(crate) title: String,
    /// The others.
    pub(crate) lines: Vec<String>,
}

/// A post, and how long it is worth saying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timed {
    /// The post.
    pub(crate) post: Post,
    /// The earliest start among its verdicts, Unix seconds: from then on it is not posted. Nothing when it holds none.
    pub(crate) until: Option<i64>,
    /// The same without the verdicts, to be posted instead from then on; nothing when nothing is left.
    pub(crate) rest: Option<Post>,
}

impl Timed {
    /// A post that is worth saying at any time.
    pub(crate) fn always(post: Post) -> Self {
        Self { post, until: None, rest: None }
    }
}

/// A post that one channel has not taken yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Queued {
    /// The channel's word.
    pub(crate) channel: String,
    /// The post.
    pub(crate) post: Post,
    /// As in [`Timed`]; an older file has none.
    #[serde(default)]
    pub(crate) until: Option<i64>,
    /// As in [`Timed`]; an older file has none.
    #[serde(default)]
    pub(crate) rest: Option<Post>,
}

impl Queued {
    /// Whether its time is over.
    pub(crate) fn is_late(&self, now: i64) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// Why a channel did not take a post: the class alone, since an error of the client can hold the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostError {
    /// The service answered that it did not take it.
    NotTaken,
    /// Nobody could be reached.
    NotSent,
    /// An HTTP status that is no success.
    Status(u16),
    /// No answer in time.
    Timeout,
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTaken => f.write_str("the service did not take it; look at its settings"),
            Self::NotSent => f.write_str("the service cannot be reached"),
            Self::Status(status) => write!(f, "the service answered with HTTP status {status}"),
            Self::Timeout => f.write_str("no answer in time"),
        }
    }
}

/// One channel.
#[derive(Debug)]
pub(crate) enum Channel {
    /// A line in this program's log.
    Console,
    /// A topic of ntfy.
    Ntfy(Sender),
    /// A channel of Slack through the API of an app.
    SlackApi {
        /// Where to and with which client.
        sender: Sender,
        /// The app's token.
        token: SecretText,
        /// The channel's name or id.
        channel: String,
    },
    /// A channel of Slack through an incoming webhook.
    SlackHook(Sender),
    /// A channel of Teams through a workflow.
    Teams(Sender),
}

impl Channel {
    /// The channels of these settings; the log alone when there is none.
    ///
    /// # Errors
    /// [`ConfigError`] naming the setting; it never holds an address or a token.
    pub(crate) fn all(settings: &PostSettings) -> Result<Vec<Self>, ConfigError> {
        let mut all = Vec::new();
        if let Some(file) = &settings.slack_url_file {
            all.push(Self::SlackHook(Sender::load("FLEETWATCH_SLACK_URL_FILE", file)?));
        }
        if let Some((file, channel)) = &settings.slack_token {
            const NAME: &str = "FLEETWATCH_SLACK_TOKEN_FILE";
            let token = secret(NAME, file)?;
            if !token.expose().bytes().all(|b| b.is_ascii_graphic()) {
                return Err(ConfigError { name: NAME.to_owned(), what: "holds no token; write it again".to_owned() });
            }
            let sender = Sender::new(NAME, SecretText::from(slack::API.to_owned()))?;
            all.push(Self::SlackApi { sender, token, channel: channel.clone() });
        }
        if let Some(file) = &settings.teams_url_file {
            all.push(Self::Teams(Sender::load("FLEETWATCH_TEAMS_URL_FILE", file)?));
        }
        if let Some(file) = &settings.ntfy_url_file {
            all.push(Self::Ntfy(Sender::load("FLEETWATCH_NTFY_URL_FILE", file)?));
        }
        if all.is_empty() {
            all.push(Self::Console);
        }
        Ok(all)
    }

    /// Its word in the queue and in the log.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Ntfy(_) => "ntfy",
            Self::SlackApi { .. } => "slack-api",
            Self::SlackHook(_) => "slack",
            Self::Teams(_) => "teams",
        }
    }

    /// Posts once.
    ///
    /// # Errors
    /// [`PostError`] when it was not taken, or nobody knows.
    pub(crate) async fn post(&self, post: &Post) -> Result<(), PostError> {
        match self {
            Self::Console => {
                console::post(post);
                Ok(())
            }
            Self::Ntfy(sender) => sender.send(ntfy::request(sender.to(), post)).await.map(|_| ()),
            Self::SlackApi { sender, token, channel } => {
                let request = sender.to().bearer_auth(token.expose()).json(&slack::message(post, Some(channel)));
                slack::taken(&sender.send(request).await?)
            }
            Self::SlackHook(sender) => sender.send(sender.to().json(&slack::message(post, None))).await.map(|_| ()),
            Self::Teams(sender) => sender.send(sender.to().json(&teams::message(post))).await.map(|_| ()),
        }
    }
}

/// A channel's webhook.
#[derive(Debug)]
pub(crate) struct Sender(Webhook);

impl Sender {
    fn load(name: &str, file: &Path) -> Result<Self, ConfigError> {
        Self::new(name, secret(name, file)?)
    }

    fn new(name: &str, address: SecretText) -> Result<Self, ConfigError> {
        let hook = Webhook::new(address, PATIENCE);
        Ok(Self(hook.map_err(|error| ConfigError { name: name.to_owned(), what: error.to_string() })?))
    }

    /// To a double of a test.
    #[cfg(test)]
    pub(crate) fn for_test(address: &str) -> Self {
        Self::new("X", SecretText::from(address.to_owned())).unwrap()
    }

    fn to(&self) -> RequestBuilder {
        self.0.post()
    }

    async fn send(&self, request: RequestBuilder) -> Result<String, PostError> {
        let class = |error: reqwest::Error| if error.is_timeout() { PostError::Timeout } else { PostError::NotSent };
        let answer = request.send().await.map_err(class)?;
        if !answer.status().is_success() {
            return Err(PostError::Status(answer.status().as_u16()));
        }
        Ok(start_of(answer).await)
    }
}

// An answer that ends early was taken all the same.
async fn start_of(mut answer: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(part)) = answer.chunk().await {
        bytes.extend_from_slice(&part);
        if bytes.len() > ANSWER {
            break;
        }
    }
    bytes.truncate(ANSWER);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn secret(name: &str, file: &Path) -> Result<SecretText, ConfigError> {
    host::credentials::read(file).map_err(|error| ConfigError { name: name.to_owned(), what: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::testing::Taker;
    use super::*;

    fn hostile() -> Post {
        let name =
            "<!channel> <https://evil.example|x> [a](https://evil.example) *b* _c_ `d` @here www.evil.example </at>";
        Post {
            title: "Fleetwatch: 1 new".to_owned(),
            lines: vec!["Fix first:".to_owned(), format!("- {name}: offline")],
        }
    }

    fn sender(taker: &Taker) -> Sender {
        Sender::for_test(&taker.address())
    }

    #[tokio::test]
    async fn no_channel_lets_a_name_ping_link_or_format() {
        let taker = Taker::start(vec![200]).await;
        let token = || SecretText::from("xoxb-secret".to_owned());
        for channel in [
            Channel::SlackHook(sender(&taker)),
            Channel::SlackApi { sender: sender(&taker), token: token(), channel: "#av".to_owned() },
        ] {
            channel.post(&hostile()).await.ok();
            let seen = taker.last();
            let text = seen.json()["text"].as_str().unwrap().to_owned();
            assert_eq!(text, "Fleetwatch: 1 new", "the text that Slack formats holds no name");
            let blocks = seen.json()["blocks"].as_array().unwrap().clone();
            assert!(
                blocks.iter().all(|block| block["text"]["type"] == "plain_text" && block["text"]["emoji"] == false)
            );
            assert!(seen.body.contains("<!channel>"), "plain text is shown as it is");
        }
        assert!(taker.last().head.contains("authorization: bearer xoxb-secret"));
        Channel::Teams(sender(&taker)).post(&hostile()).await.unwrap();
        let card = taker.last().json()["attachments"][0]["content"].clone();
        let body = card["body"].as_array().unwrap().clone();
        assert!(body.iter().skip(1).all(|block| block["type"] == "RichTextBlock"), "{card}");
        assert!(card.get("msteams").is_none(), "{card}");
        Channel::Ntfy(sender(&taker)).post(&hostile()).await.unwrap();
        let seen = taker.last();
        assert!(!seen.body.contains("https://") && !seen.body.contains("evil.example"), "{}", seen.body);
        assert!(!seen.head.contains("markdown"), "{}", seen.head);
    }

    #[tokio::test]
    async fn every_channel_tells_status_and_class_and_nothing_of_the_address() {
        let taker = Taker::start(vec![500, 302]).await;
        let channel = Channel::Teams(sender(&taker));
        for status in [500, 302] {
            let error = channel.post(&hostile()).await.unwrap_err();
            assert_eq!(error, PostError::Status(status));
            assert!(!error.to_string().contains("secret-path") && !format!("{channel:?}").contains("secret-path"));
        }
        assert_eq!(taker.count(), 2, "a redirect is not followed");
        let gone = Sender::new("X", SecretText::from("http://127.0.0.1:9/secret-path".to_owned())).unwrap();
        assert_eq!(Channel::Ntfy(gone).post(&hostile()).await, Err(PostError::NotSent));
    }

    #[tokio::test]
    async fn slack_says_in_its_answer_whether_it_took_the_message() {
        let taker = Taker::start(vec![200]).await;
        let token = SecretText::from("xoxb-secret".to_owned());
        let channel = Channel::SlackApi { sender: sender(&taker), token, channel: "#av".to_owned() };
        assert_eq!(channel.post(&hostile()).await, Err(PostError::NotTaken));
        taker.answer(r#"{"ok":true,"ts":"1"}"#);
        assert_eq!(channel.post(&hostile()).await, Ok(()));
        assert_eq!(taker.last().json()["channel"], "#av");
    }

    #[test]
    fn an_address_that_is_not_https_or_not_private_is_refused_without_being_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hook");
        host::files::create_private(&path, b"http://example.net/secret-path").unwrap();
        let settings = PostSettings { teams_url_file: Some(path.clone()), ..PostSettings::default() };
        let error = Channel::all(&settings).unwrap_err().to_string();
        assert!(error.starts_with("FLEETWATCH_TEAMS_URL_FILE: ") && error.contains("https"), "{error}");
        assert!(!error.contains("secret-path"), "{error}");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        Channel::all(&settings).unwrap_err();
        assert!(matches!(Channel::all(&PostSettings::default()).unwrap()[..], [Channel::Console]));
    }
}
