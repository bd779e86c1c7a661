//! What a sign-in is on disk: one 0600 file, either a bare bearer on one line or the JSON of a sign-in by `login`.
//! Written whole beside it and renamed; renewed by one process at a time.

use crate::oauth::Place;
use crate::token::Which;
use host::secret::SecretText;
use serde::{Deserialize, Serialize};
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// Layout of the JSON.
const VERSION: u8 = 1;
/// Longest bearer, in bytes.
const LONGEST: usize = 8_192;

/// Why a sign-in is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Death {
    /// The server ended it while it had time left, as when the same account signs in elsewhere.
    Early,
    /// It ran out and has no way to be renewed.
    RanOut,
    /// The server refused to renew it.
    Refused,
}

/// A sign-in by `login`. Times are Unix seconds.
pub(crate) struct Record {
    pub(crate) access: SecretText,
    pub(crate) refresh: Option<SecretText>,
    pub(crate) expires_at: Option<i64>,
    pub(crate) issued_at: i64,
    pub(crate) scope: Option<String>,
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<SecretText>,
    pub(crate) secret_in: Place,
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) resource: String,
    /// The MCP server that the tokens may be sent to, and no other.
    pub(crate) server: String,
    pub(crate) dead: Option<Death>,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Record(..)")
    }
}

impl Record {
    /// Seconds that it is good for; `None` when the server did not say.
    pub(crate) fn left(&self, now: i64) -> Option<i64> {
        self.expires_at.map(|at| at.saturating_sub(now))
    }

    /// Whether it is good for `wanted` seconds more, or for half of its life when that is shorter.
    pub(crate) fn lasts(&self, wanted: i64, now: i64) -> bool {
        let Some(at) = self.expires_at else { return true };
        let half = at.saturating_sub(self.issued_at).max(0) / 2;
        at.saturating_sub(now) > wanted.min(half)
    }

    /// The same with its end written in.
    pub(crate) fn died(&self, how: Death) -> Self {
        let copied = |text: &SecretText| SecretText::from(text.expose().to_owned());
        Self {
            access: copied(&self.access),
            refresh: self.refresh.as_ref().map(copied),
            expires_at: self.expires_at,
            issued_at: self.issued_at,
            scope: self.scope.clone(),
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.as_ref().map(copied),
            secret_in: self.secret_in,
            issuer: self.issuer.clone(),
            token_endpoint: self.token_endpoint.clone(),
            revocation_endpoint: self.revocation_endpoint.clone(),
            resource: self.resource.clone(),
            server: self.server.clone(),
            dead: Some(how),
        }
    }
}

/// What a file holds.
#[derive(Debug)]
pub(crate) enum Content {
    /// A bearer that somebody put there; it is never renewed.
    Bearer(SecretText),
    /// A sign-in by `login`.
    Signed(Box<Record>),
}

/// Why a file's content is no sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// Neither a bearer nor the JSON of a sign-in.
    Neither,
    /// The other slot's.
    OtherSlot,
}

// The members as they stand in the file. It is wiped when dropped, and never printed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u8,
    slot: String,
    access_token: String,
    refresh_token: Option<String>,
    expires_at: Option<i64>,
    issued_at: i64,
    scope: Option<String>,
    client_id: String,
    client_secret: Option<String>,
    // Absent for the one place that older builds know.
    #[serde(default, skip_serializing_if = "Place::is_body")]
    secret_in: Place,
    issuer: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    resource: String,
    server: String,
    dead: Option<Death>,
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.access_token.zeroize();
        self.refresh_token.zeroize();
        self.client_secret.zeroize();
    }
}

