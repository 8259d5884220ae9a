//! `GET /relays`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::relay::Relay;
use crate::ApiState;
use crate::auth::Authorization;

/// All relays to which the service is or wants to be connected.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Relays)]
pub(crate) struct Response {
    /// The service's own relays in the order of handshake URLs, then those of users.
    relays: Vec<Relay>,
}

/// Lists the relays and the state of their connections.
///
/// These are the service's own relays, configured or added, and those of users whose replies the service waits for.
/// The response shows the current state of each connection without querying the relay.
#[utoipa::path(
    get,
    path = "/relays",
    responses((status = 200, description = "The relays.", body = Response)),
)]
pub(crate) async fn list_relays(
    State(state): State<ApiState>,
    Extension(authorization): Extension<Authorization>,
) -> Json<Response> {
    let is_key = authorization.key().is_some();
    Json(Response { relays: state.relays.relays().into_iter().map(|info| Relay::shown(info, is_key)).collect() })
}
