//! `DELETE /oidc/consents`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::PendingAudit;
use usher_engine::request_body;
use usher_engine::request_body::{Key, VisibleAscii};
use utoipa::ToSchema;

use super::oidc_types::provider;
use crate::ApiState;
use crate::audit;
use crate::body;
use crate::problem::{ErrorCode, Problem};

request_body! {
    /// Names a consent.
    pub(crate) struct Body, BodyDraft = "RevokeOidcConsentRequest", example {
        "client_id": "gitea",
        "main_key": "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
    } {
        /// The app, as in `oidc.clients`.
        client_id: VisibleAscii<128>,
        /// The user.
        main_key: Key,
    }
}

/// A consent that was revoked.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OidcConsentRevoked, example = json!({ "status": "revoked" }))]
pub(crate) struct Revoked {
    /// `revoked`.
    #[schema(pattern = "^revoked$")]
    status: &'static str,
}

/// Revokes what a user agreed to give an app (OpenID Connect).
///
/// The app's codes and tokens for this user stop working before the response, except ID tokens, which apps verify
/// themselves. The user is asked again at the next login. Sessions within the app end when the app ends them.
#[utoipa::path(
    delete,
    path = "/oidc/consents",
    request_body = Body,
    responses(
        (status = 200, description = "The consent is revoked.", body = Revoked),
        (status = 404, description = "`consent_not_found`: This user has not agreed to give this app anything."),
        (status = 503, description = "`oidc_not_configured` `storage_unavailable`"),
    ),
)]
pub(crate) async fn revoke_oidc_consent(
    State(state): State<ApiState>,
    body::Json(Body { client_id, main_key }): body::Json<Body>,
) -> Result<Json<Revoked>, Problem> {
    let provider = provider(&state)?;
    PendingAudit::add_detail("client_id", client_id.as_str());
    audit::begin(&state).await?;
    let revoked = provider.revoke_consent(&client_id, main_key).await?;
    let none = || Problem::new(ErrorCode::ConsentNotFound, "this user has not agreed to give this client anything");
    revoked.then_some(Json(Revoked { status: "revoked" })).ok_or_else(none)
}
