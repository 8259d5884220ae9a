//! `DELETE /remote-signers/{main_key}`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ApiState;
use crate::audit;
use crate::path_parameter::UserKey;
use crate::problem::{ErrorCode, Problem};

/// A remote signer that was forgotten.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RemoteSignerForgotten)]
pub(crate) struct Forgotten {
    /// The user.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// `forgotten`.
    #[schema(pattern = "^forgotten$", example = "forgotten")]
    status: &'static str,
}

/// Forgets a user's remote signer.
///
/// Usher keeps how to reach the remote signer (NIP-46) that a user has logged in with, so that `POST /authenticate-key` reaches
/// it again. After this response, no new authentication asks it, until the user logs in with it again on the login page.
#[utoipa::path(
    delete,
    path = "/remote-signers/{main_key}",
    params(("main_key" = String, Path, format = "nostr-public-key", pattern = "^[0-9a-fA-F]{64}$", description = "The user's key: 64 hex characters.")),
    responses(
        (status = 200, description = "The remote signer is forgotten.", body = Forgotten),
        (status = 404, description = "`remote_signer_not_found`: No remote signer of this user is kept."),
        (status = 422, description = "`invalid_request`: `main_key` is not a valid key."),
    ),
)]
pub(crate) async fn forget_remote_signer(
    State(state): State<ApiState>,
    UserKey(key): UserKey,
) -> Result<Json<Forgotten>, Problem> {
    audit::begin(&state).await?;
    let forgotten = state.engine.logins().forget_signer(&key).await?;
    if forgotten {
        Ok(Json(Forgotten { main_key: key.to_hex(), status: "forgotten" }))
    } else {
        Err(Problem::new(ErrorCode::RemoteSignerNotFound, "no remote signer of this user is kept"))
    }
}
