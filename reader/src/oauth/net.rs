//! HTTP for signing in: no redirect, no proxy, no repeat, small answers, short waits.

use super::OauthError;
use crate::http::plain_client;
use host::secret::SecretText;
use policy::call::Slot;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use zeroize::Zeroizing;

/// Longest wait for one answer, its body included.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Longest wait for the headers of a GET of the MCP address, which some servers never answer.
const LOOK_WAIT: Duration = Duration::from_secs(5);
/// Largest answer, in bytes.
const LARGEST: usize = 64 * 1024;
/// Longest address that is taken from metadata.
const LONGEST_URL: usize = 2_048;

/// The client of one sign-in; it sends no bearer.
#[derive(Debug)]
pub(crate) struct Net {
    client: Client,
    slot: Slot,
}

/// One answer, whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Zeroizing<Vec<u8>>,
}

impl Net {
    pub(crate) fn new(slot: Slot) -> Result<Self, OauthError> {
        let client = plain_client(slot).build().map_err(|_| OauthError::Machine)?;
        Ok(Self { client, slot })
    }

    /// An address from metadata, if this slot may go there: https, or http on 127.0.0.1 for the simulator; no user name.
    pub(crate) fn address(&self, text: &str) -> Option<Url> {
        if text.len() > LONGEST_URL || !text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
            return None;
        }
        let url = Url::parse(text).ok()?;
        let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        let host = url.host_str().filter(|host| !host.is_empty())?;
        let fits = match self.slot {
            Slot::Sandbox => url.scheme() == "https",
            Slot::Sim => url.scheme() == "http" && host == "127.0.0.1",
        };
        (plain && fits && url.port() != Some(0)).then_some(url)
    }

    pub(crate) async fn get(&self, url: &Url) -> Result<Answer, OauthError> {
        self.whole(self.client.get(url.clone()).header(ACCEPT, "application/json")).await
    }

    /// Only status and headers: the body may be a stream without an end. Nothing when the server keeps silent: it may
    /// answer a message all the same.
    pub(crate) async fn look(&self, url: &Url) -> Result<Option<Answer>, OauthError> {
        let request = self.client.get(url.clone()).header(ACCEPT, "text/event-stream");
        let response = match request.timeout(LOOK_WAIT).send().await {
            Ok(response) => response,
            Err(error) if error.is_timeout() => return Ok(None),
            Err(_) => return Err(OauthError::Unreachable),
        };
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Some(Answer { status, headers, body: Zeroizing::default() }))
    }

    /// The same for a message of MCP.
    pub(crate) async fn look_with(&self, url: &Url, body: &Value) -> Result<Answer, OauthError> {
        let request = self.client.post(url.clone()).header(ACCEPT, "application/json, text/event-stream").json(body);
        let response = request.timeout(LONGEST_WAIT).send().await.map_err(|_| OauthError::Unreachable)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, body: Zeroizing::default() })
    }

    pub(crate) async fn post_json(&self, url: &Url, body: &Value) -> Result<Answer, OauthError> {
        self.whole(self.client.post(url.clone()).header(ACCEPT, "application/json").json(body)).await
    }

    /// A form of a program that is known by its id, and by its secret where it has one.
    pub(crate) async fn post_form(&self, url: &Url, form: Form<'_>) -> Result<Answer, OauthError> {
        let Form { mut pairs, client } = form;
        let mut request = self.client.post(url.clone()).header(ACCEPT, "application/json");
        // Beside the header too: some servers look for the program before they look who it is.
        pairs.push(("client_id", client.id));
        match client.secret {
            // RFC 6749, 2.3.1: both encoded as in a form before they are put together.
            Some((secret, Place::Header)) => {
                let (id, secret) = (encoded(client.id)?, Zeroizing::new(encoded(secret.expose())?));
                request = request.basic_auth(id, Some(secret.as_str()));
            }
            Some((secret, Place::Body)) => pairs.push(("client_secret", secret.expose())),
            None => {}
        }
        let form = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(written(&pairs)?);
        self.whole(form).await
    }

    async fn whole(&self, request: RequestBuilder) -> Result<Answer, OauthError> {
        let mut response = request.timeout(LONGEST_WAIT).send().await.map_err(|_| OauthError::Unreachable)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Zeroizing::new(Vec::with_capacity(LARGEST));
        while let Some(chunk) = response.chunk().await.map_err(|_| OauthError::Unreachable)? {
            if body.len() + chunk.len() > LARGEST {
                return Err(OauthError::Misbehaved("an answer is larger than 64 KiB"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, headers, body })
    }
}

impl Answer {
    /// Whether it is a success.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as one JSON value of this shape; unknown members are passed over, a member named twice is an error.
    pub(crate) fn json<T: DeserializeOwned>(&self, wrong: &'static str) -> Result<T, OauthError> {
        serde_json::from_slice(&self.body).map_err(|_| OauthError::Misbehaved(wrong))
    }
}

/// What is posted, and as whom. It holds secrets.
pub(crate) struct Form<'a> {
    pub(crate) pairs: Vec<(&'a str, &'a str)>,
    pub(crate) client: Known<'a>,
}

/// How a program says who it is.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) id: &'a str,
    pub(crate) secret: Option<(&'a SecretText, Place)>,
}

/// Where a program's secret stands (`client_secret_post` and `client_secret_basic`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// In the form.
    #[default]
    Body,
    /// In the header `Authorization`.
    Header,
}

impl Place {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_body(&self) -> bool {
        *self == Self::Body
    }
}

fn encoded(text: &str) -> Result<String, OauthError> {
    let whole = written(&[("k", text)])?;
    Ok(whole.trim_start_matches("k=").to_owned())
}

fn written(pairs: &[(&str, &str)]) -> Result<String, OauthError> {
    let mut url = Url::parse("http://127.0.0.1/").map_err(|_| OauthError::Machine)?;
    url.query_pairs_mut().extend_pairs(pairs);
    Ok(url.query().unwrap_or_default().to_owned())
}
