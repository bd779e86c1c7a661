//! Secrets in free text: addresses, `name=value` in its many spellings, bearer words, and keys known by how they begin.

use super::json::{self, Beginning};
use super::{MASK, address, names};

/// Beginnings of keys that are secret wherever they stand.
const PREFIXES: &[&str] = &["sk-ant-", "xoxb-", "xoxp-", "xoxa-", "xapp-", "ghp_", "github_pat_"];

/// Words after which the rest of the line is the secret.
const WHOLE_LINE: &[&str] = &["authorization", "cookie"];

/// Words before the secret itself.
const SCHEMES: &[&str] = &["basic", "bearer", "token"];

/// How many brackets that begin no JSON a text may have; each costs a look ahead, so a text with more is withheld.
const ODD_BRACKETS: u32 = 1_000;

pub(super) fn has_secret_prefix(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    PREFIXES.iter().any(|prefix| lower.contains(prefix))
}

/// `depth` counts the strings that this text lies in, for JSON inside it.
pub(super) fn redact(text: &str, depth: usize) -> String {
    let mut scan = Scan { out: String::with_capacity(text.len()), before: String::new(), depth, odd_brackets: 0 };
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let used = scan.step(rest, c).max(c.len_utf8());
        if scan.odd_brackets > ODD_BRACKETS {
            return MASK.to_owned();
        }
        rest = rest.get(used..).unwrap_or_default();
    }
    scan.out
}

/// What was written so far, and the word before the one that is looked at, when only blanks lie between.
struct Scan {
    out: String,
    before: String,
    depth: usize,
    odd_brackets: u32,
}

impl Scan {
    /// Handles what begins here and gives how many bytes it took.
    fn step(&mut self, rest: &str, c: char) -> usize {
        if rest.starts_with(MASK) {
            self.before.clear();
            return self.keep(rest, MASK.len());
        }
        if matches!(c, '{' | '[') {
            match json::redact_beginning(rest, self.depth) {
                Beginning::Clean => {}
                Beginning::Hidden(used, shown) => return self.put(used, &shown),
                Beginning::Other => self.odd_brackets += 1,
            }
        }
        if c == '/'
            && let Some((used, shown)) = address::read_schemeless(rest, self.out.ends_with(':'))
        {
            return self.put(used, &shown);
        }
        if !is_word(c) {
            if !matches!(c, ' ' | '\t') {
                self.before.clear();
            }
            return self.keep(rest, c.len_utf8());
        }
        if let Some((used, shown)) = address::read(rest) {
            return self.put(used, &shown);
        }
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        if is_key(word) {
            return self.put(length, MASK);
        }
        let used = self.word(word, after);
        self.before = word.to_owned();
        length + used
    }

    fn keep(&mut self, rest: &str, used: usize) -> usize {
        self.out.push_str(rest.get(..used).unwrap_or_default());
        used
    }

    fn put(&mut self, used: usize, shown: &str) -> usize {
        self.before.clear();
        self.out.push_str(shown);
        used
    }

    /// Writes a word and, when a secret follows it, the mask; gives what it took after the word.
    fn word(&mut self, word: &str, after: &str) -> usize {
        let in_tag = self.out.ends_with('<');
        self.out.push_str(word);
        let name = self.secret_name(word);
        let lower = word.to_ascii_lowercase();
        let found = name
            .and_then(|name| value_after(&name, after, in_tag))
            .or_else(|| SCHEMES.contains(&lower.as_str()).then(|| credential_after(&lower, after)).flatten())
            .or_else(|| stream_id_after(word, after));
        let Some(found) = found else { return 0 };
        self.out.push_str(after.get(..found.begins).unwrap_or_default());
        self.out.push_str(MASK);
        found.ends
    }

    /// The word as a secret's name, alone or with the word before it (`stream name`).
    fn secret_name(&self, word: &str) -> Option<String> {
        if names::is_secret(word) {
            return Some(word.to_owned());
        }
        let both = format!("{} {word}", self.before);
        (!self.before.is_empty() && names::is_secret(&both)).then_some(both)
    }
}

