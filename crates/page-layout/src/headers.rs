use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderName, HeaderValue};

/// What every response says that a browser shows or follows.
pub const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'")),
    // Addresses contain secrets: no other site may learn them.
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

/// A page loads a script from this service alone, if it has one, has the style with this hash, sends forms to this service alone, and cannot be
/// framed: a site that shows it in a frame could make users agree without knowing. `data:` is for its pictures. No script makes HTML
/// or scripts of text (Trusted Types) but what loads the page itself anew.
pub(crate) fn policy(style_hash: &str, has_script: bool) -> String {
    let script = if has_script {
        "script-src 'self'; connect-src 'self'; trusted-types usher-page; require-trusted-types-for 'script'; "
    } else {
        ""
    };
    format!(
        "default-src 'none'; {script}style-src 'sha256-{style_hash}'; img-src data:; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    )
}

/// A page with the script of this hash, which sends its form to another site. Browsers apply `form-action` also to where that site
/// leads on, which nobody here knows.
pub(crate) fn policy_of_leaving_form(style_hash: &str, script_hash: &str) -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; img-src data:; \
         base-uri 'none'; form-action https: http:; frame-ancestors 'none'"
    )
}
