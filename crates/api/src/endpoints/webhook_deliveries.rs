//! `GET /webhooks/deliveries`

use std::fmt;
use std::str::FromStr;

use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;
use usher_engine::StreamId;
use usher_engine::ports::{Delivery, DeliveryStatus};
use utoipa::ToSchema;

use crate::ApiState;
use crate::endpoints::events::MAX_INDEX;
use crate::endpoints::listed::ListError;
use crate::fields::Errors;
use crate::problem::FieldError;
use crate::query::{self, Query};

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Parameters {
    status: DeliveryStatus,
    after: Option<DeliveryId>,
    limit: usize,
}

impl Parameters {
    fn read(query: Option<&str>) -> Result<Self, Vec<FieldError>> {
        let mut errors = Errors::default();
        let query = Query::new(query);
        let status = query.text("status", &mut errors).and_then(|text| {
            let known = DeliveryStatus::ALL.into_iter().find(|status| name(*status) == text);
            known.or_else(|| errors.note("/status", "must be `pending`, `delivered` or `failed`"))
        });
        let after = query.text("after", &mut errors).and_then(|text| {
            text.parse().ok().or_else(|| errors.note("/after", "must be the `id` of a delivery, or an answer's `next`"))
        });
        let limit = query.limit(&mut errors);
        errors.finish(Some(Self { status: status.unwrap_or(DeliveryStatus::Failed), after, limit }))
    }
}

/// Names a delivery by its event: `<stream_id>:<index>`, as `webhook-id` and `X-Service-Event-Id` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeliveryId {
    pub(crate) stream: StreamId,
    pub(crate) index: u64,
}

/// The text names no delivery.
#[derive(Debug)]
pub(crate) struct NotADeliveryId;

impl FromStr for DeliveryId {
    type Err = NotADeliveryId;

    fn from_str(text: &str) -> Result<Self, NotADeliveryId> {
        let (stream, index) = text.split_once(':').ok_or(NotADeliveryId)?;
        let index = query::integer(index, &(0..=MAX_INDEX)).ok_or(NotADeliveryId)?;
        Ok(Self { stream: stream.parse().map_err(|_| NotADeliveryId)?, index })
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.stream, self.index)
    }
}

/// The delivery of an event to `webhook.url`. Of the event it has what names it, and nothing of what it says: read that
/// from the stream.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookDelivery)]
pub(crate) struct Item {
    /// Names it: what receivers get as `webhook-id`.
    #[schema(example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11:0")]
    id: String,
    /// The event's stream.
    #[schema(example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// The event's index.
    #[schema(example = 0)]
    index: u64,
    /// The event's type.
    #[schema(example = "StatusUpdate")]
    r#type: &'static str,
    /// When the event happened, in Unix seconds.
    #[schema(example = 1732137600)]
    timestamp: u64,
    /// `pending`, `delivered` (the receiver said 2xx), or `failed` (given up).
    #[schema(example = "failed")]
    status: &'static str,
    /// How often it was tried since it became pending.
    #[schema(example = 10)]
    attempts: u32,
    /// When it became pending, in Unix seconds: with the event, or when it was retried by hand.
    #[schema(example = 1732137600)]
    since: u64,
    /// When it is tried next, in Unix seconds; `null` when it is not pending. An earlier event of its stream that is
    /// pending goes first.
    #[schema(example = json!(null))]
    next_attempt_at: Option<u64>,
    /// When it was tried last, in Unix seconds.
    #[schema(example = 1732396800)]
    last_attempt_at: Option<u64>,
    /// The HTTP status that was answered last; `null` when there was no answer.
    #[schema(example = 500)]
    last_status: Option<u16>,
    /// Why it failed last.
    #[schema(example = "the receiver answered 500")]
    last_error: Option<String>,
}

impl From<Delivery> for Item {
    fn from(delivery: Delivery) -> Self {
        let Delivery {
            stream,
            event,
            status,
            attempts,
            waited: _,
            since,
            due_at,
            last_attempt_at,
            last_status,
            last_error,
        } = delivery;
        Self {
            id: DeliveryId { stream, index: event.index }.to_string(),
            stream_id: stream.to_string(),
            index: event.index,
            r#type: event.event_type.as_str(),
            timestamp: event.timestamp,
            status: name(status),
            attempts,
            since: since.secs(),
            next_attempt_at: (status == DeliveryStatus::Pending).then_some(due_at.secs()),
            last_attempt_at: last_attempt_at.map(|at| at.secs()),
            last_status,
            last_error,
        }
    }
}

/// A status on the wire.
const fn name(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Pending => "pending",
        DeliveryStatus::Delivered => "delivered",
        DeliveryStatus::Failed => "failed",
    }
}

/// Some deliveries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookDeliveries)]
pub(crate) struct List {
    /// The deliveries, in order of their streams' start, and of index within a stream.
    deliveries: Vec<Item>,
    /// The `after` to ask with for more; `null` when these were the last.
    #[schema(example = json!(null))]
    next: Option<String>,
}

/// Lists deliveries to the webhook.
///
/// `failed` ones were given up after three days; `POST /webhooks/deliveries/{id}/retry` tries again. Delivered and failed
/// ones are listed until their stream is removed (`streams.retention_days`), of streams that stay open as long after
/// their last attempt. Without `webhook.url` nothing is delivered, and nothing listed that was not before.
#[utoipa::path(
    get,
    path = "/webhooks/deliveries",
    tag = "Webhooks",
    params(
        ("status" = inline(Option<String>), Query, pattern = "^(pending|delivered|failed)$", description = "`pending`, `delivered` or `failed`. Default `failed`."),
        ("after" = inline(Option<String>), Query, format = "delivery-id",
            pattern = "^(subscriptions|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}):[0-9]{1,16}$",
            description = "Goes on after this one: the last answer's `next`."),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 1000,
            description = "Most deliveries to answer. Default 100."),
    ),
    responses(
        (status = 200, description = "The deliveries.", body = List),
        (status = 422, description = "`invalid_request`: Some parameters are wrong; the pointer is `/` and the \
            parameter's name."),
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn webhook_deliveries(
    State(state): State<ApiState>,
    RawQuery(query): RawQuery,
) -> Result<Json<List>, ListError> {
    let Parameters { status, after, limit } = Parameters::read(query.as_deref()).map_err(ListError::Invalid)?;
    let after = after.map(|after| (after.stream, after.index));
    // One more than asked for tells whether there are more.
    let mut found = state.engine.webhook_deliveries(status, after, limit + 1).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let deliveries: Vec<_> = found.into_iter().map(Item::from).collect();
    let next = deliveries.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(List { deliveries, next }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for text in ["subscriptions:0", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11:9007199254740991"] {
            assert_eq!(text.parse::<DeliveryId>().unwrap().to_string(), text);
        }
        for text in ["", ":", "subscriptions", "subscriptions:", "subscriptions:-1", "subscriptions:1:2", "x:1"] {
            assert!(text.parse::<DeliveryId>().is_err(), "{text}");
        }
    }

    #[test]
    fn without_parameters_those_that_failed() {
        let expected = Parameters { status: DeliveryStatus::Failed, after: None, limit: 100 };
        assert_eq!(Parameters::read(None), Ok(expected));
    }

    #[test]
    fn all_that_is_wrong_is_named() {
        let errors = Parameters::read(Some("status=lost&after=x&limit=0")).unwrap_err();
        let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/status", "/after", "/limit"]);
        assert!(Parameters::read(Some("status=failed&status=failed")).is_err());
    }
}
