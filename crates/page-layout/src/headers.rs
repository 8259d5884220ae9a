use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderName, HeaderValue};

/// Headers of every response to a browser.
pub const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'")),
    // Addresses contain secrets, which no other site may learn.
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

/// A page loads only the script of this service, if it has one, uses the style with this hash, posts forms only to this
/// service, and cannot be framed (clickjacking). `data:` is for its pictures. Trusted Types: only the script that
/// reloads the page may set HTML.
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

/// A page with the script of this hash, which posts a form to another site. Browsers apply `form-action` also to that
/// site's redirects, which are unknown.
pub(crate) fn policy_of_leaving_form(style_hash: &str, script_hash: &str) -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; img-src data:; \
         base-uri 'none'; form-action https: http:; frame-ancestors 'none'"
    )
}
