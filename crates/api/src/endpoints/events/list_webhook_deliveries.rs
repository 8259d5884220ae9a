//! `GET /webhooks/deliveries`

use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;
use usher_engine::ports::DeliveryStatus;
use utoipa::ToSchema;

use super::webhook_delivery::{DeliveryId, WebhookDelivery, status_name};
use crate::ApiState;
use crate::paging::{ListError, PageQuery};
use crate::query::Query;
use usher_engine::FieldError;
use usher_engine::FieldErrors;

/// The query.
#[derive(Debug, PartialEq, Eq)]
struct Parameters {
    status: DeliveryStatus,
    page: PageQuery<DeliveryId>,
}

impl Parameters {
    fn read(query: Option<&str>) -> Result<Self, Vec<FieldError>> {
        let mut errors = FieldErrors::default();
        let query = Query::new(query);
        let status = query.text("status", &mut errors).and_then(|text| {
            let known = DeliveryStatus::ALL.into_iter().find(|status| status_name(*status) == text);
            known.or_else(|| errors.reject("/status", "must be `pending`, `delivered` or `failed`"))
        });
        let page = PageQuery::read(&query, &mut errors);
        errors.finish(Some(Self { status: status.unwrap_or(DeliveryStatus::Failed), page }))
    }
}

/// Webhook deliveries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookDeliveries)]
pub(crate) struct List {
    /// The deliveries, ordered by the start of their streams and, within a stream, by index.
    deliveries: Vec<WebhookDelivery>,
    /// The `after` for the next page; `null` if this is the last one.
    #[schema(example = json!(null))]
    next: Option<String>,
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
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn list_webhook_deliveries(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Json<List>, ListError> {
    let Parameters { status, page: PageQuery { after, limit } } =
        Parameters::read(query.as_deref()).map_err(ListError::Invalid)?;
    let after = after.map(|after| (after.stream, after.index));
    // One more than requested, to find out whether there are more.
    let mut found = state.engine.webhooks().list(status, after, limit + 1).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let deliveries: Vec<_> = found.into_iter().map(WebhookDelivery::from).collect();
    let next = deliveries.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(List { deliveries, next }))
}
