//! What a server repeats of our own sign-in is taken out of its answer before anybody keeps it or shows it: the look of a bearer
//! says nothing about it, so the general redaction may miss one (`seed 000, Parts`).

use hyper::header::HeaderValue;
use policy::redact::MASK;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// One that is shorter stands in other words by chance.
const SHORTEST: usize = 8;

/// The answer without the sign-in of `bearer`, a whole `Authorization` value: plain, percent-encoded, or as JSON inside a text.
pub(super) fn without_sign_in(answer: Value, bearer: &HeaderValue) -> Value {
    let secret = bearer.to_str().ok().and_then(|text| text.split_once(' '));
    match secret {
        Some((_, secret)) if secret.len() >= SHORTEST => masked(answer, &forms(secret)),
        Some(_) | None => answer,
    }
}

type Forms = [Zeroizing<String>; 4];

fn forms(secret: &str) -> Forms {
    let percent = |upper: bool| secret.bytes().fold(String::new(), |text, byte| text + &percent(byte, upper));
    [secret.to_owned(), secret.replace('/', "\\/"), percent(true), percent(false)].map(Zeroizing::new)
}

fn percent(byte: u8, upper: bool) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    }
}

// As deep as the parser of answers lets a value be.
fn masked(value: Value, forms: &Forms) -> Value {
    match value {
        Value::String(text) => Value::String(mask(&text, forms)),
        Value::Array(items) => items.into_iter().map(|item| masked(item, forms)).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (mask(&name, forms), masked(value, forms)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn mask(text: &str, forms: &Forms) -> String {
    forms.iter().fold(text.to_owned(), |text, form| text.replace(form.as_str(), MASK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn our_own_sign_in_is_masked_wherever_a_server_repeats_it() {
        let bearer = HeaderValue::from_static("Bearer a+secret/one==");
        let answer = json!({
            "content": [{ "type": "text", "text": "not for a+secret/one==, a%2Bsecret%2Fone%3D%3D or a%2bsecret%2fone%3d%3d" }],
            "structuredContent": { "a+secret/one==": ["{\"x\":\"a+secret\\/one==\"}", 7, null, true] },
        });
        let masked = json!({
            "content": [{ "type": "text", "text": "not for [hidden], [hidden] or [hidden]" }],
            "structuredContent": { "[hidden]": ["{\"x\":\"[hidden]\"}", 7, null, true] },
        });
        assert_eq!(without_sign_in(answer, &bearer), masked);
    }

    #[test]
    fn a_short_one_and_an_answer_without_it_stay_as_they_are() {
        let answer = json!({ "19012341234-1": "busy" });
        for bearer in ["Bearer busy", "Bearer another-secret"] {
            assert_eq!(without_sign_in(answer.clone(), &HeaderValue::from_static(bearer)), answer);
        }
    }
}
