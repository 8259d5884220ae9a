//! What all pages have in common.

use askama::Template;
use axum::extract::State;
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::PagesState;
use crate::language::Language;
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
    /// Where the page leads to: its text and its address.
    link: Option<(&'a str, &'a str)>,
    /// After how many seconds it goes there by itself.
    goes_after: Option<u64>,
}

/// What the user can do next on a page that only says something.
#[derive(Clone, Copy)]
pub(crate) enum Next<'a> {
    Nothing,
    /// Go back to this address.
    Back(&'a str),
    /// Begin another login at this address.
    StartAgain(&'a str),
    /// Load this address again; the page does it by itself after so many seconds.
    Retry(&'a str, u64),
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
pub(crate) fn not_shown() -> Response {
    (HEADERS, StatusCode::SERVICE_UNAVAILABLE).into_response()
}

/// `GET /pages/none`: says that there is no such page.
pub(crate) async fn none(State(pages): State<PagesState>, Language(texts): Language) -> Response {
    message(StatusCode::NOT_FOUND, texts, &pages.base, &texts.no_page, Next::Nothing)
}

/// Leads the browser to another page of ours, by GET.
pub(crate) fn see_other(address: &str) -> Response {
    (HEADERS, Redirect::to(address)).into_response()
}

/// A page that only says something.
pub(crate) fn message(status: StatusCode, texts: &Texts, base: &str, message: &Message, next: Next<'_>) -> Response {
    let Message { heading, message } = *message;
    let (link, goes_after) = match next {
        Next::Nothing => (None, None),
        Next::Back(address) => (Some((texts.back, address)), None),
        Next::StartAgain(address) => (Some((texts.login.start_again, address)), None),
        Next::Retry(address, seconds) => (Some((texts.login.try_again, address)), Some(seconds)),
    };
    let mut response = render(status, &MessagePage { texts, base, heading, message, link, goes_after });
    if let Some(seconds) = goes_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}
