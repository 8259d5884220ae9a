use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
};
use http::{HeaderValue, StatusCode};

/// `OPTIONS` for responses that apps in browsers may read from any site (Fetch standard, CORS preflight). None of them
/// needs a cookie. `*` does not cover `authorization`.
pub async fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*")),
        (ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST")),
        (ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, content-type, *")),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200")),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
