//! The model, over Anthropic's Messages API: one hardened client, one call at a time, every size capped.
//!
//! Nothing here repeats a call but the one wait that a busy API asks for, nothing follows a redirect, and neither
//! prompt nor answer is logged.

pub(crate) mod answer;
pub(crate) mod request;

use crate::config::ModelSettings;
use answer::Answer;
use host::secret::SecretText;
use protocol::shown::{Language, Worded};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use std::fmt;
use std::time::Duration;

/// The API's version header.
const API_VERSION: &str = "2023-06-01";
/// Largest answer, in bytes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
const CONNECT: Duration = Duration::from_secs(5);
/// Longest wait for one call; the question's own limit ends it earlier.
const CALL: Duration = Duration::from_secs(60);
/// How long a busy API is waited for, once.
const MOST_PATIENCE: u64 = 5;
const DEFAULT_PATIENCE: u64 = 2;

/// A model that can be asked. Holds the API key.
pub(crate) struct Model {
    client: Client,
    endpoint: Url,
    name: String,
    key: HeaderValue,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("host", &self.host()).finish_non_exhaustive()
    }
}

/// Why a client for the model could not be made.
#[derive(Debug)]
pub(crate) enum SetupError {
    /// The HTTP client refused its settings, or the system has no certificates.
    Client(reqwest::Error),
    /// The key cannot be a header's value.
    Key,
    /// `/v1/messages` cannot be put behind the base address.
    Url,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => write!(f, "the HTTP client for the model cannot be made: {error}"),
            Self::Key => f.write_str("the API key cannot be sent in a header; check FLEETWATCH_ANTHROPIC_API_KEY"),
            Self::Url => f.write_str("FLEETWATCH_ANTHROPIC_URL cannot carry /v1/messages; write https://host"),
        }
    }
}

impl std::error::Error for SetupError {}

impl Model {
    /// A client for the model of these settings. Takes the key.
    ///
    /// # Errors
    /// [`SetupError`] when no client can be made.
    pub(crate) fn new(settings: ModelSettings) -> Result<Self, SetupError> {
        // Somebody else in this process may have been first; either way there is a provider.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .http1_only()
            .https_only(settings.url.scheme() == "https")
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT)
            .timeout(CALL)
            .build()
            .map_err(SetupError::Client)?;
        let base = settings.url.as_str().trim_end_matches('/');
        let endpoint = Url::parse(&format!("{base}/v1/messages")).map_err(|_| SetupError::Url)?;
        Ok(Self { client, endpoint, name: settings.name, key: header(&settings.key)? })
    }

    /// The configured name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The address that prompts go to. It holds no secret.
    pub(crate) fn address(&self) -> &str {
        self.endpoint.as_str()
    }

    /// The host that prompts go to.
    pub(crate) fn host(&self) -> &str {
        self.endpoint.host_str().unwrap_or_default()
    }

    /// Sends one request body and gives the parsed answer.
    ///
    /// # Errors
    /// [`ModelError`] when there is no whole, understood answer.
    pub(crate) async fn send(&self, body: Vec<u8>) -> Result<Answer, ModelError> {
        let first = self.post(body.clone()).await?;
        let Some(wait) = patience(first.status(), first.headers()) else { return finish(first).await };
        tracing::info!(status = first.status().as_u16(), "the model's API is busy");
        drop(first);
        if wait > MOST_PATIENCE {
            return Err(ModelError::Busy);
        }
        tokio::time::sleep(Duration::from_secs(wait)).await;
        finish(self.post(body).await?).await
    }

    async fn post(&self, body: Vec<u8>) -> Result<Response, ModelError> {
        let request = self
            .client
            .post(self.endpoint.clone())
            .header("x-api-key", self.key.clone())
            .header("anthropic-version", API_VERSION)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        request.send().await.map_err(|error| ModelError::from_http(&error))
    }
}

