//! Signs of life of the wallet: when it was heard, by which relay, and when a relay could be heard again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nostr::EventId;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// Probes whose replies are heard.
const PROBES: usize = 32;

/// When the wallet was heard, and how.
pub(super) struct Liveness {
    /// When it was heard last.
    heard: watch::Sender<Option<Instant>>,
    /// By which relay.
    relay: AtomicUsize,
    /// How often a relay was connected.
    connects: watch::Sender<u64>,
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
            heard: watch::Sender::new(None),
            relay: AtomicUsize::new(0),
            connects: watch::Sender::new(0),
            probes: Mutex::default(),
        }
    }
}

/// Connections from a moment on.
pub(super) struct NewConnections(watch::Receiver<u64>);

impl NewConnections {
    /// Waits for the next.
    pub(super) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Liveness {
    /// The wallet said something just now, by this relay.
    pub(super) fn heard(&self, relay: usize) {
        self.relay.store(relay, Ordering::Relaxed);
        self.heard.send_replace(Some(Instant::now()));
    }

    pub(super) fn heard_at(&self) -> Option<Instant> {
        *self.heard.borrow()
    }

    /// The relay by which it was heard last; the first when it was not.
    pub(super) fn heard_by(&self) -> usize {
        self.relay.load(Ordering::Relaxed)
    }

    /// Returns when it has been heard after this instant.
    pub(super) async fn heard_after(&self, since: Instant) {
        let _ = self.heard.subscribe().wait_for(|heard| heard.is_some_and(|at| at > since)).await;
    }

    /// It announces itself anew.
    pub(super) fn announced(&self) {
        self.heard.send_replace(Some(Instant::now()));
    }

    /// A relay can be heard, again or for the first time.
    pub(super) fn connected(&self) {
        self.connects.send_modify(|connects| *connects += 1);
    }

    /// Connections from now on.
    pub(super) fn connects(&self) -> NewConnections {
        NewConnections(self.connects.subscribe())
    }

    /// Whether the last probe was made so long ago.
    pub(super) fn may_probe(&self, every: Duration) -> bool {
        let mut probes = self.probes.lock();
        let now = Instant::now();
        let due = probes.last.is_none_or(|last| last + every <= now);
        if due {
            probes.last = Some(now);
        }
        due
    }

    pub(super) fn probed(&self, id: EventId) {
        let mut probes = self.probes.lock();
        probes.ids.truncate(PROBES - 1);
        probes.ids.push_front(id);
    }

    pub(super) fn is_probe(&self, id: EventId) -> bool {
        self.probes.lock().ids.contains(&id)
    }
}
