//! Which field names hold a secret.

/// Last words of a name that mean a secret. A trailing number or `value` does not change that.
const LAST: &[&str] = &[
    "apikey",
    "authorization",
    "bearer",
    "clave",
    "contrasena",
    "contraseña",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "keys",
    "passcode",
    "pin",
    "psk",
    "pwd",
    "token",
];

/// Words that mean a secret wherever they stand in a name.
const ANYWHERE: &[&str] = &["passphrase", "password", "passwords", "passwd", "secret", "secrets"];

/// Ends of a name that is written in one piece.
const JOINED: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "authkey",
    "authtoken",
    "encryptionkey",
    "passphrase",
    "password",
    "presharedkey",
    "privatekey",
    "refreshtoken",
    "secretkey",
    "sharedkey",
    "signingkey",
    "streamingkey",
    "streamkey",
    "streamname",
    "streamingname",
    "webhookurl",
];

/// Names of an identifier; a value that looks like one stays.
const IDENTIFIERS: &[&str] = &[
    "id",
    "channelid",
    "deviceid",
    "deviceids",
    "endpointid",
    "eventid",
    "groupid",
    "masterid",
    "presetid",
    "proposalid",
    "teamid",
];

/// Names under which one field of a list of settings says what it is.
const LABELS: &[&str] = &["field", "id", "key", "label", "name", "option", "param", "parameter", "setting", "title"];

/// Names under which such a field holds its value.
const VALUES: &[&str] = &["content", "current", "default", "defaultvalue", "text", "val", "value", "values"];

/// Letters and digits only, lower case.
fn joined(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name: split at punctuation and where a capital begins a new word.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let begins = c.is_uppercase() && before.is_lowercase();
        if !c.is_alphanumeric() || begins {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a field of this name holds a secret. Tokens that only turn a page do not.
pub(super) fn is_secret(name: &str) -> bool {
    let mut words = words(name);
    if words.iter().any(|word| ANYWHERE.contains(&word.as_str())) {
        return true;
    }
    while words.len() > 1 && words.last().is_some_and(|word| is_suffix(word)) {
        words.pop();
    }
    let Some(last) = words.last() else { return false };
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let first = |word: &str| words.iter().any(|one| one == word);
    if last == "token" && ["page", "next", "paging", "continuation", "cursor"].into_iter().any(first) {
        return false;
    }
    let joined = words.concat();
    let joined = joined.trim_end_matches(|c: char| c.is_ascii_digit());
    LAST.contains(&last) || (words.len() > 1 && last == "pass") || JOINED.iter().any(|end| joined.ends_with(end))
}

fn is_suffix(word: &str) -> bool {
    let version = word.strip_prefix('v').unwrap_or(word);
    matches!(word, "base64" | "hash" | "plain" | "string" | "text" | "value")
        || (!version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the field names a stream: a UUID stays, anything else may be a credential.
pub(super) fn is_stream_id(name: &str) -> bool {
    let joined = joined(name);
    joined.ends_with("streamid") || joined.ends_with("streamids")
}

/// Whether the field holds an identifier.
pub(super) fn is_identifier(name: &str) -> bool {
    IDENTIFIERS.contains(&joined(name).as_str())
}

/// Whether the field says what its neighbour `value` is.
pub(super) fn is_label(name: &str) -> bool {
    LABELS.contains(&joined(name).as_str())
}

/// Whether the field holds the value that its neighbour names.
pub(super) fn is_value(name: &str) -> bool {
    VALUES.contains(&joined(name).as_str())
}

/// `8-4-4-4-12` hexadecimal characters.
pub(super) fn is_uuid(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12] && groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A short text of the characters that identifiers have, and not the beginning of a known secret.
pub(super) fn looks_like_identifier(text: &str) -> bool {
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.:-".contains(&b));
    (1..=128).contains(&text.len()) && plain && !super::text::has_secret_prefix(text)
}
