//! Secrets in responses: shown once, and left out of a repeated response (`Idempotency-Key`).

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::idempotency::RepeatedBody;

/// Not shown by `Debug`.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Secret(pub(crate) String);

usher_protocol::debug_shows!(Secret(..));

/// The response with the secret at the `place` for it.
pub(crate) fn shown_once<B: Serialize, S>(
    mut body: B,
    secret: Option<S>,
    place: impl FnOnce(&mut B) -> &mut Option<S>,
) -> Response {
    // Strings and numbers: it cannot fail.
    let repeated = serde_json::to_vec(&body).unwrap_or_default();
    *place(&mut body) = secret;
    let mut response = Json(body).into_response();
    response.extensions_mut().insert(RepeatedBody(repeated));
    response
}
