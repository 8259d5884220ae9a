//! `GET /openapi.json`

use std::sync::OnceLock;

use axum::Extension;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use utoipa::openapi::OpenApi;

/// What makes the document. A request extension: the document is made of the endpoints, of which this is one.
#[derive(Clone, Copy)]
pub(crate) struct OpenApiSource(pub(crate) fn() -> OpenApi);

/// Made at the first request: it never changes while the service runs.
static DOCUMENT: OnceLock<Bytes> = OnceLock::new();

/// Describes this API for programs (OpenAPI 3.1).
///
/// `usher dev` also serves it without the token to programs on the same machine.
#[utoipa::path(
    get,
    path = "/openapi.json",
    responses((status = 200, description = "This document.", body = Object, example = json!({ "openapi": "3.1.0" }))),
)]
pub(crate) async fn get_openapi_document(Extension(source): Extension<OpenApiSource>) -> Response {
    // Strings and numbers only: writing it cannot fail.
    let document = DOCUMENT.get_or_init(|| (source.0)().to_json().unwrap_or_default().into());
    ([(CONTENT_TYPE, "application/json")], document.clone()).into_response()
}
