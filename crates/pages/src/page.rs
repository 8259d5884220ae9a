//! What all pages have in common.

use askama::Template;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::texts::{Message, Texts};

/// The page loads from this service alone, sends forms to this service alone, and cannot be framed. `data:` is for the empty
/// icon, without which browsers ask for `/favicon.ico`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// What every response says that depends on a session.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    // The address contains a secret: no other site may learn it.
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

/// A page that only says something.
#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    texts: &'a Texts,
    base: &'a str,
    heading: &'a str,
    message: &'a str,
    /// Where the page leads back to.
    back: Option<&'a str>,
}

/// Renders a page.
pub(crate) fn render(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => (status, HEADERS, Html(html)).into_response(),
        Err(error) => {
            // Writing to a string does not fail, and no template of ours does.
            tracing::error!(%error, "a page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The response to who only looks at an address: nothing begins, and a browser that loads the page in advance loads it anew when
/// its user opens it.
pub(crate) fn no_visit() -> Response {
    (HEADERS, StatusCode::SERVICE_UNAVAILABLE).into_response()
}

/// Leads the browser to another page of ours, by GET.
pub(crate) fn see_other(address: &str) -> Response {
    (HEADERS, Redirect::to(address)).into_response()
}

/// A page that only says something.
pub(crate) fn message(
    status: StatusCode,
    texts: &Texts,
    base: &str,
    message: &Message,
    back: Option<&str>,
) -> Response {
    let Message { heading, message } = *message;
    render(status, &MessagePage { texts, base, heading, message, back })
}
