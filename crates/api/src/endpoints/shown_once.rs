//! Secrets in responses: shown once, and left out of a repeated response (`Idempotency-Key`).

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::idempotency::RepeatedBody;

/// Not shown by `Debug`.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Secret(pub(crate) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The response with the secret that `place` names in it.
pub(crate) fn shown_once<B: Serialize>(
    mut body: B,
    secret: Option<String>,
    place: impl FnOnce(&mut B) -> &mut Option<Secret>,
) -> Response {
    // Strings and numbers: it cannot fail.
    let repeated = serde_json::to_vec(&body).unwrap_or_default();
    *place(&mut body) = secret.map(Secret);
    let mut response = Json(body).into_response();
    response.extensions_mut().insert(RepeatedBody(repeated));
    response
}
