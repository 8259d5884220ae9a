//! `GET /key-handshake`

use axum::extract::{RawQuery, State};
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::{Requester, ReusableHandshake, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::paging::{ListError, PageQuery};
use crate::query::Query;
use usher_engine::FieldError;
use usher_engine::FieldErrors;

/// The query.
#[derive(Debug)]
struct Parameters {
    page: PageQuery<StreamId>,
}

impl Parameters {
    fn read(query: Option<&str>) -> Result<Self, Vec<FieldError>> {
        let mut errors = FieldErrors::default();
        let query = Query::new(query);
        let page = PageQuery::read(&query, &mut errors);
        errors.finish(Some(Self { page }))
    }
}

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

/// Reusable handshakes and logins.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyHandshakeList)]
pub(crate) struct List {
    /// The handshakes, oldest first.
    handshakes: Vec<Handshake>,
    /// The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even
    /// none, and still have a `next`.
    #[schema(example = json!(null))]
    next: Option<String>,
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
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn list_key_handshakes(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    RawQuery(query): RawQuery,
) -> Result<Json<List>, ListError> {
    let Parameters { page: PageQuery { after, limit } } =
        Parameters::read(query.as_deref()).map_err(ListError::Invalid)?;
    let page = state.engine.handshakes().list(&requester, after, limit).await?;
    Ok(Json(List {
        handshakes: page.handshakes.into_iter().map(Handshake::from).collect(),
        next: page.next.map(|next| next.to_string()),
    }))
}
