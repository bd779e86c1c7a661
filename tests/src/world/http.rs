//! HTTP/1.1 by hand, so that a test can send what no library would.

use super::must::{must, some};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(90);

/// One whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

impl Answer {
    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The hidden fields of the form that posts to `action`; nothing when the page has no such form.
    #[must_use]
    pub fn form(&self, action: &str) -> Option<BTreeMap<String, String>> {
        let (_, rest) = self.body.split_once(&format!("action=\"{action}\""))?;
        let (form, _) = rest.split_once("</form>")?;
        let inputs = form.split("<input").skip(1).filter_map(|input| {
            let (input, _) = input.split_once('>')?;
            Some((attribute(input, "name")?, attribute(input, "value").unwrap_or_default()))
        });
        Some(inputs.collect())
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

/// One request before it is sent.
#[derive(Debug, Clone)]
pub struct Asking {
    address: String,
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Asking {
    /// `METHOD path` to `127.0.0.1:PORT`, with Host and Connection.
    #[must_use]
    pub fn new(address: &str, method: &str, path: &str) -> Self {
        let asking = Self {
            address: address.to_owned(),
            line: format!("{method} {path} HTTP/1.1"),
            headers: Vec::new(),
            body: String::new(),
        };
        asking.set("host", address).set("connection", "close")
    }

    /// Sets a header, in place of one of that name.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves a header out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// Carries this body with its length.
    #[must_use]
    pub fn body(self, text: &str) -> Self {
        let mut asking = self.set("content-length", &text.len().to_string());
        text.clone_into(&mut asking.body);
        asking
    }

    /// Carries these fields as a form does.
    #[must_use]
    pub fn form<'f>(self, fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> Self {
        let pairs: Vec<_> = fields.into_iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        self.set("content-type", "application/x-www-form-urlencoded").body(&pairs.join("&"))
    }

    /// Its bytes, for whoever sends them in another way.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let lines = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        format!("{}\r\n{}\r\n{}", self.line, lines.collect::<String>(), self.body).into_bytes()
    }

    /// Sends it on a connection of its own and reads the answer to its end.
    #[must_use]
    #[track_caller]
    pub fn send(self) -> Answer {
        let mut stream = must(TcpStream::connect(&self.address), &self.address);
        must(stream.set_read_timeout(Some(PATIENCE)), "a deadline");
        must(stream.write_all(&self.bytes()), "a request");
        let mut bytes = Vec::new();
        must(stream.read_to_end(&mut bytes), "an answer");
        some(read(&bytes), "a whole answer")
    }
}

fn read(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Some(Answer { status, headers, body: body.to_owned() })
}

fn escaped(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => text.push(char::from(byte)),
            b' ' => text.push('+'),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
