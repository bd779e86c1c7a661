//! A browser on the approval page, as far as HTTP goes.

use super::http::{Answer, Asking};
use super::must::some;
use std::collections::BTreeMap;

/// One browser with its cookie.
#[derive(Debug, Clone)]
pub struct PageClient {
    address: String,
    cookie: Option<String>,
}

impl PageClient {
    /// A browser that is not signed in, for the page at `http://127.0.0.1:PORT/`.
    #[must_use]
    #[track_caller]
    pub fn new(page: &str) -> Self {
        let address = page.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        Self { address: some(address, "the page's address").to_owned(), cookie: None }
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The session's cookie as a browser sends it.
    #[must_use]
    pub fn cookie(&self) -> Option<&str> {
        self.cookie.as_deref()
    }

    /// Signs in; the cookie is kept when there is one.
    #[track_caller]
    pub fn log_in(&mut self, secret: &str, pin: &str) -> Answer {
        let answer = self.post("/login", [("secret", secret), ("pin", pin)]);
        self.keep_cookie(&answer);
        answer
    }

    /// Keeps the cookie that an answer sets, if it sets one.
    pub fn keep_cookie(&mut self, answer: &Answer) {
        if let Some(set) = answer.header("set-cookie") {
            self.cookie = set.split(';').next().map(str::to_owned);
        }
    }

    /// A request as this browser would send it; change what you want before it goes.
    #[must_use]
    pub fn asking(&self, method: &str, path: &str) -> Asking {
        let mut asking = Asking::new(&self.address, method, path);
        if let Some(cookie) = &self.cookie {
            asking = asking.set("cookie", cookie);
        }
        if method == "POST" {
            asking = asking
                .set("origin", &format!("http://{}", self.address))
                .set("sec-fetch-site", "same-origin")
                .set("content-type", "application/x-www-form-urlencoded")
                .set("content-length", "0");
        }
        asking
    }

    /// Gets a page.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.asking("GET", path).send()
    }

    /// Posts a form.
    #[track_caller]
    pub fn post<'f>(&self, path: &str, fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> Answer {
        self.asking("POST", path).form(fields).send()
    }

    /// Posts the fields of a form that a page held.
    #[track_caller]
    pub fn submit(&self, path: &str, fields: &BTreeMap<String, String>) -> Answer {
        self.post(path, fields.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }
}
