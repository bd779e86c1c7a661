//! The HTTP client of both daemons, for everything but the one write: what it must never do stands here alone.

use reqwest::{Client, ClientBuilder};

/// A client that follows no redirect, repeats nothing, uses no proxy and tells nobody where it came from. Whoever builds it
/// adds its times and whether it is for https alone.
pub fn strict() -> ClientBuilder {
    // Another part of the process may have chosen it already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("fleetwatch/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .no_proxy()
        .http1_only()
}
