//! Signs of life of the backend: when it was seen, over which relay, and when a relay connected.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nostr::EventId;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// Probes whose responses are accepted.
const PROBES: usize = 32;

pub(super) struct Liveness {
    seen: watch::Sender<Option<Instant>>,
    relay: AtomicUsize,
    /// How often a relay connected.
    connections: watch::Sender<u64>,
    probes: Mutex<Probes>,
}

#[derive(Default)]
struct Probes {
    ids: VecDeque<EventId>,
    last: Option<Instant>,
}

impl Default for Liveness {
    fn default() -> Self {
        Self {
            seen: watch::Sender::new(None),
            relay: AtomicUsize::new(0),
            connections: watch::Sender::new(0),
            probes: Mutex::default(),
        }
    }
}

/// Connections made after a certain moment.
pub(super) struct NewConnections(watch::Receiver<u64>);

impl NewConnections {
    pub(super) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Liveness {
    /// Records that the backend sent something over this relay.
    pub(super) fn seen(&self, relay: usize) {
        self.relay.store(relay, Ordering::Relaxed);
        self.seen.send_replace(Some(Instant::now()));
    }

    pub(super) fn seen_at(&self) -> Option<Instant> {
        *self.seen.borrow()
    }

    /// The relay over which it was last seen; the first relay if it never was.
    pub(super) fn last_relay(&self) -> usize {
        self.relay.load(Ordering::Relaxed)
    }

    /// Returns when it was seen after `since`.
    pub(super) async fn seen_after(&self, since: Instant) {
        let _ = self.seen.subscribe().wait_for(|seen| seen.is_some_and(|at| at > since)).await;
    }

    /// Records an announcement.
    pub(super) fn announced(&self) {
        self.seen.send_replace(Some(Instant::now()));
    }

    /// Records that a relay connected, again or for the first time.
    pub(super) fn connected(&self) {
        self.connections.send_modify(|connections| *connections += 1);
    }

    pub(super) fn new_connections(&self) -> NewConnections {
        NewConnections(self.connections.subscribe())
    }

    /// Whether the last probe is at least `every` ago. If so, records a new one.
    pub(super) fn may_probe(&self, every: Duration) -> bool {
        let mut probes = self.probes.lock();
        let now = Instant::now();
        let due = probes.last.is_none_or(|last| last + every <= now);
        if due {
            probes.last = Some(now);
        }
        due
    }

    pub(super) fn note_probe(&self, id: EventId) {
        let mut probes = self.probes.lock();
        probes.ids.truncate(PROBES - 1);
        probes.ids.push_front(id);
    }

    pub(super) fn is_probe(&self, id: &EventId) -> bool {
        self.probes.lock().ids.contains(id)
    }
}
