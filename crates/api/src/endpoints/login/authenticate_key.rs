//! `POST /authenticate-key`

use axum::Json;
use usher_engine::AuthenticateKey;

use crate::body;
use crate::endpoints::change::{Change, Started};
use crate::problem::Problem;

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
    request_body = AuthenticateKey,
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn authenticate_key(
    change: Change,
    body::Json(request): body::Json<AuthenticateKey>,
) -> Result<Json<Started>, Problem> {
    change.start(async |engine, requester, once| engine.logins().authenticate(requester, request, once).await).await
}
