//! `DELETE /relays`

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use usher_engine::ports::RelayChangeError;
use utoipa::ToSchema;

use super::relay::Body;
use crate::ApiState;
use crate::body;
use crate::problem::Problem;
use crate::tasks::{self, TaskLost};

/// Why a relay was not removed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Change(#[from] RelayChangeError),
    #[error(transparent)]
    Lost(#[from] TaskLost),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::Change(error) => error.into(),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}

/// A relay that is none of the service's any more.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RelayRemoved, example = json!({ "relay": "wss://relay.example", "status": "removed" }))]
pub(crate) struct Removed {
    /// Its address, normalised.
    relay: String,
    /// `removed`.
    #[schema(pattern = "^removed$")]
    status: &'static str,
}

/// Removes a relay from the service's own, also a configured one.
///
/// It is durable when the call answers. What is queued for the relay is still sent; the others are not touched. A relay
/// that a user named is still used for that user. A configured relay that was removed stays so until it is added again
/// or taken out of `nostr.relays`. The last one may be removed, too: until another is added, handshake URLs name none and
/// few users can be reached, and `GET /health/ready` says so.
#[utoipa::path(
    delete,
    path = "/relays",
    request_body = Body,
    responses(
        (status = 200, description = "It is none of the service's relays any more.", body = Removed),
        (status = 404, description = "`relay_not_found`: It is none of the service's relays."),
        (status = 422, description = "`invalid_request`: It is not the address of a relay."),
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn remove_relay(
    State(state): State<ApiState>,
    body::Json(url): body::Json<Body>,
) -> Result<Json<Removed>, Error> {
    let relays = Arc::clone(&state.relays);
    let removed = tasks::run_detached(&state, async move { relays.remove(&url).await }).await??;
    Ok(Json(Removed { relay: removed.url, status: "removed" }))
}
