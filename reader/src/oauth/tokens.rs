//! The token endpoint and the revocation endpoint.

use super::discover::Servers;
use super::net::{Form, Known};
use super::register::Client;
use super::{Net, OauthError};
use crate::store::Record;
use host::secret::SecretText;
use reqwest::Url;
use serde::Deserialize;
use zeroize::Zeroize;

/// Longest token, in bytes.
const LONGEST: usize = 8_192;
/// Longest life that is believed, in seconds: ten years.
const LONGEST_LIFE: i64 = 315_360_000;

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: String,
    expires_in: Option<i64>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

impl Drop for Granted {
    fn drop(&mut self) {
        self.access_token.zeroize();
        self.refresh_token.zeroize();
    }
}

/// What the person's yes is exchanged with.
pub(super) struct Code<'a> {
    pub(super) code: &'a str,
    pub(super) verifier: &'a SecretText,
    pub(super) redirect: &'a str,
}

/// From the code to a sign-in for `server`, at `now` in Unix seconds.
pub(super) async fn exchange(
    net: &Net,
    servers: &Servers,
    client: Client,
    code: &Code<'_>,
    (server, now): (&str, i64),
) -> Result<Record, OauthError> {
    let pairs = vec![
        ("grant_type", "authorization_code"),
        ("code", code.code),
        ("redirect_uri", code.redirect),
        ("code_verifier", code.verifier.expose()),
        ("resource", servers.resource.as_str()),
    ];
    let granted = ask(net, &servers.token, Form { pairs, client: client.known() }).await?;
    let blank = Record {
        access: SecretText::from(String::new()),
        refresh: None,
        expires_at: None,
        issued_at: now,
        scope: None,
        client_id: client.id,
        client_secret: client.secret,
        secret_in: client.place,
        issuer: servers.issuer.clone(),
        token_endpoint: servers.token.to_string(),
        revocation_endpoint: servers.revocation.as_ref().map(Url::to_string),
        resource: servers.resource.clone(),
        server: server.to_owned(),
        dead: None,
    };
    take(granted, &blank, now)
}

/// New tokens for old ones (RFC 6749, 6). The old refresh token may be good for nothing afterwards: save at once.
///
/// # Errors
/// [`OauthError::Refused`] when the sign-in is dead; anything else says nothing about it.
pub(crate) async fn renew(net: &Net, old: &Record, refresh: &SecretText, now: i64) -> Result<Record, OauthError> {
    let place = net.address(&old.token_endpoint);
    let place = place.ok_or(OauthError::Misbehaved("the saved address of its sign-in is not https"))?;
    let pairs =
        vec![("grant_type", "refresh_token"), ("refresh_token", refresh.expose()), ("resource", old.resource.as_str())];
    take(ask(net, &place, Form { pairs, client: known(old) }).await?, old, now)
}

fn known(record: &Record) -> Known<'_> {
    let secret = record.client_secret.as_ref().map(|secret| (secret, record.secret_in));
    Known { id: &record.client_id, secret }
}

async fn ask(net: &Net, place: &Url, form: Form<'_>) -> Result<Granted, OauthError> {
    let answer = net.post_form(place, form).await?;
    match answer.status {
        200..=299 => answer.json("its tokens are not understood"),
        status @ (400 | 401) => Err(OauthError::Refused(status)),
        300..=399 => Err(OauthError::Misbehaved("it sends us elsewhere for the tokens, which is not followed")),
        status => Err(OauthError::Status(status)),
    }
}

fn take(mut granted: Granted, old: &Record, now: i64) -> Result<Record, OauthError> {
    let wrong = OauthError::Misbehaved("its tokens are not understood");
    let plain = |text: &str| !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|b| b.is_ascii_graphic());
    if !granted.token_type.eq_ignore_ascii_case("bearer") || !plain(&granted.access_token) {
        return Err(wrong);
    }
    if granted.refresh_token.as_deref().is_some_and(|text| !plain(text)) {
        return Err(wrong);
    }
    let copied = |secret: &Option<SecretText>| secret.as_ref().map(|text| SecretText::from(text.expose().to_owned()));
    let scope = granted.scope.take().or_else(|| old.scope.clone());
    Ok(Record {
        access: SecretText::from(std::mem::take(&mut granted.access_token)),
        // A server that does not rotate leaves it out.
        refresh: granted.refresh_token.take().map(SecretText::from).or_else(|| copied(&old.refresh)),
        expires_at: granted.expires_in.map(|life| now.saturating_add(life.clamp(0, LONGEST_LIFE))),
        issued_at: now,
        scope: scope.map(|scope| protocol::shown::Shown::capped(&scope, 200).into_string()),
        client_id: old.client_id.clone(),
        client_secret: copied(&old.client_secret),
        secret_in: old.secret_in,
        issuer: old.issuer.clone(),
        token_endpoint: old.token_endpoint.clone(),
        revocation_endpoint: old.revocation_endpoint.clone(),
        resource: old.resource.clone(),
        server: old.server.clone(),
        dead: None,
    })
}

/// What became of tokens that nobody shall use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revoked {
    /// The server does not offer it.
    NotOffered,
    /// The server did not confirm it.
    Unconfirmed,
    /// The server took them back.
    Yes,
}

/// Takes the tokens back at the server (RFC 7009): the refresh token first, then the access token.
pub(crate) async fn revoke(net: &Net, record: &Record) -> Revoked {
    let Some(place) = &record.revocation_endpoint else { return Revoked::NotOffered };
    let Some(place) = net.address(place) else { return Revoked::Unconfirmed };
    let refresh = record.refresh.as_ref().map(|token| (token, "refresh_token"));
    let mut all = Revoked::Yes;
    for (token, kind) in refresh.into_iter().chain([(&record.access, "access_token")]) {
        let pairs = vec![("token", token.expose()), ("token_type_hint", kind)];
        let answer = net.post_form(&place, Form { pairs, client: known(record) }).await;
        if !answer.is_ok_and(|answer| answer.is_success()) {
            all = Revoked::Unconfirmed;
        }
    }
    all
}
