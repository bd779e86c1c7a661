//! What a person or a program is told while somebody signs in: text, or JSON objects one a line (issue line 3.18).

use crate::exit::Exit;
use crate::out::{Out, complain};
use crate::render::{pick, refusal, refusal_json, safe};
use crate::verbs::not_done;
use policy::call::Slot;
use protocol::refusal::Refusal;
use protocol::shown::{Language, Worded};
use protocol::signin::{LoginLink, SignedIn};
use serde_json::{Value, json};

/// Where the words go.
#[derive(Debug)]
pub(crate) struct Voice<'a> {
    /// Standard output.
    pub(crate) out: &'a mut Out,
    /// One JSON object a line.
    pub(crate) json: bool,
    /// Of the text.
    pub(crate) language: Language,
    /// Whether it is the sign-in that writes.
    pub(crate) sandbox: bool,
}

impl Voice<'_> {
    fn slot(&self) -> &'static str {
        if self.sandbox { Slot::Sandbox.as_str() } else { "normal" }
    }

    /// Where to sign in. Its host was checked.
    pub(crate) fn link(&mut self, link: &LoginLink) {
        if self.json {
            self.out.json(&json!({
                "state": "link", "slot": self.slot(), "url": link.url, "host": link.host, "seconds": link.seconds
            }));
            return;
        }
        let (minutes, url) = (link.seconds / 60, safe(&link.url));
        self.out.text(&match self.language {
            Language::English => {
                format!("Open this link in a browser and sign in within {minutes} minutes:\n\n  {url}\n\n")
            }
            Language::Spanish => {
                format!("Abra este enlace en un navegador e inicie sesión en {minutes} minutos:\n\n  {url}\n\n")
            }
        });
    }

    /// Something to know that ends nothing.
    pub(crate) fn warn(&mut self, words: &str) {
        if self.json {
            self.out.json(&json!({ "state": "warning", "detail": words }));
        } else {
            complain(words);
        }
    }

    /// A pasted address was not the one; the wait goes on.
    pub(crate) fn not_taken(&mut self, why: &Refusal) {
        if self.json {
            let mut value = refusal_json(why);
            value["state"] = Value::from("address_not_taken");
            self.out.json(&value);
        } else {
            self.out.line(&refusal(why, self.language));
        }
    }

    /// The end, with a sign-in.
    pub(crate) fn done(&mut self, done: &SignedIn) {
        if self.json {
            let notes: Vec<&str> = done.notes.iter().map(|note: &Worded| note.get(self.language)).collect();
            self.out.json(&json!({
                "state": "signed_in", "slot": self.slot(), "scope": done.scope, "expires_in": done.expires_in,
                "renewed": done.renewed, "devices": done.devices, "notes": notes
            }));
        } else {
            self.out.text(&words(done, self.language));
        }
    }

    /// The end of a sign-out.
    pub(crate) fn signed_out(&mut self, revoked: bool) {
        if self.json {
            self.out.json(&json!({ "state": "signed_out", "slot": self.slot(), "revoked": revoked }));
            return;
        }
        self.out.line(if revoked {
            pick(self.language, "Signed out, here and at the server.", "Sesión cerrada, aquí y en el servidor.")
        } else {
            pick(
                self.language,
                "Signed out here. The server did not confirm it: end that session there too.",
                "Sesión cerrada aquí. El servidor no lo confirmó: termine esa sesión también allí.",
            )
        });
    }

    /// The end without a sign-in, for a reason of this command's own.
    pub(crate) fn refused(&mut self, code: &str, words: &str) -> Exit {
        not_done((code, words), (&mut *self.out, self.json))
    }
}

fn words(done: &SignedIn, language: Language) -> String {
    let mut text = pick(language, "Signed in.", "Sesión iniciada.").to_owned();
    if let Some(devices) = done.devices {
        let reaches = pick(language, "Units reached", "Unidades a las que llega");
        text.push_str(&format!(" {reaches}: {devices}."));
    }
    if let Some(scope) = &done.scope {
        let granted = pick(language, "Granted", "Concedido");
        text.push_str(&format!(" {granted}: {}.", safe(scope)));
    }
    if !done.renewed {
        text.push_str(pick(
            language,
            " The server gave nothing to renew it with: sign in again when it runs out.",
            " El servidor no dio nada para renovarla: inicie sesión de nuevo cuando caduque.",
        ));
    }
    text.push('\n');
    for note in &done.notes {
        text.push_str(&safe(note.get(language)));
        text.push('\n');
    }
    text
}
