//! A small authorization server on the fleet's port, so that both slots can be signed in without an account. It gives
//! rotating tokens, and like the real one keeps a single live sign-in per account: a newer one ends the older.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, HOST, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::config::Caller;
use crate::web::{self, Reply};
use crate::world::World;

/// Most registrations, and most codes that wait.
const MOST: usize = 1_000;
/// How long a code is good for, in milliseconds.
const CODE_LIFE_MS: i64 = 60_000;

/// Who signed in. `Debug` prints no token.
pub(crate) struct SignIns {
    /// How long an access token is good for, in seconds.
    life: u32,
    /// Where each registered program may be sent back to.
    clients: HashMap<String, Vec<String>>,
    codes: HashMap<String, Code>,
    families: Vec<Family>,
}

struct Code {
    client: String,
    redirect: String,
    challenge: String,
    caller: Caller,
    until_ms: i64,
}

struct Family {
    caller: Caller,
    client: String,
    access: String,
    refresh: String,
    until_ms: i64,
}

impl fmt::Debug for SignIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIns").field("families", &self.families.len()).finish_non_exhaustive()
    }
}

impl SignIns {
    /// Nobody yet.
    pub(crate) fn new(life: u32) -> Self {
        Self { life, clients: HashMap::new(), codes: HashMap::new(), families: Vec::new() }
    }

    /// Whose live access token stands in this header.
    pub(crate) fn caller(&self, header: Option<&str>, now_ms: i64) -> Caller {
        let token = header.and_then(|text| text.strip_prefix("Bearer "));
        let found =
            self.families.iter().find(|family| Some(family.access.as_str()) == token && family.until_ms > now_ms);
        found.map_or(Caller::Unknown, |family| family.caller)
    }

    fn register(&mut self, body: &[u8]) -> Result<Value, &'static str> {
        let about: Value = serde_json::from_slice(body).map_err(|_| "not JSON")?;
        let redirects = about["redirect_uris"].as_array().cloned().unwrap_or_default();
        let redirects: Vec<String> = redirects.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let here = |uri: &String| uri.starts_with("http://127.0.0.1:") && !uri.contains(['?', '#', '\r', '\n', ' ']);
        if redirects.is_empty() || !redirects.iter().all(here) || self.clients.len() >= MOST {
            return Err("redirect_uris must be addresses on 127.0.0.1");
        }
        let id = random().map_err(|_| "no random bytes")?;
        self.clients.insert(id.clone(), redirects.clone());
        Ok(json!({"client_id": id, "redirect_uris": redirects, "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]}))
    }

    /// Where the browser goes next, or the accounts to choose from.
    fn authorize(&mut self, asked: &Pairs, base: &str, now_ms: i64) -> Result<Option<String>, &'static str> {
        let (client, redirect) = (asked.one("client_id")?, asked.one("redirect_uri")?);
        if !self.clients.get(&client).is_some_and(|known| known.contains(&redirect)) {
            return Err("this program is not registered with this redirect_uri");
        }
        let (state, challenge) = (asked.one("state")?, asked.one("code_challenge")?);
        if asked.one("response_type")? != "code" || asked.one("code_challenge_method")? != "S256" {
            return Err("only response_type=code with code_challenge_method=S256 is known");
        }
        if asked.one("resource")? != format!("{base}/mcp") {
            return Err("resource is not this server's");
        }
        let caller = match asked.maybe("account").as_deref() {
            None => return Ok(None),
            Some("normal") => Caller::Normal,
            Some("sandbox") => Caller::Sandbox,
            Some("nobody") => {
                let (state, iss) = (encode(&state), encode(base));
                return Ok(Some(format!("{redirect}?error=access_denied&state={state}&iss={iss}")));
            }
            Some(_) => return Err("account is normal, sandbox or nobody"),
        };
        self.codes.retain(|_, code| code.until_ms > now_ms);
        if self.codes.len() >= MOST {
            return Err("too many codes wait");
        }
        let code = random().map_err(|_| "no random bytes")?;
        let until_ms = now_ms.saturating_add(CODE_LIFE_MS);
        let to = format!("{redirect}?code={code}&state={}&iss={}", encode(&state), encode(base));
        self.codes.insert(code, Code { client, redirect, challenge, caller, until_ms });
        Ok(Some(to))
    }

    fn token(&mut self, asked: &Pairs, now_ms: i64) -> Result<Value, &'static str> {
        let client = asked.one("client_id")?;
        match asked.one("grant_type")?.as_str() {
            "authorization_code" => {
                let code = self.codes.remove(&asked.one("code")?).filter(|code| code.until_ms > now_ms);
                let code = code.ok_or("invalid_grant")?;
                let proof = base64url(&Sha256::digest(asked.one("code_verifier")?.as_bytes()));
                if code.client != client || code.redirect != asked.one("redirect_uri")? || code.challenge != proof {
                    return Err("invalid_grant");
                }
                // One live sign-in per account.
                self.families.retain(|family| family.caller != code.caller);
                self.give(code.caller, client, now_ms)
            }
            "refresh_token" => {
                let token = asked.one("refresh_token")?;
                let at = self.families.iter().position(|family| family.refresh == token && family.client == client);
                let family = self.families.swap_remove(at.ok_or("invalid_grant")?);
                self.give(family.caller, client, now_ms)
            }
            _ => Err("unsupported_grant_type"),
        }
    }

