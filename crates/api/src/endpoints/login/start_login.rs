//! `POST /login`

use axum::Json;
use serde::Serialize;
use usher_engine::{LoginRequest, LoginStarted};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::request_log;

/// A login that has started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LoginStarted)]
pub(crate) struct Started {
    /// Where to read the result: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// The URL for a wallet, to show as a QR code or link. Anybody who has it can log in in the user's place.
    #[schema(example = "nostr+walletconnect://npub1…?relays=wss%3A%2F%2Frelay.example&token=Yh3kq9…")]
    url: String,
    /// The login page: redirect the user's browser there instead of showing `url`. The page belongs to the first browser that
    /// opens it. That of a reusable login gives each browser a page of its own.
    #[schema(example = "https://login.example/login/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/q0R7…")]
    page_url: String,
}

impl Started {
    fn on(started: &LoginStarted) -> Self {
        Self { stream_id: started.stream_id.to_string(), url: started.url.clone(), page_url: started.page_url.clone() }
    }
}

/// Logs a user in: handshake and authentication in one operation.
///
/// Redirect the user's browser to `page_url`, or show `url` as a QR code yourself. On the page the user logs in with a wallet,
/// with a browser extension (NIP-07), with a remote signer (NIP-46) or with a passkey (WebAuthn). The stream gets a `KeyHandshake` event
/// `{main_key, preferred_relays}` and then a `StatusUpdate` `{status: "approved", main_key, method}`, or `declined`, or
/// `timeout`. Grant access only on `approved`. A wallet that opens `url` is challenged at once.
///
/// With `return_url`, `approved` follows only when your app redeems the code that the page gives to the user's browser
/// (`POST /login/{stream_id}/redeem`); before that the stream has `user_approved` without a key. Use it for sessions in browsers:
/// without it, nobody knows whether the browser that has begun the login is that of the user who has approved it.
///
/// With a `static_token` the login is reusable: everything happens as events on its one stream, a `KeyHandshake` for each user
/// and then a `StatusUpdate`, with `main_key` and `method`, because users interleave. It tells you *who* logged in, not in
/// which browser: use it where the place decides, such as a door, and a login without it for sessions in browsers.
/// `GET /key-handshake` lists it, and `DELETE /key-handshake/{stream_id}` closes it.
#[utoipa::path(
    post,
    path = "/login",
    request_body(
        content = Option<LoginRequest>,
        description = "An empty body means `{}`.",
        examples(
            ("plain" = (summary = "A login that ends on its page", value = json!({}))),
            ("returning" = (
                summary = "A login that returns to your app",
                value = json!({ "return_url": "https://app.example/login" }),
            )),
            ("reusable" = (summary = "A login for a poster or a door", value = json!({ "static_token": "door-2" }))),
        ),
    ),
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn start_login(
    change: Change,
    body::OptionalJson(request): body::OptionalJson<LoginRequest>,
) -> Result<Json<Started>, Problem> {
    let once = change.once(Started::on);
    let started = change.state.engine.logins().start(&change.requester, request, once).await?;
    request_log::record_stream_id(&started.stream_id);
    Ok(Json(Started::on(&started)))
}
