//! The delivery of an event to the webhook, in responses.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use usher_engine::StreamId;
use usher_engine::ports::{Delivery, DeliveryStatus};
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, SchemaFormat, Type};

use super::event_json::MAX_INDEX;
use crate::paging::Cursor;
use crate::query;

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

impl Cursor for DeliveryId {
    fn schema() -> ObjectBuilder {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::Custom("delivery-id".to_owned())))
            .pattern(Some("^(subscriptions|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}):[0-9]{1,16}$"))
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.stream, self.index)
    }
}

/// The delivery of an event to `webhook.url`. It identifies the event and does not contain its data: read that from
/// the stream.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookDelivery)]
pub(crate) struct WebhookDelivery {
    /// Its id, which the receiver gets as `webhook-id`.
    #[schema(example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11:0")]
    pub(super) id: String,
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
    /// `pending`, `delivered` (the receiver responded 2xx), or `failed` (given up).
    #[schema(example = "failed")]
    status: &'static str,
    /// How many attempts were made since it became pending.
    #[schema(example = 10)]
    attempts: u32,
    /// When it became pending, in Unix seconds: with the event, or when it was sent again by hand.
    #[schema(example = 1732137600)]
    since: u64,
    /// The time of the next attempt, in Unix seconds; `null` if it is not pending. Earlier pending events of its
    /// stream go first.
    #[schema(example = json!(null))]
    next_attempt_at: Option<u64>,
    /// The time of the last attempt, in Unix seconds.
    #[schema(example = 1732396800)]
    last_attempt_at: Option<u64>,
    /// The HTTP status of the last attempt; `null` if there was no response.
    #[schema(example = 500)]
    last_status: Option<u16>,
    /// Why the last attempt failed.
    #[schema(example = "the receiver answered 500")]
    last_error: Option<String>,
}

impl From<Delivery> for WebhookDelivery {
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
            queue: _,
        } = delivery;
        Self {
            id: DeliveryId { stream, index: event.index }.to_string(),
            stream_id: stream.to_string(),
            index: event.index,
            r#type: event.event_type.as_str(),
            timestamp: event.timestamp,
            status: status_name(status),
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
pub(super) const fn status_name(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Pending => "pending",
        DeliveryStatus::Delivered => "delivered",
        DeliveryStatus::Failed => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivery_ids_round_trip() {
        for text in ["subscriptions:0", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11:9007199254740991"] {
            assert_eq!(text.parse::<DeliveryId>().unwrap().to_string(), text);
        }
        for text in ["", ":", "subscriptions", "subscriptions:", "subscriptions:-1", "subscriptions:1:2", "x:1"] {
            assert!(text.parse::<DeliveryId>().is_err(), "{text}");
        }
    }
}
