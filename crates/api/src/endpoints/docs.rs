//! `GET /docs`

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderValue;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};

use crate::page;

/// Made once, as the document is.
static PAGE: LazyLock<Bytes> = LazyLock::new(|| {
    let document = serde_json::to_value(crate::openapi()).unwrap_or_default();
    page::write(&document).into()
});

/// Its policy; what cannot be a header's value (never: it is ASCII) would forbid everything.
static POLICY: LazyLock<HeaderValue> =
    LazyLock::new(|| HeaderValue::try_from(page::policy()).unwrap_or(HeaderValue::from_static("default-src 'none'")));

/// Shows this interface to people: a page for the browser.
///
/// Without the token when asked for from the machine on which the service runs, not by way of a proxy: a browser that
/// is led to a page has no way to send one.
#[utoipa::path(
    get,
    path = "/docs",
    tag = "Documentation",
    responses((
        status = 200,
        description = "The page.",
        body = String,
        content_type = "text/html",
        example = "<!doctype html>…",
    )),
)]
pub(crate) async fn docs() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, POLICY.clone()),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (headers, PAGE.clone()).into_response()
}
