//! The headers that every answer carries, the page's and the gate's own (`seed 000, The approval page`).

/// Name and value, in the order they are sent.
///
/// `Referrer-Policy` is `same-origin`, not `no-referrer`: with the latter a browser posts a form with `Origin: null`,
/// which [`super::origin`] refuses. Nothing leaves this origin either way, since the policy forbids every other one.
pub(super) const STRICT: [(&str, &str); 8] = [
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    (
        "Permissions-Policy",
        "camera=(), clipboard-read=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
];
