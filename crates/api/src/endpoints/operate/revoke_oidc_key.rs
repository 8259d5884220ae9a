//! `DELETE /oidc/keys/{kid}`

use axum::Json;
use axum::extract::State;

use super::oidc_types::{Keys, provider};
use crate::ApiState;
use crate::audit;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};

/// Revokes a key that signs ID tokens.
///
/// For a key that somebody else has. From this response on it is not published, and no ID token that it has signed is accepted as
/// `id_token_hint`. If it is `current`, a new one takes its place. Apps may remember keys, usually for some minutes or until they are
/// restarted.
#[utoipa::path(
    delete,
    path = "/oidc/keys/{kid}",
    params(("kid" = String, Path, description = "The key's id, from `GET /oidc/keys`.")),
    responses(
        (status = 200, description = "All keys that are left, and the new one.", body = Keys),
        (status = 404, description = "`signing_key_not_found`: No signing key has this id, or it is revoked."),
        (status = 503, description = "`oidc_not_configured` `storage_unavailable`"),
    ),
)]
pub(crate) async fn revoke_oidc_key(
    State(state): State<ApiState>,
    PathParameter(kid): PathParameter,
) -> Result<Json<Keys>, Problem> {
    let provider = provider(&state)?;
    let none = || Problem::new(ErrorCode::SigningKeyNotFound, "no signing key has this id");
    let kid = kid.ok_or_else(none)?;
    audit::begin(&state).await?;
    let keys = provider.revoke_key(&kid).await?;
    Ok(Json(keys.ok_or_else(none)?.into()))
}
