//! `GET /key-handshake`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::{Requester, ReusableHandshake, StreamId};

use crate::ApiState;
use crate::paging::{PageQuery, page};
use crate::problem::Problem;
use crate::query::Parameters;

page! {
    /// Reusable handshakes and logins.
    KeyHandshakeList sparse {
        /// The handshakes, oldest first.
        handshakes: ReusableHandshake,
    }
}

/// Lists the open reusable handshakes and logins.
///
/// These are the handshakes and logins with a `static_token`, each with the number of its scans: accepted and refused. A handshake
/// that was closed with `DELETE /key-handshake/{stream_id}` is not listed.
#[utoipa::path(
    get,
    path = "/key-handshake",
    params(PageQuery<StreamId>),
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
