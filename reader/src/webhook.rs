//! An address that takes short messages: a webhook of Slack or Teams, a topic of ntfy.

use crate::client;
use host::secret::SecretText;
use reqwest::{Client, RequestBuilder, Url};
use std::fmt;
use std::time::Duration;

/// The address with its client. The address is a secret: whoever has it can post there.
pub struct Webhook {
    address: SecretText,
    client: Client,
}

/// Why there is none. It never holds the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWebhook {
    /// Neither https, nor http on 127.0.0.1.
    Address,
    /// This machine gives no HTTPS client.
    Client,
}

impl Webhook {
    /// Takes an https address, or http on 127.0.0.1; a message may take as long as `patience`.
    ///
    /// # Errors
    /// [`NoWebhook`]
    pub fn new(address: SecretText, patience: Duration) -> Result<Self, NoWebhook> {
        let url = Url::parse(address.expose()).map_err(|_| NoWebhook::Address)?;
        let local = url.scheme() == "http" && url.host_str() == Some("127.0.0.1");
        if url.scheme() != "https" && !local {
            return Err(NoWebhook::Address);
        }
        let client = client::strict().timeout(patience).build().map_err(|_| NoWebhook::Client)?;
        Ok(Self { address, client })
    }

    /// A message to it, still without words. An error of sending can hold the address: log its class alone.
    pub fn post(&self) -> RequestBuilder {
        self.client.post(self.address.expose())
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Webhook(..)")
    }
}

impl fmt::Display for NoWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "must hold one https address; write it again",
            Self::Client => "no HTTPS client can be made here; install the system's certificates",
        })
    }
}

impl std::error::Error for NoWebhook {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_are_addresses_and_none_is_shown() {
        let new = |address: &str| Webhook::new(SecretText::from(address.to_owned()), Duration::from_secs(1));
        for good in ["https://hooks.example/never-show", "http://127.0.0.1:9/never-show"] {
            assert!(!format!("{:?}", new(good).unwrap()).contains("never-show"));
        }
        for bad in ["", "never-show", "http://hooks.example/never-show", "http://localhost/x", "ftp://127.0.0.1/x"] {
            let error = new(bad).unwrap_err();
            assert_eq!(error, NoWebhook::Address, "{bad}");
            assert!(!format!("{error} {error:?}").contains("never-show"));
        }
    }
}
