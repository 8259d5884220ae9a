//! `DELETE /keys/{key_id}`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::access::KeyError;
use usher_engine::ports::KeyId;
use utoipa::ToSchema;

use crate::ApiState;
use crate::audit;
use crate::auth::Authorization;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;

/// The key is revoked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKeyRevoked)]
pub(crate) struct Revoked {
    /// Its id.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    id: String,
    /// `revoked`.
    #[schema(value_type = String, example = "revoked")]
    status: &'static str,
}

/// Revokes an API key.
///
/// From this response on it is not accepted, and WebSockets, event streams and long polls that were opened with it have
/// ended. A request that is being processed runs to its end, and operations that it has started
/// continue, but for payments that wait for an approval: these are declined, in a moment.
#[utoipa::path(
    delete,
    path = "/keys/{key_id}",
    params(("key_id" = String, Path, description = "The key's id, from `GET /keys`.")),
    responses(
        (status = 200, description = "The key is revoked.", body = Revoked),
        (status = 422, description = "`invalid_request`: The key that revokes was itself revoked, or has a newer secret."),
        (status = 404, description = "`key_not_found`"),
    ),
)]
pub(crate) async fn revoke_key(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
    PathParameter(id): PathParameter<KeyId>,
) -> Result<Json<Revoked>, Problem> {
    state.tokens.require_current(&authorization)?;
    let id = id.ok_or(KeyError::NotFound)?;
    audit::begin(&state).await?;
    let revoked = state.keys.revoke(id, authorization.key()).await;
    // Also if it is gone already: the service may have been killed just after it was revoked.
    state.decline_requests_of_revoked_keys();
    revoked?;
    Ok(Json(Revoked { id: id.to_string(), status: "revoked" }))
}
