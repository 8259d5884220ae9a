//! The relays over which key handshakes arrived.

use std::sync::Arc;

use parking_lot::Mutex;
use usher_places::{LruCache, bounded};
use usher_protocol::EventId;

/// Most handshakes remembered: 8,192 × about 400 bytes. A forgotten one is passed to the engine again.
const HANDSHAKES: usize = 8192;

/// Relays of one handshake: 16 of the service, and all users' relays counted as one.
const RELAYS: usize = 17;

#[derive(Debug)]
pub(crate) struct HandshakeSources(Mutex<LruCache<EventId, Vec<Option<Arc<str>>>>>);

impl Default for HandshakeSources {
    fn default() -> Self {
        Self(Mutex::new(bounded(HANDSHAKES)))
    }
}

impl HandshakeSources {
    pub(crate) fn contains(&self, id: &EventId, relay: Option<&Arc<str>>) -> bool {
        self.0.lock().peek(id).is_some_and(|relays| has(relays, relay) || relays.len() >= RELAYS)
    }

    /// Records that it arrived over this relay; false if it did before.
    pub(crate) fn insert(&self, id: EventId, relay: Option<&Arc<str>>) -> bool {
        let mut handshake_sources = self.0.lock();
        let relays = handshake_sources.get_or_insert_mut(id, Vec::new);
        let is_new = !has(relays, relay) && relays.len() < RELAYS;
        if is_new {
            relays.push(relay.cloned());
        }
        is_new
    }
}

fn has(relays: &[Option<Arc<str>>], relay: Option<&Arc<str>>) -> bool {
    relays.iter().any(|known| known.as_ref() == relay)
}
