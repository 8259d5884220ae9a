//! `GET /openapi.json`

use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

use super::docs_page::compressed;

/// Describes this API for programs (OpenAPI 3.1).
///
/// `usher dev` also serves it without the token to programs on the same machine.
#[utoipa::path(
    get,
    path = "/openapi.json",
    responses((status = 200, description = "This document.", body = Object, example = json!({ "openapi": "3.1.0" }))),
)]
pub(crate) async fn get_openapi_document(headers: HeaderMap) -> Response {
    // `docs/openapi.json`, which a test compares with the routes.
    const FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));
    let mut response = compressed(FILE, &headers);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
