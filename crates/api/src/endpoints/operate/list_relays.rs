//! `GET /relays`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::relay::Relay;
use crate::ApiState;

/// Every relay there is a connection to, or shall be.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Relays)]
pub(crate) struct Response {
    /// The service's own in the order of handshake URLs, then those of users.
    relays: Vec<Relay>,
}

/// Lists the relays, and how they are doing.
///
/// The service's own, configured or added, and those of users whose answers are awaited. It asks none of them: it tells
/// how each connection stands now.
#[utoipa::path(
    get,
    path = "/relays",
    responses((status = 200, description = "The relays.", body = Response)),
)]
pub(crate) async fn list_relays(State(state): State<ApiState>) -> Json<Response> {
    Json(Response { relays: state.relays.relays().into_iter().map(Relay::from).collect() })
}
