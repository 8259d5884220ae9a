//! The memory store's deliveries.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use usher_engine::event::Event;
use usher_engine::ports::{
    Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, DeliveryStore, NewIdempotencyRecord, Retried, StoreError,
};
use usher_engine::{StreamId, UnixMillis};

use super::{MemoryStore, Rows, oldest};

impl Rows {
    /// Deliveries with this status in order of stream and index.
    fn with_status(&self, status: DeliveryStatus) -> impl Iterator<Item = &Delivery> {
        self.deliveries.values().filter(move |delivery| delivery.status == status)
    }

    /// Whether a stream has pending deliveries.
    pub(super) fn has_pending(&self, stream: StreamId) -> bool {
        self.with_status(DeliveryStatus::Pending).any(|delivery| delivery.stream == stream)
    }

    /// The first pending delivery of a queue.
    pub(super) fn first_pending(&self, queue: StreamId) -> Option<&Delivery> {
        self.with_status(DeliveryStatus::Pending).find(|delivery| delivery.queue == queue)
    }
}

#[async_trait]
impl DeliveryStore for MemoryStore {
    async fn next_delivery(&self, queue: StreamId) -> Result<Option<Delivery>, StoreError> {
        Ok(self.rows.lock().first_pending(queue).cloned())
    }

    async fn pending_queues(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Vec<(StreamId, UnixMillis)>, StoreError> {
        let rows = self.rows.lock();
        let mut queues = BTreeMap::new();
        for delivery in rows.with_status(DeliveryStatus::Pending) {
            queues.entry(delivery.queue).or_insert(delivery.due_at);
        }
        Ok(queues.into_iter().filter(|(queue, _)| after.is_none_or(|after| *queue > after)).take(limit).collect())
    }

    async fn set_aside_delivery(&self, queue: StreamId, at: UnixMillis) -> Result<Option<(StreamId, u64)>, StoreError> {
        let mut rows = self.rows.lock();
        let first = rows.first_pending(queue).map(|delivery| (delivery.stream, delivery.event.index));
        if let Some(delivery) = first.and_then(|first| rows.deliveries.get_mut(&first)) {
            *delivery = Delivery {
                status: DeliveryStatus::Failed,
                attempts: 1,
                waited: Duration::ZERO,
                since: at,
                due_at: at,
                last_attempt_at: Some(at),
                last_status: None,
                last_error: Some("it, or its event, is damaged in the database".to_owned()),
                ..delivery.clone()
            };
        }
        Ok(first)
    }

    async fn record_attempt(&self, attempt: DeliveryAttempt) -> Result<bool, StoreError> {
        let mut rows = self.rows.lock();
        let Some(delivery) = rows.deliveries.get_mut(&(attempt.stream, attempt.index)) else { return Ok(false) };
        if delivery.status != DeliveryStatus::Pending {
            return Ok(false);
        }
        delivery.status = attempt.status;
        delivery.attempts += 1;
        delivery.waited += attempt.due_at.since(attempt.at);
        delivery.due_at = attempt.due_at;
        delivery.last_attempt_at = Some(attempt.at);
        delivery.last_status = attempt.http_status;
        delivery.last_error = attempt.error;
        Ok(true)
    }

    async fn deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let rows = self.rows.lock();
        let later = rows
            .with_status(status)
            .filter(|delivery| after.is_none_or(|after| (delivery.stream, delivery.event.index) > after));
        Ok(later.take(limit).cloned().collect())
    }

    async fn delivery(&self, stream: StreamId, index: u64) -> Result<Option<Delivery>, StoreError> {
        Ok(self.rows.lock().deliveries.get(&(stream, index)).cloned())
    }

    async fn retry_delivery(
        &self,
        stream: StreamId,
        index: u64,
        at: UnixMillis,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Retried, StoreError> {
        let mut rows = self.rows.lock();
        if record.as_ref().is_some_and(|new| rows.is_recorded(new)) {
            return Ok(Retried::AlreadyRequested);
        }
        let Some(delivery) = rows.deliveries.get_mut(&(stream, index)) else { return Ok(Retried::NotFound) };
        if delivery.status != DeliveryStatus::Pending {
            delivery.status = DeliveryStatus::Pending;
            delivery.attempts = 0;
            delivery.waited = Duration::ZERO;
            delivery.since = at;
            delivery.due_at = at;
        }
        let queue = delivery.queue;
        for (_, delivery) in rows.deliveries.range_mut((stream, 0)..=(stream, index)) {
            if delivery.status == DeliveryStatus::Pending && delivery.queue == queue {
                delivery.due_at = delivery.due_at.min(at);
            }
        }
        if let Some(new) = record {
            rows.idempotency_records.insert(new.record.key, new.record);
        }
        Ok(Retried::Due)
    }

    async fn count_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        let rows = self.rows.lock();
        let count = |status| rows.with_status(status).count() as u64;
        Ok(DeliveryCounts { pending: count(DeliveryStatus::Pending), failed: count(DeliveryStatus::Failed) })
    }

    async fn forget_deliveries(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let mut rows = self.rows.lock();
        let settled = rows
            .deliveries
            .iter()
            .filter(|(_, delivery)| delivery.status != DeliveryStatus::Pending)
            .filter_map(|(position, delivery)| Some((delivery.last_attempt_at?, *position)));
        let old = oldest(settled, before, limit);
        for position in &old {
            rows.deliveries.remove(position);
        }
        Ok(old.len())
    }
}

pub(super) fn pending(stream: StreamId, event: Event, at: UnixMillis) -> Delivery {
    Delivery {
        stream,
        queue: stream,
        event,
        status: DeliveryStatus::Pending,
        attempts: 0,
        waited: Duration::ZERO,
        since: at,
        due_at: at,
        last_attempt_at: None,
        last_status: None,
        last_error: None,
    }
}
