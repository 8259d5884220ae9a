//! Distinguishes navigations by a user from prefetches.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, StatusCode};
use usher_page_layout::{HEADERS, is_prefetch};

/// Responds to `HEAD` and to prefetches without starting, using up or ending anything. The browser repeats the request
/// when its user navigates there.
pub(crate) async fn visits_only(request: Request, next: Next) -> Response {
    if request.method() == Method::HEAD || is_prefetch(request.headers()) {
        return (StatusCode::SERVICE_UNAVAILABLE, HEADERS).into_response();
    }
    next.run(request).await
}

/// Whether a user would see a page sent in response: not if the request is for a script, an image or a frame (Fetch
/// Metadata Request Headers, section 2.1). Browsers before 2023 do not send the headers.
pub(crate) fn is_seen(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-dest").is_none_or(|destination| destination == "document")
}
