//! What the connections of a relay share.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nostr::Event;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event_store::{EventStore, Kept};
use super::metrics::RelayMetrics;
use super::outbox::{Outbox, Published};
use super::quirks::Quirks;
use super::subscriptions::{Subscription, Subscriptions};

/// The last events received that are kept for tests to look at.
const SEEN: usize = 4_096;

/// Distributes what arrives on one connection to the others.
#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) url: String,
    pub(super) quirks: watch::Sender<Arc<Quirks>>,
    pub(super) metrics: watch::Sender<RelayMetrics>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// Notified when all connections must close.
    pub(super) hang_up: Notify,
    subscriptions: RwLock<Subscriptions>,
    stored: Mutex<EventStore>,
    seen: Mutex<VecDeque<Event>>,
    serial: AtomicU64,
}

impl SharedState {
    pub(super) fn new(url: String, quirks: Quirks) -> Self {
        Self {
            url,
            quirks: watch::Sender::new(Arc::new(quirks)),
            metrics: watch::Sender::new(RelayMetrics::default()),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            hang_up: Notify::new(),
            subscriptions: RwLock::default(),
            stored: Mutex::default(),
            seen: Mutex::default(),
            serial: AtomicU64::new(0),
        }
    }

    pub(super) fn quirks(&self) -> Arc<Quirks> {
        Arc::clone(&self.quirks.borrow())
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut RelayMetrics)) {
        self.metrics.send_modify(change);
    }

    pub(super) fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    /// Remembers an event for [`Self::seen`].
    pub(super) fn see(&self, event: &Event) {
        let mut seen = self.seen.lock();
        if seen.len() >= SEEN {
            seen.pop_front();
        }
        seen.push_back(event.clone());
    }

    pub(super) fn seen(&self) -> Vec<Event> {
        self.seen.lock().iter().cloned().collect()
    }

    /// Opens a subscription and queues the stored events that match it. No event is lost in between.
    pub(super) fn subscribe(&self, subscription: &Arc<Subscription>, at: Instant) {
        let quirks = self.quirks();
        let stored = self.stored.lock();
        self.subscriptions.write().insert(subscription);
        if quirks.mute {
            return;
        }
        for published in stored.matching(&subscription.filters, quirks.keeps_ephemeral) {
            subscription.outbox.push(at, published.frame(&subscription.id));
        }
    }

    pub(super) fn unsubscribe(&self, subscription: &Subscription) {
        self.subscriptions.write().remove(subscription);
    }

    /// Stores the event if its kind requires it, and forwards it unless it is a duplicate.
    pub(super) fn publish(&self, published: &Published) -> Kept {
        let quirks = self.quirks();
        if published.event.kind.is_ephemeral() {
            if quirks.keeps_ephemeral.is_some() {
                let mut stored = self.stored.lock();
                if !stored.keep_ephemeral(published) {
                    return Kept::Duplicate;
                }
                // With the lock held, as below: a subscription that begins now gets it once.
                self.forward(published, &quirks);
                return Kept::New;
            }
            self.forward(published, &quirks);
            return Kept::New;
        }
        let mut stored = self.stored.lock();
        let kept = stored.keep(published);
        if kept == Kept::New {
            self.forward(published, &quirks);
        }
        kept
    }

    /// Forwards an event to all matching subscriptions.
    pub(super) fn forward(&self, published: &Published, quirks: &Quirks) {
        if quirks.mute {
            return;
        }
        let receivers = self.subscriptions.read().matching(&published.event);
        match quirks.duplicate_and_delay {
            None => {
                let at = Instant::now() + quirks.latency;
                for receiver in receivers {
                    receiver.outbox.push(at, published.frame(&receiver.id));
                }
            }
            Some(delay) => {
                let latency = quirks.latency;
                let late: Vec<_> = receivers.into_iter().map(|r| (r.outbox.clone(), published.frame(&r.id))).collect();
                self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(async move {
                    for _ in 0..2 {
                        tokio::time::sleep(delay).await;
                        for (outbox, frame) in &late {
                            outbox.push(Instant::now() + latency, frame.clone());
                        }
                    }
                }));
            }
        }
    }

    /// Forwards a junk event to all matching subscriptions with room in their queue; returns how many.
    pub(super) fn forward_junk(&self, published: &Published, at: Instant) -> u64 {
        let receivers = self.subscriptions.read().matching(&published.event);
        let pushed = receivers.iter().filter(|r| r.outbox.push_junk(at, published.frame(&r.id)));
        pushed.count() as u64
    }

    /// Sends a text on a connection, unless the relay is mute.
    pub(super) fn say(&self, outbox: &Outbox, text: String) {
        let quirks = self.quirks();
        if !quirks.mute {
            outbox.push(Instant::now() + quirks.latency, text.into());
        }
    }
}