/// Where a secret lies in the text after its name, in bytes.
struct Found {
    begins: usize,
    ends: usize,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// A key by its beginning, or three joined parts of base64 that begin like a signed token.
fn is_key(word: &str) -> bool {
    let token = word.starts_with("eyJ") && word.len() > 20 && word.contains('.');
    token || has_secret_prefix(word)
}

fn blanks(text: &str) -> usize {
    text.find(|c| !matches!(c, ' ' | '\t')).unwrap_or(text.len())
}

/// The end of the name's own quotes and of the sign between name and value, or nothing when there is no such sign.
fn separator(name: &str, after: &str, in_tag: bool) -> Option<usize> {
    if in_tag {
        return after.starts_with('>').then_some(1);
    }
    let quotes = after.find(|c| !matches!(c, '"' | '\'' | '`' | '\\' | '*' | ']')).unwrap_or(after.len());
    let sign = quotes + blanks(after.get(quotes..)?);
    let rest = after.get(sign..)?;
    let length = rest.find(|c| !matches!(c, '=' | ':' | '>')).unwrap_or(rest.len());
    let is_sign = rest.starts_with(['=', ':']) && length <= 3;
    if is_sign {
        return Some(sign + length);
    }
    // A command's flag and its value have a blank between them.
    (name.starts_with("--") && quotes == 0 && sign > 0 && !rest.starts_with('-')).then_some(sign)
}

/// The secret after a name that means one.
fn value_after(name: &str, after: &str, in_tag: bool) -> Option<Found> {
    let sign = separator(name, after, in_tag)?;
    let mut begins = sign + blanks(after.get(sign..)?);
    if after.get(begins..)?.starts_with(['\n', '\r']) {
        begins = next_line(after, begins)?;
    }
    let value = after.get(begins..)?;
    let length = if in_tag {
        value.find('<').unwrap_or(value.len())
    } else if is_whole_line(name) {
        value.find(['\n', '\r']).unwrap_or(value.len())
    } else {
        return quoted(value, begins).or_else(|| bare(value, begins));
    };
    (length > 0).then_some(Found { begins, ends: begins + length })
}

fn is_whole_line(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    WHOLE_LINE.iter().any(|word| lower.ends_with(word))
}

/// A value on the line below its name, unless that line is a name of its own.
fn next_line(after: &str, at: usize) -> Option<usize> {
    let rest = after.get(at..)?;
    let skipped = rest.find(|c| !matches!(c, ' ' | '\t' | '\n' | '\r'))?;
    let line = rest.get(skipped..)?.lines().next()?;
    let breaks = rest.get(..skipped)?.matches('\n').count();
    let token = line.split_whitespace().next()?;
    (breaks == 1 && !token.ends_with(':') && !token.starts_with(['-', '#', '|'])).then_some(at + skipped)
}

/// A value in quotes, plain or escaped; without an end it goes to the end of the text.
fn quoted(value: &str, begins: usize) -> Option<Found> {
    let mark_end = value.find(|c| c != '\\')?;
    let (slashes, rest) = value.split_at(mark_end);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let open = format!("{slashes}{quote}");
    let inner = value.get(open.len()..)?;
    let close = closing(inner, &open);
    if close == Some(0) {
        return None;
    }
    let length = close.unwrap_or(inner.len());
    Some(Found { begins: begins + open.len(), ends: begins + open.len() + length })
}

/// Where the closing quote begins: the same mark, with no more backslashes before it than the opening one had.
fn closing(inner: &str, open: &str) -> Option<usize> {
    let slashes = open.len() - 1;
    let quote = open.chars().next_back()?;
    let mut run = 0;
    for (at, c) in inner.char_indices() {
        if c == quote && run <= slashes {
            return Some(at - run);
        }
        run = if c == '\\' { run + 1 } else { 0 };
    }
    None
}

/// A value without quotes: to the next blank, or to its closing bracket.
fn bare(value: &str, begins: usize) -> Option<Found> {
    let first = value.chars().next()?;
    let is_empty = ["\"\"", "''"]
        .iter()
        .any(|pair| value.strip_prefix(pair).is_some_and(|tail| !tail.starts_with(char::is_alphanumeric)));
    if is_empty {
        return None;
    }
    if matches!(first, '{' | '[') && !value.starts_with(MASK) {
        return Some(Found { begins, ends: begins + bracketed(value) });
    }
    let mut length = word_end(value);
    let word = value.get(..length)?.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    if SCHEMES.contains(&word.as_str()) {
        let gap = length + blanks(value.get(length..)?);
        length = gap + word_end(value.get(gap..)?);
    }
    (length > 0).then_some(Found { begins, ends: begins + length })
}

fn bracketed(value: &str) -> usize {
    let mut depth = 0_u32;
    for (at, c) in value.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + c.len_utf8();
        }
    }
    value.len()
}

/// To the next blank, or to an `&` that begins another `name=`.
fn word_end(value: &str) -> usize {
    let ends = |at: usize, c: char| match c {
        '<' => true,
        '&' => begins_name(value.get(at + 1..).unwrap_or_default()),
        _ => c.is_whitespace(),
    };
    value.char_indices().find(|(at, c)| ends(*at, *c)).map_or(value.len(), |(at, _)| at)
}

fn begins_name(text: &str) -> bool {
    let name = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte)).count();
    name > 0 && text.get(name..).is_some_and(|sign| sign.starts_with('='))
}

/// A credential after `Bearer` or the like, when it looks like one and not like the next word of a sentence.
fn credential_after(scheme: &str, after: &str) -> Option<Found> {
    let gap = blanks(after);
    if gap == 0 {
        return None;
    }
    let value = after.get(gap..)?;
    // A mask that somebody typed must not shield what is glued to it, or what follows it.
    let typed = if value.starts_with(MASK) { MASK.len() } else { 0 };
    let glued = word_end(value.get(typed..)?);
    if typed > 0 && glued > 0 {
        return Some(Found { begins: gap, ends: gap + typed + glued });
    }
    let next = typed + blanks(value.get(typed..)?);
    let length = word_end(value.get(next..)?);
    let word = value.get(next..next + length)?;
    looks_secret(scheme, word, typed > 0).then_some(Found { begins: gap + next, ends: gap + next + length })
}

fn looks_secret(scheme: &str, word: &str, after_mask: bool) -> bool {
    if word.starts_with(MASK) {
        return false;
    }
    let digits = word.bytes().any(|b| b.is_ascii_digit());
    let length = word.chars().count();
    let mixed = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    if after_mask {
        return length >= 16 && digits;
    }
    match scheme {
        "bearer" => length >= 8 || digits,
        _ => length >= 8 && (digits || mixed || word.ends_with('=')),
    }
}

/// A stream id that is no UUID may be a credential.
fn stream_id_after(word: &str, after: &str) -> Option<Found> {
    if !names::is_stream_id(word) {
        return None;
    }
    let found = value_after(word, after, false)?;
    let value = after.get(found.begins..found.ends)?;
    let plain = value.trim_matches(|c: char| matches!(c, ',' | '.' | ';' | ')' | '}' | ']'));
    (!names::is_uuid(plain) && !plain.starts_with('[')).then_some(found)
}
