//! One sign-in from its link to its tokens.

use super::callback::{self, Expected, Heard, NotHeard};
use super::discover::{Servers, discover};
use super::register::{Client, register};
use super::tokens::{Code, Revoked, exchange, revoke};
use super::{Net, OauthError};
use crate::endpoint::Endpoint;
use crate::store::Record;
use host::clock::Clock;
use host::secret::{SecretText, random_token, url_safe};
use policy::call::Slot;
use reqwest::Url;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longest wait for both metadata and the registration.
const BEGIN: Duration = Duration::from_secs(30);
/// Longest wait for the person in the browser.
pub(crate) const PERSON: Duration = Duration::from_secs(300);

/// A sign-in that waits for a person. Dropping it ends it; tokens that the server gives out meanwhile, or has given out, are
/// taken back there.
pub struct Attempt {
    link: String,
    host: String,
    expected: Arc<Expected>,
    heard: mpsc::Sender<Heard>,
    // Set by whoever comes first: the task that sends the code, or the drop that forbids it.
    settled: Arc<AtomicBool>,
    task: Option<JoinHandle<Result<Record, OauthError>>>,
    permit: Option<OwnedSemaphorePermit>,
    slot: Slot,
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The link holds the state.
        f.debug_struct("Attempt").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let (Some(task), permit, slot) = (self.task.take(), self.permit.take(), self.slot) else { return };
        if !self.settled.swap(true, Ordering::SeqCst) {
            task.abort();
            return;
        }
        // The code was sent, so the answer holds tokens: it is waited for, and nobody else signs in until that is over.
        let mut telling = Telling { told: false };
        let Ok(runtime) = Handle::try_current() else {
            task.abort();
            return;
        };
        runtime.spawn(async move {
            match task.await {
                Ok(Ok(record)) => telling.told = revoked_quietly(slot, &record).await == Revoked::Yes,
                // The server gave none out, or nothing that could be taken back.
                Ok(Err(_)) => telling.told = true,
                Err(_) => {}
            }
            drop(telling);
            drop(permit);
        });
    }
}

/// Takes tokens back that nobody will keep, and says in the log when the server did not confirm it.
pub(crate) async fn revoke_unwanted(slot: Slot, record: &Record) -> Revoked {
    let mut telling = Telling { told: false };
    let done = revoked_quietly(slot, record).await;
    telling.told = done == Revoked::Yes;
    done
}

async fn revoked_quietly(slot: Slot, record: &Record) -> Revoked {
    match Net::new(slot) {
        Ok(net) => revoke(&net, record).await,
        Err(_) => Revoked::Unconfirmed,
    }
}

// Says it also when the process stops in the middle.
struct Telling {
    told: bool,
}

impl Drop for Telling {
    fn drop(&mut self) {
        if !self.told {
            tracing::warn!("a sign-in that was not kept could not be taken back at the server: end that session there");
        }
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
    let settled = Arc::new(AtomicBool::new(false));
    let sending = Arc::clone(&settled);
    let task = tokio::spawn(async move {
        let code = tokio::select! {
            () = serving => return Err(OauthError::Unreachable),
            code = code(inbox) => code?,
        };
        if sending.swap(true, Ordering::SeqCst) {
            return Err(OauthError::TimedOut);
        }
        waiting.finish(&code, &server, &clock).await
    });
    let slot = endpoint.slot();
    Ok(Attempt { link: link.into(), host, expected, heard, settled, task: Some(task), permit: Some(permit), slot })
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

/// What the browser came back with.
async fn code(mut inbox: mpsc::Receiver<Heard>) -> Heard {
    let heard = timeout(PERSON, inbox.recv()).await.map_err(|_| OauthError::TimedOut)?;
    heard.unwrap_or(Err(OauthError::TimedOut))
}

impl Waiting {
    async fn finish(self, code: &SecretText, server: &str, clock: &Clock) -> Result<Record, OauthError> {
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
        let Some(task) = &mut self.task else { return Some(Err(OauthError::TimedOut)) };
        let ended = timeout(wait, task).await.ok()?;
        self.task = None;
        Some(ended.unwrap_or(Err(OauthError::TimedOut)))
    }
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
