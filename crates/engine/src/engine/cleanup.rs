//! Housekeeping: removes what has had its time.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::Engine;
use crate::operations::Operation;
use crate::ports::StoreError;
use crate::{StreamId, UnixMillis};

/// How often the house is kept.
const EVERY: Duration = Duration::from_secs(3600);

/// Removed in one transaction at most, so that commits of operations do not wait for long.
const BATCH: usize = 500;

/// How long the ids of handled Nostr events are kept. The transport refuses events whose time is over 15 minutes from
/// ours; 2 hours are well beyond both edges of that.
const INBOUND_KEPT: Duration = Duration::from_secs(2 * 3600);

/// How long the relays of a user are kept after a wallet last named them, or they were in use last: the user was sent a
/// message, or has an open subscription. A user who comes back later is reached at our own relays until the wallet names
/// its own again.
const USER_RELAYS_KEPT: Duration = Duration::from_secs(400 * 24 * 3600);

impl Engine {
    /// Keeps house now and then until everything stops.
    pub(super) async fn keep_house(self: Arc<Self>) {
        for hour in 0_u64.. {
            let began = self.clock.monotonic();
            if hour.is_multiple_of(24)
                && let Err(failure) = self.keep_relays_of_subscribers().await
            {
                failed("relays of users that have no subscription", &failure);
            }
            if self.clock_changes.may_remove() {
                tokio::select! {
                    () = self.tasks.stopped() => return,
                    () = self.clean() => {}
                }
            }
            let took = self.clock.monotonic().saturating_sub(began);
            tokio::select! {
                () = self.tasks.stopped() => return,
                () = self.clock.sleep(EVERY.saturating_sub(took)) => {}
            }
        }
    }

    /// Says of the users with open subscriptions that their relays are in use: a calendar may leave years between two dates.
    async fn keep_relays_of_subscribers(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut after = None;
        loop {
            let page = self.store.subscriptions(after, BATCH).await?;
            let users: Vec<_> = page
                .iter()
                .filter(|(_, stored)| !stored.done)
                .filter_map(|(id, stored)| match self.damage.read_operation(*id, stored) {
                    Some(Operation::Subscription(subscription)) => Some(subscription.view().main_key),
                    _ => None,
                })
                .collect();
            self.store.keep_user_relays(&users, now).await?;
            match page.last() {
                Some((last, _)) if page.len() == BATCH => after = Some(*last),
                _ => return Ok(()),
            }
        }
    }

    /// Each by itself: what cannot be removed now keeps nothing else.
    async fn clean(&self) {
        let now = self.clock.now();
        let retained = now.minus(self.retention);
        if let Err(failure) = self.give_up_deliveries(now).await {
            failed("deliveries to no webhook", &failure);
        }
        remove("deliveries", || self.webhooks.forget(retained, BATCH)).await;
        remove("answers", || self.idempotency.remove_old(BATCH)).await;
        remove("finished operations", || self.store.remove_finished(retained, BATCH)).await;
        self.feed.forget_finished();
        self.remove_old_events(retained).await;
        remove("ids of Nostr events", || self.store.forget_inbound(now.minus(INBOUND_KEPT), BATCH)).await;
        remove("correlation keys", || self.store.forget_kept_keys(now, BATCH)).await;
        remove("relays of users", || self.store.forget_user_relays(now.minus(USER_RELAYS_KEPT), BATCH)).await;
    }
}

impl Engine {
    /// Removes what happened before `retained` on streams that do not end by themselves: the reserved one, and those of
    /// reusable handshakes. What is left begins with an event of which the webhook's delivery is still kept, that is not so old,
    /// or that is the newest.
    async fn remove_old_events(&self, retained: UnixMillis) {
        let mut streams = vec![StreamId::SUBSCRIPTIONS];
        while let Some(last) = streams.last().copied() {
            for stream in streams {
                // Most have nothing to remove: that costs no transaction.
                match self.has_events_before(stream, retained).await {
                    Ok(false) => {}
                    Ok(true) => remove("events", || self.store.remove_events(stream, retained, BATCH)).await,
                    Err(failure) => failed("events", &failure),
                }
            }
            // The reserved stream has the smallest id of all.
            streams = self.reusable_handshakes.after(Some(last), BATCH);
        }
    }

    async fn has_events_before(&self, stream: StreamId, retained: UnixMillis) -> Result<bool, StoreError> {
        if self.index.get(stream).is_some_and(|open| open.next_index < 2) {
            return Ok(false);
        }
        match self.store.events(stream, 0, 1).await {
            Ok(events) => Ok(events.first().is_some_and(|event| event.timestamp <= retained.secs())),
            // Damaged: it goes with its time.
            Err(StoreError::Unreadable(_)) => Ok(true),
            Err(failure) => Err(failure),
        }
    }
}

/// Removes batch after batch until there is nothing more to remove, or the store fails.
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
    warn!(what, error = ?failure, "housekeeping could not remove what has had its time; it is tried again in an hour");
}
