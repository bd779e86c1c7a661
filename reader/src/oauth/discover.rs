//! Who signs people in for an MCP server: RFC 9728, then RFC 8414, as MCP's authorization rules put them together.

use super::{Net, OauthError};
use crate::endpoint::Endpoint;
use reqwest::Url;
use reqwest::header::WWW_AUTHENTICATE;
use serde::Deserialize;
use serde_json::json;

const PROTECTED: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
/// Longest list of scopes that is asked for, in bytes.
const LONGEST_SCOPE: usize = 512;

/// What the metadata says, checked.
#[derive(Debug)]
pub(crate) struct Servers {
    /// Exactly as the metadata writes it.
    pub(crate) issuer: String,
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    pub(crate) registration: Option<Url>,
    pub(crate) revocation: Option<Url>,
    /// Whether every callback must carry `iss` (RFC 9207).
    pub(crate) sends_iss: bool,
    /// What the tokens are for (RFC 8707).
    pub(crate) resource: String,
    /// What the server's challenge asks for, if it does. Nothing else is asked for: there is no read-only scope.
    pub(crate) scope: Option<String>,
}

#[derive(Deserialize)]
struct Protected {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    response_types_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Asks for both metadata.
pub(crate) async fn discover(net: &Net, endpoint: &Endpoint) -> Result<Servers, OauthError> {
    let mcp = net.address(endpoint.as_str()).ok_or(OauthError::Machine)?;
    let (named, scope) = challenge(net, &mcp).await?;
    let (issuer, resource) = match protected(net, &mcp, named).await? {
        Some(found) => checked_resource(&mcp, found)?,
        // Servers from before RFC 9728 sign people in themselves.
        None => (origin(&mcp), endpoint.as_str().to_owned()),
    };
    let metadata = server(net, &issuer).await?;
    let address =
        |text: &str| net.address(text).ok_or(OauthError::Misbehaved("an address in its metadata is not https"));
    let optional = |text: Option<String>| text.map(|text| address(&text)).transpose();
    if !metadata.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(OauthError::Misbehaved("its metadata does not offer PKCE with S256"));
    }
    if metadata.response_types_supported.is_some_and(|types| !types.iter().any(|kind| kind == "code")) {
        return Err(OauthError::Misbehaved("its metadata does not offer the authorization code"));
    }
    Ok(Servers {
        authorization: address(&metadata.authorization_endpoint)?,
        token: address(&metadata.token_endpoint)?,
        registration: optional(metadata.registration_endpoint)?,
        revocation: optional(metadata.revocation_endpoint)?,
        sends_iss: metadata.authorization_response_iss_parameter_supported,
        issuer: metadata.issuer,
        resource,
        scope,
    })
}

// What the server says to somebody without a sign-in: where its metadata is, and which scope it wants.
async fn challenge(net: &Net, mcp: &Url) -> Result<(Option<Url>, Option<String>), OauthError> {
    let answer = match net.look(mcp).await?.filter(|answer| answer.status == 401) {
        Some(answer) => answer,
        // Many servers answer no GET at all. A question is refused by all that want a sign-in.
        None => {
            let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {} });
            net.look_with(mcp, &discover).await?
        }
    };
    if answer.status != 401 {
        return Ok((None, None));
    }
    let said = answer.headers.get_all(WWW_AUTHENTICATE);
    let said: Vec<&str> = said.iter().filter_map(|value| value.to_str().ok()).collect();
    let named = said.iter().find_map(|header| parameter(header, "resource_metadata"));
    let scope = said.iter().find_map(|header| parameter(header, "scope")).filter(|scope| {
        let plain = |b: u8| b == b' ' || (b.is_ascii_graphic() && b != b'"' && b != b'\\');
        !scope.is_empty() && scope.len() <= LONGEST_SCOPE && scope.bytes().all(plain)
    });
    let Some(named) = named else { return Ok((None, scope)) };
    // Its own host: a challenge must not send us round the network.
    let url = net.address(&named).filter(|url| url.origin() == mcp.origin());
    let url = url.ok_or(OauthError::Misbehaved("its challenge names metadata on another host"))?;
    Ok((Some(url), scope))
}

