//! `POST /webhooks/deliveries/{id}/retry`

use axum::Json;
use usher_engine::ports::Delivery;

use super::webhook_delivery::{DeliveryId, WebhookDelivery};
use crate::audit;
use crate::endpoints::change::Change;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};
use crate::request_log;

/// Sends a webhook delivery again.
///
/// A failed or delivered one becomes pending and is sent at once, with retries like a new one; a pending one is sent
/// at once. Earlier pending events of the same stream go first. The response shows its new state. The receiver gets
/// the same id as before.
#[utoipa::path(
    post,
    path = "/webhooks/deliveries/{id}/retry",
    params(("id" = String, Path, description = "The delivery's `id`: `<stream_id>:<index>`.")),
    responses(
        (status = 200, description = "The delivery is pending.", body = WebhookDelivery),
        (status = 404, description = "`delivery_not_found`: There is no such delivery."),
    ),
)]
pub(crate) async fn retry_webhook_delivery(
    change: Change,
    PathParameter(id): PathParameter<DeliveryId>,
) -> Result<Json<WebhookDelivery>, Problem> {
    let DeliveryId { stream, index } = id.ok_or_else(not_found)?;
    request_log::record_stream_id(&stream);
    let once = change.once(|delivery: &Delivery| WebhookDelivery::from(delivery.clone()));
    audit::begin(&change.state).await?;
    let retried = change.state.engine.webhooks().retry(&change.requester, stream, index, once).await?;
    retried.map(|delivery| Json(delivery.into())).ok_or_else(not_found)
}

fn not_found() -> Problem {
    Problem::new(
        ErrorCode::DeliveryNotFound,
        "there is no such delivery, or its stream was removed after its retention",
    )
}