fn header(key: &SecretText) -> Result<HeaderValue, SetupError> {
    let mut value = HeaderValue::from_str(key.expose()).map_err(|_| SetupError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

// Seconds to wait when the API says that it is busy, else nothing.
fn patience(status: StatusCode, headers: &HeaderMap) -> Option<u64> {
    if !matches!(status.as_u16(), 429 | 529) {
        return None;
    }
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Some(asked.unwrap_or(DEFAULT_PATIENCE))
}

async fn finish(mut response: Response) -> Result<Answer, ModelError> {
    match response.status().as_u16() {
        200 => {}
        401 | 403 => return Err(ModelError::KeyRefused),
        429 | 529 => return Err(ModelError::Busy),
        500..=599 => return Err(ModelError::Server(response.status().as_u16())),
        other => return Err(ModelError::Status(other)),
    }
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Answer::parse(&bytes),
            Ok(Some(chunk)) if bytes.len() + chunk.len() <= MAX_ANSWER => bytes.extend_from_slice(&chunk),
            Ok(Some(_)) => return Err(ModelError::TooLarge),
            Err(error) => return Err(ModelError::from_http(&error)),
        }
    }
}

/// Why the model gave no usable answer. Holds nothing of what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelError {
    /// Too many requests, or overloaded, also after the one wait.
    Busy,
    /// The model declined to answer.
    Declined,
    /// The connection ended in the middle of the answer.
    HungUp,
    /// The API refused the key.
    KeyRefused,
    /// The answer is not one that we understand.
    NotUnderstood,
    /// The API failed.
    Server(u16),
    /// The API refused the request.
    Status(u16),
    /// No whole answer in time.
    Timeout,
    /// The answer is larger than 4 MiB.
    TooLarge,
    /// There was no connection to the API.
    Unreachable,
}

impl ModelError {
    fn from_http(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            Self::Timeout
        } else if error.is_connect() {
            Self::Unreachable
        } else {
            Self::HungUp
        }
    }

    /// A stable word for logs.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Declined => "declined",
            Self::HungUp => "hung_up",
            Self::KeyRefused => "key_refused",
            Self::NotUnderstood => "not_understood",
            Self::Server(_) => "server",
            Self::Status(_) => "status",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::Unreachable => "unreachable",
        }
    }

    /// A few plain words for the person who asked.
    pub(crate) fn words(self) -> Worded {
        match self {
            Self::Busy => Worded::new("the model is busy", "el modelo está ocupado"),
            Self::Declined => Worded::new("the model declined to answer", "el modelo no quiso responder"),
            Self::HungUp => Worded::new("the model's API hung up", "la API del modelo cortó la conexión"),
            Self::KeyRefused => Worded::new("the model's API refused the key", "la API del modelo rechazó la clave"),
            Self::NotUnderstood => {
                Worded::new("the model's answer could not be understood", "no se entendió la respuesta del modelo")
            }
            Self::Server(status) => Worded::new(
                format!("the model's API failed with status {status}"),
                format!("la API del modelo falló con el estado {status}"),
            ),
            Self::Status(status) => Worded::new(
                format!("the model's API refused the request with status {status}"),
                format!("la API del modelo rechazó la solicitud con el estado {status}"),
            ),
            Self::Timeout => Worded::new("the model took too long", "el modelo tardó demasiado"),
            Self::TooLarge => {
                Worded::new("the model's answer was too long", "la respuesta del modelo era demasiado larga")
            }
            Self::Unreachable => Worded::new("the model could not be reached", "no se pudo contactar al modelo"),
        }
    }

    /// The words in one language.
    pub(crate) fn said(self, language: Language) -> String {
        self.words().get(language).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_busy_api_is_waited_for_and_its_wish_is_read() {
        let mut headers = HeaderMap::new();
        assert_eq!(patience(StatusCode::INTERNAL_SERVER_ERROR, &headers), None);
        assert_eq!(patience(StatusCode::TOO_MANY_REQUESTS, &headers), Some(DEFAULT_PATIENCE));
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        assert_eq!(patience(StatusCode::from_u16(529).unwrap(), &headers), Some(1));
        headers.insert(RETRY_AFTER, HeaderValue::from_static("soon"));
        assert_eq!(patience(StatusCode::TOO_MANY_REQUESTS, &headers), Some(DEFAULT_PATIENCE));
    }

    #[test]
    fn debug_shows_no_key() {
        let settings = ModelSettings {
            url: Url::parse("https://api.example/base/").unwrap(),
            name: "m".to_owned(),
            key: SecretText::from("test-key".to_owned()),
        };
        let model = Model::new(settings).unwrap();
        assert!(!format!("{model:?}").contains("test-key"));
        assert_eq!(model.endpoint.as_str(), "https://api.example/base/v1/messages");
        header(&SecretText::from("a\nb".to_owned())).unwrap_err();
    }
}
