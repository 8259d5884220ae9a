//! What operators see of deliveries and do to them.

use std::time::Duration;

use super::{GIVE_UP_AFTER, PAGE};
use crate::engine::timers::Alarm;
use crate::engine::{Engine, IdempotentRequest};
use crate::ports::{Delivery, DeliveryAttempt, DeliveryCounts, DeliveryStatus, Retried, StoreError};
use crate::{StreamId, UnixMillis};

/// Why a delivery is not made once more.
#[derive(Debug, thiserror::Error)]
pub enum RetryError {
    /// The call, which was to be done once, was answered before: [`Engine::idempotency_record`] has the answer.
    #[error("the call was answered before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Without a webhook in the configuration any more, nothing would ever end what is pending, and finished operations
    /// wait for that.
    pub(in crate::engine) async fn give_up_deliveries(&self, now: UnixMillis) -> Result<(), StoreError> {
        if self.webhooks.is_on() {
            return Ok(());
        }
        let mut after = None;
        loop {
            let pending = self.webhooks.store.deliveries(DeliveryStatus::Pending, after, PAGE).await?;
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
                self.webhooks.store.record_attempt(attempt).await?;
            }
            match pending.last() {
                Some(last) if pending.len() == PAGE => after = Some((last.stream, last.event.index)),
                _ => return Ok(()),
            }
        }
    }

    /// Deliveries with this status, oldest event first, after the given position, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn webhook_deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.webhooks.store.deliveries(status, after, limit).await
    }

    /// Makes a failed or delivered delivery pending again, due now; `None` when there is no such delivery. One that is
    /// pending already is due now, too. Answers how it stands then; earlier ones of its stream that are pending go first,
    /// now.
    ///
    /// # Errors
    /// [`RetryError`].
    pub async fn retry_webhook_delivery(
        &self,
        stream: StreamId,
        index: u64,
        once: Option<IdempotentRequest<Delivery>>,
    ) -> Result<Option<Delivery>, RetryError> {
        let now = self.clock.now();
        let Some(mut delivery) = self.webhooks.store.delivery(stream, index).await? else { return Ok(None) };
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
        let answer = once.map(|once| once.record(&delivery, now));
        match self.webhooks.store.retry_delivery(stream, index, now, answer).await? {
            Retried::Due => {}
            // It was removed meanwhile.
            Retried::NotFound => return Ok(None),
            Retried::Answered => return Err(RetryError::Repeated),
        }
        // Whatever the stream waits for: one timer too many finds nothing to do.
        self.webhooks.streams.lock().hurry(stream);
        self.timers.set(now, stream, Alarm::Deliver);
        Ok(Some(delivery))
    }

    /// Whether the webhook refused the last events; `None` without a webhook.
    pub fn webhook_is_failing(&self) -> Option<bool> {
        self.webhooks.is_on().then(|| self.webhooks.health.is_failing())
    }

    /// How many deliveries wait and how many were given up.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn count_webhook_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        self.webhooks.store.count_deliveries().await
    }
}
