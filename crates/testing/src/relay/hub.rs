//! What the connections of a relay share: the stored events, the subscriptions, and the queue of each connection.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use nostr::filter::MatchEventOptions;
use nostr::{Alphabet, Event, Filter, Kind, SingleLetterTag, SubscriptionId};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::published::Published;
use super::quirks::{Quirks, RelayMetrics};

/// The last events received that are kept for tests to look at.
const SEEN: usize = 4_096;

/// Events stored; the oldest goes first.
const CAPACITY: usize = 20_000;

/// Frames that may wait for one connection; then its reader is too slow and the connection is closed, as relays do.
const QUEUE: usize = 65_536;

/// The flood skips queues that are longer than this; otherwise it would only measure the queue.
const FLOOD_QUEUE: usize = 1_024;

/// Distributes what arrives on one connection to the others.
#[derive(Debug)]
pub(super) struct Hub {
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
}

impl Hub {
    pub(super) fn new(url: String, quirks: Quirks) -> Self {
        Self {
            url,
            quirks: watch::Sender::new(Arc::new(quirks)),
            metrics: watch::Sender::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            hang_up: Notify::new(),
            subscriptions: RwLock::default(),
            stored: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    pub(super) fn quirks(&self) -> Arc<Quirks> {
        Arc::clone(&self.quirks.borrow())
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut RelayMetrics)) {
        self.metrics.send_modify(change);
    }

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

    pub(super) fn unsubscribe(&self, subscription: &Arc<Subscription>) {
        self.subscriptions.write().remove(subscription);
    }

    /// Stores the event if its kind requires it, and forwards it unless it is a duplicate.
    pub(super) fn publish(&self, published: &Published) -> Kept {
        let quirks = self.quirks();
        if published.event.kind.is_ephemeral() && quirks.keeps_ephemeral.is_none() {
            self.forward(published, &quirks);
            return Kept::New;
        }
        // With the lock held until it is forwarded: a subscription that begins now gets it once.
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
        let latency = quirks.latency;
        let receivers = self.subscriptions.read().matching(&published.event);
        let Some(delay) = quirks.duplicate_and_delay else {
            let at = Instant::now() + latency;
            return receivers.iter().for_each(|receiver| receiver.outbox.push(at, published.frame(&receiver.id)));
        };
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

#[derive(Debug)]
pub(super) struct Subscription {
    /// The id that the client chose.
    pub(super) id: SubscriptionId,
    pub(super) filters: Vec<Filter>,
    pub(super) outbox: Outbox,
}

impl Subscription {
    fn wants(&self, event: &Event) -> bool {
        self.filters.iter().any(|filter| filter.match_event(event, MatchEventOptions::new()))
    }

    /// The `#p` values, when every filter has some: then only events tagged with one of them can match.
    fn recipients(&self) -> Option<HashSet<&String>> {
        let tag = SingleLetterTag::lowercase(Alphabet::P);
        let mut keys = HashSet::new();
        for filter in &self.filters {
            keys.extend(filter.generic_tags.get(&tag)?);
        }
        Some(keys)
    }
}

/// The subscriptions of all connections, indexed by `#p`: a relay with a thousand wallets must not try a thousand
/// filters for each event.
#[derive(Debug, Default)]
struct Subscriptions {
    by_recipient: HashMap<String, Vec<Arc<Subscription>>>,
    others: Vec<Arc<Subscription>>,
}

impl Subscriptions {
    fn insert(&mut self, subscription: &Arc<Subscription>) {
        match subscription.recipients() {
            Some(keys) => {
                for key in keys {
                    self.by_recipient.entry(key.clone()).or_default().push(Arc::clone(subscription));
                }
            }
            None => self.others.push(Arc::clone(subscription)),
        }
    }

    fn remove(&mut self, subscription: &Arc<Subscription>) {
        let stays = |other: &Arc<Subscription>| !Arc::ptr_eq(other, subscription);
        let Some(keys) = subscription.recipients() else { return self.others.retain(stays) };
        for key in keys {
            if let Some(bucket) = self.by_recipient.get_mut(key) {
                bucket.retain(stays);
                if bucket.is_empty() {
                    self.by_recipient.remove(key);
                }
            }
        }
    }

    /// The subscriptions that `event` matches, each once.
    fn matching(&self, event: &Event) -> Vec<Arc<Subscription>> {
        let tag = SingleLetterTag::lowercase(Alphabet::P);
        let values = event.tags.iter().filter(|t| t.single_letter_tag() == Some(tag)).filter_map(|t| t.content());
        let mut seen = HashSet::new();
        values
            .filter_map(|value| self.by_recipient.get(value))
            .flatten()
            .chain(&self.others)
            .filter(|subscription| seen.insert(Arc::as_ptr(subscription)) && subscription.wants(event))
            .cloned()
            .collect()
    }
}

/// The result of storing an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    New,
    /// The same event is already stored.
    Duplicate,
    /// A newer one is stored in its place (replaceable and addressable kinds).
    Superseded,
}

/// The events that a relay stores, each since when: as NIP-01 requires all but ephemeral ones; those too, if configured.
#[derive(Debug, Default)]
struct EventStore(VecDeque<(Instant, Published)>);

impl EventStore {
    fn keep(&mut self, published: &Published) -> Kept {
        let event = &published.event;
        if self.0.iter().any(|(_, other)| other.event.id == event.id) {
            return Kept::Duplicate;
        }
        if let Some(place) = self.0.iter().position(|(_, other)| same_place(&other.event, event)) {
            if self.0.get(place).is_some_and(|(_, other)| is_newer(&other.event, event)) {
                return Kept::Superseded;
            }
            self.0.remove(place);
        }
        if self.0.len() >= CAPACITY {
            self.0.pop_front();
        }
        self.0.push_back((Instant::now(), published.clone()));
        Kept::New
    }

    /// The kept events that match a filter, newest first, each filter with its own `limit`; ephemeral ones that came
    /// less than `ephemeral` ago among them.
    fn matching(&self, filters: &[Filter], ephemeral: Option<Duration>) -> Vec<&Published> {
        let is_there = |(at, published): &&(Instant, Published)| {
            !published.event.kind.is_ephemeral() || ephemeral.is_some_and(|age| at.elapsed() < age)
        };
        let all: Vec<_> = self.0.iter().filter(is_there).map(|(_, published)| published).collect();
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for filter in filters {
            let mut hits: Vec<&Published> =
                all.iter().copied().filter(|p| filter.match_event(&p.event, MatchEventOptions::new())).collect();
            hits.sort_by_key(|p| std::cmp::Reverse(p.event.created_at));
            hits.truncate(filter.limit.unwrap_or(usize::MAX));
            found.extend(hits.into_iter().filter(|p| seen.insert(p.event.id)));
        }
        found
    }
}

/// Whether `other` is the newer of two for one place; at the same second the lower id is (NIP-01).
fn is_newer(other: &Event, event: &Event) -> bool {
    (other.created_at, std::cmp::Reverse(other.id)) > (event.created_at, std::cmp::Reverse(event.id))
}

/// Whether only one of the two is kept. Mind that kind 30000, the subkey proof, is addressable: a relay keeps one for
/// each author (and `d` tag), and may not forward one that is as old as the last.
fn same_place(one: &Event, other: &Event) -> bool {
    one.kind == other.kind
        && one.pubkey == other.pubkey
        && (is_replaceable(one.kind)
            || (one.kind.is_addressable()
                && one.tags.identifier().unwrap_or("") == other.tags.identifier().unwrap_or("")))
}

fn is_replaceable(kind: Kind) -> bool {
    // Not the crate's `is_replaceable`, which counts kind 41 in; NIP-01 names these.
    matches!(kind.as_u16(), 0 | 3 | 10_000..=19_999)
}

/// A frame and when it may leave.
pub(super) type Outgoing = (Instant, Message);

/// A connection's queue.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    queue: mpsc::Sender<Outgoing>,
    /// Cancelled when the queue overflows: the connection is closed.
    overflow: CancellationToken,
}

impl Outbox {
    pub(super) fn new() -> (Self, mpsc::Receiver<Outgoing>, CancellationToken) {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let overflow = CancellationToken::new();
        (Self { queue, overflow: overflow.clone() }, receiver, overflow)
    }

    /// Queues a frame; if the queue is full, the connection is closed.
    pub(super) fn push(&self, at: Instant, frame: Message) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.queue.try_send((at, frame)) {
            self.overflow.cancel();
        }
    }

    /// As [`push`](Self::push), but only if the queue is short; returns whether it did.
    fn push_junk(&self, at: Instant, frame: Message) -> bool {
        QUEUE - self.queue.capacity() < FLOOD_QUEUE && self.queue.try_send((at, frame)).is_ok()
    }
}
