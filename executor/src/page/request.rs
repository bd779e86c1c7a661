//! What the page is asked and what it answers, free of any server's types.

use protocol::shown::Language;
use std::fmt;
use zeroize::Zeroizing;

/// The three methods that the gate lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// `GET`.
    Get,
    /// `HEAD`: like `GET`, without a body and without marking anything as seen.
    Head,
    /// `POST`.
    Post,
}

/// One request, as the gate understood it.
pub(super) struct PageRequest {
    /// The method.
    pub(super) method: Method,
    /// The path.
    pub(super) path: String,
    /// What stands behind the first `?`; only the history looks at it.
    pub(super) query: Option<String>,
    /// The `Host`.
    pub(super) host: String,
    /// The `Cookie`.
    pub(super) cookie: Option<Zeroizing<String>>,
    /// The `Origin`.
    pub(super) origin: Option<String>,
    /// The `Sec-Fetch-Site`.
    pub(super) sec_fetch_site: Option<String>,
    /// The language of the first `Accept-Language` tag.
    pub(super) language: Language,
    /// The uid at the other end of the connection; nothing where the system does not tell.
    pub(super) peer_uid: Option<u32>,
    /// The body, at most 4 KiB.
    pub(super) body: Zeroizing<Vec<u8>>,
}

// Cookie and body are secrets.
impl fmt::Debug for PageRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageRequest({:?} {})", self.method, self.path)
    }
}

/// Spanish when the first tag is Spanish, else English.
pub(super) fn language_of(accept_language: Option<&str>) -> Language {
    let first = accept_language.unwrap_or_default().split([',', ';']).next();
    let tag = first.unwrap_or_default().trim().to_ascii_lowercase();
    if tag == "es" || tag.starts_with("es-") { Language::Spanish } else { Language::English }
}

/// What an answer's body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The style sheet.
    Css,
    /// A page.
    Html,
    /// One plain sentence.
    Text,
}

impl Kind {
    /// The `Content-Type`.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Css => "text/css; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
            Self::Text => "text/plain; charset=utf-8",
        }
    }
}

/// One answer. The strict headers are added where it is written.
pub(super) struct PageAnswer {
    /// The status.
    pub(super) status: u16,
    /// What the body is.
    pub(super) kind: Kind,
    /// The body.
    pub(super) body: String,
    /// Headers beyond the strict ones.
    pub(super) extra: Vec<(&'static str, String)>,
}

impl PageAnswer {
    /// A page.
    pub(super) fn html(status: u16, body: String) -> Self {
        Self { status, kind: Kind::Html, body, extra: Vec::new() }
    }

    /// One sentence.
    pub(super) fn text(status: u16, words: &str) -> Self {
        Self { status, kind: Kind::Text, body: format!("{words}\n"), extra: Vec::new() }
    }

    /// Go and look there.
    pub(super) fn see(path: String) -> Self {
        Self { extra: vec![("Location", path)], ..Self::text(303, "See the other page.") }
    }

    /// With one more header.
    pub(super) fn with(mut self, name: &'static str, value: String) -> Self {
        self.extra.push((name, value));
        self
    }
}

// A body holds tokens and a header may hold the cookie.
impl fmt::Debug for PageAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageAnswer({} {:?})", self.status, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tag_alone_decides_the_language() {
        for tag in ["es", "es-MX,es;q=0.9,en;q=0.8", "ES-es", " es ;q=1"] {
            assert_eq!(language_of(Some(tag)), Language::Spanish, "{tag}");
        }
        for tag in ["", "en-US,es;q=0.9", "est", "fr", "*"] {
            assert_eq!(language_of(Some(tag)), Language::English, "{tag}");
        }
        assert_eq!(language_of(None), Language::English);
    }
}
