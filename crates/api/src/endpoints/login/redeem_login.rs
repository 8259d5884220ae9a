//! `POST /login/{stream_id}/redeem`

use axum::Json;
use serde::Serialize;
use usher_engine::operations::LoginRedeemed;
use usher_engine::request_body;
use usher_engine::request_body::AnyText;
use usher_engine::{RedeemError, StreamId};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;
use crate::request_log;

request_body! {
    /// Redeems the code of a login.
    pub(crate) struct Body, BodyDraft = "RedeemLoginRequest", example { "code": "5f1c0d0a4d1f4f7c9c1b2a3948576f6e" } {
        /// `code` in the query with which the login page has led the user's browser to your `return_url`. Any text may be sent;
        /// one that is not the code of this login is a 409.
        code: AnyText,
    }
}

/// Who has logged in.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LoginRedeemed)]
pub(crate) struct Redeemed {
    /// The user's key, which they have proven: their id in your app.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: String,
    /// What they have proven it with: `wallet`, `extension` (NIP-07), `signer` (NIP-46) or `passkey` (WebAuthn).
    #[schema(pattern = "^(wallet|extension|signer|passkey)$", example = "extension")]
    method: &'static str,
}

impl Redeemed {
    fn by(redeemed: &LoginRedeemed) -> Self {
        Self { main_key: redeemed.main_key.to_hex(), method: redeemed.method.as_str() }
    }
}

/// Redeems the code that a login page has given to the user's browser.
///
/// For logins with `return_url`: the page leads the browser to your app with `stream_id` and `code` in the query. First check that
/// this browser has begun the login `stream_id`, by your own session; then redeem the code, and start the session of this
/// browser for `main_key`. The stream gets `approved` at the same moment. The code is good for one redemption, within five
/// minutes of the user's approval; a wrong one changes nothing. A repeated request with the same `Idempotency-Key` gets the same
/// response.
#[utoipa::path(
    post,
    path = "/login/{stream_id}/redeem",
    params(("stream_id" = String, Path, description = "The `stream_id` of `POST /login`, which is in the query next to the code.")),
    request_body = Body,
    responses(
        (status = 200, description = "The user is logged in.", body = Redeemed),
        (status = 404, description = "`stream_not_found`: There is no such login, or it was removed after \
            `streams.retention_days`."),
        (status = 409, description = "`login_code_invalid`: It is not the code of this login, or the login has none.\n\n\
            `login_code_redeemed`: The code was redeemed before.\n\n\
            `login_code_expired`: The code was not redeemed in time."),
    ),
)]
pub(crate) async fn redeem_login(
    change: Change,
    PathParameter(stream): PathParameter<StreamId>,
    body::Json(Body { code }): body::Json<Body>,
) -> Result<Json<Redeemed>, Problem> {
    // Text that is not an id names no login.
    let stream = stream.ok_or(RedeemError::NotFound)?;
    request_log::record_stream_id(&stream);
    let once = change.once(Redeemed::by);
    let redeemed = change.state.engine.logins().redeem(&change.requester, stream, &code, once).await?;
    Ok(Json(Redeemed::by(&redeemed)))
}
