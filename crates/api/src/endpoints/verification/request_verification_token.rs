//! `POST /verification/token`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::RequestVerificationToken;

use crate::ApiState;
use crate::body;
use crate::endpoints::operation_started::{Error, Started, start_operation};
use crate::field_types::{Key, MintUrl, Subkeys};
use crate::idempotency::IdempotencyContext;
use crate::request_body::{RequestBody, request_body};

request_body! {
    /// Asks a user for a proof of age.
    pub(crate) struct Body = "VerificationTokenRequest", example {
        "recipient_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
    } {
        /// Who is asked: 64 hex characters.
        recipient_key: Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// The mint that the proof must be of; by default `verification.mint_url`.
        mint_url: Option<MintUrl>,
    }
}

impl RequestBody for Body {
    type Request = RequestVerificationToken;

    fn complete(self) -> Option<RequestVerificationToken> {
        Some(RequestVerificationToken {
            main_key: self.recipient_key?,
            subkeys: self.subkeys?,
            mint_url: self.mint_url,
        })
    }
}

/// Asks a user's wallet for a proof of age that the user holds already, without a page.
///
/// The proof has the unit and amount of `verification.unit` and `verification.amount`. The stream gets one event, as that of
/// `POST /cashu/request`. Redeem the `token` of `success` at once with `POST /cashu/burn`. The user has five minutes.
#[utoipa::path(
    post,
    path = "/verification/token",
    request_body = Body,
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`verification_not_configured`: `verification.mint_url` is not set, and the request \
            names no mint.\n\n`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` is reached."),
    ),
)]
pub(crate) async fn request_verification_token(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<Body>,
) -> Result<Json<Started>, Error> {
    start_operation(&state, idempotency, |engine, once| async move {
        engine.verification().request_token(request, once).await
    })
    .await
}
