//! The script that the pages load: one file, so that a page is there after one more request.

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

/// `GET /pages/assets/page.js`: the parts share one scope.
pub(crate) async fn script() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    let parts = concat!(
        include_str!("../assets/wait.js"),
        include_str!("../assets/clock.js"),
        include_str!("../assets/login.js"),
        include_str!("../assets/payment.js"),
    );
    (headers, parts).into_response()
}
