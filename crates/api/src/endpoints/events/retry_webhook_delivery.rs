//! `POST /webhooks/deliveries/{id}/retry`

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use usher_engine::RetryError;
use usher_engine::ports::Delivery;

use super::webhook_delivery::{DeliveryId, WebhookDelivery};
use crate::ApiState;
use crate::idempotency::IdempotencyContext;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};
use crate::request_log;
use crate::tasks::{self, TaskLost};

/// Why a delivery is not tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no such delivery")]
    NotFound,
    #[error(transparent)]
    Retry(#[from] RetryError),
    #[error(transparent)]
    Lost(#[from] TaskLost),
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
    params(("id" = String, Path, description = "The delivery's `id`: `<stream_id>:<index>`.")),
    responses(
        (status = 200, description = "It is pending.", body = WebhookDelivery),
        (status = 404, description = "`delivery_not_found`: There is no such delivery."),
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn retry_webhook_delivery(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    PathParameter(id): PathParameter,
) -> Result<Json<WebhookDelivery>, Error> {
    let id: Option<DeliveryId> = id.and_then(|text| text.parse().ok());
    let DeliveryId { stream, index } = id.ok_or(Error::NotFound)?;
    request_log::record_stream_id(&stream);
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| {
        idempotency.request(|delivery: &Delivery| WebhookDelivery::from(delivery.clone()))
    });
    let retry = async move { engine.retry_webhook_delivery(stream, index, once).await };
    let retried = tasks::run_detached(&state, retry).await??;
    retried.map(|delivery| Json(delivery.into())).ok_or(Error::NotFound)
}
