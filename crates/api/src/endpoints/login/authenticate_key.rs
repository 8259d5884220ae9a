//! `POST /authenticate-key`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::{AuthenticateKey, Engine};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody};
use crate::endpoints::operation_started::{Error, Started};
use crate::field_reader::{self, Fields};
use crate::idempotency::IdempotencyContext;
use crate::tasks;

/// Asks a user to prove that they hold a key.
#[derive(Debug, ToSchema)]
#[schema(as = AuthenticateKeyRequest, example = json!({
    "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "subkeys": [],
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for AuthenticateKey` reads")]
pub(crate) struct RequestBody {
    /// The key to prove: 64 hex characters, as the `KeyHandshake` event has it.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    main_key: String,
    /// Keys that may answer for it without a proof of delegation; usually none, and at most 8. A key named twice
    /// counts once.
    subkeys: Vec<String>,
}

impl JsonBody for AuthenticateKey {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let main_key = fields.required("main_key", field_reader::public_key);
        let subkeys = fields.required("subkeys", field_reader::public_keys::<{ Engine::MAX_SUBKEYS }>);
        Some(Self { main_key: main_key?, subkeys: subkeys? })
    }
}

/// Sends a challenge to a user's wallet.
///
/// The stream gets one `StatusUpdate` event: `{status: "approved", main_key, granted_permissions, session_token?}`,
/// `{status: "declined", reason?}`, `{status: "timeout"}` when nobody answered, or `{status: "error", reason}`. Grant
/// access on `approved` only.
#[utoipa::path(
    post,
    path = "/authenticate-key",
    request_body = RequestBody,
    responses(
        (status = 200, description = "It is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` are open."),
    ),
)]
pub(crate) async fn authenticate_key(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<AuthenticateKey>,
) -> Result<Json<Started>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(Started::on));
    let stream = tasks::run_detached(&state, async move { engine.start_authentication(request, once).await }).await??;
    Ok(Started::answer(&stream))
}
