//! Deliveries for the operator: listed, counted, retried.

use std::time::Duration;

use super::{GIVE_UP_AFTER, PAGE, WebhookDispatcher};
use crate::StreamId;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::timers::Alarm;
use crate::ports::{Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, Retried, StoreError};

/// Why a delivery is not retried.
#[derive(Debug, thiserror::Error)]
pub enum RetryError {
    /// The idempotent request was done before:
    /// [`Engine::idempotency_record`](crate::Engine::idempotency_record) has its response.
    #[error("the request was done before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WebhookDispatcher {
    /// Gives up old deliveries when no webhook is configured any more: nothing else would end them, and finished operations
    /// are kept until they have ended.
    pub(crate) async fn give_up_without_webhook(&self) -> Result<(), StoreError> {
        if self.is_on() {
            return Ok(());
        }
        let now = self.parts.clock.now();
        let mut after = None;
        loop {
            let pending = self.parts.store.deliveries(DeliveryStatus::Pending, after, PAGE).await?;
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
                self.parts.store.record_attempt(attempt).await?;
            }
            match pending.last() {
                Some(last) if pending.len() == PAGE => after = Some((last.stream, last.event.index)),
                _ => return Ok(()),
            }
        }
    }

    /// See [`Engine::webhook_deliveries`](crate::Engine::webhook_deliveries).
    pub(crate) async fn list(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.parts.store.deliveries(status, after, limit).await
    }

    /// See [`Engine::retry_webhook_delivery`](crate::Engine::retry_webhook_delivery).
    pub(crate) async fn retry(
        &self,
        stream: StreamId,
        index: u64,
        once: Option<IdempotentRequest<Delivery>>,
    ) -> Result<Option<Delivery>, RetryError> {
        let now = self.parts.clock.now();
        let Some(mut delivery) = self.parts.store.delivery(stream, index).await? else { return Ok(None) };
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
        match self.parts.store.retry_delivery(stream, index, now, record).await? {
            Retried::Due => {}
            // Removed meanwhile.
            Retried::NotFound => return Ok(None),
            Retried::AlreadyRequested => return Err(RetryError::Repeated),
        }
        // Whatever the stream waits for: a superfluous timer does no harm.
        self.streams.lock().hurry(delivery.queue);
        self.parts.timers.set(now, delivery.queue, Alarm::Deliver);
        Ok(Some(delivery))
    }

    /// See [`Engine::webhook_is_failing`](crate::Engine::webhook_is_failing).
    pub(crate) fn is_failing(&self) -> Option<bool> {
        self.is_on().then(|| self.health.is_failing())
    }

    /// See [`Engine::count_webhook_deliveries`](crate::Engine::count_webhook_deliveries).
    pub(crate) async fn count(&self) -> Result<DeliveryCounts, StoreError> {
        self.parts.store.count_deliveries().await
    }
}
