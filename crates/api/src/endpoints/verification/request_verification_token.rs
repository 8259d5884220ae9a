//! `POST /verification/token`

use axum::Json;
use usher_engine::RequestVerificationToken;

use crate::body;
use crate::endpoints::change::{Change, Started};
use crate::problem::Problem;

/// Asks a user's wallet for a proof of age that the user holds already, without a page.
///
/// The proof has the unit and amount of `verification.unit` and `verification.amount`. The stream gets one event, as that of
/// `POST /cashu/request`. Redeem the `token` of `success` at once with `POST /cashu/burn`. The user has five minutes.
#[utoipa::path(
    post,
    path = "/verification/token",
    request_body = RequestVerificationToken,
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`verification_not_configured`: `verification.mint_url` is not set, and the request names no mint.\n\n\
            `storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn request_verification_token(
    change: Change,
    body::Json(request): body::Json<RequestVerificationToken>,
) -> Result<Json<Started>, Problem> {
    change
        .start(async |engine, requester, once| engine.verification().request_token(requester, request, once).await)
        .await
}
