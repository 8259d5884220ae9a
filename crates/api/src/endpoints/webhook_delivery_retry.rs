//! `POST /webhooks/deliveries/{id}/retry`

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use usher_engine::ports::StoreError;

use super::webhook_deliveries::{DeliveryId, Item};
use crate::ApiState;
use crate::change::{self, ChangeLost};
use crate::gate;
use crate::problem::{ErrorCode, Problem};

/// Why a delivery is not tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no such delivery")]
    NotFound,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lost(#[from] ChangeLost),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::NotFound => Problem::new(
                ErrorCode::DeliveryNotFound,
                "there is no such delivery, or its stream was finished so long ago that it was removed",
            ),
            Self::Store(error) => error.into(),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}

/// Delivers an event to the webhook once more.
///
/// One that failed or was delivered becomes pending again and is tried at once, after earlier events of its stream that
/// are pending, and then as a new one would be; one that is pending is tried at once. Answers how it stands now. The
/// receiver gets it under the same id as before.
#[utoipa::path(
    post,
    path = "/webhooks/deliveries/{id}/retry",
    tag = "Webhooks",
    params(("id" = String, Path, description = "The delivery's `id`: `<stream_id>:<index>`.")),
    responses(
        (status = 200, description = "It is pending.", body = Item),
        (status = 404, description = "`delivery_not_found`: There is no such delivery."),
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn webhook_delivery_retry(
    State(state): State<ApiState>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Item>, Error> {
    let id: Option<DeliveryId> = id.ok().and_then(|Path(text)| text.parse().ok());
    let DeliveryId { stream, index } = id.ok_or(Error::NotFound)?;
    gate::concerns(&stream);
    let engine = state.engine.clone();
    let retried = change::run(&state, async move { engine.retry_webhook_delivery(stream, index).await }).await??;
    retried.map(|delivery| Json(delivery.into())).ok_or(Error::NotFound)
}
