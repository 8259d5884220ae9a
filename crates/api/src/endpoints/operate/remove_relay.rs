//! `DELETE /relays`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::relay::Body;
use crate::problem::Problem;
use crate::{ApiState, audit, body};

/// A relay that was removed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RelayRemoved, example = json!({ "relay": "wss://relay.example", "status": "removed" }))]
pub(crate) struct Removed {
    /// Its address, normalised.
    relay: String,
    /// `removed`.
    #[schema(pattern = "^removed$")]
    status: &'static str,
}

/// Removes a relay, including a configured one.
///
/// The change is durable before the response. Events that are queued for the relay are still sent. A relay that a user
/// named is still used for that user. A configured relay stays removed until it is added again or removed from
/// `nostr.relays`. You may remove the last relay: until you add another, handshake URLs name none, few users can be
/// reached, and `GET /health/ready` reports it.
#[utoipa::path(
    delete,
    path = "/relays",
    request_body = Body,
    responses(
        (status = 200, description = "The relay is no longer one of the service's own.", body = Removed),
        (status = 404, description = "`relay_not_found`: This is not one of the service's relays."),
        (status = 422, description = "`invalid_request`: This is not the URL of a relay."),
    ),
)]
pub(crate) async fn remove_relay(
    State(state): State<ApiState>,
    body::Json(Body { relay }): body::Json<Body>,
) -> Result<Json<Removed>, Problem> {
    audit::add_server("relay", &relay);
    audit::begin(&state).await?;
    let removed = state.relays.remove(&relay).await?;
    Ok(Json(Removed { relay: removed.url, status: "removed" }))
}
