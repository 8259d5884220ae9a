//! `POST /webhooks/deliveries/{id}/retry`

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use usher_engine::RetryError;
use usher_engine::ports::Delivery;

use super::webhook_deliveries::{DeliveryId, Item};
use crate::ApiState;
use crate::change::{self, ChangeLost};
use crate::gate;
use crate::idempotency::Keyed;
use crate::path::PathParameter;
use crate::problem::{ErrorCode, Problem};

/// Why a delivery is not tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no such delivery")]
    NotFound,
    #[error(transparent)]
    Retry(#[from] RetryError),
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
            Self::Retry(error) => error.into(),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}

/// Delivers an event to the webhook once more.
///
/// One that failed or was delivered becomes pending again and is tried at once, and then as a new one would be; one that is
/// pending is tried at once. Earlier events of its stream that are pending go first, at once. Answers how it stands now.
/// The receiver gets it under the same id as before.
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
    keyed: Option<Extension<Keyed>>,
    PathParameter(id): PathParameter,
) -> Result<Json<Item>, Error> {
    let id: Option<DeliveryId> = id.and_then(|text| text.parse().ok());
    let DeliveryId { stream, index } = id.ok_or(Error::NotFound)?;
    gate::concerns(&stream);
    let engine = state.engine.clone();
    let once = keyed.map(|Extension(keyed)| keyed.once(|delivery: &Delivery| Item::from(delivery.clone())));
    let retry = async move { engine.retry_webhook_delivery(stream, index, once).await };
    let retried = change::run(&state, retry).await??;
    retried.map(|delivery| Json(delivery.into())).ok_or(Error::NotFound)
}
