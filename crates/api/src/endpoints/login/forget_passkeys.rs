//! `DELETE /passkeys/{main_key}`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::ApiState;
use crate::audit;
use crate::path_parameter::UserKey;
use crate::problem::{ErrorCode, Problem};

/// Passkeys that were forgotten.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PasskeysForgotten)]
pub(crate) struct Forgotten {
    /// The user.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// `forgotten`.
    #[schema(pattern = "^forgotten$", example = "forgotten")]
    status: &'static str,
    /// How many.
    #[schema(minimum = 1, example = 2)]
    passkeys: usize,
}

/// Forgets a user's passkeys.
///
/// After this response, none of the passkeys with which this user has logged in opens the login page any more: for a user whose
/// device was stolen, or who wants to be forgotten. Their key is not Usher's to forget: a user with a recovery file can log in
/// with it and gets a new passkey.
#[utoipa::path(
    delete,
    path = "/passkeys/{main_key}",
    params(("main_key" = String, Path, format = "nostr-public-key", pattern = "^[0-9a-fA-F]{64}$", description = "The user's key: 64 hex characters.")),
    responses(
        (status = 200, description = "The passkeys are forgotten.", body = Forgotten),
        (status = 404, description = "`passkey_not_found`: No passkey of this user is kept."),
        (status = 422, description = "`invalid_request`: `main_key` is no valid key of a user."),
    ),
)]
pub(crate) async fn forget_passkeys(
    State(state): State<ApiState>,
    UserKey(key): UserKey,
) -> Result<Json<Forgotten>, Problem> {
    audit::begin(&state).await?;
    let forgotten = state.engine.logins().forget_passkeys(&key).await?;
    match forgotten {
        0 => Err(Problem::new(ErrorCode::PasskeyNotFound, "no passkey of this user is kept")),
        passkeys => Ok(Json(Forgotten { main_key: key.to_hex(), status: "forgotten", passkeys })),
    }
}