/// A parameter of a `Bearer` challenge.
pub(super) fn parameter(header: &str, name: &str) -> Option<String> {
    let (scheme, rest) = header.trim_start().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut rest = rest.trim_start();
    while let Some((found, behind)) = rest.split_once('=') {
        let (value, next) = if let Some(quoted) = behind.strip_prefix('"') {
            let (value, next) = quoted.split_once('"')?;
            (value, next.trim_start().strip_prefix(',').unwrap_or(next))
        } else {
            behind.split_once(',').unwrap_or((behind, ""))
        };
        if found.trim().eq_ignore_ascii_case(name) {
            return Some(value.trim().to_owned());
        }
        rest = next.trim_start();
    }
    None
}

async fn protected(net: &Net, mcp: &Url, named: Option<Url>) -> Result<Option<Protected>, OauthError> {
    let must = named.is_some();
    let places = match named {
        Some(url) => vec![url],
        None => {
            let mut places = vec![well_known(mcp, &format!("{PROTECTED}{}", bare_path(mcp)))];
            places.push(well_known(mcp, PROTECTED));
            places.dedup();
            places
        }
    };
    for place in places {
        let answer = net.get(&place).await?;
        if answer.is_success() {
            return answer.json("its resource metadata is not understood").map(Some);
        }
        missing(answer.status)?;
    }
    if must { Err(OauthError::Misbehaved("the metadata that its challenge names is not there")) } else { Ok(None) }
}

// A missing page is an answer; a redirect or a broken server is not.
fn missing(status: u16) -> Result<(), OauthError> {
    match status {
        300..=399 => Err(OauthError::Misbehaved("it sends us elsewhere for its metadata, which is not followed")),
        400..=499 => Ok(()),
        status => Err(OauthError::Status(status)),
    }
}

// RFC 9728 wants the same address; servers also name their origin, which is accepted for every path below it.
fn checked_resource(mcp: &Url, found: Protected) -> Result<(String, String), OauthError> {
    let wrong = OauthError::Misbehaved("its resource metadata is that of another server");
    let resource = Url::parse(&found.resource).map_err(|_| wrong)?;
    let (ours, theirs) = (bare_path(mcp), bare_path(&resource));
    let above = ours.strip_prefix(theirs).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if resource.origin() != mcp.origin() || !above || resource.query().is_some() || resource.fragment().is_some() {
        return Err(wrong);
    }
    let issuer = found.authorization_servers.into_iter().next();
    let issuer = issuer.ok_or(OauthError::Misbehaved("its resource metadata names nobody who signs people in"))?;
    Ok((issuer, found.resource))
}

async fn server(net: &Net, issuer: &str) -> Result<Metadata, OauthError> {
    let url = net.address(issuer).filter(|url| url.query().is_none());
    let url = url.ok_or(OauthError::Misbehaved("whoever signs people in for it has no https address"))?;
    let path = bare_path(&url);
    let mut places = vec![well_known(&url, &format!("{SERVER}{path}")), well_known(&url, &format!("{OPENID}{path}"))];
    places.push(well_known(&url, &format!("{path}{OPENID}")));
    places.dedup();
    for place in places {
        let answer = net.get(&place).await?;
        if answer.is_success() {
            let metadata: Metadata = answer.json("the metadata of its sign-in is not understood")?;
            // RFC 8414 wants them identical; only the slash behind a bare host is passed over.
            if metadata.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
                return Err(OauthError::Misbehaved("the metadata of its sign-in is that of another issuer"));
            }
            return Ok(metadata);
        }
        missing(answer.status)?;
    }
    Err(OauthError::Misbehaved("there is no metadata of its sign-in"))
}

fn well_known(url: &Url, path: &str) -> Url {
    let mut place = url.clone();
    place.set_query(None);
    place.set_path(path);
    place
}

fn bare_path(url: &Url) -> &str {
    url.path().trim_end_matches('/')
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
