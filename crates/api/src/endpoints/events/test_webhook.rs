//! `POST /webhooks/test`

use axum::Json;
use serde::Serialize;
use usher_engine::StreamId;
use utoipa::ToSchema;

use super::webhook_delivery::DeliveryId;
use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::request_log;

/// A test event that is being delivered.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookTested, example = json!({ "event_id": "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11:0" }))]
pub(crate) struct Tested {
    /// The event's id: the receiver gets it as `webhook-id`, and the delivery has it as `id`.
    event_id: String,
}

impl Tested {
    fn of(stream: &StreamId) -> Self {
        Self { event_id: DeliveryId { stream: *stream, index: 0 }.to_string() }
    }
}

/// Posts a test event to the webhook.
///
/// The event has the `type` `Test`, empty `data` and a stream of its own. It is signed, retried and listed like any
/// other: `GET /webhooks/deliveries` shows what your app responded.
#[utoipa::path(
    post,
    path = "/webhooks/test",
    responses(
        (status = 200, description = "The event is stored and will be posted.", body = Tested),
        (status = 503, description = "`webhook_not_configured`\n\n`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn test_webhook(change: Change) -> Result<Json<Tested>, Problem> {
    let once = change.once(Tested::of);
    let stream = change.state.engine.test_webhook(&change.requester, once).await?;
    request_log::record_stream_id(&stream);
    Ok(Json(Tested::of(&stream)))
}
