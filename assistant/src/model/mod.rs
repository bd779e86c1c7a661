//! The model: one hardened client for either kind of API, one call at a time, every size capped.
//!
//! Nothing here repeats a call but for the waits that a busy or failing API is given before its answer begins, nothing
//! follows a redirect, and neither prompt nor answer is logged or written to disk.

pub(crate) mod anthropic;
pub(crate) mod error;
pub(crate) mod openai;
pub(crate) mod reply;
mod sse;
pub(crate) mod talk;

use crate::config::{ModelKind, ModelSettings};
pub(crate) use error::ModelError;
use host::secret::SecretText;
use reply::Reply;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use std::fmt;
use std::time::Duration;
use talk::Request;

/// The version header of Anthropic's API.
const API_VERSION: &str = "2023-06-01";
const CONNECT: Duration = Duration::from_secs(5);
/// Longest wait for one call; the question's own limit ends it earlier.
const CALL: Duration = Duration::from_secs(60);
/// How often a busy or failing API is asked again.
const MOST_RETRIES: u32 = 3;
/// The first wait; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest wait that an API may ask for; who wants more gets no second call.
const MOST_PATIENCE: Duration = Duration::from_secs(20);

/// A model that can be asked. Holds the API key.
pub(crate) struct Model {
    client: Client,
    endpoint: Url,
    kind: ModelKind,
    name: String,
    key: Option<(HeaderName, HeaderValue)>,
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
    Key(ModelKind),
    /// The API's path cannot be put behind the base address.
    Url(ModelKind),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => write!(f, "the HTTP client for the model cannot be made: {error}"),
            Self::Key(kind) => write!(f, "{}: the API key cannot be sent in a header; check it", kind.key_setting()),
            Self::Url(kind) => {
                write!(f, "{}: cannot carry {}; write https://host", kind.url_setting(), path(*kind))
            }
        }
    }
}

impl std::error::Error for SetupError {}

fn path(kind: ModelKind) -> &'static str {
    match kind {
        ModelKind::Anthropic => "/v1/messages",
        ModelKind::OpenAi => "/v1/chat/completions",
    }
}

impl Model {
    /// A client for the model of these settings. Takes the key.
    ///
    /// # Errors
    /// [`SetupError`] when no client can be made.
    pub(crate) fn new(settings: ModelSettings) -> Result<Self, SetupError> {
        let client = reader::client::strict()
            .https_only(settings.url.scheme() == "https")
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT)
            .timeout(CALL)
            .build()
            .map_err(SetupError::Client)?;
        let kind = settings.kind;
        let base = settings.url.as_str().trim_end_matches('/');
        // Other tools want the address with /v1 at its end; both mean the same.
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let endpoint = Url::parse(&format!("{base}{}", path(kind))).map_err(|_| SetupError::Url(kind))?;
        let key = settings.key.as_ref().map(|key| header(kind, key)).transpose()?;
        Ok(Self { client, endpoint, kind, name: settings.name, key })
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

    /// How many bytes a request has, for guessing what it costs.
    ///
    /// # Errors
    /// [`ModelError::NotUnderstood`] when it cannot be written, which no request of ours is.
    pub(crate) fn size(&self, request: Request<'_>) -> Result<usize, ModelError> {
        Ok(self.body(request)?.len())
    }

