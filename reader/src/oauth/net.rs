//! HTTP for signing in: no redirect, no proxy, no repeat, small answers, short waits.

use super::OauthError;
use crate::http::plain_client;
use policy::call::Slot;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;
use zeroize::Zeroizing;

/// Longest wait for one answer, its body included.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
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

    /// Only status and headers: the body may be a stream without an end.
    pub(crate) async fn look(&self, url: &Url) -> Result<Answer, OauthError> {
        let request = self.client.get(url.clone()).header(ACCEPT, "text/event-stream");
        let response = request.timeout(LONGEST_WAIT).send().await.map_err(|_| OauthError::Unreachable)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, body: Zeroizing::default() })
    }

    pub(crate) async fn post_json(&self, url: &Url, body: &Value) -> Result<Answer, OauthError> {
        self.whole(self.client.post(url.clone()).header(ACCEPT, "application/json").json(body)).await
    }

    pub(crate) async fn post_form(&self, url: &Url, pairs: &[(&str, &str)]) -> Result<Answer, OauthError> {
        let request = self.client.post(url.clone()).header(ACCEPT, "application/json");
        let form = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form(pairs)?);
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

fn form(pairs: &[(&str, &str)]) -> Result<String, OauthError> {
    let mut url = Url::parse("http://127.0.0.1/").map_err(|_| OauthError::Machine)?;
    url.query_pairs_mut().extend_pairs(pairs);
    Ok(url.query().unwrap_or_default().to_owned())
}