    fn give(&mut self, caller: Caller, client: String, now_ms: i64) -> Result<Value, &'static str> {
        let random = || random().map_err(|_| "no random bytes");
        let (access, refresh) = (random()?, random()?);
        let answer = json!({"access_token": access, "token_type": "Bearer", "expires_in": self.life,
            "refresh_token": refresh, "scope": "devices offline_access"});
        let until_ms = now_ms.saturating_add(i64::from(self.life) * 1_000);
        self.families.push(Family { caller, client, access, refresh, until_ms });
        Ok(answer)
    }

    fn revoke(&mut self, asked: &Pairs) {
        let token = asked.maybe("token").unwrap_or_default();
        self.families.retain(|family| family.refresh != token && family.access != token);
    }
}

/// Answers if the request is for the authorization server; gives it back if not.
pub(crate) async fn answer(world: &World, request: Request<Incoming>, now_ms: i64) -> Result<Reply, Request<Incoming>> {
    let Some(sign_ins) = world.sign_ins() else { return Err(request) };
    let own = || request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(|host| format!("http://{host}"));
    let Some(base) = world.public_url().map(str::to_owned).or_else(own) else { return Err(request) };
    let asked = Pairs::read(request.uri().query().unwrap_or_default());
    let said = match (request.method(), request.uri().path()) {
        (&Method::GET, "/mcp") if !request.headers().contains_key(AUTHORIZATION) => challenge(&base),
        (&Method::GET, "/.well-known/oauth-protected-resource/mcp") => {
            let about = json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]});
            web::json(StatusCode::OK, &about)
        }
        (&Method::GET, "/.well-known/oauth-authorization-server") => web::json(StatusCode::OK, &metadata(&base)),
        (&Method::GET, "/authorize") => {
            authorized(lock(sign_ins).authorize(&asked, &base, now_ms), request.uri().query())
        }
        (&Method::POST, "/register" | "/token" | "/revoke") => {
            let path = request.uri().path().to_owned();
            return Ok(match web::read_body(request.into_body()).await {
                Ok(body) => posted(&mut lock(sign_ins), &path, &body, now_ms),
                Err(reply) => reply,
            });
        }
        _ => return Err(request),
    };
    Ok(said)
}

