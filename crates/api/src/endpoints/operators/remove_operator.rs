//! `DELETE /operators/{key}`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_protocol::keys::parse_public_key;
use utoipa::ToSchema;

use crate::ApiState;
use crate::audit;
use crate::auth::Authorization;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};

/// The operator is removed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OperatorRemoved)]
pub(crate) struct Removed {
    /// Their key.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d")]
    key: String,
    /// `removed`.
    #[schema(value_type = String, example = "removed")]
    status: &'static str,
}

/// Removes an operator who was invited.
///
/// Their sessions end at once, and what they have asked for and waits for an approval is declined.
#[utoipa::path(
    delete,
    path = "/operators/{key}",
    params(("key" = String, Path, description = "The operator's key, as `GET /operators` lists it.")),
    responses(
        (status = 200, description = "The operator is removed.", body = Removed),
        (status = 404, description = "`operator_not_found`: There is no such operator, or they are in `console.operators`."),
        (status = 422, description = "`invalid_request`: The key that removes was itself revoked, or has a newer secret."),
    ),
)]
pub(crate) async fn remove_operator(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
    PathParameter(key): PathParameter<String>,
) -> Result<Json<Removed>, Problem> {
    let unknown = || Problem::new(ErrorCode::OperatorNotFound, "no operator who was invited has this key");
    let key = key.and_then(|key| parse_public_key(&key).ok()).ok_or_else(unknown)?;
    state.tokens.require_current(&authorization)?;
    state.keys.require_current(authorization.key())?;
    audit::begin(&state).await?;
    let removed = state.keys.operators().remove(&key).await?;
    state.decline_requests_of_revoked_keys();
    removed.then_some(()).ok_or_else(unknown)?;
    Ok(Json(Removed { key: key.to_hex(), status: "removed" }))
}
