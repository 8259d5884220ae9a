//! Requests by which a user goes somewhere, and those of who only looks at an address.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, StatusCode};

use usher_page_layout::HEADERS;

/// Responds to `HEAD` and to browsers that load an address before their user goes there: nothing begins, is used up or ends. Such
/// a browser asks anew when its user goes there.
pub(crate) async fn visits_only(request: Request, next: Next) -> Response {
    if request.method() == Method::HEAD || is_prefetch(request.headers()) {
        return (StatusCode::SERVICE_UNAVAILABLE, HEADERS).into_response();
    }
    next.run(request).await
}

fn is_prefetch(headers: &HeaderMap) -> bool {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ["sec-purpose", "purpose"].into_iter().any(|name| named(name).contains("prefetch"))
}

/// Whether a user would see a page that is the response: not in the response to a script, an image or a frame (Fetch Metadata
/// Request Headers, section 2.1). Browsers before 2023 do not say.
pub(crate) fn is_seen(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-dest").is_none_or(|destination| destination == "document")
}
