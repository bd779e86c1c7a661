//! One sign-in from its link to its tokens.

use super::callback::{self, Expected, Heard, NotHeard};
use super::discover::{Servers, discover};
use super::register::{Client, register};
use super::tokens::{Code, exchange};
use super::{Net, OauthError};
use crate::endpoint::Endpoint;
use crate::store::Record;
use host::clock::Clock;
use host::secret::{SecretText, random_token, url_safe};
use reqwest::Url;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longest wait for both metadata and the registration.
const BEGIN: Duration = Duration::from_secs(30);
/// Longest wait for the person in the browser.
pub(crate) const PERSON: Duration = Duration::from_secs(300);

/// A sign-in that waits for a person. Dropping it ends it.
pub struct Attempt {
    link: String,
    host: String,
    expected: Arc<Expected>,
    heard: mpsc::Sender<Heard>,
    task: JoinHandle<Result<Record, OauthError>>,
    _permit: OwnedSemaphorePermit,
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The link holds the state.
        f.debug_struct("Attempt").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Asks for the metadata, registers, and opens the callback's port.
pub(crate) async fn begin(
    endpoint: &Endpoint,
    clock: &Clock,
    port: u16,
    permit: OwnedSemaphorePermit,
) -> Result<Attempt, OauthError> {
    let net = Net::new(endpoint.slot())?;
    let (listener, redirect) = callback::open(port).await?;
    let prepared = timeout(BEGIN, async {
        let servers = discover(&net, endpoint).await?;
        let client = register(&net, &servers, &redirect).await?;
        Ok((servers, client))
    });
    let (servers, client) = prepared.await.unwrap_or(Err(OauthError::Unreachable))?;
    let random = || random_token().map_err(|_| OauthError::Machine);
    let (state, verifier) = (random()?, random()?);
    let link = link(&servers, &client, &redirect, (&state, &verifier));
    let host = link.host_str().unwrap_or_default().to_owned();
    let (heard, inbox) = mpsc::channel(1);
    let expected = Arc::new(Expected {
        state,
        issuer: servers.issuer.clone(),
        sends_iss: servers.sends_iss,
        redirect: redirect.clone(),
    });
    let waiting = Waiting { net, servers, client, verifier, redirect };
    let serving = callback::serve(listener, Arc::clone(&expected), heard.clone());
    let (server, clock) = (endpoint.as_str().to_owned(), clock.clone());
    let task = tokio::spawn(async move {
        tokio::select! {
            () = serving => Err(OauthError::Unreachable),
            done = waiting.finish(inbox, &server, &clock) => done,
        }
    });
    Ok(Attempt { link: link.into(), host, expected, heard, task, _permit: permit })
}

fn link(servers: &Servers, client: &Client, redirect: &str, (state, verifier): (&SecretText, &SecretText)) -> Url {
    let challenge = url_safe(&Sha256::digest(verifier.expose().as_bytes()));
    let mut link = servers.authorization.clone();
    {
        let mut pairs = link.query_pairs_mut();
        pairs
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", redirect)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", state.expose())
            .append_pair("resource", &servers.resource);
        if let Some(scope) = &servers.scope {
            pairs.append_pair("scope", scope);
        }
    }
    link
}

struct Waiting {
    net: Net,
    servers: Servers,
    client: Client,
    verifier: SecretText,
    redirect: String,
}

impl Waiting {
    async fn finish(self, mut inbox: mpsc::Receiver<Heard>, server: &str, clock: &Clock) -> Result<Record, OauthError> {
        let heard = timeout(PERSON, inbox.recv()).await.map_err(|_| OauthError::TimedOut)?;
        let code = heard.unwrap_or(Err(OauthError::TimedOut))?;
        let code = Code { code: code.expose(), verifier: &self.verifier, redirect: &self.redirect };
        exchange(&self.net, &self.servers, self.client, &code, (server, clock.unix())).await
    }
}

impl Attempt {
    /// The link for the person's browser. It is for that person's eyes: it holds the state.
    #[must_use]
    pub fn link(&self) -> &str {
        &self.link
    }

    /// The host that the link must lead to, by the server's metadata.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Takes an address that a person copied from the browser's address line.
    ///
    /// # Errors
    /// [`OauthError::NotThisCallback`]; the sign-in goes on waiting.
    pub fn paste(&self, address: &str) -> Result<(), OauthError> {
        let judged = self.expected.judge(address.trim());
        let heard = judged.map_err(|why| match why {
            NotHeard::Elsewhere | NotHeard::Not => OauthError::NotThisCallback,
        })?;
        // The first answer counts; a second one changes nothing.
        let _taken = self.heard.try_send(heard);
        Ok(())
    }

    /// Waits a little; `None` when the person is not done yet.
    ///
    /// # Errors
    /// [`OauthError`] when it ended without a sign-in. Nothing more comes afterwards.
    pub(crate) async fn poll(&mut self, wait: Duration) -> Option<Result<Record, OauthError>> {
        let ended = timeout(wait, &mut self.task).await.ok()?;
        Some(ended.unwrap_or(Err(OauthError::TimedOut)))
    }
}
