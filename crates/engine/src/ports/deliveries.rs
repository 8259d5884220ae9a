//! The port that stores webhook deliveries, the outbox to the app. A delivery is written in its event's transaction
//! ([`Commit::deliver`](super::Commit::deliver)); stream and index identify it.

use std::time::Duration;

use async_trait::async_trait;

use super::{NewIdempotencyRecord, StoreError};
use crate::event::Event;
use crate::{StreamId, UnixMillis};

/// Deliveries of events to the app.
#[async_trait]
pub trait DeliveryStore: Send + Sync {
    /// The first pending delivery of `queue`, which must be attempted before later ones.
    async fn next_delivery(&self, queue: StreamId) -> Result<Option<Delivery>, StoreError>;

    /// At most `limit` queues with pending deliveries after `after`, in order of id, with their due times.
    async fn pending_queues(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, UnixMillis)>, StoreError>;

    /// Gives up the first pending delivery of `queue`, which is damaged and blocks it; returns its stream and index.
    async fn set_aside_delivery(&self, queue: StreamId, at: UnixMillis) -> Result<Option<(StreamId, u64)>, StoreError>;

    /// Records the result of an attempt; returns whether the delivery was still pending. The pause until the next
    /// attempt, from `at` to `due_at`, is added to [`Delivery::waited`].
    async fn record_attempt(&self, attempt: DeliveryAttempt) -> Result<bool, StoreError>;

    /// At most `limit` deliveries with this status after the given one, in order of stream (that is, of its creation)
    /// and index. Those that are damaged, or whose events are, are omitted: a page may be short.
    async fn deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError>;

    /// One delivery.
    async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError>;

    /// Makes a failed or delivered delivery pending again; the record of its last attempt stays. It and the queue's
    /// earlier pending ones become due at `at` at the latest. The request's idempotency record is stored in the same
    /// transaction; if that is refused, nothing changes.
    async fn retry_delivery(
        &self,
        stream: StreamId,
        index: u64,
        at: UnixMillis,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Retried, StoreError>;

    /// The numbers of pending and failed deliveries, for health and metrics.
    async fn count_deliveries(&self) -> Result<DeliveryCounts, StoreError>;

    /// Removes at most `limit` deliveries that are not pending and were last attempted before `before`; returns how
    /// many. For streams that stay open; other deliveries are removed with their operation.
    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError>;
}

/// The status of a delivery, with its number in the store, which never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DeliveryStatus {
    /// Not delivered yet.
    Pending = 0,
    /// The receiver responded with 2xx.
    Delivered = 1,
    /// Given up.
    Failed = 2,
}

impl DeliveryStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::Failed];

    /// The number in the store.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The status with this number.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Pending),
            1 => Some(Self::Delivered),
            2 => Some(Self::Failed),
            _ => None,
        }
    }
}

/// A delivery of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The event's stream.
    pub stream: StreamId,
    /// Its queue: the stream or, on the reserved stream, one per subscription. Order is kept within a queue only.
    pub queue: StreamId,
    /// The event.
    pub event: Event,
    /// Its status.
    pub status: DeliveryStatus,
    /// Attempts since it became pending.
    pub attempts: u32,
    /// The sum of the scheduled pauses between these attempts.
    pub waited: Duration,
    /// When it became pending: the event's time, or that of the request to retry it.
    pub since: UnixMillis,
    /// When it is next attempted; only meaningful if it is pending.
    pub due_at: UnixMillis,
    /// When it was last attempted.
    pub last_attempt_at: Option<UnixMillis>,
    /// The HTTP status of the last response, if there was one.
    pub last_status: Option<u16>,
    /// Why the last attempt failed; contains no secrets.
    pub last_error: Option<String>,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The delivery's stream.
    pub stream: StreamId,
    /// The delivery's index.
    pub index: u64,
    /// The time.
    pub at: UnixMillis,
    /// The delivery's status now.
    pub status: DeliveryStatus,
    /// When it is next attempted, if still pending.
    pub due_at: UnixMillis,
    /// The HTTP status of the response, if there was one.
    pub http_status: Option<u16>,
    /// Why it failed; contains no secrets.
    pub error: Option<String>,
}

/// The result of a request to retry a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retried {
    /// It is pending and due.
    Due,
    /// There is no such delivery.
    NotFound,
    /// The request already has an idempotency record.
    AlreadyRequested,
}

/// The numbers of deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// Not delivered yet.
    pub pending: u64,
    /// Given up.
    pub failed: u64,
}
