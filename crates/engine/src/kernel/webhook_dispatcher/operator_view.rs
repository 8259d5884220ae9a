//! Deliveries for the operator: listing, counting, retrying.

use std::time::Duration;

use super::{GIVE_UP_AFTER, PAGE, WebhookDispatcher};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::timers::TimerKind;
use crate::ports::{Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, Retried, StoreError};
use crate::{Requester, StreamId};

/// Why a delivery is not retried.
#[derive(Debug, thiserror::Error)]
pub enum RetryError {
    /// The idempotent request was executed before; see [`IdempotencyRecords::get`](crate::IdempotencyRecords::get).
    #[error("the request was done before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WebhookDispatcher {
    /// Gives up old deliveries if no webhook is configured, because nothing else would end them and their operations.
    pub(crate) async fn give_up_without_webhook(&self) -> Result<(), StoreError> {
        if self.is_on() {
            return Ok(());
        }
        let now = self.core.clock.now();
        let mut after = None;
        loop {
            let pending = self.store.deliveries(DeliveryStatus::Pending, after, PAGE).await?;
            for delivery in pending.iter().filter(|delivery| now >= delivery.since.plus(GIVE_UP_AFTER)) {
                let attempt = DeliveryAttempt {
                    stream: delivery.stream,
                    index: delivery.event.index,
                    at: now,
                    status: DeliveryStatus::Failed,
                    due_at: now,
                    http_status: None,
                    error: Some("no webhook is configured any more".to_owned()),
                };
                self.store.record_attempt(attempt).await?;
            }
            match pending.last() {
                Some(last) if pending.len() == PAGE => after = Some((last.stream, last.event.index)),
                _ => return Ok(()),
            }
        }
    }

    /// At most `limit` deliveries with this status after the given position, oldest event first.
    pub async fn list(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.store.deliveries(status, after, limit).await
    }

    /// Makes a failed or delivered delivery pending and due, along with earlier pending ones of its stream; returns the
    /// new state. `None` if there is no such delivery.
    pub async fn retry(
        &self,
        requester: &Requester,
        stream: StreamId,
        index: u64,
        once: Option<IdempotentRequest<Delivery>>,
    ) -> Result<Option<Delivery>, RetryError> {
        if !self.core.store.shows(requester, stream).await? {
            return Ok(None);
        }
        let now = self.core.clock.now();
        let Some(mut delivery) = self.store.delivery(stream, index).await? else { return Ok(None) };
        if delivery.status == DeliveryStatus::Pending {
            delivery.due_at = delivery.due_at.min(now);
        } else {
            delivery = Delivery {
                status: DeliveryStatus::Pending,
                attempts: 0,
                waited: Duration::ZERO,
                since: now,
                due_at: now,
                ..delivery
            };
        }
        let record = once.map(|once| once.record(&delivery, now));
        match self.store.retry_delivery(stream, index, now, record).await? {
            Retried::Due => {}
            Retried::NotFound => return Ok(None),
            Retried::AlreadyRequested => return Err(RetryError::Repeated),
        }
        // Whatever the stream waits for: a superfluous timer is harmless.
        self.streams.lock().hurry(delivery.queue);
        self.core.timers.set(self.core.timers.now(), delivery.queue, TimerKind::Deliver);
        Ok(Some(delivery))
    }

    /// Whether the webhook refused the last events; `None` without a webhook.
    pub fn is_failing(&self) -> Option<bool> {
        self.is_on().then(|| self.health.is_failing())
    }

    /// The numbers of pending and given-up deliveries.
    pub async fn count(&self) -> Result<DeliveryCounts, StoreError> {
        self.store.count_deliveries().await
    }
}
