//! `GET /webhooks/deliveries`

use axum::Json;
use axum::extract::State;
use usher_engine::FieldErrors;
use usher_engine::ports::DeliveryStatus;

use super::webhook_delivery::{DeliveryId, WebhookDelivery, status_name};
use crate::ApiState;
use crate::paging::{PageQuery, page};
use crate::problem::Problem;
use crate::query::{Parameters, Query, ReadQuery};

impl ReadQuery for DeliveryStatus {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let status = query.text("status", errors).and_then(|text| {
            let known = Self::ALL.into_iter().find(|status| status_name(*status) == text);
            known.or_else(|| errors.reject("/status", "must be `pending`, `delivered` or `failed`"))
        });
        status.unwrap_or(Self::Failed)
    }
}

page! {
    /// Webhook deliveries.
    WebhookDeliveries {
        /// The deliveries, ordered by the start of their streams and, within a stream, by index.
        deliveries: WebhookDelivery,
    }
}

/// Lists webhook deliveries.
///
/// `failed` deliveries were given up after three days of attempts; `POST /webhooks/deliveries/{id}/retry` tries again.
/// Delivered and failed ones are listed until their stream is removed (`streams.retention_days`), or, on streams that
/// stay open, for as long after their last attempt. Without `webhook.url` no new deliveries are made.
#[utoipa::path(
    get,
    path = "/webhooks/deliveries",
    params(
        ("status" = inline(Option<String>), Query, pattern = "^(pending|delivered|failed)$", description = "`pending`, `delivered` or `failed`. Default `failed`."),
        PageQuery<DeliveryId>,
    ),
    responses(
        (status = 200, description = "The deliveries.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_webhook_deliveries(
    State(state): State<ApiState>,
    Parameters(query): Parameters<(DeliveryStatus, PageQuery<DeliveryId>)>,
) -> Result<Json<List>, Problem> {
    let (status, PageQuery { after, limit }) = query;
    let after = after.map(|after| (after.stream, after.index));
    // One more than requested, to find out whether there are more.
    let mut found = state.engine.webhooks().list(status, after, limit + 1).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let deliveries: Vec<_> = found.into_iter().map(WebhookDelivery::from).collect();
    let next = deliveries.last().filter(|_| more).map(|last| last.id.clone());
    Ok(List::page(deliveries, next))
}
