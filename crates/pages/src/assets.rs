//! What the pages load.

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

/// `GET /pages/assets/page.css`
pub(crate) async fn style() -> Response {
    asset("text/css; charset=utf-8", include_str!("../assets/page.css"))
}

/// `GET /pages/assets/wait.js`
pub(crate) async fn wait_script() -> Response {
    script(include_str!("../assets/wait.js"))
}

/// `GET /pages/assets/clock.js`
pub(crate) async fn clock_script() -> Response {
    script(include_str!("../assets/clock.js"))
}

/// `GET /pages/assets/login.js`
pub(crate) async fn login_script() -> Response {
    script(include_str!("../assets/login.js"))
}

/// `GET /pages/assets/payment.js`
pub(crate) async fn payment_script() -> Response {
    script(include_str!("../assets/payment.js"))
}

fn script(content: &'static str) -> Response {
    asset("text/javascript; charset=utf-8", content)
}

fn asset(content_type: &'static str, content: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, content).into_response()
}