fn lock(sign_ins: &std::sync::Mutex<SignIns>) -> std::sync::MutexGuard<'_, SignIns> {
    sign_ins.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn posted(sign_ins: &mut SignIns, path: &str, body: &Bytes, now_ms: i64) -> Reply {
    let asked = || Pairs::read(std::str::from_utf8(body).unwrap_or_default());
    let (said, good) = match path {
        "/register" => (sign_ins.register(body), StatusCode::CREATED),
        "/token" => (sign_ins.token(&asked(), now_ms), StatusCode::OK),
        _ => {
            sign_ins.revoke(&asked());
            (Ok(json!({})), StatusCode::OK)
        }
    };
    let mut reply = match said {
        Ok(value) => web::json(good, &value),
        Err(error) => web::json(StatusCode::BAD_REQUEST, &json!({ "error": error })),
    };
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

fn challenge(base: &str) -> Reply {
    let mut reply = web::text(StatusCode::UNAUTHORIZED, "Unauthorized");
    let words = format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
    if let Ok(words) = HeaderValue::from_str(&words) {
        reply.headers_mut().insert(WWW_AUTHENTICATE, words);
    }
    reply
}

fn metadata(base: &str) -> Value {
    json!({
        "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"), "revocation_endpoint": format!("{base}/revoke"),
        "response_types_supported": ["code"], "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    })
}

fn authorized(said: Result<Option<String>, &'static str>, query: Option<&str>) -> Reply {
    match said {
        Err(words) => web::text(StatusCode::BAD_REQUEST, words),
        Ok(Some(to)) => {
            let mut reply = web::text(StatusCode::FOUND, "");
            if let Ok(to) = HeaderValue::from_str(&to) {
                reply.headers_mut().insert(LOCATION, to);
            }
            reply
        }
        Ok(None) => {
            // A valid query holds no quote or bracket: they are percent-encoded in an address.
            let query: String = query.unwrap_or_default().chars().filter(|c| !"\"'<>".contains(*c)).collect();
            let query = query.replace('&', "&amp;");
            let link = |account: &str, words: &str| {
                format!("<p><a href=\"/authorize?{query}&amp;account={account}\">{words}</a></p>")
            };
            let page = format!(
                "<!doctype html><meta charset=\"utf-8\"><title>Simulated sign-in</title><h1>Simulated sign-in / Inicio de sesión \
                 simulado</h1>{}{}{}",
                link("normal", "All rooms (normal account) / Todas las salas (cuenta normal)"),
                link(
                    "sandbox",
                    "The rooms that may be changed (sandbox account) / Las salas modificables (cuenta de pruebas)"
                ),
                link("nobody", "Neither / Ninguna"),
            );
            web::bytes(StatusCode::OK, "text/html; charset=utf-8", page.into())
        }
    }
}

/// The parameters of a query or a form.
struct Pairs(Vec<(String, String)>);

impl Pairs {
    fn read(text: &str) -> Self {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        Self(pairs.map(|(name, value)| (decode(name), decode(value))).collect())
    }

    fn maybe(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone())
    }

    fn one(&self, name: &str) -> Result<String, &'static str> {
        let mut found = self.0.iter().filter(|(found, _)| found == name);
        let (Some((_, value)), None) = (found.next(), found.next()) else { return Err("invalid_request") };
        Ok(value.clone())
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut digit = || rest.next().and_then(|d| char::from(d).to_digit(16)).unwrap_or(0);
                let (high, low) = (digit(), digit());
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn encode(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().chain([0, 0].iter()).take(3).fold(0_u32, |group, byte| (group << 8) | u32::from(*byte));
        for place in 0..=chunk.len() {
            let six = (group >> (18 - 6 * place)) & 63;
            text.push(ALPHABET.get(six as usize).map_or('?', |byte| char::from(*byte)));
        }
    }
    text
}

/// 32 random bytes in hex.
fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "http://127.0.0.1:9";
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    fn registered() -> (SignIns, String) {
        let mut all = SignIns::new(60);
        let said = all.register(br#"{"redirect_uris":["http://127.0.0.1:8765/callback"]}"#).expect("registered");
        let id = said["client_id"].as_str().expect("an id").to_owned();
        (all, id)
    }

    fn ask(id: &str, account: &str) -> Pairs {
        Pairs::read(&format!(
            "client_id={id}&redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fcallback&state=s&response_type=code&\
             code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&\
             resource=http%3A%2F%2F127.0.0.1%3A9%2Fmcp{account}"
        ))
    }

    fn sign_in(all: &mut SignIns, id: &str, account: &str) -> Value {
        let to = all.authorize(&ask(id, &format!("&account={account}")), BASE, 0).expect("allowed").expect("an end");
        let code = Pairs::read(to.split_once('?').expect("a query").1).one("code").expect("a code");
        let form = format!(
            "grant_type=authorization_code&client_id={id}&code={code}&code_verifier={VERIFIER}&\
                            redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fcallback"
        );
        let tokens = all.token(&Pairs::read(&form), 0).expect("tokens");
        assert!(all.token(&Pairs::read(&form), 0).is_err(), "a code is good once");
        tokens
    }

    fn caller(all: &SignIns, tokens: &Value, now_ms: i64) -> Caller {
        all.caller(Some(&format!("Bearer {}", tokens["access_token"].as_str().expect("a token"))), now_ms)
    }

    #[test]
    fn each_account_has_one_live_sign_in_that_runs_out() {
        let (mut all, id) = registered();
        let (normal, sandbox) = (sign_in(&mut all, &id, "normal"), sign_in(&mut all, &id, "sandbox"));
        assert_eq!((caller(&all, &normal, 0), caller(&all, &sandbox, 0)), (Caller::Normal, Caller::Sandbox));
        assert_eq!(caller(&all, &normal, 60_000), Caller::Unknown);
        let newer = sign_in(&mut all, &id, "normal");
        assert_eq!((caller(&all, &normal, 0), caller(&all, &newer, 0)), (Caller::Unknown, Caller::Normal));
    }

    #[test]
    fn a_refresh_token_is_good_once_and_never_after_it_was_taken_back() {
        let (mut all, id) = registered();
        let tokens = sign_in(&mut all, &id, "normal");
        let form = |tokens: &Value| {
            let token = tokens["refresh_token"].as_str().expect("a token");
            Pairs::read(&format!("grant_type=refresh_token&client_id={id}&refresh_token={token}&token={token}"))
        };
        let newer = all.token(&form(&tokens), 0).expect("renewed");
        assert_eq!(all.token(&form(&tokens), 0), Err("invalid_grant"));
        all.revoke(&form(&newer));
        assert_eq!(all.token(&form(&newer), 0), Err("invalid_grant"));
        assert_eq!(caller(&all, &newer, 0), Caller::Unknown);
    }

    #[test]
    fn an_account_is_chosen_by_a_person_and_strangers_are_sent_nowhere() {
        let (mut all, id) = registered();
        assert_eq!(all.authorize(&ask(&id, ""), BASE, 0), Ok(None));
        let no = all.authorize(&ask(&id, "&account=nobody"), BASE, 0).expect("an answer").expect("an end");
        assert!(no.contains("?error=access_denied&state=s&iss="), "{no}");
        all.authorize(&ask("stranger", "&account=normal"), BASE, 0).expect_err("refused");
        all.register(br#"{"redirect_uris":["https://evil.example/"]}"#).expect_err("refused");
    }
}
