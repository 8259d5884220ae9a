//! `POST /keys`

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use usher_engine::PendingAudit;
use usher_engine::access::NewKeyRequest;

use super::key::{KeyWithSecret, with_secret};
use crate::ApiState;
use crate::audit;
use crate::auth::Authorization;
use crate::body;
use crate::problem::Problem;

/// Creates an API key.
///
/// The key can be used when the response arrives. Its secret is stored as a hash and shown this once. What a key may do
/// cannot be changed: create another one, and revoke this.
///
/// A key creates only keys that are at least as restricted as itself: no scope that it lacks, no later expiry, no other networks,
/// and none for `payments:send` or `tickets` if it has a daily budget itself. There may be 1,000 keys.
#[utoipa::path(
    post,
    path = "/keys",
    request_body = NewKeyRequest,
    responses(
        (status = 200, description = "The key, with its secret.", body = KeyWithSecret),
        (status = 422, description = "`invalid_request`: Some fields are wrong, the key would be less restricted than the one that \
            creates it, or there are 1,000 keys."),
    ),
)]
pub(crate) async fn create_key(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
    body::Json(request): body::Json<NewKeyRequest>,
) -> Result<Response, Problem> {
    state.tokens.require_granter(&authorization)?;
    audit::begin(&state).await?;
    let created = state.keys.create(request, authorization.key()).await?;
    PendingAudit::add_detail("key_id", created.key.id.to_string());
    Ok(with_secret(created))
}
