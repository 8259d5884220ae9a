//! `GET /openapi.json`

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;

/// Made once: it never changes while the service runs. Empty never happens: the document is strings and numbers.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| crate::openapi().to_json().unwrap_or_default().into());

/// Describes this interface (OpenAPI 3.1), for programs.
///
/// `usher dev` also serves it without the token to programs on the same machine.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "Documentation",
    responses((status = 200, description = "This document.", body = Object, example = json!({ "openapi": "3.1.0" }))),
)]
pub(crate) async fn openapi_json() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response()
}
