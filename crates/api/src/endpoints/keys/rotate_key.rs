//! `POST /keys/{key_id}/rotate`

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use usher_engine::access::KeyError;
use usher_engine::ports::KeyId;
use usher_engine::request_body;
use usher_engine::request_body::Integer;

use super::key::{KeyWithSecret, with_secret};
use crate::ApiState;
use crate::audit;
use crate::auth::Authorization;
use crate::body;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;

/// Longest overlap in seconds: 30 days.
const MAX_OVERLAP: u64 = 2_592_000;

request_body! {
    /// Rotates the secret of a key.
    pub struct Rotation, RotationDraft = "KeyRotation", example { "overlap_seconds": 86400 } {
        /// How long the secret that the key has now is accepted beside the new one, in seconds; by default not at all.
        overlap_seconds: Option<Integer<0, MAX_OVERLAP>>,
    }
}

/// Gives an API key a new secret.
///
/// The former one is accepted for `overlap_seconds` longer; `GET /keys` shows when each was used last. The secret before
/// that is not accepted any more; but if the former one was never used, that one ends, and the secret before it stays for its time.
/// Id, scopes and budget stay.
#[utoipa::path(
    post,
    path = "/keys/{key_id}/rotate",
    params(("key_id" = String, Path, description = "The key's id, from `GET /keys`.")),
    request_body = Rotation,
    responses(
        (status = 200, description = "The key, with its new secret.", body = KeyWithSecret),
        (status = 404, description = "`key_not_found`"),
        (status = 422, description = "`invalid_request`: Some fields are wrong, or the key may do more than the one that rotates it."),
    ),
)]
pub(crate) async fn rotate_key(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
    PathParameter(id): PathParameter<KeyId>,
    body::Json(Rotation { overlap_seconds }): body::Json<Rotation>,
) -> Result<Response, Problem> {
    state.tokens.require_granter(&authorization)?;
    let id = id.ok_or(KeyError::NotFound)?;
    let overlap = Duration::from_secs(overlap_seconds.unwrap_or_default());
    audit::begin(&state).await?;
    Ok(with_secret(state.keys.rotate(id, overlap, authorization.key()).await?))
}