    /// Asks. An API that is busy or fails before its answer begins is asked again, after the wait that it wants.
    ///
    /// # Errors
    /// [`ModelError`] when no answer begins.
    pub(crate) async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let body = self.body(request)?;
        let mut retries = 0;
        loop {
            let response = self.post(body.clone()).await?;
            let Some(wait) = wait(response.status(), response.headers(), retries) else {
                return Reply::begin(response, self.kind, body.len());
            };
            if retries >= MOST_RETRIES || wait > MOST_PATIENCE {
                return Err(ModelError::of_status(response.status().as_u16()));
            }
            tracing::info!(status = response.status().as_u16(), "the model's API is busy or failing");
            drop(response);
            retries += 1;
            tokio::time::sleep(wait).await;
        }
    }

    fn body(&self, request: Request<'_>) -> Result<Vec<u8>, ModelError> {
        let body = match self.kind {
            ModelKind::Anthropic => anthropic::body(&self.name, request),
            ModelKind::OpenAi => openai::body(&self.name, request),
        };
        body.map_err(|_| ModelError::NotUnderstood)
    }

    async fn post(&self, body: Vec<u8>) -> Result<Response, ModelError> {
        let mut request = self
            .client
            .post(self.endpoint.clone())
            .header(ACCEPT, "text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        if self.kind == ModelKind::Anthropic {
            request = request.header("anthropic-version", API_VERSION);
        }
        if let Some((name, value)) = &self.key {
            request = request.header(name.clone(), value.clone());
        }
        request.send().await.map_err(|error| ModelError::from_http(&error))
    }
}

fn header(kind: ModelKind, key: &SecretText) -> Result<(HeaderName, HeaderValue), SetupError> {
    let (name, mut value) = match kind {
        ModelKind::Anthropic => (HeaderName::from_static("x-api-key"), HeaderValue::from_str(key.expose())),
        ModelKind::OpenAi => {
            let bearer = SecretText::from(format!("Bearer {}", key.expose()));
            (AUTHORIZATION, HeaderValue::from_str(bearer.expose()))
        }
    };
    if let Ok(value) = &mut value {
        value.set_sensitive(true);
    }
    Ok((name, value.map_err(|_| SetupError::Key(kind))?))
}

// How long to wait when the API says that it is busy or failed, else nothing.
fn wait(status: StatusCode, headers: &HeaderMap, retries: u32) -> Option<Duration> {
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let wished = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let usual = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(retries));
    Some(wished.map_or(usual, Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_or_failing_api_is_waited_for_longer_each_time_and_its_wish_is_read() {
        let mut headers = HeaderMap::new();
        for status in [200, 307, 400, 401, 404] {
            assert_eq!(wait(StatusCode::from_u16(status).unwrap(), &headers, 0), None, "{status}");
        }
        for status in [429, 500, 502, 529] {
            let waits = [0, 1, 2].map(|retries| wait(StatusCode::from_u16(status).unwrap(), &headers, retries));
            assert_eq!(waits, [1, 2, 4].map(|times| Some(FIRST_WAIT * times)), "{status}");
        }
        headers.insert(RETRY_AFTER, HeaderValue::from_static("7"));
        assert_eq!(wait(StatusCode::from_u16(529).unwrap(), &headers, 2), Some(Duration::from_secs(7)));
        headers.insert(RETRY_AFTER, HeaderValue::from_static("soon"));
        assert_eq!(wait(StatusCode::TOO_MANY_REQUESTS, &headers, 0), Some(FIRST_WAIT));
    }

    fn model(kind: ModelKind, url: &str) -> Model {
        let key = Some(SecretText::from("test-key".to_owned()));
        Model::new(ModelSettings { kind, url: Url::parse(url).unwrap(), name: "m".to_owned(), key }).unwrap()
    }

    #[test]
    fn the_path_is_put_behind_the_address_and_debug_shows_no_key() {
        for (kind, url, endpoint) in [
            (ModelKind::Anthropic, "https://api.example/base/", "https://api.example/base/v1/messages"),
            (ModelKind::OpenAi, "http://127.0.0.1:9", "http://127.0.0.1:9/v1/chat/completions"),
            (ModelKind::OpenAi, "https://vllm.example/v1/", "https://vllm.example/v1/chat/completions"),
        ] {
            let model = model(kind, url);
            assert_eq!(model.endpoint.as_str(), endpoint);
            assert!(!format!("{model:?} {:?}", model.key).contains("test-key"));
            let error = header(kind, &SecretText::from("a\nb".to_owned())).unwrap_err();
            assert!(error.to_string().starts_with(kind.key_setting()), "{error}");
        }
    }
}