/// Whether this can be sent as a bearer: one word of plain characters.
pub(crate) fn is_bearer(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Understands the text of a file.
pub(crate) fn read(text: SecretText, which: Which) -> Result<Content, Unusable> {
    if !text.expose().trim_start().starts_with('{') {
        return if is_bearer(text.expose()) { Ok(Content::Bearer(text)) } else { Err(Unusable::Neither) };
    }
    let mut stored: Stored = serde_json::from_str(text.expose()).map_err(|_| Unusable::Neither)?;
    let bad_refresh = stored.refresh_token.as_deref().is_some_and(|refresh| !is_bearer(refresh));
    if stored.version != VERSION || !is_bearer(&stored.access_token) || bad_refresh {
        return Err(Unusable::Neither);
    }
    if stored.slot != which.as_str() {
        return Err(Unusable::OtherSlot);
    }
    Ok(Content::Signed(Box::new(Record {
        access: SecretText::from(std::mem::take(&mut stored.access_token)),
        refresh: stored.refresh_token.take().map(SecretText::from),
        expires_at: stored.expires_at,
        issued_at: stored.issued_at,
        scope: stored.scope.take(),
        client_id: std::mem::take(&mut stored.client_id),
        client_secret: stored.client_secret.take().map(SecretText::from),
        secret_in: stored.secret_in,
        issuer: std::mem::take(&mut stored.issuer),
        token_endpoint: std::mem::take(&mut stored.token_endpoint),
        revocation_endpoint: stored.revocation_endpoint.take(),
        resource: std::mem::take(&mut stored.resource),
        server: std::mem::take(&mut stored.server),
        dead: stored.dead,
    })))
}

/// The text of a file that holds this sign-in.
pub(crate) fn write(record: &Record, which: Which) -> Zeroizing<Vec<u8>> {
    let exposed = |text: &SecretText| text.expose().to_owned();
    let stored = Stored {
        version: VERSION,
        slot: which.as_str().to_owned(),
        access_token: exposed(&record.access),
        refresh_token: record.refresh.as_ref().map(exposed),
        expires_at: record.expires_at,
        issued_at: record.issued_at,
        scope: record.scope.clone(),
        client_id: record.client_id.clone(),
        client_secret: record.client_secret.as_ref().map(exposed),
        secret_in: record.secret_in,
        issuer: record.issuer.clone(),
        token_endpoint: record.token_endpoint.clone(),
        revocation_endpoint: record.revocation_endpoint.clone(),
        resource: record.resource.clone(),
        server: record.server.clone(),
        dead: record.dead,
    };
    // Texts and numbers alone: nothing in it can fail to be written.
    let mut text = Zeroizing::new(serde_json::to_vec_pretty(&stored).unwrap_or_default());
    text.push(b'\n');
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A sign-in that is good from 1,000 to 4,600.
    pub(crate) fn sample(server: &str) -> Record {
        Record {
            access: SecretText::from("access-never-show".to_owned()),
            refresh: Some(SecretText::from("refresh-never-show".to_owned())),
            expires_at: Some(4_600),
            issued_at: 1_000,
            scope: Some("devices".to_owned()),
            client_id: "client-1".to_owned(),
            client_secret: None,
            secret_in: Place::Body,
            issuer: "https://login.example".to_owned(),
            token_endpoint: "https://login.example/token".to_owned(),
            revocation_endpoint: None,
            resource: server.to_owned(),
            server: server.to_owned(),
            dead: None,
        }
    }

    fn text(record: &Record, which: Which) -> SecretText {
        SecretText::from(String::from_utf8(write(record, which).to_vec()).unwrap())
    }

    #[test]
    fn a_sign_in_comes_back_as_it_was_written() {
        let before = sample("https://fleet.example/mcp").died(Death::Early);
        let Content::Signed(after) = read(text(&before, Which::Normal), Which::Normal).unwrap() else { panic!() };
        assert_eq!(after.access.expose(), "access-never-show");
        assert_eq!(after.refresh.as_ref().map(SecretText::expose), Some("refresh-never-show"));
        assert_eq!((after.expires_at, after.issued_at, after.dead), (Some(4_600), 1_000, Some(Death::Early)));
        assert_eq!(after.token_endpoint, before.token_endpoint);
        assert!(!format!("{after:?}").contains("never-show"));
    }

    #[test]
    fn the_other_slots_file_is_refused() {
        let error = read(text(&sample("https://fleet.example/mcp"), Which::Sandbox), Which::Normal).unwrap_err();
        assert_eq!(error, Unusable::OtherSlot);
    }

    #[test]
    fn a_file_that_is_neither_is_refused() {
        let good = String::from_utf8(write(&sample("https://fleet.example/mcp"), Which::Normal).to_vec()).unwrap();
        for bad in [
            good.replace("\"version\": 1", "\"version\": 2"),
            good.replace("\"access_token\"", "\"more\": 1, \"access_token\""),
            good.replace("access-never-show", "access never-show"),
            good.replace("\"issued_at\"", "\"issued_at\": 1, \"issued_at\""),
            "{".to_owned(),
            "Bearer never-show".to_owned(),
        ] {
            assert_eq!(read(SecretText::from(bad), Which::Normal).unwrap_err(), Unusable::Neither);
        }
    }

    #[test]
    fn a_short_life_asks_for_no_more_than_half_of_it() {
        let mut record = sample("https://fleet.example/mcp");
        for (life, wanted, now, lasts) in
            [(3_600, 60, 4_539, true), (3_600, 60, 4_540, false), (3, 60, 1_001, true), (3, 60, 1_002, false)]
        {
            record.expires_at = Some(1_000 + life);
            assert_eq!(record.lasts(wanted, now), lasts, "{life} {now}");
        }
        record.expires_at = None;
        assert!(record.lasts(60, i64::MAX));
    }
}
