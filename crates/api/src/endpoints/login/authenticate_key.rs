//! `POST /authenticate-key`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::AuthenticateKey;

use crate::ApiState;
use crate::body;
use crate::endpoints::operation_started::{Error, Started, start_operation};
use crate::field_types::{Key, Subkeys};
use crate::idempotency::IdempotencyContext;
use crate::request_body::{RequestBody, request_body};

request_body! {
    /// Asks a user to prove that they hold a key.
    pub(crate) struct Body = "AuthenticateKeyRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
    } {
        /// The key to prove: 64 hex characters, from the `KeyHandshake` event.
        main_key: Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8. A repeated key counts once.
        subkeys: Subkeys,
    }
}

impl RequestBody for Body {
    type Request = AuthenticateKey;

    fn complete(self) -> Option<AuthenticateKey> {
        Some(AuthenticateKey { main_key: self.main_key?, subkeys: self.subkeys? })
    }
}

/// Asks a user's wallet to prove that the user holds a key.
///
/// If the user has logged in with a remote signer (`POST /login`), that signer is asked too, and the first reply decides.
///
/// The stream gets one `StatusUpdate` event: `{status: "approved", main_key, granted_permissions, session_token?}`,
/// `{status: "declined", reason?}`, `{status: "timeout"}` if nobody responded, or `{status: "error", reason}`. Grant
/// access only on `approved`. A remote signer that refuses, or signs something else, is asked no more until its user logs in
/// with it again.
#[utoipa::path(
    post,
    path = "/authenticate-key",
    request_body = Body,
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` is reached."),
    ),
)]
pub(crate) async fn authenticate_key(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<Body>,
) -> Result<Json<Started>, Error> {
    start_operation(
        &state,
        idempotency,
        |engine, once| async move { engine.logins().authenticate(request, once).await },
    )
    .await
}
