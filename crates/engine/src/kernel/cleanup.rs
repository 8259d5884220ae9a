//! Removes data past its retention.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::event_feed::EventFeed;
use super::idempotency::IdempotencyRecords;
use super::observer::PeriodicTask;
use super::open_set::OpenSet;
use super::webhook_dispatcher::WebhookDispatcher;
use crate::kernel::core::Core;
use crate::ports::StoreError;
use crate::{StreamId, UnixMillis};

/// After a start, which has more urgent work.
const FIRST_AFTER: Duration = Duration::from_secs(10);

const EVERY: Duration = Duration::from_secs(3600);

/// Most rows removed in one transaction, so that commits of operations do not wait long.
const BATCH: usize = 500;

/// How long the ids of handled Nostr events are kept: their times differ from ours by at most 15 minutes.
const INBOUND_KEPT: Duration = Duration::from_secs(2 * 3600);

/// How long a user's relays are kept after a wallet last named them or they were last used, for a message or an open
/// subscription. Afterwards the user is reached at the service's relays.
const USER_RELAYS_KEPT: Duration = Duration::from_secs(400 * 24 * 3600);

pub(crate) struct Cleanup {
    pub(crate) core: Core,
    pub(crate) webhooks: Arc<WebhookDispatcher>,
    pub(crate) idempotency: Arc<IdempotencyRecords>,
    pub(crate) feed: Arc<EventFeed>,
    /// Operations whose streams do not end by themselves.
    pub(crate) endless: Vec<Arc<OpenSet>>,
    pub(crate) periodic_tasks: Vec<Arc<dyn PeriodicTask>>,
    pub(crate) retention: Duration,
    pub(crate) payment_records_kept: Duration,
}

impl Cleanup {
    pub(crate) async fn run(self) {
        let mut pause = FIRST_AFTER;
        for hour in 0_u64.. {
            if self.core.tasks.unless_stopped(self.core.clock.sleep(pause)).await.is_none() {
                return;
            }
            let began = self.core.clock.monotonic();
            // With a wrong clock, everything would be old.
            if !self.core.timers.are_held() && self.core.tasks.unless_stopped(self.clean(hour)).await.is_none() {
                return;
            }
            pause = EVERY.saturating_sub(self.core.clock.monotonic().saturating_sub(began));
        }
    }

    /// Removes each kind of data separately: a failure of one does not affect the others.
    async fn clean(&self, hour: u64) {
        let now = self.core.clock.now();
        let retained = now.minus(self.retention);
        if let Err(failure) = self.webhooks.give_up_without_webhook().await {
            failed("deliveries without a webhook", &failure);
        }
        remove("deliveries", || self.webhooks.remove_old(retained, BATCH)).await;
        remove("idempotency records", || self.idempotency.remove_old(BATCH)).await;
        for periodic_task in &self.periodic_tasks {
            periodic_task.run(hour, now).await;
        }
        remove("finished operations", || self.core.store.remove_finished(retained, BATCH)).await;
        self.feed.forget_finished();
        self.remove_old_events(retained).await;
        remove("ids of Nostr events", || self.core.store.forget_inbound(now.minus(INBOUND_KEPT), BATCH)).await;
        remove("correlation keys", || self.core.store.forget_kept_keys(now, BATCH)).await;
        let booked = now.minus(self.payment_records_kept);
        remove("payments in the books", || self.core.store.forget_payment_records(booked, BATCH)).await;
        remove("records of logins", || self.core.store.forget_login_records(retained, BATCH)).await;
        remove("relays of users", || self.core.store.forget_user_relays(now.minus(USER_RELAYS_KEPT), BATCH)).await;
    }

    /// Removes events from before `retained` of streams that do not end by themselves, up to the first event that has a
    /// delivery, is more recent, or is the newest.
    async fn remove_old_events(&self, retained: UnixMillis) {
        self.remove_old_events_of(StreamId::SUBSCRIPTIONS, retained).await;
        for endless in &self.endless {
            let mut streams = endless.after(None, BATCH);
            while let Some(last) = streams.last().copied() {
                for stream in streams {
                    self.remove_old_events_of(stream, retained).await;
                }
                streams = endless.after(Some(last), BATCH);
            }
        }
    }

    /// Most have nothing to remove, which needs no transaction.
    async fn remove_old_events_of(&self, stream: StreamId, retained: UnixMillis) {
        match self.has_events_before(stream, retained).await {
            Ok(false) => {}
            Ok(true) => remove("events", || self.core.store.remove_events(stream, retained, BATCH)).await,
            Err(failure) => failed("events", &failure),
        }
    }

    async fn has_events_before(&self, stream: StreamId, retained: UnixMillis) -> Result<bool, StoreError> {
        if self.core.index.get(stream).is_some_and(|open| open.next_index < 2) {
            return Ok(false);
        }
        match self.core.store.events(stream, 0, 1).await {
            Ok(events) => Ok(events.first().is_some_and(|event| event.timestamp <= retained.secs())),
            // A damaged event is removed when it is old enough, like any other.
            Err(StoreError::DamagedEvent { .. }) => Ok(true),
            Err(failure) => Err(failure),
        }
    }
}

async fn remove<R>(what: &'static str, batch: impl Fn() -> R)
where
    R: Future<Output = Result<usize, StoreError>>,
{
    loop {
        match batch().await {
            Ok(BATCH) => {}
            Ok(_) => return,
            Err(failure) => return failed(what, &failure),
        }
    }
}

fn failed(what: &'static str, failure: &StoreError) {
    warn!(what, error = ?failure, "cleanup failed; retrying in 1 h");
}
