//! Dynamic registration (RFC 7591): as a public client, and with a secret where the server gives one all the same.

use super::discover::Servers;
use super::net::{Known, Place};
use super::{Net, OauthError};
use host::secret::SecretText;
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroize;

const LONGEST_ID: usize = 2_048;

/// Who we are to that server.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: String,
    /// Only of servers that know no public clients.
    pub(crate) secret: Option<SecretText>,
    /// Where the secret goes.
    pub(crate) place: Place,
}

impl Client {
    pub(super) fn known(&self) -> Known<'_> {
        Known { id: &self.id, secret: self.secret.as_ref().map(|secret| (secret, self.place)) }
    }
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.client_secret.zeroize();
    }
}

pub(crate) async fn register(net: &Net, servers: &Servers, redirect: &str) -> Result<Client, OauthError> {
    let place = servers.registration.as_ref();
    let place = place.ok_or(OauthError::Misbehaved("it takes no registration of new programs"))?;
    let about = json!({
        "application_type": "native",
        "client_name": "fleetwatch",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    let answer = net.post_json(place, &about).await?;
    if !answer.is_success() {
        return Err(if answer.status >= 500 {
            OauthError::Status(answer.status)
        } else {
            OauthError::Misbehaved("it does not take our registration")
        });
    }
    let mut registered: Registered = answer.json("its answer to our registration is not understood")?;
    let method = registered.token_endpoint_auth_method.take();
    let secret = registered.client_secret.take().filter(|secret| !secret.is_empty()).map(SecretText::from);
    // Without it every later request would be one of a public program, which is not what was agreed.
    let given = |secret: Option<SecretText>| {
        let none = OauthError::Misbehaved("it wants a secret of programs and gave none");
        secret.map(Some).ok_or(none)
    };
    let (secret, place) = match method.as_deref() {
        None | Some("none") => (None, Place::Body),
        Some("client_secret_post") => (given(secret)?, Place::Body),
        Some("client_secret_basic") => (given(secret)?, Place::Header),
        Some(_) => {
            return Err(OauthError::Misbehaved("it wants programs to identify themselves in a way not known here"));
        }
    };
    let id = std::mem::take(&mut registered.client_id);
    if id.is_empty() || id.len() > LONGEST_ID || id.chars().any(char::is_control) {
        return Err(OauthError::Misbehaved("its answer to our registration is not understood"));
    }
    Ok(Client { id, secret, place })
}
