//! `POST /oidc/keys`

use axum::Json;
use axum::extract::State;
use usher_engine::request_body;

use super::oidc_types::{Keys, provider};
use crate::ApiState;
use crate::audit;
use crate::body;
use crate::problem::Problem;

request_body! {
    /// Has no fields.
    pub(crate) struct Body, BodyDraft = "RotateOidcKeysRequest", example {} {
    }
}

/// Rotates the keys that sign ID tokens.
///
/// The new keys are durable and sign before the response. The last ones are published for another day, because apps hold
/// ID tokens that they have signed. The service rotates keys after 90 days.
#[utoipa::path(
    post,
    path = "/oidc/keys",
    request_body(content = Option<Body>, description = "An empty body means `{}`."),
    responses(
        (status = 200, description = "All keys: the new ones and those that are still published.", body = Keys),
        (status = 503, description = "`oidc_not_configured` `storage_unavailable`"),
    ),
)]
pub(crate) async fn rotate_oidc_keys(
    State(state): State<ApiState>,
    _: body::OptionalJson<Body>,
) -> Result<Json<Keys>, Problem> {
    let provider = provider(&state)?;
    audit::begin(&state).await?;
    Ok(Json(provider.rotate_keys().await?.into()))
}
