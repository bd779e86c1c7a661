//! Secrets in addresses. A stream's address keeps its host; a web address loses user, query, fragment, and a path that
//! looks like an ingest point or a hook.

use super::MASK;

/// Path words after which a web address may carry a key.
const INGEST: &[&str] = &[
    "hook",
    "hooks",
    "http_upload_hls",
    "ingest",
    "live",
    "live2",
    "publish",
    "push",
    "rtmp",
    "services",
    "webhook",
    "webhookb2",
    "whip",
];

/// Marks of a stream's scheme.
const STREAM: &[&str] = &["rtmp", "rtsp", "srt", "rist"];

/// What may stand between scheme and host: plain, with escaped slashes, percent-encoded.
const SIGNS: &[&str] = &["://", ":\\/\\/", "%3a%2f%2f"];

/// Longest scheme, in bytes: what is longer is no address, and looking for it again and again would take long.
const SCHEME: usize = 40;

/// An address that begins where `text` begins: how many bytes of `text` it covers, and what is shown instead.
pub(super) fn read(text: &str) -> Option<(usize, String)> {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let scheme_end = text.bytes().take(SCHEME + 1).take_while(is_scheme).count();
    let (scheme, rest) = text.split_at_checked(scheme_end)?;
    if scheme.is_empty() || scheme_end > SCHEME {
        return None;
    }
    let sign = SIGNS.iter().find(|sign| rest.get(..sign.len()).is_some_and(|head| head.eq_ignore_ascii_case(sign)))?;
    let end = scheme_end + rest.find(ends_address).unwrap_or(rest.len());
    let after = text.get(scheme_end + sign.len()..end)?;
    let lower = scheme.to_ascii_lowercase();
    let stream = STREAM.iter().any(|mark| lower.contains(mark));
    if *sign == "://" {
        let shown = if stream { stream_address(after) } else { web_address(after, false) };
        return Some((end, format!("{scheme}://{shown}")));
    }
    // An encoder's escapes that nobody undid: the parts can't be told apart safely.
    let hide = stream || after.contains(['@', '?', '%']);
    hide.then(|| (end, format!("{scheme}://{MASK}")))
}

/// An address without a scheme, such as `//host/live/key`; after a colon its scheme was one that nobody knows.
pub(super) fn read_schemeless(text: &str, after_colon: bool) -> Option<(usize, String)> {
    let begins = text.strip_prefix("//")?.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !(begins || after_colon) {
        return None;
    }
    let end = text.find(ends_address).unwrap_or(text.len());
    let after = text.get(2..end)?;
    let shown = if after_colon { stream_address(after) } else { web_address(after, true) };
    Some((end, format!("//{shown}")))
}

fn ends_address(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '<' | '>' | '`')
}

/// Host with its port at the beginning of `after`, and what follows them.
fn split_host(after: &str) -> Option<(&str, &str)> {
    let host_end = match after.strip_prefix('[') {
        Some(inner) => {
            let close = inner.find(|c: char| !(c.is_ascii_hexdigit() || ":.%".contains(c)))?;
            if !inner.get(close..)?.starts_with(']') {
                return None;
            }
            close + 2
        }
        None => after.find(|c: char| !(c.is_alphanumeric() || ".-_".contains(c))).unwrap_or(after.len()),
    };
    let (host, rest) = after.split_at_checked(host_end)?;
    let Some(port) = rest.strip_prefix(':') else { return Some((host, rest)) };
    let port_end = port.find(|c: char| !c.is_ascii_digit()).unwrap_or(port.len());
    // A colon without digits may be a user's password.
    (1..=5).contains(&port_end).then(|| after.split_at_checked(host_end + 1 + port_end)).flatten()
}

/// Nothing but the punctuation of the sentence around it.
fn is_sentence_end(rest: &str) -> bool {
    rest.chars().all(|c| matches!(c, '.' | ',' | ';' | ':' | ')' | '\'' | '!' | ']' | '}'))
}

fn stream_address(after: &str) -> String {
    let (user, place) = after.rsplit_once('@').map_or((false, after), |(_, place)| (true, place));
    // With a user, slashes may belong to the password: then nothing after the scheme is certain but a bare host.
    let Some((host, rest)) = split_host(place) else { return MASK.to_owned() };
    if user {
        let certain = !after.split('@').next().unwrap_or_default().contains('/');
        return if certain && !host.is_empty() { format!("{host}/{MASK}") } else { MASK.to_owned() };
    }
    match (host.is_empty(), rest) {
        (true, "") => String::new(),
        (true, _) => MASK.to_owned(),
        (false, "" | "/") => format!("{host}{rest}"),
        (false, rest) if is_sentence_end(rest) => format!("{host}{rest}"),
        (false, _) => format!("{host}/{MASK}"),
    }
}

fn web_address(after: &str, bare: bool) -> String {
    let authority_end = after.find(['/', '?', '#', '\\']).unwrap_or(after.len());
    let (authority, rest) = after.split_at(authority_end);
    let (user, place) = match authority.rsplit_once('@') {
        Some((_, place)) => (format!("{MASK}@"), place),
        None => (String::new(), authority),
    };
    // A password may hold a slash, and then the host comes later.
    if user.is_empty() && place.contains(':') && rest.contains('@') {
        return MASK.to_owned();
    }
    let (host, odd) = match split_host(place) {
        Some(split) => split,
        // Already masked, or a password in front of a slash.
        None if place.is_empty() => ("", ""),
        None => return MASK.to_owned(),
    };
    let is_place = odd.is_empty() || (rest.is_empty() && is_sentence_end(odd));
    if !is_place {
        return MASK.to_owned();
    }
    format!("{user}{host}{odd}{}", web_rest(host, rest, bare))
}

/// Path, query and fragment: the path stays unless it looks like an ingest point, the others go.
fn web_rest(host: &str, rest: &str, bare: bool) -> String {
    let path_end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, query) = rest.split_at(path_end);
    let hooks = host.to_ascii_lowercase().contains("hook");
    let mut shown = String::new();
    let mut pieces = path.split('/');
    shown.push_str(pieces.next().unwrap_or_default());
    let mut hidden = hooks && path.len() > 1;
    for piece in pieces {
        if hidden {
            break;
        }
        shown.push('/');
        shown.push_str(piece);
        hidden = INGEST.contains(&piece.to_ascii_lowercase().as_str());
    }
    let cut = shown.len() < path.len() || (hooks && path.len() > 1);
    if cut {
        shown.push_str(&format!("/{MASK}"));
        return shown;
    }
    // A bare `//` may be a comment; only its query is certain to be one.
    match query.chars().next() {
        Some(mark) if query.len() > 1 && !(bare && mark == '#') => format!("{shown}{mark}{MASK}"),
        _ => format!("{shown}{query}"),
    }
}
