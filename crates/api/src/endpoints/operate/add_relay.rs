//! `POST /relays`

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use usher_engine::ports::RelayChangeError;

use super::relay::{Body, Relay};
use crate::ApiState;
use crate::body;
use crate::problem::Problem;
use crate::tasks::{self, TaskLost};

/// Why a relay was not added.
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

/// Adds a relay to the service's own.
///
/// It is durable when the call answers, and in effect: new handshake URLs name it, and requests that are unanswered go
/// there, too. The others are not touched. The answer waits up to 2 s for the connection, to say whether it works; one
/// that is down is added all the same and tried again. One that is there already is answered as it is. There may be 16.
#[utoipa::path(
    post,
    path = "/relays",
    request_body = Body,
    responses(
        (status = 200, description = "It is one of the service's relays.", body = Relay),
        (status = 422, description = "`invalid_request`: It is not the address of a relay, or there are as many as there \
            may be."),
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn add_relay(
    State(state): State<ApiState>,
    body::Json(url): body::Json<Body>,
) -> Result<Json<Relay>, Error> {
    let relays = Arc::clone(&state.relays);
    let added = tasks::run_detached(&state, async move { relays.add(&url).await }).await??;
    Ok(Json(added.into()))
}
