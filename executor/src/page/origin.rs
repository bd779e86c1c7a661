//! Whether a POST comes from our own page (`seed 000, The approval page`; a foreign site can make a browser post here).

/// True only if everything the browser says fits, and it says something: `Origin`, when present, is the very address that
/// `Host` names; `Sec-Fetch-Site`, when present, is `same-origin`; at least one of the two is present.
pub(super) fn is_ours(port: u16, host: &str, origin: Option<&str>, site: Option<&str>) -> bool {
    let known = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    if !known.iter().any(|name| name == host) {
        return false;
    }
    let origin_fits = origin.map(|origin| origin.strip_prefix("http://") == Some(host));
    let site_fits = site.map(|site| site == "same-origin");
    match (origin_fits, site_fits) {
        (None, None) => false,
        (origin, site) => origin.unwrap_or(true) && site.unwrap_or(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:8767";
    const OURS: Option<&str> = Some("http://127.0.0.1:8767");
    const SAME: Option<&str> = Some("same-origin");

    #[test]
    fn our_own_page_may_post() {
        assert!(is_ours(8767, HOST, OURS, SAME));
        assert!(is_ours(8767, HOST, OURS, None));
        assert!(is_ours(8767, HOST, None, SAME));
        assert!(is_ours(8767, "localhost:8767", Some("http://localhost:8767"), SAME));
    }

    #[test]
    fn every_other_sender_is_refused() {
        for (origin, site) in [
            (None, None),
            (Some("null"), None),
            (Some("null"), SAME),
            (Some(""), SAME),
            (Some("http://127.0.0.1:8768"), SAME),
            (Some("http://localhost:8767"), SAME),
            (Some("https://127.0.0.1:8767"), SAME),
            (Some("http://127.0.0.1:8767/"), SAME),
            (Some("http://127.0.0.1:8767 http://evil.example"), SAME),
            (Some("HTTP://127.0.0.1:8767"), SAME),
            (Some("http://evil.example"), None),
            (OURS, Some("cross-site")),
            (OURS, Some("same-site")),
            (OURS, Some("none")),
            (OURS, Some("")),
            (None, Some("same-site")),
            (None, Some("none")),
            (None, Some("Same-Origin")),
        ] {
            assert!(!is_ours(8767, HOST, origin, site), "{origin:?} {site:?}");
        }
    }

    #[test]
    fn a_foreign_host_never_fits_even_when_its_origin_agrees() {
        assert!(!is_ours(8767, "evil.example:8767", Some("http://evil.example:8767"), SAME));
        assert!(!is_ours(8767, "127.0.0.1:8768", Some("http://127.0.0.1:8768"), SAME));
        assert!(!is_ours(8767, "", None, SAME));
    }
}
