//! `GET /key-handshake`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::{Requester, ReusableHandshake, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::paging::{PageQuery, page};
use crate::problem::Problem;
use crate::query::Parameters;

/// A reusable handshake or login.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReusableHandshake)]
pub(crate) struct Handshake {
    /// Where to read who completed it: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// The token it was opened with.
    #[schema(example = "table-7")]
    static_token: String,
    /// The URL that users scan. It names the service's current relays.
    #[schema(example = "nostr+walletconnect://npub1…?relays=wss%3A%2F%2Frelay.example&token=table-7")]
    url: String,
    /// Whether it tells wallets that no authentication challenge follows.
    #[schema(example = false)]
    no_request: bool,
    /// Whether it is a login (`POST /login`): users who scan it are challenged.
    #[schema(example = false)]
    login: bool,
    /// When it was opened, in Unix seconds.
    #[schema(example = 1732137600)]
    created_at: u64,
    /// How many scans of `url` were accepted. Of a handshake, these are the events of its stream.
    #[schema(example = 120)]
    accepted: u64,
    /// How many scans, and logins begun on a reusable login's page, its limits refused since the service started.
    #[schema(example = 0)]
    refused: u64,
}

impl From<ReusableHandshake> for Handshake {
    fn from(handshake: ReusableHandshake) -> Self {
        Self {
            stream_id: handshake.stream_id.to_string(),
            static_token: handshake.static_token,
            url: handshake.url,
            no_request: handshake.no_request,
            login: handshake.is_login,
            created_at: handshake.created_at,
            accepted: handshake.accepted,
            refused: handshake.refused,
        }
    }
}

page! {
    /// Reusable handshakes and logins.
    KeyHandshakeList sparse {
        /// The handshakes, oldest first.
        handshakes: Handshake,
    }
}

/// Lists the open reusable handshakes and logins.
///
/// These are the handshakes and logins with a `static_token`, each with the number of its scans: accepted and refused. A handshake
/// that was closed with `DELETE /key-handshake/{stream_id}` is not listed.
#[utoipa::path(
    get,
    path = "/key-handshake",
    params(
        PageQuery<StreamId>,
    ),
    responses(
        (status = 200, description = "The handshakes.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_key_handshakes(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Parameters(PageQuery { after, limit }): Parameters<PageQuery<StreamId>>,
) -> Result<Json<List>, Problem> {
    let page = state.engine.handshakes().list(&requester, after, limit).await?;
    Ok(List::page(page.items, page.next))
}
