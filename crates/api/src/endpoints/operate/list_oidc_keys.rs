//! `GET /oidc/keys`

use axum::Json;
use axum::extract::State;

use super::oidc_types::{Keys, provider};
use crate::ApiState;
use crate::problem::Problem;

/// Lists the keys that sign ID tokens.
///
/// The response has no private key. Apps read the public keys at `/oauth/jwks`.
#[utoipa::path(
    get,
    path = "/oidc/keys",
    responses(
        (status = 200, description = "The keys.", body = Keys),
        (status = 503, description = "`oidc_not_configured`"),
    ),
)]
pub(crate) async fn list_oidc_keys(State(state): State<ApiState>) -> Result<Json<Keys>, Problem> {
    Ok(Json(provider(&state)?.keys().into()))
}
