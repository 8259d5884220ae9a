//! `POST /key-handshake`

use axum::Json;
use serde::Serialize;
use usher_engine::{KeyHandshakeRequest, KeyHandshakeStarted};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::request_log;

/// A handshake that has started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyHandshakeStarted)]
pub(crate) struct Started {
    /// Where to read who completed it: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// The URL to show to the user as a QR code or link. Anybody who has it can respond in the user's place.
    #[schema(example = "nostr+walletconnect://npub1…?relays=wss%3A%2F%2Frelay.example&token=Yh3kq9…")]
    url: String,
    /// A page for the user's browser that shows the URL as a QR code and link.
    #[schema(example = "https://login.example/handshake/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/5b0c…")]
    page_url: String,
}

impl Started {
    fn on(started: &KeyHandshakeStarted) -> Self {
        Self { stream_id: started.stream_id.to_string(), url: started.url.clone(), page_url: started.page_url.clone() }
    }
}

/// Creates a handshake URL, with which a user tells the service their key.
///
/// Show the URL to the user as a QR code or a link. When the user opens it with their wallet, the stream gets a
/// `KeyHandshake` event `{main_key, preferred_relays}`. A single-use URL (without `static_token`) is done after the
/// first user, or ends with a `StatusUpdate` `timeout` after `handshake.ttl_seconds`. The key alone is not a login
/// yet: ask for a proof with `POST /authenticate-key`.
#[utoipa::path(
    post,
    path = "/key-handshake",
    request_body(
        content = Option<KeyHandshakeRequest>,
        description = "An empty body means `{}`.",
        examples(
            ("plain" = (summary = "A URL for one user", value = json!({}))),
            ("reusable" = (summary = "A URL for a poster or a table", value = json!({ "static_token": "table-7" }))),
            ("without login" = (summary = "No login follows", value = json!({ "no_request": true }))),
        ),
    ),
    responses(
        (status = 200, description = "The operation is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn create_key_handshake(
    change: Change,
    body::OptionalJson(request): body::OptionalJson<KeyHandshakeRequest>,
) -> Result<Json<Started>, Problem> {
    let once = change.once(Started::on);
    let started = change.state.engine.handshakes().start(&change.requester, request, once).await?;
    request_log::record_stream_id(&started.stream_id);
    Ok(Json(Started::on(&started)))
}
